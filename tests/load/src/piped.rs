//! A process of clients, as the one that leads has it: it is told lines and says lines.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use greendot_redis_server::tie;

/// Ends when it is dropped, and with this program.
#[derive(Debug)]
pub(crate) struct Piped {
    child: Child,
    told: ChildStdin,
    says: BufReader<ChildStdout>,
}

impl Piped {
    pub(crate) fn start(program: &Path, args: &[String]) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = tie(&mut command)?.spawn()?;
        let no_pipe = || io::Error::other("no pipe");
        let told = child.stdin.take().ok_or_else(no_pipe)?;
        let says = BufReader::new(child.stdout.take().ok_or_else(no_pipe)?);
        Ok(Self { child, told, says })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn tell(&mut self, line: &str) -> io::Result<()> {
        self.told.write_all(format!("{line}\n").as_bytes())
    }

    /// Its next line.
    pub(crate) fn said(&mut self) -> io::Result<String> {
        let mut line = String::new();
        match self.says.read_line(&mut line)? {
            0 => Err(io::Error::other("a process of clients has ended")),
            _ => Ok(line),
        }
    }

    /// Waits until it has ended by itself.
    pub(crate) fn wait(&mut self) -> io::Result<()> {
        self.child.wait().map(drop)
    }
}

impl Drop for Piped {
    fn drop(&mut self) {
        // A process that is gone already is no failure.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
