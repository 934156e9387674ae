//! A process of `redis-server`.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::port::free_port;
use crate::reply::ask;
use crate::tie::tie;

/// Another process may take a port between its being found free and Redis' listening there.
const TRIES: usize = 5;

/// A process of `redis-server`, killed in the end with all it wrote.
#[derive(Debug)]
pub struct Redis {
    child: Child,
    port: u16,
    folder: PathBuf,
    settings: Vec<String>,
}

impl Redis {
    /// Starts one with these settings (`--name`, `value` each), and waits until it answers.
    ///
    /// # Errors
    ///
    /// If there is no `redis-server` on the path, or it does not come up.
    pub fn start(settings: &[&str]) -> io::Result<Self> {
        let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
        let folder = folder()?;
        let mut last = None;
        for _ in 0..TRIES {
            let port = free_port()?;
            let child = run(port, &folder, &settings)?;
            let (folder, settings) = (folder.clone(), settings.clone());
            let mut redis = Self { child, port, folder, settings };
            match redis.wait() {
                Ok(()) => return Ok(redis),
                Err(error) => last = Some(error),
            }
            std::fs::create_dir_all(&redis.folder)?;
        }
        Err(last.unwrap_or_else(|| io::ErrorKind::TimedOut.into()))
    }

    /// Where it listens, on loopback.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its address, as in `127.0.0.1:6379`.
    pub fn place(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Its address, as in `redis://127.0.0.1:6379`.
    pub fn url(&self) -> String {
        format!("redis://{}", self.place())
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks it, over a connection of its own. Rows of a list are lines; what is not there is empty.
    ///
    /// # Errors
    ///
    /// If it does not answer, or answers with an error, which is then the text.
    pub fn ask(&self, words: &[&str]) -> io::Result<String> {
        ask(self.port, words)
    }

    /// `kill -9`.
    ///
    /// # Errors
    ///
    /// If it does not end.
    pub fn kill(&mut self) -> io::Result<()> {
        self.child.kill()?;
        self.child.wait().map(|_| ())
    }

    /// Starts it again where it was, with whatever it had saved, once it was killed.
    ///
    /// # Errors
    ///
    /// If it does not come up.
    pub fn restart(&mut self) -> io::Result<()> {
        self.child = run(self.port, &self.folder, &self.settings)?;
        self.wait()
    }

    /// It stands still, or goes on.
    ///
    /// # Errors
    ///
    /// If it is not there.
    pub fn pause(&self, paused: bool) -> io::Result<()> {
        let signal = if paused { "-STOP" } else { "-CONT" };
        let done = Command::new("kill").args([signal, &self.child.id().to_string()]).status()?;
        if done.success() {
            Ok(())
        } else {
            Err(io::Error::other(format!("kill {signal}: {done}")))
        }
    }

    #[expect(clippy::disallowed_methods, reason = "waits for a process that announces nothing")]
    fn wait(&mut self) -> io::Result<()> {
        for _ in 0..6_000 {
            // Another's process on this port is not ours.
            let ours = format!("process_id:{}\r", self.child.id());
            match ask(self.port, &["INFO", "server"]) {
                Ok(about) if about.contains(&ours) => return Ok(()),
                Err(error) if error.to_string().starts_with("NOAUTH") => return Ok(()),
                _ => {}
            }
            if let Some(status) = self.child.try_wait()? {
                return Err(io::Error::other(format!("redis-server ended: {status}")));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Err(io::Error::other(format!("redis-server on port {} does not answer", self.port)))
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        // A process that is gone already is no failure.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn folder() -> io::Result<PathBuf> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let folder =
        std::env::temp_dir().join(format!("greendot-redis-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

fn run(port: u16, folder: &Path, settings: &[String]) -> io::Result<Child> {
    let mut command = Command::new("redis-server");
    command
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""])
        .args(["--appendonly", "no", "--daemonize", "no"])
        .args(settings)
        .current_dir(folder)
        .stdout(Stdio::null());
    tie(&mut command)?.spawn().map_err(|error| {
        let hint = "cannot start redis-server (`cargo xtask test --only redis` installs it)";
        io::Error::new(error.kind(), format!("{hint}: {error}"))
    })
}
