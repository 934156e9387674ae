//! A Redis of our own.

use std::io;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use redis::aio::MultiplexedConnection;

use super::broken;
use crate::port::free_port;

/// A process of `redis-server` that keeps nothing on disk.
#[derive(Debug)]
pub(crate) struct Redis {
    child: Child,
    port: u16,
}

impl Redis {
    pub(crate) fn start() -> io::Result<Self> {
        let port = free_port()?;
        Ok(Self { child: spawn(port)?, port })
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) -> io::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Starts again where it was, empty.
    pub(crate) fn restart(&mut self) -> io::Result<()> {
        self.child = spawn(self.port)?;
        Ok(())
    }

    /// It stands still, or goes on.
    pub(crate) fn pause(&self, paused: bool) -> io::Result<()> {
        let signal = if paused { "STOP" } else { "CONT" };
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &pid]).status()?;
        if sent.success() { Ok(()) } else { Err(io::Error::other("kill failed")) }
    }

    /// Asks it something, whatever it answers.
    pub(crate) fn ask(&self, command: &[&str]) -> io::Result<redis::Value> {
        let client = redis::Client::open(self.url()).map_err(broken)?;
        let patience = Some(Duration::from_secs(5));
        let mut connection =
            client.get_connection_with_timeout(Duration::from_secs(5)).map_err(broken)?;
        connection.set_read_timeout(patience).map_err(broken)?;
        let mut asked = redis::cmd(command[0]);
        asked.arg(&command[1..]).query(&mut connection).map_err(broken)
    }

    /// What it tells of itself.
    pub(crate) fn tells(&self) -> io::Result<String> {
        redis::from_redis_value(self.ask(&["INFO"])?).map_err(broken)
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Waits until it answers.
    pub(super) async fn connection(&self) -> io::Result<MultiplexedConnection> {
        let client = redis::Client::open(self.url()).map_err(broken)?;
        let mut last = None;
        for _ in 0..100 {
            match client.get_multiplexed_async_connection().await {
                Ok(connection) => return Ok(connection),
                Err(error) => last = Some(error),
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Err(last.map_or_else(|| broken("it does not answer"), broken))
    }

    pub(super) async fn info(&self, section: &str) -> io::Result<String> {
        let mut connection = self.connection().await?;
        redis::cmd("INFO").arg(section).query_async(&mut connection).await.map_err(broken)
    }

    /// Bytes in use.
    pub(super) async fn memory(&self) -> io::Result<f64> {
        Ok(number(&self.info("memory").await?, "used_memory"))
    }

    pub(super) async fn flush(&self) -> io::Result<()> {
        let mut connection = self.connection().await?;
        redis::cmd("FLUSHALL").exec_async(&mut connection).await.map_err(broken)
    }
}

fn spawn(port: u16) -> io::Result<Child> {
    Command::new("redis-server")
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""])
        .args(["--appendonly", "no"])
        .stdout(Stdio::null())
        .spawn()
        .map_err(|error| io::Error::new(error.kind(), format!("redis-server: {error}")))
}

/// A field of what the server tells of itself.
pub(crate) fn number(info: &str, name: &str) -> f64 {
    let line = info.lines().find_map(|it| it.strip_prefix(name)?.strip_prefix(':'));
    line.and_then(|it| it.trim().parse().ok()).unwrap_or(0.0)
}

impl Drop for Redis {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
