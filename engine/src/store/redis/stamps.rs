//! What each call says of itself: when it was made, by the clock of the server that is to carry it out, and over which line.
//!
//! A server that stood still reads, when it goes on, what waited on connections that were given up long ago; so does one that
//! packets reach late. The node has told it anew since, or is no more. A connect that passed for a new one would unseat whoever
//! took its place meanwhile, and a choice would beat those that were made after it. So the script takes each call for as old as
//! it is, and carries it out no more once it is too old. What its node has said over a later line comes behind that: a call of
//! an earlier one is refused.
//!
//! Only the server's own clock counts; how that stands to the node's is read from its answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Instant;

use greendot_protocol::Time;
use redis::RedisResult;
use redis::aio::MultiplexedConnection;

use crate::clock::Clock;

/// Not known yet.
const UNKNOWN: i64 = i64::MIN;

/// How the clocks of the servers stand to this node's, and which line goes there, by partition.
#[derive(Clone, Debug)]
pub(super) struct Stamps {
    clock: Clock,
    /// By how many ms the server's is ahead.
    ahead: Arc<[AtomicI64]>,
    /// When the last call was made.
    last: Arc<[AtomicI64]>,
    /// The present line.
    lines: Arc<[AtomicU64]>,
    /// How many there have been.
    count: Arc<AtomicU64>,
}

impl Stamps {
    pub(super) fn new(partitions: usize) -> Self {
        Self {
            clock: Clock::start(),
            ahead: (0..partitions).map(|_| AtomicI64::new(UNKNOWN)).collect(),
            last: (0..partitions).map(|_| AtomicI64::new(UNKNOWN)).collect(),
            lines: (0..partitions).map(|_| AtomicU64::new(0)).collect(),
            count: Arc::default(),
        }
    }

    /// The number of another line, higher than that of any before.
    pub(super) fn next_line(&self) -> u64 {
        self.count.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// From now on these partitions are asked over the line of this number.
    pub(super) fn take_line(&self, partitions: impl Iterator<Item = usize>, line: u64) {
        for it in partitions {
            self.lines[it].store(line, Ordering::Relaxed);
        }
    }

    /// The line over which the partition is asked; 0 if there has been none.
    pub(super) fn line(&self, partition: usize) -> u64 {
        self.lines[partition].load(Ordering::Relaxed)
    }

    /// What the clock here showed then.
    pub(super) fn time_of(&self, moment: Instant) -> Time {
        self.clock.time_of(moment.into())
    }

    /// The time by the clock here.
    pub(super) fn now(&self) -> Time {
        self.clock.now()
    }

    /// A call is made at a time by the clock here: when that is by the clock of the partition's server, no sooner than the call
    /// before; 0 if nothing is known of that clock.
    pub(super) fn there(&self, partition: usize, at: Time) -> i64 {
        match self.ahead[partition].load(Ordering::Relaxed) {
            UNKNOWN => 0,
            ahead => {
                let now = at.as_millis() as i64 + ahead;
                self.last[partition].fetch_max(now, Ordering::Relaxed).max(now)
            }
        }
    }

    /// Asks the server that has these partitions for its time.
    pub(super) async fn compare(
        &self,
        connection: &mut MultiplexedConnection,
        partitions: impl Iterator<Item = usize>,
    ) -> RedisResult<()> {
        let asked = self.now();
        let (secs, micros): (i64, i64) = redis::cmd("TIME").query_async(connection).await?;
        let ahead = secs * 1_000 + micros / 1_000 - asked.as_millis() as i64;
        for it in partitions {
            self.ahead[it].store(ahead, Ordering::Relaxed);
            self.last[it].store(UNKNOWN, Ordering::Relaxed);
        }
        Ok(())
    }

    /// The server that has these partitions has answered just now what it was asked then: at `told`, by its clock. So clocks
    /// that drift apart are followed, and one that is set is known from the next answer on.
    pub(super) fn hear(&self, partitions: impl Iterator<Item = usize>, asked: Time, told: Time) {
        let heard = self.now();
        for it in partitions {
            let ahead = self.ahead[it].load(Ordering::Relaxed);
            if ahead != UNKNOWN {
                self.ahead[it].store(narrowed(ahead, asked, told, heard), Ordering::Relaxed);
            }
        }
    }
}

/// By how much the server's clock is ahead, which was taken for so much: it told the time no sooner than it was asked, and no
/// later than it was heard.
fn narrowed(ahead: i64, asked: Time, told: Time, heard: Time) -> i64 {
    let apart = |at: Time| told.as_millis() as i64 - at.as_millis() as i64;
    ahead.clamp(apart(heard), apart(asked))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_call_is_made_before_the_last_one() {
        let it = Stamps::new(2);
        let at = Time::from_millis;
        assert_eq!(it.there(0, at(7)), 0, "nothing is known yet");
        it.ahead[0].store(60_000, Ordering::Relaxed);
        assert_eq!(it.there(0, at(10)), 60_010);
        // However late it is sent, it was made when it was said.
        assert_eq!(it.there(0, at(12)), 60_012);
        assert_eq!(it.there(0, at(11)), 60_012);
        // The clock turns out to be ahead by less.
        it.ahead[0].store(5_000, Ordering::Relaxed);
        assert_eq!(it.there(0, at(20)), 60_012);
    }

    #[test]
    fn how_clocks_stand_is_read_from_answers() {
        let read = |ahead, asked, told, heard| {
            let [asked, told, heard] = [asked, told, heard].map(Time::from_millis);
            narrowed(ahead, asked, told, heard)
        };
        // An answer that took long says little.
        assert_eq!(read(5_000, 1_000, 6_300, 2_000), 5_000);
        // The comparison took long, and a quick answer says more.
        assert_eq!(read(5_000, 1_000, 5_200, 1_004), 4_200);
        // The server's clock is set, forward and back.
        assert_eq!(read(5_000, 1_000, 9_003, 1_004), 7_999);
        assert_eq!(read(5_000, 1_000, 3_003, 1_004), 2_003);
    }
}
