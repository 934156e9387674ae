//! The ready server's metrics, as Prometheus reads them.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use greendot_engine::protocol::{ClientFrame, CloseCode, SUBPROTOCOL_BINARY, State};
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use crate::common::{Client, Heard, Row};

/// A server of its own process, since a process has one recorder.
struct Running {
    child: Child,
    presence: SocketAddr,
    metrics: SocketAddr,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_greendot-server"))
            .args(["--dev", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"])
            .args(["--beat", "0.2", "--ttl", "5.5", "--grace", "0.1", "--sweep", "0.02"])
            .args(["--tick", "0.005", "--warmup", "0"])
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

    async fn connect(&self, user: &str, session: &str) -> Client {
        let mut request = format!("ws://{}/presence", self.presence).into_client_request().unwrap();
        let protocol = SUBPROTOCOL_BINARY.parse().unwrap();
        request.headers_mut().insert("sec-websocket-protocol", protocol);
        let mut client = Client::over(connect_async(request).await.unwrap().0);
        client.hello(user, session).await;
        assert!(matches!(client.hear().await, Heard::Welcome(_)));
        client
    }

    /// All that Prometheus would be told.
    fn text(&self) -> String {
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
    fn values(&self) -> BTreeMap<String, f64> {
        let text = self.text();
        let lines = text.lines().filter(|it| !it.starts_with('#'));
        let pairs = lines.filter_map(|it| it.rsplit_once(' '));
        pairs.map(|(name, value)| (name.into(), value.parse().unwrap())).collect()
    }

    /// The values, once this one has come to what is awaited.
    #[expect(clippy::disallowed_methods, reason = "waits for a condition that nothing announces")]
    async fn values_when(&self, name: &str, value: f64) -> BTreeMap<String, f64> {
        for _ in 0..400 {
            let values = self.values();
            if values.get(name) == Some(&value) {
                return values;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{name} is not {value} but {:?}", self.values().get(name));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn prometheus_reads_what_has_happened_and_no_name() {
    let server = Running::start();
    let mut ana = server.connect("ana-secret", "tab").await;
    let bo = server.connect("bo-secret", "tab").await;
    ana.watch(&["bo-secret"]).await;
    ana.beat(1).await;
    let values = server.values();
    for (name, value) in [
        ("greendot_sessions", 2.0),
        ("greendot_users", 2.0),
        ("greendot_connections", 2.0),
        ("greendot_watches", 1.0),
        ("greendot_viewers", 1.0),
        ("greendot_connects_total", 2.0),
        ("greendot_reconnects_total", 0.0),
        ("greendot_beats_total", 1.0),
        ("greendot_beat_seconds_count", 1.0),
        ("greendot_entries_total", 1.0),
        ("greendot_late_frames_total", 0.0),
        ("greendot_store_requests_total", 0.0),
        ("greendot_store_waiting", 0.0),
    ] {
        assert_eq!(values.get(name), Some(&value), "{name}");
    }

    // Its network is gone: the session lingers, and is over when its grace is.
    drop(bo);
    assert_eq!(ana.hear_event().await, Row::of(1, State::Offline).seen());
    let closed = "greendot_endings_total{reason=\"closed\"}";
    let values = server.values_when(closed, 1.0).await;
    assert_eq!(values["greendot_expiry_lag_seconds_count"], 1.0);
    assert!(values["greendot_expiry_lag_seconds_sum"] < 20.0);
    assert!(values.contains_key("greendot_expiry_lag_seconds_bucket{le=\"0.05\"}"));
    assert_eq!((values["greendot_users"], values["greendot_marks_total"]), (1.0, 1.0));

    // It is back at once: that was a flap.
    let mut bo = server.connect("bo-secret", "tab").await;
    assert_eq!(ana.hear_event().await, Row::of(1, State::Online));
    let values = server.values();
    assert_eq!(values["greendot_flaps_total"], 1.0);

    // Taken over by another page of the same session, and then a goodbye.
    let mut again = server.connect("bo-secret", "tab").await;
    bo.hear_close(CloseCode::Replaced).await;
    again.send(&ClientFrame::Bye).await;
    let values = server.values_when("greendot_endings_total{reason=\"bye\"}", 1.0).await;
    assert_eq!(values["greendot_endings_total{reason=\"replaced\"}"], 1.0);
    assert_eq!(values["greendot_reconnects_total"], 1.0);
    assert_eq!(values["greendot_closes_total{reason=\"replaced\"}"], 1.0);

    let text = server.text();
    assert!(!text.contains("secret"), "{text}");
    let types = ["# TYPE greendot_beat_seconds histogram", "# TYPE greendot_sessions gauge"];
    for line in types.into_iter().chain(["# HELP greendot_flaps_total"]) {
        assert!(text.contains(line), "{line} is missing in {text}");
    }
}

#[test]
fn a_metrics_address_in_use_is_named_with_the_next_step() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap().to_string();
    let output = Command::new(env!("CARGO_BIN_EXE_greendot-server"))
        .args(["--dev", "--listen", "127.0.0.1:0", "--metrics", &addr])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(text.contains(&addr) && text.contains("--metrics"), "{text}");
}
