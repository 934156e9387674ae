//! An application with presence in it, whose Redis is gone: the demo.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::common::{Client, PATIENCE, exchange};
use crate::machine::{Since, now};
use crate::people::{Person, pause};
use crate::rig::redis;

/// A message arrives within this, Redis or not, in ms.
const ARRIVES: u128 = 2_000;

/// The demo's process, killed in the end.
struct Chat {
    child: Child,
    addr: SocketAddr,
}

impl Chat {
    fn start(redis: &str) -> Self {
        let target = Path::new(env!("CARGO_BIN_EXE_greendot-server")).parent().expect("a folder");
        let mut child = Command::new(target.join("examples/chat"))
            .args(["--port", "0", "--redis", redis])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the demo is built: cargo build -p greendot-engine --example chat");
        let mut line = String::new();
        let out = child.stdout.take().expect("piped");
        BufReader::new(out).read_line(&mut line).expect("it says where it listens");
        let place = line.trim().rsplit('/').next().expect("an address");
        Self { addr: place.parse().expect("an address"), child }
    }

    async fn says(&self, text: &str) -> Since {
        let body = format!(r#"{{"from":"ana","to":"bo","text":"{text}"}}"#);
        let json = "content-type: application/json\r\n";
        let said = now();
        let answer = exchange(self.addr, "POST", "/api/messages", json, &body);
        let answer = tokio::time::timeout(PATIENCE, answer).await.expect("it answers");
        assert!(answer.starts_with("HTTP/1.1 2"), "{answer}");
        said
    }

    /// Whatever is said to bo.
    async fn listen(&self) -> Listener {
        let mut stream = TcpStream::connect(self.addr).await.expect("connects");
        let head = "GET /api/messages?user=bo HTTP/1.1\r\nhost: x\r\n\r\n";
        stream.write_all(head.as_bytes()).await.expect("it is sent");
        let mut listener = Listener { stream, heard: String::new() };
        listener.until("\r\n\r\n").await;
        listener
    }
}

impl Drop for Chat {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Listener {
    stream: TcpStream,
    heard: String,
}

impl Listener {
    async fn until(&mut self, words: &str) {
        let heard = async {
            let mut bytes = [0; 1024];
            while !self.heard.contains(words) {
                let read = self.stream.read(&mut bytes).await.expect("it goes on");
                assert!(read > 0, "it ended without {words}: {}", self.heard);
                self.heard += &String::from_utf8_lossy(&bytes[..read]);
            }
        };
        let waited = tokio::time::timeout(PATIENCE, heard).await;
        assert!(waited.is_ok(), "no {words}: {}", self.heard);
    }
}

#[tokio::test]
async fn with_redis_gone_the_chat_goes_on() {
    let mut redis = redis(&[]);
    let chat = Chat::start(&redis.url());
    let mut bo = chat.listen().await;
    let mut dots = Person::over(Client::connect(chat.addr, "bo", "1").await, &[]).await;
    let mut says = async |text: &str| {
        let said = chat.says(text).await;
        bo.until(text).await;
        said.within(&(0..=ARRIVES));
    };
    says("before").await;
    redis.kill().expect("it runs");
    // Until the node knows, and for long after.
    for turn in 0..16 {
        says(&format!("word {turn}.")).await;
        pause(300).await;
    }
    // Connections of presence are served on, too, and new ones are taken.
    assert_eq!(dots.ended(), None);
    Client::connect(chat.addr, "cy", "1").await;
    redis.restart().expect("it starts");
    says("after").await;
}
