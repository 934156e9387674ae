//! Whatever a client sends: a documented error or close code, and nobody else is disturbed.

use greendot_engine::protocol::limits::{
    CLIENT_FRAME_BYTES, NOTE_BYTES, SESSION_BYTES, TOKEN_BYTES, USER_BYTES, WATCHES,
};
use greendot_engine::protocol::{ClientFrame, CloseCode, ErrorCode, State, WatchItem};
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;

use crate::common::{Client, Heard, Row, Server, builder};

/// A server with a pair that must notice nothing.
struct Scene {
    server: Server,
    ana: Client,
    bo: Client,
}

impl Scene {
    async fn set() -> Self {
        let server = Server::start(builder()).await;
        let mut ana = server.connect("ana", "1").await;
        let bo = server.connect("bo", "1").await;
        assert_eq!(ana.watch(&["bo"]).await, [Row::of(1, State::Online)]);
        Self { server, ana, bo }
    }

    /// Nothing has reached ana, and what is to reach her still does.
    async fn goes_on_undisturbed(mut self) {
        self.ana.beat(1).await;
        self.bo.send(&ClientFrame::Idle).await;
        assert_eq!(self.ana.hear_event().await, Row::of(1, State::Away));
    }

    async fn greets(&self, token: &str, session: &str, code: CloseCode) {
        let mut eve = self.server.open().await;
        eve.hello(token, session).await;
        eve.hear_close(code).await;
    }
}

#[tokio::test]
async fn garbage_is_a_bad_frame() {
    let scene = Scene::set().await;
    let mut eve = scene.server.open().await;
    eve.send_bytes(vec![0xff; 64]).await;
    // An unknown kind, so it might be a later version's; this one is cut short.
    eve.send_bytes(vec![1, 0, 200]).await;
    eve.hear_close(CloseCode::BadFrame).await;

    let mut eve = scene.server.connect("eve", "1").await;
    eve.send_bytes(vec![3, 1, 255, 255, 255, 255, 15]).await;
    eve.hear_close(CloseCode::BadFrame).await;
    scene.goes_on_undisturbed().await;
}

#[tokio::test]
async fn an_empty_frame_is_a_bad_frame() {
    let scene = Scene::set().await;
    let mut eve = scene.server.connect("eve", "1").await;
    eve.send_bytes(Vec::new()).await;
    eve.hear_close(CloseCode::BadFrame).await;
    scene.goes_on_undisturbed().await;
}

#[tokio::test]
async fn a_text_message_is_a_bad_frame() {
    let scene = Scene::set().await;
    let mut eve = scene.server.open().await;
    eve.send_message(Message::text("{\"hello\":1}")).await;
    eve.hear_close(CloseCode::BadFrame).await;
    let mut eve = scene.server.connect("eve", "1").await;
    eve.send_message(Message::text("hello")).await;
    eve.hear_close(CloseCode::BadFrame).await;
    scene.goes_on_undisturbed().await;
}

#[tokio::test]
async fn bytes_that_are_no_websocket_message_are_a_bad_frame() {
    use tokio::io::AsyncWriteExt;
    let scene = Scene::set().await;
    let mut eve = scene.server.connect("eve", "1").await;
    eve.socket.get_mut().write_all(&[0xff; 32]).await.unwrap();
    eve.hear_close(CloseCode::BadFrame).await;
    scene.goes_on_undisturbed().await;
}

#[tokio::test]
async fn a_frame_above_the_limit_is_too_large() {
    let scene = Scene::set().await;
    for size in [CLIENT_FRAME_BYTES + 1, 4 * 1024 * 1024] {
        let mut eve = scene.server.connect("eve", "1").await;
        eve.send_bytes(vec![0; size]).await;
        eve.hear_close(CloseCode::TooLarge).await;
    }
    let mut eve = scene.server.open().await;
    eve.send_bytes(vec![0; CLIENT_FRAME_BYTES + 1]).await;
    eve.hear_close(CloseCode::TooLarge).await;
    scene.goes_on_undisturbed().await;
}

#[tokio::test]
async fn a_frame_at_the_limit_passes() {
    let server = Server::start(builder()).await;
    let mut ana = server.connect("ana", "1").await;
    ana.send_bytes(vec![250; CLIENT_FRAME_BYTES]).await;
    ana.beat(1).await;
}

#[tokio::test]
async fn a_protocol_not_spoken_here_is_a_wrong_version() {
    let scene = Scene::set().await;
    let request = scene.server.request(Some("greendot.v99.bin"));
    let (socket, response) = connect_async(request).await.expect("the upgrade is accepted");
    // A browser's script learns the code only if its own protocol comes back.
    assert_eq!(response.headers()["sec-websocket-protocol"], "greendot.v99.bin");
    let mut eve = Client::over(socket);
    eve.hear_close(CloseCode::WrongVersion).await;

    let (socket, _) = connect_async(scene.server.request(None)).await.expect("accepted, too");
    Client::over(socket).hear_close(CloseCode::WrongVersion).await;
    scene.goes_on_undisturbed().await;
}

#[tokio::test]
async fn of_several_protocols_the_one_spoken_here_is_chosen() {
    let server = Server::start(builder()).await;
    let request = server.request(Some("greendot.v99.bin, greendot.v1.bin"));
    let (_, response) = connect_async(request).await.expect("connects");
    assert_eq!(response.headers()["sec-websocket-protocol"], "greendot.v1.bin");
}

#[tokio::test]
async fn a_plain_request_is_told_to_upgrade() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let server = Server::start(builder()).await;
    let mut plain = tokio::net::TcpStream::connect(server.addr).await.unwrap();
    let request = b"GET /presence HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    plain.write_all(request).await.unwrap();
    let mut answer = String::new();
    plain.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 426 "), "{answer}");
    assert!(answer.contains("greendot.v1.bin"), "{answer}");
}

#[tokio::test]
async fn a_token_missing_too_long_or_naming_nobody_is_a_bad_token() {
    let scene = Scene::set().await;
    scene.greets("", "1", CloseCode::BadToken).await;
    scene.greets(&"t".repeat(TOKEN_BYTES + 1), "1", CloseCode::BadToken).await;
    // The development check takes the token as the name, and this name is too long.
    scene.greets(&"u".repeat(USER_BYTES + 1), "1", CloseCode::BadToken).await;
    scene.goes_on_undisturbed().await;
}

#[tokio::test]
async fn a_session_id_missing_or_too_long_is_a_bad_session() {
    let scene = Scene::set().await;
    scene.greets("eve", "", CloseCode::BadSession).await;
    scene.greets("eve", &"s".repeat(SESSION_BYTES + 1), CloseCode::BadSession).await;
    scene.goes_on_undisturbed().await;
}

#[tokio::test]
async fn names_at_their_limits_are_taken() {
    let server = Server::start(builder()).await;
    let (user, session) = ("u".repeat(USER_BYTES), "s".repeat(SESSION_BYTES));
    let mut ana = server.connect(&user, &session).await;
    assert_eq!(ana.watch(&[&user]).await, [Row::of(1, State::Online)]);
}

#[tokio::test]
async fn a_name_that_cannot_be_watched_is_an_error_and_the_connection_goes_on() {
    let mut scene = Scene::set().await;
    let long = "u".repeat(USER_BYTES + 1);
    let users = [(5, "bo"), (6, &*long), (7, "")];
    let users = users.map(|(number, user)| WatchItem { number, user }).to_vec();
    let eve = &mut scene.server.connect("eve", "1").await;
    eve.send(&ClientFrame::Watch { request: 3, users }).await;
    for number in [6, 7] {
        let Heard::Error(ErrorCode::BadUser, about, text) = eve.hear().await else {
            panic!("no error")
        };
        assert_eq!(about, number);
        assert!(text.contains("128"), "{text}");
    }
    assert_eq!(eve.hear().await, Heard::Snapshot(3, vec![Row::of(5, State::Online)]));
    scene.bo.send(&ClientFrame::Mode(greendot_engine::protocol::Mode::Busy)).await;
    assert_eq!(eve.hear_event().await, Row::of(5, State::Busy));
    assert_eq!(scene.ana.hear_event().await, Row::of(1, State::Busy));
}

#[tokio::test]
async fn an_unknown_user_is_offline() {
    let mut scene = Scene::set().await;
    assert_eq!(scene.ana.watch(&["bo", "nobody at all"]).await, [Row::of(1, State::Online)]);
    scene.goes_on_undisturbed().await;
}

#[tokio::test]
async fn one_user_too_many_is_an_error_and_the_others_are_watched() {
    let scene = Scene::set().await;
    let names: Vec<_> = (0..=WATCHES).map(|it| format!("u{it}")).collect();
    let mut eve = scene.server.connect("eve", "1").await;
    let users = (0..).zip(&names).map(|(number, user)| WatchItem { number, user }).collect();
    eve.send(&ClientFrame::Watch { request: 1, users }).await;
    let Heard::Error(ErrorCode::TooManyWatches, about, _) = eve.hear().await else {
        panic!("no error")
    };
    assert_eq!(about as usize, WATCHES);
    assert_eq!(eve.hear().await, Heard::Snapshot(1, Vec::new()));
    let _first = scene.server.connect("u0", "1").await;
    assert_eq!(eve.hear_event().await, Row::of(0, State::Online));
    scene.goes_on_undisturbed().await;
}

#[tokio::test]
async fn a_note_too_long_is_an_error_and_the_old_one_stays() {
    let mut scene = Scene::set().await;
    scene.bo.send(&ClientFrame::Note("old")).await;
    assert_eq!(scene.ana.hear_event().await.note, "old");
    scene.bo.send(&ClientFrame::Note(&"n".repeat(NOTE_BYTES + 1))).await;
    let Heard::Error(ErrorCode::NoteTooLong, 0, _) = scene.bo.hear().await else {
        panic!("no error")
    };
    assert_eq!(scene.server.presence.state("bo").await.note, "old");
    scene.ana.beat(1).await;
}

#[tokio::test]
async fn a_watch_numbered_0_is_an_error() {
    let scene = Scene::set().await;
    let mut eve = scene.server.connect("eve", "1").await;
    let users = vec![WatchItem { number: 1, user: "bo" }];
    eve.send(&ClientFrame::Watch { request: 0, users }).await;
    assert!(matches!(eve.hear().await, Heard::Error(ErrorCode::BadRequest, 0, _)));
    scene.goes_on_undisturbed().await;
}

#[tokio::test]
async fn a_first_frame_that_is_no_hello_is_a_bad_frame_and_so_is_a_second_hello() {
    let scene = Scene::set().await;
    let mut eve = scene.server.open().await;
    eve.send(&ClientFrame::Idle).await;
    eve.hear_close(CloseCode::BadFrame).await;
    let mut eve = scene.server.connect("eve", "1").await;
    eve.hello("eve", "2").await;
    eve.hear_close(CloseCode::BadFrame).await;
    scene.goes_on_undisturbed().await;
}
