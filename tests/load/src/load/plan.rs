//! What one process of clients is to do.

use std::net::Ipv4Addr;
use std::time::Duration;

/// What one process of clients is to do.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where the servers listen on loopback, which share their users.
    pub ports: Vec<u16>,
    /// Tells this process's users from those of others.
    pub worker: usize,
    /// Clients, each a user of its own.
    pub clients: usize,
    /// How many of the others each watches.
    pub watches: usize,
    /// How often a client does something, on average.
    pub action_every: Duration,
    /// One client in so many stands still for long stretches, and reads nothing; 0: none.
    pub slow_one_in: usize,
    /// One action in so many is a line cut without a word; 0: none.
    pub cut_one_in: usize,
    /// Clients that dial in a second.
    pub connect_rate: usize,
    /// What all that is random comes from.
    pub seed: u64,
    /// Whether a connection that breaks by itself is a fault: not where servers are killed.
    pub unbroken: bool,
    /// The servers' periods.
    pub periods: Periods,
}

/// What the servers promise their clients.
#[derive(Clone, Copy, Debug)]
pub struct Periods {
    /// How often a client shows a sign of life.
    pub beat: Duration,
    /// How long a session lives after its last sign of life.
    pub ttl: Duration,
    /// How long a session still counts after its connection ended.
    pub grace: Duration,
}

/// As shipped.
impl Default for Periods {
    fn default() -> Self {
        let secs = Duration::from_secs;
        Self { beat: secs(15), ttl: secs(55), grace: secs(10) }
    }
}

impl Plan {
    /// The address of loopback that this process dials from: each has ports of its own.
    pub(super) fn address(&self) -> Ipv4Addr {
        Ipv4Addr::new(127, 0, 1, (self.worker % 250) as u8 + 1)
    }
}
