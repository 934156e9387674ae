//! Keys that signatures are checked by, as they come out of a file or an answer.

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey};
use serde_json::Value;

/// Keys in one file; more than any rotation needs, and a bound on what a token without a key's
/// name can make the server try.
const KEYS: usize = 32;

/// The shortest secret, in bytes: as long as the hash that it keys.
const SECRET: usize = 32;

/// The shortest RSA key, in bits.
const RSA_BITS: usize = 2048;

/// What is wrong with a file of keys, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct BadKeys(String);

impl BadKeys {
    fn because(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

/// The keys that are in force.
#[derive(Clone, Debug)]
pub(super) struct KeySet(Vec<Key>);

/// One key, and what it is for.
#[derive(Clone, Debug)]
pub(super) struct Key {
    /// Its name, where keys have one.
    id: Option<String>,
    pub(super) key: DecodingKey,
    /// What it signs by. A token that names another algorithm is not signed by this key, whatever
    /// its bytes say: else a public key could be taken for a secret.
    pub(super) algorithms: Vec<Algorithm>,
}

impl KeySet {
    /// The public keys of a PEM file, one behind the other.
    pub(super) fn from_pem(text: &str) -> Result<Self, BadKeys> {
        if text.contains("PRIVATE KEY") {
            return Err(BadKeys::because(
                "it holds a private key, which only those who sign tokens should have: give the \
                 public one, as from `openssl pkey -in KEY -pubout`",
            ));
        }
        if text.contains("BEGIN CERTIFICATE") {
            return Err(BadKeys::because(
                "it holds a certificate: give its public key, as from `openssl x509 -in CERT \
                 -pubkey -noout`",
            ));
        }
        let blocks = text.match_indices("-----BEGIN").map(|(at, _)| at);
        let ends = blocks.clone().skip(1).chain([text.len()]);
        let keys: Vec<_> = blocks.zip(ends).map(|(from, to)| pem_key(&text[from..to])).collect();
        match keys.len() {
            0 => Err(BadKeys::because(
                "it holds no PEM: a public key begins with `-----BEGIN PUBLIC KEY-----`; for a \
                 shared secret use --jwt-secret",
            )),
            1..=KEYS => keys.into_iter().collect::<Result<_, _>>().map(Self),
            count => Err(BadKeys::because(format!("it holds {count} keys; at most {KEYS} work"))),
        }
    }

    /// A secret that those who sign share with the server: the whole text, without blanks around it.
    pub(super) fn from_secret(text: &str) -> Result<Self, BadKeys> {
        let secret = text.trim();
        if secret.starts_with("-----BEGIN") {
            return Err(BadKeys::because("it holds a PEM key, no secret: use --jwt-key"));
        }
        if secret.len() < SECRET {
            return Err(BadKeys::because(format!(
                "the secret has {} bytes, and one of fewer than {SECRET} can be guessed: make one by \
                 `openssl rand -hex {SECRET}`",
                secret.len()
            )));
        }
        let key = DecodingKey::from_secret(secret.as_bytes()).map_err(no_key)?;
        Ok(Self(vec![Key::new(None, key)]))
    }

    /// A JSON Web Key Set (RFC 7517). Keys of a kind that is not known here, and keys for
    /// encryption, are passed over.
    pub(super) fn from_jwks(text: &str) -> Result<Self, BadKeys> {
        let no_set = || {
            BadKeys::because("it is no JSON Web Key Set: an object with a list `keys` is expected")
        };
        let set: Value = serde_json::from_str(text).map_err(|_| no_set())?;
        let all = set.get("keys").and_then(Value::as_array).ok_or_else(no_set)?;
        if all.len() > KEYS {
            let count = all.len();
            return Err(BadKeys::because(format!("it holds {count} keys; at most {KEYS} work")));
        }
        let keys: Vec<_> = all
            .iter()
            .filter_map(|it| serde_json::from_value::<Jwk>(it.clone()).ok())
            .filter_map(|it| jwk(&it))
            .collect();
        if keys.is_empty() {
            return Err(BadKeys::because(
                "none of its keys is for signatures by RSA (2,048 bits or more), EC (P-256, P-384) \
                 or Ed25519",
            ));
        }
        Ok(Self(keys))
    }

    /// The keys that may have signed a token with this header; none if the header names a key that
    /// is not here: it may have come since these were read.
    pub(super) fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Option<Vec<&Key>> {
        let named = self.0.iter().any(|it| it.id.is_some());
        let id = id.filter(|_| named);
        let has_name = |key: &&Key| id.is_none() || key.id.as_deref() == id;
        let known: Vec<_> = self.0.iter().filter(has_name).collect();
        let fits = |key: &&Key| key.algorithms.contains(&algorithm);
        (!known.is_empty()).then(|| known.into_iter().filter(fits).collect())
    }
}

impl Key {
    fn new(id: Option<String>, key: DecodingKey) -> Self {
        let algorithms = key.family().algorithms().to_vec();
        Self { id, key, algorithms }
    }
}

fn pem_key(block: &str) -> Result<Key, BadKeys> {
    let bytes = block.as_bytes();
    let key = DecodingKey::from_rsa_pem(bytes)
        .or_else(|_| DecodingKey::from_ec_pem(bytes))
        .or_else(|_| DecodingKey::from_ed_pem(bytes))
        .map_err(no_key)?;
    if key.family() == AlgorithmFamily::Rsa {
        // The modulus is all but some bytes of a PKCS#1 key.
        let bits = key.try_get_as_bytes().map_or(0, |it| it.len() * 8);
        if bits < RSA_BITS {
            return Err(BadKeys::because(format!(
                "an RSA key in it is too short to be safe: make one of {RSA_BITS} bits or more"
            )));
        }
    }
    let mut key = Key::new(None, key);
    if key.key.family() == AlgorithmFamily::Ec {
        key.algorithms = match key.key.try_get_as_bytes().map_or(0, <[u8]>::len) {
            65 => vec![Algorithm::ES256],
            97 => vec![Algorithm::ES384],
            _ => {
                return Err(BadKeys::because(
                    "an EC key in it is of no curve known here: P-256 and P-384 are",
                ));
            }
        };
    }
    Ok(key)
}

fn no_key(_: jsonwebtoken::errors::Error) -> BadKeys {
    BadKeys::because(
        "it can't be read as a public key: RSA, EC (P-256, P-384) and Ed25519 in PEM are known here",
    )
}

fn jwk(jwk: &Jwk) -> Option<Key> {
    if !matches!(jwk.common.public_key_use, None | Some(PublicKeyUse::Signature)) {
        return None;
    }
    let algorithms = match &jwk.algorithm {
        AlgorithmParameters::RSA(rsa) if rsa.n.len() * 6 >= RSA_BITS => {
            AlgorithmFamily::Rsa.algorithms().to_vec()
        }
        AlgorithmParameters::EllipticCurve(ec) => match ec.curve {
            EllipticCurve::P256 => vec![Algorithm::ES256],
            EllipticCurve::P384 => vec![Algorithm::ES384],
            _ => return None,
        },
        AlgorithmParameters::OctetKeyPair(pair) if pair.curve == EllipticCurve::Ed25519 => {
            vec![Algorithm::EdDSA]
        }
        // A secret has no place in a set that others may read.
        _ => return None,
    };
    let algorithms: Vec<_> = match jwk.common.key_algorithm {
        Some(one) => {
            algorithms.into_iter().filter(|it| Algorithm::try_from(one).ok() == Some(*it)).collect()
        }
        None => algorithms,
    };
    let key = DecodingKey::from_jwk(jwk).ok()?;
    (!algorithms.is_empty()).then(|| Key { id: jwk.common.key_id.clone(), key, algorithms })
}
