//! The ready server's metrics, as Prometheus reads them.

use std::process::Command;

use greendot_engine::protocol::{ClientFrame, CloseCode, State};

use crate::common::Row;
use crate::running::Running;

#[tokio::test(flavor = "multi_thread")]
async fn prometheus_reads_what_has_happened_and_no_name() {
    let server = Running::quick("600", &[]);
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
        ("greendot_overtaken_total", 0.0),
        ("greendot_beats_refused_total", 0.0),
        ("greendot_look_failures_total", 0.0),
        ("greendot_join_failures_total", 0.0),
        ("greendot_store_requests_total", 0.0),
        ("greendot_store_dropped_total", 0.0),
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

/// The server's own clients cut their line: one connection ends, and after grace it shows; one only falls silent, and it shows
/// when its lease has run out.
#[tokio::test(flavor = "multi_thread")]
async fn how_long_a_true_disconnect_takes_to_show_is_measured() {
    let server = Running::quick("5.5", &["--probe", "0.05"]);
    let values = server.values_when("greendot_probe_seconds_count{line=\"silent\"}", 1.0).await;
    let mean = |line: &str| {
        let value =
            |part: &str| values[&format!("greendot_probe_seconds_{part}{{line=\"{line}\"}}")];
        value("sum") / value("count")
    };
    // A grace of 0.1 s; a ttl of 5.5 s, but for what the line has said before.
    assert!((0.1..5.0).contains(&mean("closed")), "{}", mean("closed"));
    assert!((5.0..20.0).contains(&mean("silent")), "{}", mean("silent"));
    assert!(values["greendot_probe_seconds_count{line=\"closed\"}"] >= 2.0);
    for line in ["closed", "silent"] {
        assert_eq!(values[&format!("greendot_probe_failures_total{{line=\"{line}\"}}")], 0.0);
    }
    assert!(values["greendot_endings_total{reason=\"expired\"}"] >= 1.0);
    // A real user's token is not affected by the probes' pass.
    let _ana = server.connect("ana", "tab").await;
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
