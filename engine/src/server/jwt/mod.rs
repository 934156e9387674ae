//! Signed tokens (JWT, RFC 7519): who a token's user is, by a signature and a name in it.

mod keys;
mod source;

use std::path::Path;
use std::time::Duration;

use axum::http::Uri;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Header, Validation, decode, decode_header, get_current_timestamp};
use serde_json::{Map, Value};
use tracing::debug;

use self::keys::KeySet;
pub use self::source::KeysError;
use self::source::{Form, Others, Source};
use super::auth::{AuthError, Authenticate, Identity, Token};

/// How far the clocks of signer and server may be apart, unless it is set otherwise.
const LEEWAY: Duration = Duration::from_secs(10);

/// Believes tokens that are signed by a key it knows, and have not run out. The connection lasts
/// as long as its token (`exp`, which must be there), or until a fresh one is handed in.
///
/// The algorithm must fit the key: a token can't choose how it is checked. Keys from a file are
/// read again when it changes; how, and what else happens then, see [`Self::key_file`].
///
/// ```no_run
/// # async fn f() -> Result<(), Box<dyn std::error::Error>> {
/// use greendot_engine::server::{JwtAuth, Presence};
///
/// let auth = JwtAuth::key_set_file("jwks.json")?.audience("chat").issuer("https://id.example");
/// let presence = Presence::builder(auth).build()?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct JwtAuth {
    source: Source,
    audiences: Vec<String>,
    issuers: Vec<String>,
    user_claim: String,
    leeway: Duration,
}

impl JwtAuth {
    fn new(source: Source) -> Self {
        Self {
            source,
            audiences: Vec::new(),
            issuers: Vec::new(),
            user_claim: "sub".into(),
            leeway: LEEWAY,
        }
    }

    /// Public keys in PEM: RSA, EC (P-256, P-384) or Ed25519; several, one behind the other, while
    /// one follows another. When the file changes it is read again within 5 s of the next token; a
    /// file that can't be read leaves the old keys in force, and says so in the log.
    ///
    /// # Errors
    ///
    /// If the file can't be read, or holds anything else.
    pub fn key_file(path: impl AsRef<Path>) -> Result<Self, KeysError> {
        Source::file(Form::Pem, path.as_ref()).map(Self::new)
    }

    /// A secret of at least 32 bytes that signer and server share (HS256, HS384, HS512): the whole
    /// file, without blanks around it. Read again as [`Self::key_file`] says.
    ///
    /// # Errors
    ///
    /// If the file can't be read, or the secret is too short.
    pub fn secret_file(path: impl AsRef<Path>) -> Result<Self, KeysError> {
        Source::file(Form::Secret, path.as_ref()).map(Self::new)
    }

    /// A JSON Web Key Set in a file. A token that names its key (`kid`) is checked by that one
    /// alone; if none has the name, the file is looked at once more, at most every 10 s.
    ///
    /// # Errors
    ///
    /// If the file can't be read, or has no key that is of use.
    pub fn key_set_file(path: impl AsRef<Path>) -> Result<Self, KeysError> {
        Source::file(Form::Jwks, path.as_ref()).map(Self::new)
    }

    /// A JSON Web Key Set at an `http` address, fetched now, every 10 minutes, and when a token
    /// names a key that is not there, at most every 10 s. There is no TLS here: an `https` address is
    /// refused; have its answer put into a file.
    ///
    /// # Errors
    ///
    /// If it can't be fetched, or has no key that is of use.
    pub async fn key_set_at(address: Uri) -> Result<Self, KeysError> {
        Source::address(Form::Jwks, address).await.map(Self::new)
    }

    /// The token must be meant for this audience (`aud`), or one of several. Without any, tokens
    /// that name an audience are refused: they are meant for somebody else.
    #[must_use]
    pub fn audience(mut self, audience: impl Into<String>) -> Self {
        self.audiences.push(audience.into());
        self
    }

    /// The token must be from this issuer (`iss`), or one of several.
    #[must_use]
    pub fn issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuers.push(issuer.into());
        self
    }

    /// The claim that is the user's name, a string or a whole number. Default `sub`.
    #[must_use]
    pub fn user_claim(mut self, claim: impl Into<String>) -> Self {
        self.user_claim = claim.into();
        self
    }

    /// How far the clocks of signer and server may be apart. Default 10 s.
    #[must_use]
    pub fn leeway(mut self, leeway: Duration) -> Self {
        self.leeway = leeway;
        self
    }

    async fn check(&self, token: &str) -> Result<Identity, Refusal> {
        let header =
            decode_header(token).map_err(|error| Refusal::Bad(format!("its header: {error}")))?;
        let keys = self.source.keys().await;
        let refused = match self.check_by(&keys, token, &header) {
            Err(refusal @ (Refusal::UnknownKey(_) | Refusal::BadSignature)) => refusal,
            checked => return checked,
        };
        // The key may have come since the keys were read.
        match self.source.others_than(&keys).await {
            Others::New(keys) => self.check_by(&keys, token, &header),
            Others::None => Err(Refusal::Bad(refused.to_string())),
            Others::NotNow => Err(refused),
        }
    }

    fn check_by(&self, keys: &KeySet, token: &str, header: &Header) -> Result<Identity, Refusal> {
        let Some(keys) = keys.find(header.kid.as_deref(), header.alg) else {
            return Err(Refusal::UnknownKey(header.kid.clone().unwrap_or_default()));
        };
        if keys.is_empty() {
            return Err(Refusal::Bad(format!("no key here is for its `alg`, {:?}", header.alg)));
        }
        for key in keys {
            let mut validation = self.validation();
            validation.algorithms.clone_from(&key.algorithms);
            match decode::<Map<String, Value>>(token, &key.key, &validation) {
                Ok(data) => return self.identify(&data.claims).map_err(Refusal::Bad),
                Err(error) if *error.kind() == ErrorKind::InvalidSignature => {}
                Err(error) => return Err(Refusal::Bad(error.to_string())),
            }
        }
        Err(Refusal::BadSignature)
    }

    fn validation(&self) -> Validation {
        let leeway = self.leeway.as_secs();
        let mut validation = Validation { leeway, validate_nbf: true, ..Validation::default() };
        if !self.audiences.is_empty() {
            validation.set_audience(&self.audiences);
            validation.required_spec_claims.insert("aud".into());
        }
        if !self.issuers.is_empty() {
            validation.set_issuer(&self.issuers);
            validation.required_spec_claims.insert("iss".into());
        }
        validation
    }

    fn identify(&self, claims: &Map<String, Value>) -> Result<Identity, String> {
        let claim = &self.user_claim;
        let user = match claims.get(claim) {
            Some(Value::String(name)) => name.clone(),
            Some(Value::Number(number)) if !number.is_f64() => number.to_string(),
            Some(_) => {
                return Err(format!("its claim `{claim}` is neither text nor a whole number"));
            }
            None => return Err(format!("it has no claim `{claim}`, which is to name the user")),
        };
        let ends = claims.get("exp").and_then(Value::as_f64).unwrap_or_default();
        let left = ends + self.leeway.as_secs() as f64 - get_current_timestamp() as f64;
        // A token that ends in a year's time is none that ends.
        let left = Duration::from_secs_f64(left.clamp(0.0, 366.0 * 86_400.0));
        Ok(Identity::new(user).valid_for(left))
    }
}

impl Authenticate for JwtAuth {
    async fn authenticate(&self, token: Token) -> Result<Identity, AuthError> {
        self.check(token.as_str()).await.map_err(|refusal| match refusal {
            // Keys are looked for at a bounded rate; whoever comes with a new one is to come again.
            Refusal::UnknownKey(_) => AuthError::check_failed(refusal),
            _ => {
                debug!(%refusal, "a token was not believed");
                AuthError::BadToken
            }
        })
    }
}

/// Why a token is not believed.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error("{0}")]
    Bad(String),
    #[error("it is signed by none of the keys")]
    BadSignature,
    #[error("no key has its `kid`, {0:?}, and it can't be looked for others just now")]
    UnknownKey(String),
}
