//! The demo's backend over real sockets, spoken to in plain HTTP.

use std::net::SocketAddr;
use std::time::Duration;

use greendot_engine::server::{DevAuth, Limits, Presence, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

#[expect(clippy::disallowed_methods, reason = "the server runs beside the test")]
async fn start() -> (SocketAddr, watch::Sender<()>) {
    let (stop, stopped) = watch::channel(());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let presence = Presence::builder(DevAuth).settings(super::settings()).build().unwrap();
    let app = super::api(presence, stopped);
    tokio::spawn(serve(listener, app, Limits::default()));
    (addr, stop)
}

/// Sends a request and returns the stream with the answer in it.
async fn ask(addr: SocketAddr, head: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    let text = format!(
        "{head} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

async fn answer(addr: SocketAddr, head: &str, body: &str) -> String {
    let mut text = String::new();
    ask(addr, head, body).await.read_to_string(&mut text).await.unwrap();
    text
}

async fn read_until(stream: &mut TcpStream, wanted: &str) -> String {
    let mut text = Vec::new();
    let reading = async {
        let mut bytes = [0; 1024];
        while !String::from_utf8_lossy(&text).contains(wanted) {
            let read = stream.read(&mut bytes).await.unwrap();
            assert!(read > 0, "it ended without {wanted}: {}", String::from_utf8_lossy(&text));
            text.extend_from_slice(&bytes[..read]);
        }
    };
    tokio::time::timeout(Duration::from_secs(20), reading).await.unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn open_pages_have_time_to_come_back_before_anybody_is_called_offline() {
    assert_eq!(super::settings().doubt(), None);
}

#[tokio::test]
async fn a_port_in_use_is_named_with_the_next_step() {
    let taken = super::listen([127, 0, 0, 1].into(), 0).await.unwrap();
    let port = taken.local_addr().unwrap().port();
    let refused = super::listen([127, 0, 0, 1].into(), port).await.unwrap_err();
    assert!(refused.contains(&port.to_string()) && refused.contains("--port"), "{refused}");
}

#[test]
fn a_folder_without_the_page_is_refused() {
    let refused = super::check_assets("/no/such/folder".as_ref()).unwrap_err();
    assert!(refused.contains("/no/such/folder") && refused.contains("xtask demo"), "{refused}");
}

#[tokio::test]
async fn contacts_are_all_the_others() {
    let (addr, _stop) = start().await;
    let text = answer(addr, "GET /api/contacts?user=cy", "").await;
    assert!(text.ends_with(r#"["ana","bo","dee","eli"]"#), "{text}");
    let text = answer(addr, "GET /api/contacts?user=zed", "").await;
    assert!(text.starts_with("HTTP/1.1 400"), "{text}");
}

#[tokio::test]
async fn a_message_reaches_both_and_nobody_else() {
    let (addr, stop) = start().await;
    let mut streams = Vec::new();
    for user in ["ana", "bo", "cy"] {
        let mut stream = ask(addr, &format!("GET /api/messages?user={user}"), "").await;
        // The answer's head is there, so the stream listens.
        read_until(&mut stream, "\r\n\r\n").await;
        streams.push(stream);
    }
    let said = r#"{"from":"ana","to":"bo","text":"hello, bo"}"#;
    let text = answer(addr, "POST /api/messages", said).await;
    assert!(text.starts_with("HTTP/1.1 204"), "{text}");
    for stream in &mut streams[..2] {
        let text = read_until(stream, "\n\n").await;
        assert!(
            text.contains(r#"data: {"from":"ana","to":"bo","text":"hello, bo","at":"#),
            "{text}"
        );
    }
    // cy's stream ends, when the server stops, without a word of it.
    drop(stop);
    let mut text = String::new();
    streams[2].read_to_string(&mut text).await.unwrap();
    assert!(!text.contains("hello"), "{text}");
}

#[tokio::test]
async fn a_line_that_broke_is_told_what_it_missed() {
    let (addr, _stop) = start().await;
    let say = async |text: &str| {
        let said = format!(r#"{{"from":"ana","to":"bo","text":"{text}"}}"#);
        answer(addr, "POST /api/messages", &said).await;
    };
    let mut stream = ask(addr, "GET /api/messages?user=bo", "").await;
    read_until(&mut stream, "\r\n\r\n").await;
    say("first").await;
    let text = read_until(&mut stream, "\n\n").await;
    let id = text.lines().find_map(|it| it.strip_prefix("id: ")).unwrap().to_owned();
    drop(stream);
    say("second").await;
    let head = format!("GET /api/messages?user=bo HTTP/1.1\r\nlast-event-id: {id}\r\nx: ");
    let mut stream = ask(addr, &head, "").await;
    let text = read_until(&mut stream, "\n\n").await;
    assert!(text.contains("second") && !text.contains("first"), "{text}");
}

#[tokio::test]
async fn what_nobody_should_say_is_refused() {
    let (addr, _stop) = start().await;
    let long = "x".repeat(5_000);
    for (said, status) in [
        (r#"{"from":"ana","to":"zed","text":"hi"}"#.to_owned(), "400"),
        (r#"{"from":"ana","to":"bo","text":"  "}"#.to_owned(), "400"),
        (format!(r#"{{"from":"ana","to":"bo","text":"{long}"}}"#), "400"),
        (format!(r#"{{"from":"ana","to":"bo","text":"{long}{long}{long}{long}"}}"#), "413"),
        ("{".to_owned(), "400"),
        (r#"{"from":"ana"}"#.to_owned(), "422"),
    ] {
        let text = answer(addr, "POST /api/messages", &said).await;
        assert!(text.starts_with(&format!("HTTP/1.1 {status}")), "{text}");
    }
}

#[tokio::test]
async fn privacy_choices_are_remembered_by_person() {
    let (addr, _stop) = start().await;
    let shown = async |user: &str| {
        let text = answer(addr, &format!("GET /api/privacy?user={user}"), "").await;
        text.split("\r\n\r\n").nth(1).unwrap().to_owned()
    };
    let hide = async |hidden: bool| {
        let said = format!(r#"{{"user":"ana","from":"bo","hidden":{hidden}}}"#);
        answer(addr, "POST /api/privacy/hide", &said).await
    };
    assert_eq!(shown("ana").await, r#"{"lastSeen":"exact","hiddenFrom":[]}"#);
    let text = hide(true).await;
    assert!(text.ends_with(r#"{"lastSeen":"exact","hiddenFrom":["bo"]}"#), "{text}");
    let said = r#"{"user":"ana","lastSeen":"words"}"#;
    answer(addr, "POST /api/privacy/last-seen", said).await;
    assert_eq!(shown("ana").await, r#"{"lastSeen":"words","hiddenFrom":["bo"]}"#);
    assert_eq!(shown("bo").await, r#"{"lastSeen":"exact","hiddenFrom":[]}"#);
    hide(false).await;
    assert_eq!(shown("ana").await, r#"{"lastSeen":"words","hiddenFrom":[]}"#);
    for (path, said) in [
        ("hide", r#"{"user":"ana","from":"ana","hidden":true}"#),
        ("hide", r#"{"user":"ana","from":"zed","hidden":true}"#),
        ("last-seen", r#"{"user":"zed","lastSeen":"exact"}"#),
    ] {
        let text = answer(addr, &format!("POST /api/privacy/{path}"), said).await;
        assert!(text.starts_with("HTTP/1.1 400"), "{text}");
    }
    let said = r#"{"user":"ana","lastSeen":"sometimes"}"#;
    let text = answer(addr, "POST /api/privacy/last-seen", said).await;
    assert!(text.starts_with("HTTP/1.1 422"), "{text}");
}
