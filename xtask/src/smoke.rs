//! Does `cargo xtask demo` do what the README says? Started, asked for its page, and stopped as Ctrl-C would.

use std::env;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use crate::demo;
use crate::run::program;

/// Building comes before and has its own time; this is for starting and stopping.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn run() -> Result<()> {
    demo::build()?;
    let port = free_port()?.to_string();
    println!("$ cargo xtask demo --port {port}");
    let mut server = Server(
        Command::new(env::current_exe()?)
            .args(["demo", "--port", &port])
            .stdout(Stdio::piped())
            .spawn()?,
    );
    let output = server.0.stdout.take().context("the demo has no output")?;
    let address = address(output)?;
    let page = get(&address, "/?user=ana")?;
    ensure!(
        page.starts_with("HTTP/1.1 200") && page.contains("<script"),
        "not the demo's page:\n{page}"
    );
    println!("the demo answered on http://{address}");
    program("kill", "-INT").arg(server.0.id().to_string()).run()?;
    server.stopped()
}

/// Chosen here rather than by the server, as a person would give it.
fn free_port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// Waits for the line that says where it listens; the other lines are passed on.
pub(crate) fn address(output: ChildStdout) -> Result<String> {
    let (sender, lines) = mpsc::channel();
    // Ends with the server's output; it goes on reading so that the server never blocks on a full pipe.
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            println!("{line}");
            let _ = sender.send(line);
        }
    });
    let deadline = Instant::now() + PATIENCE;
    loop {
        match lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(line) => {
                if let Some((_, address)) = line.split_once("listening on http://") {
                    return Ok(address.trim().trim_end_matches('/').to_string());
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                bail!("the server did not say that it listens within {PATIENCE:?}")
            }
            Err(RecvTimeoutError::Disconnected) => bail!("the server ended before it listened"),
        }
    }
}

fn get(address: &str, path: &str) -> Result<String> {
    let mut socket =
        TcpStream::connect(address).with_context(|| format!("nobody listens on {address}"))?;
    socket.set_read_timeout(Some(PATIENCE))?;
    write!(socket, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).context("no full answer from the demo")?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// A running server; it never outlives the check.
pub(crate) struct Server(pub(crate) Child);

impl Server {
    fn stopped(mut self) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        while self.0.try_wait()?.is_none() {
            ensure!(
                Instant::now() < deadline,
                "the demo did not stop within {PATIENCE:?} of an interrupt"
            );
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
