//! Until when a call may be carried out, by the clock of the server that is to do so.
//!
//! A server that stood still carries out, when it goes on, what waits on its connections, those included that were given
//! up long ago. The node has told it anew since, or is no more; carried out that late, a connect would pass for a new one,
//! and take a session from the connection that it lives on.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use greendot_protocol::{Span, Time};
use redis::RedisResult;
use redis::aio::MultiplexedConnection;

use crate::clock::Clock;

/// A call that was not carried out this long after it was made is given up: no batch takes longer than 2.5 s, and at most one
/// goes before it.
const LASTS: i64 = 6_000;

/// How often the clocks are compared anew: they drift apart, by some 30 ms in this time.
const EVERY: Span = Span::from_secs(60);

/// Not known yet.
const UNKNOWN: i64 = i64::MIN;

/// How the clocks of the servers stand to this node's, by partition.
#[derive(Clone, Debug)]
pub(super) struct Patience {
    clock: Clock,
    /// By how many ms the server's is ahead.
    ahead: Arc<[AtomicI64]>,
}

impl Patience {
    pub(super) fn new(partitions: usize) -> Self {
        let ahead = (0..partitions).map(|_| AtomicI64::new(UNKNOWN)).collect();
        Self { clock: Clock::start(), ahead }
    }

    /// Until when a call that is made now may be carried out; 0: for ever.
    pub(super) fn until(&self, partition: usize) -> i64 {
        match self.ahead[partition].load(Ordering::Relaxed) {
            UNKNOWN => 0,
            ahead => self.clock.now().as_millis() as i64 + ahead + LASTS,
        }
    }

    /// Asks the server that has these partitions for its time, unless that was done lately. Returns when it was.
    pub(super) async fn compare(
        &self,
        connection: &mut MultiplexedConnection,
        partitions: impl Iterator<Item = usize>,
        last: Option<Time>,
    ) -> RedisResult<Time> {
        let asked = self.clock.now();
        if let Some(last) = last.filter(|it| asked.since(*it) < EVERY) {
            return Ok(last);
        }
        let (secs, micros): (i64, i64) = redis::cmd("TIME").query_async(connection).await?;
        // At most: it told the time no sooner than it was asked.
        let ahead = secs * 1_000 + micros / 1_000 - asked.as_millis() as i64;
        for it in partitions {
            self.ahead[it].store(ahead, Ordering::Relaxed);
        }
        Ok(asked)
    }
}
