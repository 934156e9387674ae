//! Presence servers that share a Redis.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use greendot_engine::server::RedisStore;
use greendot_redis_server::{Cluster, Redis};

use crate::common::{self, Client, Server, resident};
use crate::machine;

/// A presence server that shares its users through a store.
pub(crate) async fn share(store: RedisStore) -> Server {
    share_with(store, common::builder()).await
}

pub(crate) async fn share_with(
    store: RedisStore,
    builder: greendot_engine::server::Builder,
) -> Server {
    let presence = builder.redis(store).open().await.expect("the store opens");
    Server::serve(presence).await
}

/// A process of `greendot-server`, killed in the end.
pub(crate) struct Process {
    child: Child,
    addr: SocketAddr,
}

impl Process {
    /// Starts one over a store, with the periods of the fault tests.
    pub(crate) fn start(redis: &str) -> Self {
        Self::start_with(&["--redis", redis])
    }

    /// One that works alone.
    pub(crate) fn alone() -> Self {
        Self::start_with(&[])
    }

    fn start_with(store: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_greendot-server"))
            .args(["--dev", "--listen", "127.0.0.1:0", "--log", "off"])
            .args(store)
            .args(["--beat", "0.5", "--ttl", "8", "--grace", "0.1", "--sweep", "0.02"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut line = String::new();
        let out = child.stdout.take().expect("piped");
        BufReader::new(out).read_line(&mut line).expect("it says where it listens");
        let place = line.trim().rsplit('/').next().expect("an address");
        Self { child, addr: place.parse().expect("an address") }
    }

    pub(crate) async fn connect(&self, user: &str, session: &str) -> Client {
        Client::connect(self.addr, user, session).await
    }

    pub(crate) fn port(&self) -> u16 {
        self.addr.port()
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }

    /// Asks it to stop, as a deploy does, and waits until it has.
    pub(crate) fn stop(&mut self) {
        self.ask_to_stop();
        self.child.wait().expect("it ends");
    }

    pub(crate) fn ask_to_stop(&self) {
        signal(&self.child, "TERM");
    }

    /// It stands still, or goes on.
    pub(crate) fn pause(&self, paused: bool) {
        signal(&self.child, if paused { "STOP" } else { "CONT" });
    }

    /// Memory that is in use and resident, in bytes.
    pub(crate) fn resident(&self) -> u64 {
        resident(self.child.id()).expect("it runs") * 1024
    }
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args(["-s", name, &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A Redis that keeps nothing, with these settings.
pub(crate) fn redis(settings: &[&str]) -> Redis {
    machine::watch();
    Redis::start(settings).expect("Redis starts")
}

/// Three masters.
pub(crate) fn cluster() -> Cluster {
    machine::watch();
    Cluster::start().expect("a cluster starts")
}

/// Has a Redis do something.
pub(crate) fn tell(redis: &Redis, words: &[&str]) -> String {
    redis.ask(words).unwrap_or_else(|error| panic!("{words:?}: {error}"))
}

pub(crate) fn info(redis: &Redis, section: &str) -> String {
    redis.ask(&["INFO", section]).expect("it says so")
}
