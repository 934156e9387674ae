//! Signed tokens: who is believed, and who is not.
//!
//! The keys in `keys/` are for these tests alone; whoever reads this has them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use greendot_engine::core::Start;
use greendot_engine::protocol::{CloseCode, Span, State};
use greendot_engine::server::{JwtAuth, KeysError, Presence, no_delay};
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode, get_current_timestamp};
use serde_json::{Value, json};

use crate::common::{Heard, Server, quick, spawn};

fn key_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/server/keys").join(name)
}

fn text(name: &str) -> String {
    std::fs::read_to_string(key_file(name)).unwrap()
}

/// A file of a test's own.
fn scratch(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn signer(name: &str) -> (Algorithm, EncodingKey) {
    let pem = text(name);
    let pem = pem.as_bytes();
    match name {
        "rsa.pem" => (Algorithm::RS256, EncodingKey::from_rsa_pem(pem).unwrap()),
        "ec.pem" => (Algorithm::ES256, EncodingKey::from_ec_pem(pem).unwrap()),
        _ => (Algorithm::EdDSA, EncodingKey::from_ed_pem(pem).unwrap()),
    }
}

fn sign(key: &str, claims: &Value) -> String {
    sign_as(key, None, claims)
}

fn sign_as(key: &str, id: Option<&str>, claims: &Value) -> String {
    let (algorithm, key) = signer(key);
    let header = Header { kid: id.map(Into::into), ..Header::new(algorithm) };
    encode(&header, claims, &key).unwrap()
}

/// So many seconds from now.
fn ahead(secs: i64) -> i64 {
    get_current_timestamp() as i64 + secs
}

fn bo() -> Value {
    json!({ "sub": "bo", "exp": ahead(3600) })
}

async fn serve(auth: JwtAuth) -> Server {
    Server::start(Presence::builder(auth).settings(quick()).start(Start::Fresh)).await
}

/// How long the token was said to last; none if it was not believed.
async fn shown(server: &Server, token: &str) -> Result<Span, u16> {
    let mut client = server.open().await;
    client.hello(token, "1").await;
    match client.hear().await {
        Heard::Welcome(welcome) => Ok(welcome.token),
        Heard::Closed(code, _) => Err(code),
        other => panic!("{other:?}"),
    }
}

const BAD: Result<Span, u16> = Err(CloseCode::BadToken.number());

/// Shows it again and again until it is believed, as a client does after a while.
async fn in_the_end(server: &Server, token: &str) {
    while shown(server, token).await.is_err() {}
}

#[tokio::test]
async fn each_kind_of_key_lets_in_whom_its_owner_signs_for() {
    for kind in ["rsa", "ec", "ed"] {
        let auth = JwtAuth::key_file(key_file(&format!("{kind}.pub.pem"))).unwrap();
        let server = serve(auth).await;
        let _bo = server.connect(&sign(&format!("{kind}.pem"), &bo()), "1").await;
        assert_eq!(server.presence.state("bo").await.state, State::Online, "{kind}");
        let forged = sign(if kind == "ed" { "other.pem" } else { "ed.pem" }, &bo());
        assert_eq!(shown(&server, &forged).await, BAD, "{kind}");
    }
}

#[tokio::test]
async fn a_connection_lasts_as_long_as_its_token() {
    let auth = JwtAuth::key_file(key_file("ed.pub.pem")).unwrap();
    let server = serve(auth).await;
    let lasts = shown(&server, &sign("ed.pem", &bo())).await.unwrap();
    assert!(lasts > Span::from_secs(3590) && lasts <= Span::from_secs(3610), "{lasts:?}");
    // A little over, as clocks may differ; more is over.
    let late = json!({ "sub": "bo", "exp": ahead(-3) });
    let lasts = shown(&server, &sign("ed.pem", &late)).await.unwrap();
    assert!(lasts <= Span::from_secs(7), "{lasts:?}");
}

#[tokio::test]
async fn what_is_not_right_is_not_believed() {
    let auth = JwtAuth::key_file(key_file("rsa.pub.pem")).unwrap();
    let server = serve(auth.audience("chat").audience("mail").issuer("us")).await;
    let claims = |change: &dyn Fn(&mut Value)| {
        let mut claims = json!({ "sub": "bo", "exp": ahead(60), "aud": "chat", "iss": "us" });
        change(&mut claims);
        sign("rsa.pem", &claims)
    };
    let good = claims(&|_| {});
    assert!(shown(&server, &good).await.is_ok());
    let second = claims(&|it| it["aud"] = json!(["mail", "other"]));
    assert!(shown(&server, &second).await.is_ok());

    let remove =
        |name: &'static str| claims(&move |it| _ = it.as_object_mut().unwrap().remove(name));
    let parts: Vec<_> = good.split('.').collect();
    let public = text("rsa.pub.pem");
    let body = json!({ "sub": "bo", "exp": ahead(60), "aud": "chat", "iss": "us" });
    let by_secret = |secret: &[u8]| {
        let key = EncodingKey::from_secret(secret).unwrap();
        encode(&Header::new(Algorithm::HS256), &body, &key).unwrap()
    };
    for (what, token) in [
        ("over", claims(&|it| it["exp"] = json!(ahead(-60)))),
        ("not yet", claims(&|it| it["nbf"] = json!(ahead(600)))),
        ("no end", remove("exp")),
        ("another audience", claims(&|it| it["aud"] = json!("bank"))),
        ("no audience", remove("aud")),
        ("another issuer", claims(&|it| it["iss"] = json!("them"))),
        ("no issuer", remove("iss")),
        ("no user", remove("sub")),
        ("a user that is no text", claims(&|it| it["sub"] = json!(["bo"]))),
        ("a user without a name", claims(&|it| it["sub"] = json!(""))),
        ("a user with too long a name", claims(&|it| it["sub"] = json!("b".repeat(129)))),
        ("another key", sign("ed.pem", &body)),
        ("the public key as a secret", by_secret(public.as_bytes())),
        ("the public key as a secret, trimmed", by_secret(public.trim().as_bytes())),
        // {"alg":"none"}
        ("no algorithm", format!("eyJhbGciOiJub25lIn0.{}.", parts[1])),
        ("no signature", format!("{}.{}.", parts[0], parts[1])),
        ("another's words", format!("{}.{}.{}", parts[0], remove("x").replace('.', ""), parts[2])),
        ("garbage", "bo".into()),
        ("dots", "..".into()),
        ("four parts", format!("{good}.x")),
        ("much garbage", "a.".repeat(4000)),
    ] {
        assert_eq!(shown(&server, &token).await, BAD, "{what}");
    }
}

#[tokio::test]
async fn a_token_that_is_meant_for_somebody_is_not_for_a_server_without_a_name() {
    let server = serve(JwtAuth::key_file(key_file("ed.pub.pem")).unwrap()).await;
    let claims = json!({ "sub": "bo", "exp": ahead(60), "aud": "bank" });
    assert_eq!(shown(&server, &sign("ed.pem", &claims)).await, BAD);
}

#[tokio::test]
async fn the_user_is_in_the_claim_that_was_named() {
    let auth = JwtAuth::key_file(key_file("ed.pub.pem")).unwrap();
    let server = serve(auth.user_claim("uid")).await;
    let claims = json!({ "sub": "other", "uid": 17, "exp": ahead(60) });
    let _client = server.connect(&sign("ed.pem", &claims), "1").await;
    assert_eq!(server.presence.state("17").await.state, State::Online);
    assert_eq!(shown(&server, &sign("ed.pem", &bo())).await, BAD);
}

#[tokio::test]
async fn a_secret_works_by_its_own_algorithms_alone() {
    let secret = "0123456789abcdef0123456789abcdef";
    let file = scratch("secret.txt", &format!("{secret}\n"));
    let server = serve(JwtAuth::secret_file(file).unwrap()).await;
    let key = EncodingKey::from_secret(secret.as_bytes()).unwrap();
    let token = encode(&Header::new(Algorithm::HS256), &bo(), &key).unwrap();
    assert!(shown(&server, &token).await.is_ok());
    assert_eq!(shown(&server, &sign("ed.pem", &bo())).await, BAD);
}

#[tokio::test]
async fn a_key_file_is_read_again_when_it_changes_and_one_that_is_broken_changes_nothing() {
    let file = scratch("rotated.pem", &text("ed.pub.pem"));
    let server = serve(JwtAuth::key_file(&file).unwrap()).await;
    let (old, new) = (sign("ed.pem", &bo()), sign("other.pem", &bo()));
    assert!(shown(&server, &old).await.is_ok());
    assert_eq!(shown(&server, &new).await, BAD);
    // Both, while one follows the other.
    std::fs::write(&file, format!("{}{}", text("ed.pub.pem"), text("other.pub.pem"))).unwrap();
    in_the_end(&server, &new).await;
    assert!(shown(&server, &old).await.is_ok());
    std::fs::write(&file, text("other.pub.pem")).unwrap();
    while shown(&server, &old).await.is_ok() {}
    std::fs::write(&file, "gone wrong").unwrap();
    for _ in 0..3 {
        assert_eq!(shown(&server, &old).await, BAD);
        assert!(shown(&server, &new).await.is_ok());
    }
}

/// A key set of these keys under these names.
fn set(keys: &[(&str, &str)]) -> String {
    let all: Vec<_> = keys
        .iter()
        .map(|(id, name)| {
            let (algorithm, key) = signer(name);
            let mut jwk = Jwk::from_encoding_key(&key, algorithm).unwrap();
            jwk.common.key_id = Some((*id).into());
            json!(jwk)
        })
        .collect();
    json!({ "keys": all }).to_string()
}

#[tokio::test]
async fn a_key_set_finds_the_key_by_its_name_and_is_read_again_for_one_it_lacks() {
    let file = scratch("set.json", &set(&[("k1", "ec.pem")]));
    let server = serve(JwtAuth::key_set_file(&file).unwrap()).await;
    assert!(shown(&server, &sign_as("ec.pem", Some("k1"), &bo())).await.is_ok());
    assert!(shown(&server, &sign_as("ec.pem", None, &bo())).await.is_ok());
    assert!(shown(&server, &sign_as("rsa.pem", Some("k1"), &bo())).await.is_err());
    std::fs::write(&file, set(&[("k2", "rsa.pem")])).unwrap();
    in_the_end(&server, &sign_as("rsa.pem", Some("k2"), &bo())).await;
    assert!(shown(&server, &sign_as("ec.pem", Some("k1"), &bo())).await.is_err());
    assert!(shown(&server, &sign_as("ec.pem", Some("k2"), &bo())).await.is_err());
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "how often it is asked depends on how long it takes")]
async fn a_key_set_at_an_address_is_not_asked_for_by_each_token() {
    let asked = Arc::<AtomicUsize>::default();
    let down = Arc::<AtomicBool>::default();
    let (count, is_down) = (Arc::clone(&asked), Arc::clone(&down));
    let answer = move || {
        count.fetch_add(1, Ordering::Relaxed);
        let down = is_down.load(Ordering::Relaxed);
        async move { if down { Err("down") } else { Ok(set(&[("k1", "ec.pem")])) } }
    };
    let app = axum::Router::new().route("/jwks", axum::routing::get(answer));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    spawn(async move { axum::serve(no_delay(listener), app).await.unwrap() });

    let at = |path: &str| format!("http://{address}{path}").parse().unwrap();
    let missing = JwtAuth::key_set_at(at("/other")).await.unwrap_err().to_string();
    assert!(missing.contains("/other") && missing.contains("404"), "{missing}");
    let began = std::time::SystemTime::now();
    let server = serve(JwtAuth::key_set_at(at("/jwks")).await.unwrap()).await;
    let good = sign_as("ec.pem", Some("k1"), &bo());
    assert!(shown(&server, &good).await.is_ok());
    down.store(true, Ordering::Relaxed);
    for _ in 0..20 {
        // Whoever has a key that may just have come is to come again.
        let unknown = sign_as("ec.pem", Some("k2"), &bo());
        assert_eq!(shown(&server, &unknown).await, Err(CloseCode::CheckFailed.number()));
    }
    assert!(shown(&server, &good).await.is_ok());
    // At the start, and every 10 s while some want another key.
    let most = 2 + began.elapsed().unwrap().as_secs() as usize / 10;
    assert!(asked.load(Ordering::Relaxed) <= most, "{asked:?}");
}

#[tokio::test]
async fn files_that_cannot_work_are_refused_by_name_and_with_the_next_step() {
    let refused = |read: Result<JwtAuth, KeysError>| read.unwrap_err().to_string();
    let file = |name: &str, text: &str| scratch(name, text);
    for (what, said, wanted) in [
        ("no file", refused(JwtAuth::key_file("/nowhere/key.pem")), "/nowhere/key.pem"),
        ("private", refused(JwtAuth::key_file(key_file("rsa.pem"))), "-pubout"),
        ("short", refused(JwtAuth::key_file(key_file("short.pub.pem"))), "2048"),
        ("no PEM", refused(JwtAuth::key_file(file("a.pem", "secret"))), "--jwt-secret"),
        (
            "certificate",
            refused(JwtAuth::key_file(file("b.pem", "-----BEGIN CERTIFICATE-----"))),
            "x509",
        ),
        ("short secret", refused(JwtAuth::secret_file(file("c", "hunter2\n"))), "openssl rand"),
        ("PEM as secret", refused(JwtAuth::secret_file(key_file("ed.pub.pem"))), "--jwt-key"),
        ("no set", refused(JwtAuth::key_set_file(file("d.json", "[]"))), "`keys`"),
        (
            "empty set",
            refused(JwtAuth::key_set_file(file("e.json", r#"{"keys":[]}"#))),
            "none of its keys",
        ),
        (
            "secret in a set",
            refused(JwtAuth::key_set_file(file(
                "f.json",
                r#"{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}"#,
            ))),
            "none of its keys",
        ),
        (
            "TLS",
            refused(JwtAuth::key_set_at("https://id.example/jwks".parse().unwrap()).await),
            "curl",
        ),
        (
            "nobody there",
            refused(JwtAuth::key_set_at("http://127.0.0.1:1/jwks".parse().unwrap()).await),
            "reached",
        ),
    ] {
        assert!(said.contains(wanted), "{what}: {said}");
    }
}
