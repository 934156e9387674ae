//! The protocol's golden files against a real server: what is hostile is a bad frame, what is
//! lenient or good is not.

use std::fs;

use futures_util::{SinkExt, StreamExt};
use greendot_engine::protocol::{SUBPROTOCOL_BINARY, SUBPROTOCOL_JSON};
use serde_json::Value;
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;

use crate::common::{Server, builder};

/// A message of a client.
struct Said {
    name: String,
    subprotocol: &'static str,
    message: Message,
}

/// What clients say in one of the files.
fn clients(file: &str) -> Vec<Said> {
    let path = format!("{}/../protocol/vectors/v1/{file}", env!("CARGO_MANIFEST_DIR"));
    let lines = fs::read_to_string(&path).expect(&path);
    let mut all = Vec::new();
    for line in lines.lines() {
        let vector: Value = serde_json::from_str(line).expect(line);
        if vector["from"] != "client" {
            continue;
        }
        let name = vector["name"].to_string();
        if let Some(bin) = vector["bin"].as_str() {
            let byte = |at: usize| u8::from_str_radix(&bin[at..at + 2], 16).expect(line);
            let bytes: Vec<_> = (0..bin.len()).step_by(2).map(byte).collect();
            let message = Message::binary(bytes);
            all.push(Said { name: name.clone(), subprotocol: SUBPROTOCOL_BINARY, message });
        }
        let json = vector.get("json").map(Value::to_string);
        if let Some(text) = vector["text"].as_str().map(Into::into).or(json) {
            let message = Message::text::<String>(text);
            all.push(Said { name, subprotocol: SUBPROTOCOL_JSON, message });
        }
    }
    assert!(!all.is_empty());
    all
}

impl Said {
    /// Says it behind a good hello, then goodbye; returns the code that the server closes with.
    async fn closes_with(&self, server: &Server) -> u16 {
        let request = server.request(Some(self.subprotocol));
        let (mut socket, _) = connect_async(request).await.expect("connects");
        let (hello, bye) = if self.subprotocol == SUBPROTOCOL_BINARY {
            (Message::binary(&b"\x01\x00\x011\x03eve"[..]), Message::binary(&b"\x0a"[..]))
        } else {
            let hello = r#"{"type":"hello","session":"1","token":"eve"}"#;
            (Message::text(hello), Message::text(r#"{"type":"bye"}"#))
        };
        for message in [hello, self.message.clone(), bye] {
            // A server that has closed already is heard below.
            let _ = socket.send(message).await;
        }
        loop {
            match socket.next().await {
                Some(Ok(Message::Close(Some(close)))) => return close.code.into(),
                Some(Ok(_)) => {}
                other => panic!("{}: no close, but {other:?}", self.name),
            }
        }
    }
}

#[tokio::test]
async fn what_is_hostile_is_a_bad_frame() {
    let server = Server::start(builder()).await;
    for said in clients("hostile.jsonl") {
        assert_eq!(said.closes_with(&server).await, 4400, "{}", said.name);
    }
}

#[tokio::test]
async fn what_is_lenient_or_good_is_none_but_for_a_second_hello() {
    let server = Server::start(builder()).await;
    for said in clients("frames.jsonl").into_iter().chain(clients("lenient.jsonl")) {
        let is_hello = match &said.message {
            Message::Binary(bytes) => bytes.first() == Some(&1),
            text => text.to_string().contains(r#""hello""#),
        };
        let code = if is_hello { 4400 } else { 1000 };
        assert_eq!(said.closes_with(&server).await, code, "{}", said.name);
    }
}
