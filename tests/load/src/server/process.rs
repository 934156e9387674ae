//! A server as a process of its own, and what it takes.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use greendot_redis_server::tie;

/// A server that listens on loopback, until it is dropped or this program ends.
#[derive(Debug)]
pub struct Process {
    child: Child,
    port: u16,
}

impl Process {
    /// Starts a server; it says `listening on …PORT` when it is ready.
    ///
    /// # Errors
    ///
    /// If it cannot be started, or ends before it listens.
    pub fn start(program: &Path, args: &[&str]) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = tie(&mut command)?.spawn().map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", program.display()))
        })?;
        let out = child.stdout.take().ok_or_else(|| io::Error::other("no output"))?;
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line)?;
        let digits = line.trim_end().rsplit(|c: char| !c.is_ascii_digit()).next();
        match digits.and_then(|it| it.parse().ok()) {
            Some(port) => Ok(Self { child, port }),
            None => {
                _ = child.kill();
                _ = child.wait();
                let text =
                    format!("{} {} did not listen: {line:?}", program.display(), args.join(" "));
                Err(io::Error::other(text))
            }
        }
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its number in the system.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal, by the name that `kill` has for it.
    ///
    /// # Errors
    ///
    /// If it cannot be sent.
    pub fn signal(&self, name: &str) -> io::Result<()> {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status()?;
        if sent.success() { Ok(()) } else { Err(io::Error::other(format!("no {name} for {pid}"))) }
    }

    /// Whether it has ended.
    ///
    /// # Errors
    ///
    /// If the system does not tell.
    pub fn has_ended(&mut self) -> io::Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }

    /// Processor time of all its threads so far, in the kernel and out of it.
    ///
    /// # Errors
    ///
    /// If the system does not tell.
    pub fn cpu(&self) -> io::Result<Duration> {
        let mut nanos = 0;
        for thread in fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            // A thread may have ended since.
            let Ok(text) = fs::read_to_string(thread?.path().join("schedstat")) else { continue };
            nanos += text.split(' ').next().and_then(|it| it.parse::<u64>().ok()).unwrap_or(0);
        }
        Ok(Duration::from_nanos(nanos))
    }

    /// Memory that is in use and resident, in bytes.
    ///
    /// # Errors
    ///
    /// If the system does not tell.
    pub fn resident(&self) -> io::Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|it| it.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|it| it.trim().strip_suffix(" kB"));
        let kilobytes: Option<u64> = kilobytes.and_then(|it| it.trim().parse().ok());
        kilobytes.map(|it| it * 1024).ok_or_else(|| io::Error::other("no VmRSS"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
