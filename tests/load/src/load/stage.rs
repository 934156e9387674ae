//! The servers under load, and the Redis that they share.

use std::io;
use std::path::PathBuf;
use std::thread::{self, JoinHandle};

use greendot_redis_server::{Redis, free_port};

use crate::redis::number;
use crate::server::Process;

/// What is to be started.
#[derive(Clone, Debug)]
pub struct Staged {
    /// The server's program.
    pub program: PathBuf,
    /// How many of it; more than one share a Redis.
    pub servers: usize,
    /// Whether one alone has a Redis, too.
    pub redis: bool,
}

/// The servers, each at a port of its own, which it keeps.
#[derive(Debug)]
pub struct Stage {
    // Before the servers: one that waits for it ends with it.
    redis: Option<Redis>,
    servers: Vec<Server>,
    program: PathBuf,
}

#[derive(Debug)]
struct Server {
    port: u16,
    state: State,
}

#[derive(Debug)]
enum State {
    Down,
    Starting(JoinHandle<io::Result<Process>>),
    Up(Process),
}

impl Stage {
    /// Starts them all, and waits until they listen.
    ///
    /// # Errors
    ///
    /// If one does not.
    pub fn start(staged: &Staged) -> io::Result<Self> {
        let redis = (staged.redis || staged.servers > 1).then(|| Redis::start(&[])).transpose()?;
        let mut stage = Self { redis, servers: Vec::new(), program: staged.program.clone() };
        for number in 0..staged.servers {
            stage.servers.push(Server { port: free_port()?, state: State::Down });
            stage.servers[number].state = State::Up(stage.starting(number)()?);
        }
        Ok(stage)
    }

    /// Where they listen.
    pub fn ports(&self) -> Vec<u16> {
        self.servers.iter().map(|it| it.port).collect()
    }

    /// The Redis, if they share one.
    pub(super) fn redis(&mut self) -> Option<&mut Redis> {
        self.redis.as_mut()
    }

    fn starting(&self, server: usize) -> impl FnOnce() -> io::Result<Process> + Send + use<> {
        let listen = format!("127.0.0.1:{}", self.servers[server].port);
        let url = self.redis.as_ref().map(Redis::url);
        let program = self.program.clone();
        move || {
            let mut args = vec!["--dev", "--listen", &listen, "--log", "error"];
            if let Some(url) = &url {
                args.extend(["--redis", url]);
            }
            Process::start(&program, &args)
        }
    }

    /// `kill -9`.
    pub(super) fn kill(&mut self, server: usize) {
        self.servers[server].state = State::Down;
    }

    /// Sends a server a signal.
    pub(super) fn signal(&self, server: usize, name: &str) -> io::Result<()> {
        match &self.servers[server].state {
            State::Up(process) => process.signal(name),
            _ => Ok(()),
        }
    }

    /// Whether a server that was asked to end has done so.
    pub(super) fn has_ended(&mut self, server: usize) -> io::Result<bool> {
        match &mut self.servers[server].state {
            State::Up(process) => process.has_ended(),
            _ => Ok(true),
        }
    }

    /// Sees to it that a server runs; whether it listens yet. One that does not find its store is started again, as
    /// whatever looks after servers does.
    pub(super) fn comes_up(&mut self, server: usize) -> io::Result<bool> {
        match std::mem::replace(&mut self.servers[server].state, State::Down) {
            State::Down => {
                let starting = self.starting(server);
                self.servers[server].state = State::Starting(thread::spawn(starting));
                Ok(false)
            }
            State::Starting(start) if !start.is_finished() => {
                self.servers[server].state = State::Starting(start);
                Ok(false)
            }
            State::Starting(start) => {
                let started = start.join().map_err(|_| io::Error::other("a thread died"))?;
                Ok(match started {
                    Ok(process) => {
                        self.servers[server].state = State::Up(process);
                        true
                    }
                    Err(_) => false,
                })
            }
            State::Up(process) => {
                self.servers[server].state = State::Up(process);
                Ok(true)
            }
        }
    }

    /// The processes that run, by their numbers in the system.
    pub(super) fn pids(&self) -> Vec<u32> {
        let of = |it: &Server| match &it.state {
            State::Up(process) => Some(process.pid()),
            _ => None,
        };
        self.servers.iter().filter_map(of).chain(self.redis.as_ref().map(Redis::pid)).collect()
    }

    /// Whether all servers run; one that does not has ended by itself.
    ///
    /// # Errors
    ///
    /// If the system does not tell.
    pub fn all_run(&mut self) -> io::Result<bool> {
        let mut all = true;
        for server in 0..self.servers.len() {
            all &= !self.has_ended(server)?;
        }
        Ok(all)
    }

    /// What each server takes, and their Redis.
    ///
    /// # Errors
    ///
    /// If the system does not tell.
    pub fn print(&self, clients: usize) -> io::Result<()> {
        let share = clients as f64 / self.servers.len().max(1) as f64;
        for (number, server) in self.servers.iter().enumerate() {
            let State::Up(process) = &server.state else { continue };
            let resident = process.resident()? as f64;
            println!(
                "server {}    {:.1} s of CPU since its start, {:.1} MB resident ({:.1} KB for each of {share:.0})",
                number + 1,
                process.cpu()?.as_secs_f64(),
                resident / 1e6,
                resident / 1e3 / share.max(1.0),
            );
        }
        if let Some(redis) = &self.redis {
            let info = redis.ask(&["INFO"])?;
            println!(
                "redis       {:.1} s of CPU since its start, {:.1} MB in use, {} commands",
                number(&info, "used_cpu_user") + number(&info, "used_cpu_sys"),
                number(&info, "used_memory") / 1e6,
                number(&info, "total_commands_processed"),
            );
        }
        Ok(())
    }
}
