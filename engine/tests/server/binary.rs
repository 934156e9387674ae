//! The ready server as a process.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Command, Output, Stdio};

use greendot_engine::protocol::CloseCode;

use crate::common::Client;

fn server() -> Command {
    Command::new(env!("CARGO_BIN_EXE_greendot-server"))
}

/// Ends the process with the test, however that ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn refused(args: &[&str]) -> String {
    let Output { status, stderr, .. } = server().args(args).output().unwrap();
    assert!(!status.success());
    String::from_utf8(stderr).unwrap()
}

#[test]
fn it_refuses_to_start_where_it_must_not_and_says_why() {
    assert!(refused(&["--log", "off"]).contains("--dev"));
    assert!(refused(&["--dev", "--listen", "0.0.0.0:0"]).contains("listen on 127.0.0.1"));
    let text = refused(&["--dev", "--beat", "30", "--ttl", "30"]);
    assert!(text.contains("ttl") && text.contains("beat"), "{text}");
    assert!(!text.contains("no token is checked"), "what is wrong comes alone: {text}");
    assert!(refused(&["--dev", "--listen", "4780"]).contains("127.0.0.1:4780"));
}

#[test]
fn a_port_in_use_is_named_with_the_next_step() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap().to_string();
    let text = refused(&["--dev", "--listen", &addr]);
    assert!(text.contains(&addr) && text.contains("--listen"), "{text}");
}

/// What it writes to its log until it is stopped, having told that it listens.
fn started(args: &[&str]) -> (String, String) {
    let child = server()
        .args(["--dev", "--listen", "127.0.0.1:0"])
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut running = Running(child);
    let mut lines = BufReader::new(running.0.stdout.take().unwrap()).lines().map(Result::unwrap);
    let told = [lines.next().unwrap(), lines.next().unwrap()].join("\n");
    running.0.kill().unwrap();
    let mut log = String::new();
    running.0.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    (told, log)
}

#[test]
fn it_says_where_presence_is_and_warns_of_a_warmup_too_short_for_the_way_back() {
    let (told, log) = started(&[]);
    assert!(told.contains("/presence") && told.contains("token"), "{told}");
    assert!(!log.contains("warmup"), "{log}");
    let (_, log) = started(&["--warmup", "20"]);
    assert!(log.contains("20000 ms") && log.contains("40000 ms"), "{log}");
    assert!(log.contains("--warmup"), "{log}");
}

#[tokio::test]
async fn it_serves_and_says_goodbye_when_asked_to_stop() {
    let child = server()
        .args(["--dev", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut running = Running(child);
    let mut line = String::new();
    BufReader::new(running.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let addr: SocketAddr =
        line.trim().strip_prefix("listening on http://").unwrap().parse().unwrap();
    let mut ana = Client::connect(addr, "ana", "1").await;

    let id = running.0.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    ana.hear_close(CloseCode::Drain).await;
    drop(ana);
    assert!(running.0.wait().unwrap().success());
}
