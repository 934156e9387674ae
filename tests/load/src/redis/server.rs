//! A Redis of our own.

use std::io;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use redis::aio::MultiplexedConnection;

use super::broken;

/// A process of `redis-server` that keeps nothing on disk.
#[derive(Debug)]
pub(super) struct Redis {
    child: Child,
    port: u16,
}

impl Redis {
    pub(super) fn start() -> io::Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let child = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""])
            .args(["--appendonly", "no"])
            .stdout(Stdio::null())
            .spawn()
            .map_err(|error| io::Error::new(error.kind(), format!("redis-server: {error}")))?;
        Ok(Self { child, port })
    }

    pub(super) fn url(&self) -> String {
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

/// A field of what the server tells of itself.
pub(super) fn number(info: &str, name: &str) -> f64 {
    let line = info.lines().find_map(|it| it.strip_prefix(name)?.strip_prefix(':'));
    line.and_then(|it| it.trim().parse().ok()).unwrap_or(0.0)
}

impl Drop for Redis {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
