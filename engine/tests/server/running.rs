//! The ready server as a process of its own, and what its metrics say.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use greendot_engine::protocol::SUBPROTOCOL_BINARY;
use tokio_tungstenite::tungstenite::http::Request;

use crate::common::{Client, resident, upgrade};

/// A server of its own process, since a process has one recorder.
pub(crate) struct Running {
    child: Child,
    pub(crate) presence: SocketAddr,
    metrics: SocketAddr,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    /// With everything as quick as the settings allow, but for how long sessions last that nobody hears.
    pub(crate) fn quick(ttl: &str, more: &[&str]) -> Self {
        const QUICK: &[&str] =
            &["--beat", "0.2", "--grace", "0.1", "--sweep", "0.02", "--tick", "0.005"];
        Self::start(&[QUICK, &["--ttl", ttl], more].concat())
    }

    /// As it ships, but with no warm-up.
    pub(crate) fn start(more: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_greendot-server"))
            .args(["--dev", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0", "--warmup", "0"])
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines: Vec<String> = BufReader::new(child.stdout.take().unwrap())
            .lines()
            .take(3)
            .map(Result::unwrap)
            .collect();
        let presence = lines[0].strip_prefix("listening on http://").unwrap().parse().unwrap();
        let metrics = lines[2].strip_prefix("metrics at http://").unwrap();
        let metrics = metrics.strip_suffix("/metrics").unwrap().parse().unwrap();
        Self { child, presence, metrics }
    }

    pub(crate) async fn connect(&self, user: &str, session: &str) -> Client {
        Client::connect(self.presence, user, session).await
    }

    /// Asks for a WebSocket.
    pub(crate) fn request(&self) -> Request<()> {
        upgrade(self.presence, Some(SUBPROTOCOL_BINARY))
    }

    /// Its memory that is in use and resident, in KB; none where the system does not tell.
    pub(crate) fn resident(&self) -> Option<u64> {
        resident(self.child.id())
    }

    /// All that Prometheus would be told.
    pub(crate) fn text(&self) -> String {
        let mut stream = TcpStream::connect(self.metrics).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
            .write_all(b"GET /metrics HTTP/1.1\r\nHost: metrics\r\nConnection: close\r\n\r\n")
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        assert!(head.contains("text/plain; version=0.0.4"), "{head}");
        body.into()
    }

    /// The values, by name and labels.
    pub(crate) fn values(&self) -> BTreeMap<String, f64> {
        let text = self.text();
        let lines = text.lines().filter(|it| !it.starts_with('#'));
        let pairs = lines.filter_map(|it| it.rsplit_once(' '));
        pairs.map(|(name, value)| (name.into(), value.parse().unwrap())).collect()
    }

    /// The values, once this one has come to what is awaited.
    #[expect(clippy::disallowed_methods, reason = "waits for a condition that nothing announces")]
    pub(crate) async fn values_when(&self, name: &str, value: f64) -> BTreeMap<String, f64> {
        for _ in 0..400 {
            let values = self.values();
            if values.get(name).is_some_and(|it| *it >= value) {
                return values;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{name} is not {value} but {:?}", self.values().get(name));
    }
}
