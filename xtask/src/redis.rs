//! Servers that share their users through a real Redis.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::run::cargo;
use crate::simulator;

/// The tests that start their own Redis, and then the world's, with one that this starts.
pub(crate) fn run() -> Result<()> {
    cargo("test -p greendot-engine --features cli --test redis").run()?;
    let redis = Redis::start()?;
    simulator::over_redis(&redis.url())
}

/// A Redis on loopback that keeps nothing; it ends with this.
struct Redis {
    child: Child,
    port: u16,
}

impl Redis {
    fn start() -> Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let child = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""])
            .stdout(Stdio::null())
            .spawn()
            .context("cannot start redis-server")?;
        let redis = Self { child, port };
        for _ in 0..200 {
            if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Ok(redis);
            }
            thread::sleep(Duration::from_millis(50));
        }
        bail!("redis-server does not answer on port {port}")
    }

    fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        // A process that is gone already is no failure.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
