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
        // Nobody is there to take over, so none is taken for dead that a busy machine holds up.
        cluster.servers.iter().try_for_each(|it| gives_up_after(it, PATIENT))?;
        Ok(cluster)
    }

    /// Another joins, as a replica of the first, and has caught up with it. From now on one that is gone is replaced soon.
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
        let all = self.servers.iter().chain([&replica]);
        all.into_iter().try_for_each(|it| gives_up_after(it, PROMPT))?;
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

/// For how long a server may be silent until the others take it for dead, in ms: while they come to know each other, while none is to
/// be replaced, and where one is.
const EARLY: &str = "1000";
const PATIENT: &str = "60000";
const PROMPT: &str = "2000";

fn gives_up_after(server: &Redis, millis: &str) -> io::Result<()> {
    server.ask(&["CONFIG", "SET", "cluster-node-timeout", millis]).map(|_| ())
}

fn server() -> io::Result<Redis> {
    let bus = free_port()?.to_string();
    let enabled = ["--cluster-enabled", "yes", "--cluster-node-timeout", EARLY];
    Redis::start(&[&enabled[..], &["--cluster-port", &bus]].concat())
}

#[expect(clippy::disallowed_methods, reason = "waits for processes that announce nothing")]
fn until(what: &str, holds: impl Fn() -> bool) -> io::Result<()> {
    for _ in 0..6_000 {
        if holds() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err(io::Error::other(format!("waited in vain for {what}")))
}
