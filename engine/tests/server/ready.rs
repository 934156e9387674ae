//! The ready server as a program: an audience behind an address, the application's side, and tokens that end.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::extract::State as Extract;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use greendot_engine::protocol::{ClientFrame, CloseCode, ErrorCode, State};
use jsonwebtoken::{EncodingKey, Header, encode, get_current_timestamp};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::common::{Client, Heard, Row, exchange, spawn, until};

/// The program, until this is dropped.
struct Ready {
    child: Child,
    addr: SocketAddr,
    control: Option<SocketAddr>,
    metrics: Option<SocketAddr>,
    log: Arc<Mutex<String>>,
}

impl Drop for Ready {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ready {
    fn start(args: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_greendot-server"))
            .args(["--listen", "127.0.0.1:0", "--warmup", "0"])
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program is built with its tests");
        let log = Arc::new(Mutex::new(String::new()));
        let errors = BufReader::new(child.stderr.take().expect("piped")).lines();
        let written = Arc::clone(&log);
        aside(move || {
            for line in errors.map_while(Result::ok) {
                written.lock().expect("not poisoned").push_str(&(line + "\n"));
            }
        });
        let mut said = BufReader::new(child.stdout.take().expect("piped")).lines();
        let mut addresses = Vec::new();
        for wanted in ["", "", "--metrics", "--control"] {
            if !wanted.is_empty() && !args.contains(&wanted) {
                addresses.push(None);
                continue;
            }
            let line = said.next().expect("it says where it listens").expect("text");
            let address = line.split_once("//").map_or("", |it| it.1).split('/').next();
            addresses.push(Some(address.expect("an address").parse().expect("an address")));
        }
        let addr = addresses[0].expect("it listens");
        Self { child, addr, metrics: addresses[2], control: addresses[3], log }
    }

    async fn connect(&self, token: &str, session: &str) -> Client {
        let mut client = Client::open(self.addr).await;
        client.hello(token, session).await;
        assert!(matches!(client.hear().await, Heard::Welcome(_)));
        client
    }

    /// Asks the application's side; status and text.
    async fn control(&self, path: &str, secret: &str, body: &Value) -> (u16, String) {
        let headers = format!("authorization: Bearer {secret}\r\n");
        let at = self.control.expect("it was asked for");
        let method = if body.is_null() { "GET" } else { "POST" };
        let answer = exchange(at, method, path, &headers, &body.to_string()).await;
        let (head, body) = answer.split_once("\r\n\r\n").expect("an answer");
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    /// A metric's value.
    async fn metric(&self, name: &str) -> f64 {
        let at = self.metrics.expect("they were asked for");
        let answer = exchange(at, "GET", "/metrics", "", "").await;
        let line = answer.lines().find_map(|it| it.strip_prefix(name)).expect("it is told");
        line.trim().parse().expect("a number")
    }

    fn log(&self) -> String {
        self.log.lock().expect("not poisoned").clone()
    }
}

#[expect(clippy::disallowed_methods, reason = "the program's log is read while it runs")]
fn aside(work: impl FnOnce() + Send + 'static) {
    std::thread::spawn(work);
}

/// A file of a test's own.
fn scratch(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// An application that lets whom it is told to see, and may be sick.
#[derive(Default)]
struct App {
    /// Users who are shown, and the rooms that are open.
    shown: Mutex<Vec<&'static str>>,
    sickness: AtomicU8,
    questions: AtomicUsize,
    pairs: AtomicUsize,
}

const WELL: u8 = 0;
const REFUSES: u8 = 1;
const BABBLES: u8 = 2;
const ANSWERS_SHORT: u8 = 3;
const HANGS: u8 = 4;

const SECRET: &str = "a secret of the two alone";

async fn answer(Extract(app): Extract<Arc<App>>, headers: HeaderMap, body: String) -> Response {
    app.questions.fetch_add(1, Ordering::Relaxed);
    assert_eq!(headers["authorization"], format!("Bearer {SECRET}"));
    match app.sickness.load(Ordering::Relaxed) {
        REFUSES => return StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        BABBLES => return "<html>".into_response(),
        ANSWERS_SHORT => return r#"{"look":[],"join":[]}"#.into_response(),
        HANGS => std::future::pending::<()>().await,
        _ => {}
    }
    let asked: Value = serde_json::from_str(&body).expect("JSON");
    let shown = app.shown.lock().unwrap().clone();
    let list = |name: &str| asked[name].as_array().expect("a list").clone();
    let may = |it: &Value| shown.iter().any(|name| it == name);
    app.pairs.fetch_add(list("look").len(), Ordering::Relaxed);
    let word = |it: &Value| if may(&it["user"]) { "live" } else { "nothing" };
    let words: Vec<_> = list("look").iter().map(word).collect();
    let joins: Vec<_> = list("join").iter().map(|it| may(&it["room"])).collect();
    json!({ "look": words, "join": joins }).to_string().into_response()
}

impl App {
    /// Serves it; the address to ask at.
    async fn serve(self: &Arc<Self>) -> String {
        let app = axum::Router::new().route("/may-see", post(answer)).with_state(Arc::clone(self));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        spawn(async move { axum::serve(listener, app).await.expect("serves") });
        format!("http://{address}/may-see")
    }

    fn show(&self, names: &[&'static str]) {
        *self.shown.lock().unwrap() = names.to_vec();
    }

    fn is(&self, sickness: u8) {
        self.sickness.store(sickness, Ordering::Relaxed);
    }

    fn questions(&self) -> usize {
        self.questions.load(Ordering::Relaxed)
    }
}

#[tokio::test]
async fn an_application_behind_an_address_says_who_may_see_whom() {
    let app = Arc::new(App::default());
    app.show(&["bo", "page"]);
    let secret = scratch("audience.secret", &format!("{SECRET}\n"));
    let (url, secret) = (app.serve().await, secret.display().to_string());
    let asks = ["--dev", "--audience-url", &url, "--audience-secret", &secret];
    let ready = Ready::start(&[&asks[..], &["--control", "127.0.0.1:0"]].concat());
    let _bo = ready.connect("bo", "1").await;
    let _cy = ready.connect("cy", "1").await;
    let mut ana = ready.connect("ana", "1").await;
    assert_eq!(ana.watch(&["bo", "cy"]).await, [Row::of(1, State::Online)]);
    assert_eq!((app.questions(), app.pairs.load(Ordering::Relaxed)), (1, 2), "one question of two");
    // What was said is kept: nothing is asked again.
    let mut again = ready.connect("ana", "2").await;
    assert_eq!(again.watch(&["cy", "bo"]).await, [Row::of(2, State::Online)]);
    assert_eq!(app.questions(), 1);
    ana.send(&ClientFrame::Join { number: 1, room: "page" }).await;
    assert_eq!(ana.hear().await, Heard::Room(1, vec!["ana".into()]));
    ana.send(&ClientFrame::Join { number: 2, room: "vault" }).await;
    assert!(matches!(ana.hear().await, Heard::Error(ErrorCode::NotAllowed, 2, _)));
    // It takes effect at once, where it was said what has changed.
    app.show(&["cy"]);
    let (status, _) = ready.control("/audience-changed", "", &json!({ "viewer": "ana" })).await;
    assert_eq!(status, 204);
    let mut heard = [ana.hear().await, ana.hear().await, ana.hear().await];
    heard.sort_by_key(|it| format!("{it:?}"));
    let [error, events, room] = heard;
    assert!(matches!(error, Heard::Error(ErrorCode::NotAllowed, 1, _)), "{error:?}");
    assert_eq!(room, Heard::Room(1, vec![]));
    let rows = vec![Row::of(1, State::Offline).seen(), Row::of(2, State::Online)];
    assert_eq!(events, Heard::Events(rows));
}

#[tokio::test]
async fn a_sick_application_shows_nothing_is_told_of_and_heals() {
    // Only who never answers is not to be waited for: others may be slow because the machine is.
    for (sickness, timeout, why) in [
        (REFUSES, "30", "the answer is 500"),
        (BABBLES, "30", "no JSON object"),
        (ANSWERS_SHORT, "30", "0 answers to 1 questions"),
        (HANGS, "0.2", "no answer within 200ms"),
    ] {
        let app = Arc::new(App::default());
        app.show(&["bo", "page"]);
        app.is(sickness);
        let url = app.serve().await;
        let secret = scratch(&format!("sick{sickness}.secret"), SECRET).display().to_string();
        let mut args = vec!["--dev", "--audience-url", &url, "--audience-secret", &secret];
        args.extend(["--audience-timeout", timeout, "--control", "127.0.0.1:0"]);
        args.extend(["--metrics", "127.0.0.1:0"]);
        let ready = Ready::start(&args);
        let _bo = ready.connect("bo", "1").await;
        let mut ana = ready.connect("ana", "1").await;
        assert_eq!(ana.watch(&["bo"]).await, []);
        ana.send(&ClientFrame::Join { number: 1, room: "page" }).await;
        ana.beat(1).await;
        until(|| ready.log().contains(why)).await;
        let (_, counts) = ready.control("/audience", "", &Value::Null).await;
        let counts: Value = serde_json::from_str(&counts).expect("JSON");
        assert!(counts["failures"].as_u64() >= Some(1), "{counts}");
        // The join has its failures as the look has, and neither is given up.
        while ready.metric("greendot_join_failures_total").await == 0.0 {
            ana.beat(2).await;
        }
        assert!(ready.metric("greendot_look_failures_total").await >= 1.0);
        assert_eq!(ready.metric("greendot_joins_waiting").await, 1.0);
        app.is(WELL);
        let mut heard = [ana.hear().await, ana.hear().await];
        heard.sort_by_key(|it| format!("{it:?}"));
        let room = Heard::Room(1, vec!["ana".into()]);
        assert_eq!(heard, [Heard::Events(vec![Row::of(1, State::Online)]), room]);
        until(|| ready.log().contains("answers again")).await;
        assert_eq!(ready.metric("greendot_joins_waiting").await, 0.0);
    }
}

#[tokio::test]
async fn who_comes_at_once_is_asked_about_in_a_few_questions() {
    let app = Arc::new(App::default());
    let url = app.serve().await;
    let secret = scratch("many.secret", SECRET).display().to_string();
    let ready = Ready::start(&["--dev", "--audience-url", &url, "--audience-secret", &secret]);
    let mut clients = Vec::new();
    for it in 0..200 {
        clients.push(ready.connect(&format!("u{it}"), "1").await);
    }
    let users = vec![greendot_engine::protocol::WatchItem { number: 1, user: "bo" }];
    for client in &mut clients {
        client.send(&ClientFrame::Watch { request: 1, users: users.clone() }).await;
    }
    for client in &mut clients {
        assert_eq!(client.hear().await, Heard::Snapshot(1, vec![]));
    }
    assert_eq!(app.pairs.load(Ordering::Relaxed), 200);
    assert!(app.questions() < 200, "{} questions", app.questions());
}

#[tokio::test]
async fn the_application_says_what_has_changed_and_is_told_what_it_said_wrong() {
    let secret = "0123456789abcdef";
    let file = scratch("control.secret", secret).display().to_string();
    let args = ["--dev", "--control", "127.0.0.1:0", "--control-secret", &file];
    let ready = Ready::start(&args);
    let mut bo = ready.connect("bo", "1").await;
    let mut ana = ready.connect("ana", "1").await;
    assert_eq!(ana.watch(&["bo"]).await, [Row::of(1, State::Online)]);
    let block = |blocked| json!({ "user": "bo", "viewer": "ana", "blocked": blocked });
    assert_eq!(ready.control("/block", secret, &block(true)).await.0, 204);
    assert_eq!(ana.hear_event().await, Row::of(1, State::Offline).seen());
    assert_eq!(ready.control("/block", secret, &block(false)).await.0, 204);
    assert_eq!(ana.hear_event().await, Row::of(1, State::Online));
    let bo_alone = json!({ "user": "bo" });
    assert_eq!(ready.control("/revoke", secret, &bo_alone).await.0, 204);
    bo.hear_close(CloseCode::Revoked).await;
    assert_eq!(ana.hear_event().await, Row::of(1, State::Offline).seen());
    let mut barred = Client::open(ready.addr).await;
    barred.hello("bo", "1").await;
    barred.hear_close(CloseCode::Revoked).await;
    assert_eq!(ready.control("/reinstate", secret, &bo_alone).await.0, 204);
    let mut bo = ready.connect("bo", "1").await;
    assert_eq!(ana.hear_event().await, Row::of(1, State::Online));
    let session = json!({ "user": "bo", "session": "1" });
    assert_eq!(ready.control("/end-session", secret, &session).await.0, 204);
    bo.hear_close(CloseCode::SignedOut).await;
    assert_eq!(ana.hear_event().await, Row::of(1, State::Offline).seen());
    let never = json!({ "user": "bo", "as": "never" });
    assert_eq!(ready.control("/last-seen", secret, &never).await.0, 204);
    for (path, body, says) in [
        ("/block", json!({ "user": "bo", "viewer": "ana" }), "blocked must be"),
        ("/block", json!({ "viewer": "ana", "blocked": true }), "user is missing"),
        ("/revoke", json!({ "user": 7 }), "user is 7"),
        ("/revoke", json!({ "name": "bo" }), "\"name\" is not known"),
        ("/last-seen", json!({ "user": "bo", "as": "no" }), "rounded"),
        ("/audience-changed", json!([]), "no JSON object"),
    ] {
        let (status, text) = ready.control(path, secret, &body).await;
        assert_eq!(status, 400, "{path}");
        assert!(text.contains(says), "{path}: {text}");
    }
    for wrong in ["", "0123456789abcdeX", "0123456789abcdef0"] {
        assert_eq!(ready.control("/revoke", wrong, &json!({ "user": "ana" })).await.0, 401);
    }
    ana.beat(1).await;
    // Clients have no part in it.
    let asked = exchange(ready.addr, "POST", "/revoke", "", "{}").await;
    assert!(asked.starts_with("HTTP/1.1 404"), "{asked}");
}

#[tokio::test]
async fn a_connection_lasts_as_long_as_its_token_and_goes_on_with_a_fresh_one() {
    let secret = "a secret that signer and server share";
    let file = scratch("tokens.secret", secret).display().to_string();
    let args = ["--jwt-secret", &file, "--jwt-audience", "chat", "--control", "127.0.0.1:0"];
    let ready = Ready::start(&[&args[..], &["--jwt-leeway", "0"]].concat());
    let token = |user: &str, secs: u64| {
        let claims = json!({ "sub": user, "aud": "chat", "exp": get_current_timestamp() + secs });
        let key = EncodingKey::from_secret(secret.as_bytes()).expect("a key");
        encode(&Header::default(), &claims, &key).expect("signs")
    };
    let mut ana = ready.connect(&token("ana", 3600), "1").await;
    // Time for bo to hand in a fresh one on a machine however busy.
    let mut bo = ready.connect(&token("bo", 6), "1").await;
    let mut cy = ready.connect(&token("cy", 6), "1").await;
    let watched = [Row::of(1, State::Online), Row::of(2, State::Online)];
    assert_eq!(ana.watch(&["bo", "cy"]).await, watched);
    assert_eq!(bo.watch(&["ana"]).await, [Row::of(1, State::Online)]);
    // One that is no good takes nothing from the old one; another user's ends it.
    bo.send(&ClientFrame::Token("forged")).await;
    let refused = bo.hear().await;
    assert!(matches!(refused, Heard::Error(ErrorCode::TokenRefused, 0, _)), "{refused:?}");
    let mut eve = ready.connect(&token("eve", 3600), "1").await;
    eve.send(&ClientFrame::Token(&token("ana", 3600))).await;
    eve.hear_close(CloseCode::NotAllowed).await;
    bo.send(&ClientFrame::Token(&token("bo", 3600))).await;
    assert!(matches!(bo.hear().await, Heard::Token(_)));
    cy.hear_close(CloseCode::TokenExpired).await;
    // Its watches have ended with the connection; bo's go on.
    ana.send(&ClientFrame::Idle).await;
    assert_eq!(bo.hear_event().await, Row::of(1, State::Away));
    assert_eq!(ana.hear_event().await, Row::of(2, State::Offline).seen());
    assert_eq!(ready.control("/revoke", "", &json!({ "user": "bo" })).await.0, 204);
    bo.hear_close(CloseCode::Revoked).await;
    let mut again = Client::open(ready.addr).await;
    again.hello(&token("bo", 3600), "1").await;
    again.hear_close(CloseCode::Revoked).await;
}

#[test]
fn what_cannot_work_is_refused_at_start_with_the_next_step() {
    let short = scratch("short.secret", "secret\n").display().to_string();
    for (args, says) in [
        (&["--dev", "--audience-url", "https://app.example/"][..], "only http://"),
        (&["--dev", "--audience-url", "app.example"], "only http://"),
        (&["--dev", "--control", "127.0.0.1:0", "--control-secret", &short], "at least 16"),
        (&["--dev", "--control", "127.0.0.1:0", "--control-secret", "/nowhere"], "check the path"),
        (&["--dev", "--control", "0.0.0.0:1"], "--control-secret"),
    ] {
        let mut server = Command::new(env!("CARGO_BIN_EXE_greendot-server"));
        let ended = server.args(["--listen", "127.0.0.1:0"]).args(args).output().expect("starts");
        let text = String::from_utf8_lossy(&ended.stderr).replace("Only", "only");
        assert!(!ended.status.success() && text.contains(says), "{args:?}: {text}");
    }
}
