//! A Redis Cluster.

use std::io;
use std::time::Duration;

use crate::port::free_port;
use crate::server::Redis;

/// Slots of the three masters, first and last.
const RANGES: [(&str, &str); 3] = [("0", "5460"), ("5461", "10922"), ("10923", "16383")];

/// Three masters that share all slots.
#[derive(Debug)]
pub struct Cluster {
    /// The masters, by their slots.
    pub servers: Vec<Redis>,
}

impl Cluster {
    /// Starts one, and waits until all agree.
    ///
    /// # Errors
    ///
    /// If that does not come about.
    pub fn start() -> io::Result<Self> {
        let servers = RANGES.iter().map(|_| server()).collect::<io::Result<Vec<_>>>()?;
        for (server, (from, to)) in servers.iter().zip(RANGES) {
            server.ask(&["CLUSTER", "ADDSLOTSRANGE", from, to])?;
        }
        let cluster = Self { servers };
        for server in &cluster.servers[1..] {
            cluster.meet(server)?;
        }
        until("the cluster to form", || {
            cluster.servers.iter().all(|it| says(it, "cluster_known_nodes:3") && says(it, OK))
        })?;
        Ok(cluster)
    }

    /// Another joins, as a replica of the first, and has caught up with it.
    ///
    /// # Errors
    ///
    /// If that does not come about.
    pub fn replica(&self) -> io::Result<Redis> {
        let replica = server()?;
        self.meet(&replica)?;
        until("the replica to be known", || {
            let others = self.servers.iter().chain([&replica]);
            others.into_iter().all(|it| says(it, "cluster_known_nodes:4"))
        })?;
        let master = self.servers[0].ask(&["CLUSTER", "MYID"])?;
        replica.ask(&["CLUSTER", "REPLICATE", &master])?;
        until("the replica to catch up", || {
            let role = replica.ask(&["INFO", "replication"]);
            role.is_ok_and(|it| it.contains("master_link_status:up"))
        })?;
        Ok(replica)
    }

    fn meet(&self, server: &Redis) -> io::Result<()> {
        let first = &self.servers[0];
        let answer = first.ask(&["CONFIG", "GET", "cluster-port"])?;
        let bus = answer.lines().nth(1).unwrap_or_default().to_owned();
        let port = first.port().to_string();
        server.ask(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus]).map(|_| ())
    }
}

const OK: &str = "cluster_state:ok";

fn says(server: &Redis, line: &str) -> bool {
    server.ask(&["CLUSTER", "INFO"]).is_ok_and(|it| it.contains(line))
}

/// One that takes another for dead after a second.
fn server() -> io::Result<Redis> {
    let bus = free_port()?.to_string();
    let enabled = ["--cluster-enabled", "yes", "--cluster-node-timeout", "1000"];
    Redis::start(&[&enabled[..], &["--cluster-port", &bus]].concat())
}

#[expect(clippy::disallowed_methods, reason = "waits for processes that announce nothing")]
fn until(what: &str, holds: impl Fn() -> bool) -> io::Result<()> {
    for _ in 0..2_000 {
        if holds() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err(io::Error::other(format!("waited in vain for {what}")))
}
