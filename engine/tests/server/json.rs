//! The server in JSON: the same promises for people and other languages.

use futures_util::{SinkExt, StreamExt};
use greendot_engine::protocol::{
    ClientFrame, CloseCode, Mode, SUBPROTOCOL_JSON, Span, State, limits::CLIENT_FRAME_BYTES,
};
use greendot_engine::server::Limits;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::common::{Client, Heard, Row, Server, builder};

/// A client that speaks JSON.
struct Speaker(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Speaker {
    async fn open(server: &Server) -> Self {
        let (socket, response) =
            connect_async(server.request(Some(SUBPROTOCOL_JSON))).await.expect("connects");
        assert_eq!(response.headers()["sec-websocket-protocol"], SUBPROTOCOL_JSON);
        Self(socket)
    }

    async fn connect(server: &Server, user: &str) -> Self {
        let mut speaker = Self::open(server).await;
        speaker.say(&json!({ "type": "hello", "session": "1", "token": user })).await;
        assert_eq!(speaker.hear().await["type"], "welcome");
        speaker
    }

    async fn say(&mut self, frame: &Value) {
        self.send(Message::text(frame.to_string())).await;
    }

    async fn send(&mut self, message: Message) {
        // A server that has closed already is no failure: the test hears it next.
        let _ = self.0.send(message).await;
    }

    /// The next frame; a close comes as its number.
    async fn hear(&mut self) -> Value {
        loop {
            match self.0.next().await {
                Some(Ok(Message::Text(text))) => {
                    return serde_json::from_str(&text).expect("JSON");
                }
                Some(Ok(Message::Close(Some(close)))) => return u16::from(close.code).into(),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                other => panic!("a server never sends {other:?}"),
            }
        }
    }

    async fn hear_close(&mut self, code: CloseCode) {
        assert_eq!(self.hear().await, code.number());
    }
}

#[tokio::test]
async fn a_session_in_json_and_one_in_binary_see_each_other() {
    let server = Server::start(builder()).await;
    let mut ana = Speaker::connect(&server, "ana").await;
    let users = json!([{ "number": 1, "user": "bo" }, { "number": 2, "user": "ana" }]);
    ana.say(&json!({ "type": "watch", "request": 1, "users": users })).await;
    let snapshot = ana.hear().await;
    assert_eq!((&snapshot["type"], &snapshot["request"]), (&json!("snapshot"), &json!(1)));
    assert_eq!(snapshot["entries"][0], json!({ "number": 2, "state": "online", "version": 1 }));

    let mut bo = server.connect("bo", "1").await;
    let events = ana.hear().await;
    assert_eq!(events["entries"][0]["state"], "online");
    assert_eq!(bo.watch(&["ana"]).await, [Row::of(1, State::Online)]);
    ana.say(&json!({ "type": "mode", "mode": "dnd" })).await;
    let mode = ana.hear().await;
    assert_eq!((&mode["type"], &mode["mode"]), (&json!("mode"), &json!("dnd")));
    let own = ana.hear().await;
    assert_eq!(
        (&own["entries"][0]["number"], &own["entries"][0]["state"]),
        (&json!(2), &json!("dnd"))
    );
    assert_eq!(bo.hear_event().await, Row::of(1, State::Dnd));

    bo.send(&ClientFrame::Note("at \"lunch\"")).await;
    assert_eq!(ana.hear().await["entries"][0]["note"], "at \"lunch\"");
    bo.send(&ClientFrame::Mode(Mode::Invisible)).await;
    let gone = &ana.hear().await["entries"][0];
    assert_eq!(gone["state"], "offline");
    assert!(gone["seen_ago_ms"].as_u64().is_some_and(|ago| ago < 10_000), "{gone}");
    ana.say(&json!({ "type": "bye" })).await;
    assert_eq!(ana.hear().await, 1000);
    assert_eq!(bo.hear().await, Heard::Mode(Mode::Invisible));
    assert_eq!(bo.hear_event().await, Row::of(1, State::Offline).seen());
}

#[tokio::test]
async fn what_a_later_version_says_is_passed_over() {
    let server = Server::start(builder()).await;
    let mut ana = Speaker::open(&server).await;
    ana.say(&json!({ "type": "dance" })).await;
    ana.say(&json!({ "type": "hello", "session": "1", "token": "ana", "mood": [1] })).await;
    assert_eq!(ana.hear().await["type"], "welcome");
    ana.say(&json!({ "type": "dance" })).await;
    ana.say(&json!({ "type": "beat", "number": 7, "mood": null })).await;
    assert_eq!(ana.hear().await, json!({ "type": "beat_answer", "number": 7 }));
}

#[tokio::test]
async fn what_cannot_be_read_is_a_bad_frame_and_what_is_large_too_large() {
    let server = Server::start(builder()).await;
    for text in ["", "hello", "{\"type\":\"beat\"}", "[\"bye\"]"] {
        let mut eve = Speaker::open(&server).await;
        eve.send(Message::text(text)).await;
        eve.hear_close(CloseCode::BadFrame).await;
        let mut eve = Speaker::connect(&server, "eve").await;
        eve.send(Message::text(text)).await;
        eve.hear_close(CloseCode::BadFrame).await;
    }
    let mut eve = Speaker::connect(&server, "eve").await;
    eve.send(Message::binary(b"{\"type\":\"idle\"}".as_slice())).await;
    eve.hear_close(CloseCode::BadFrame).await;
    let mut eve = Speaker::connect(&server, "eve").await;
    eve.send(Message::text(" ".repeat(CLIENT_FRAME_BYTES + 1))).await;
    eve.hear_close(CloseCode::TooLarge).await;
}

#[tokio::test]
async fn a_hello_with_something_missing_is_told_what() {
    let server = Server::start(builder()).await;
    let mut eve = Speaker::open(&server).await;
    eve.say(&json!({ "type": "hello", "session": "1" })).await;
    eve.hear_close(CloseCode::BadToken).await;
    let mut eve = Speaker::open(&server).await;
    eve.say(&json!({ "type": "hello", "token": "eve" })).await;
    eve.hear_close(CloseCode::BadSession).await;
    let mut eve = Speaker::connect(&server, "eve").await;
    let users = json!([{ "number": 3, "user": "" }]);
    eve.say(&json!({ "type": "watch", "request": 1, "users": users })).await;
    let error = eve.hear().await;
    assert_eq!((&error["code"], &error["about"]), (&json!("bad_user"), &json!(3)));
    assert!(error["text"].as_str().is_some_and(|text| text.contains("128")), "{error}");
}

#[tokio::test]
async fn who_finds_no_place_is_told_for_how_long_in_json_too() {
    let limits = Limits { connections: 1, ..Limits::default() };
    let server = Server::start(builder().limits(limits)).await;
    let _ana = Speaker::connect(&server, "ana").await;
    let mut eve = Speaker::open(&server).await;
    let retry_after_ms = Span::from_secs(10).as_millis();
    let close = json!({ "type": "close", "code": "full", "retry_after_ms": retry_after_ms });
    assert_eq!(eve.hear().await, close);
    eve.hear_close(CloseCode::Full).await;
}

#[tokio::test]
async fn of_both_encodings_binary_is_chosen_and_a_version_unknown_is_wrong() {
    let server = Server::start(builder()).await;
    let both = server.request(Some("greendot.v1.json, greendot.v1.bin"));
    let (_, response) = connect_async(both).await.expect("connects");
    assert_eq!(response.headers()["sec-websocket-protocol"], "greendot.v1.bin");
    let request = server.request(Some("greendot.v99.json"));
    let (socket, _) = connect_async(request).await.expect("the upgrade is accepted");
    Client::over(socket).hear_close(CloseCode::WrongVersion).await;
}
