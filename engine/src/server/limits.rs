//! What one process takes on, and how fast.
//!
//! Of each thing that a client can do to bring a server down, what stops it, and what it costs until then (the numbers are
//! the defaults; `tests/server/floods.rs` and `tests/core/bounds.rs` show each):
//!
//! | what it does | what stops it | what it can hold or do |
//! | --- | --- | --- |
//! | opens connection after connection | [`Limits::connections`], then 256 that are told `full` at a time, then HTTP 503 | nothing of it is kept; a user has 256 sessions at most |
//! | opens a connection and asks for nothing | in the ready server and under [`serve()`](super::serve()) 10 s for the head of a request, 16 KB long at most; `axum::serve` waits for ever | hyper's first buffer, 8 KB |
//! | upgrades and never says hello | [`Limits::unauthenticated`] at a time, each for [`Limits::hello_timeout`] | a task and a socket, some 2 KB |
//! | sends frames, pings or fragments without end | [`Limits::frames_per_second`] and [`Limits::burst`]; then it is closed, and what it has sent on is not read | 1,000 frames at once, 100 a second; one message of 32 KB |
//! | never reads | the core makes nothing for it until it does; nothing else is put behind what the kernel has not taken | what one flush gave, and the newest of each watched user (rule 14) |
//! | asks or errs and takes no answers | 256 watch frames, 16,000 watches in them, 64 errors that wait; then it is closed | those |
//! | watches the most and churns | 1,000 watches a connection; [`Limits::names_per_second`] and [`Limits::name_burst`] a user | 20,000 names at once, 200 a second, 1,000 held |
//! | polls without end | [`Limits::polls_per_second`] and [`Limits::poll_burst`] a user; then HTTP 429 | 256 KB a request |

use std::time::Duration;

use greendot_protocol::{Span, Time};

/// Bounds on what strangers can make a server hold or do. Sizes of frames and names are the
/// protocol's ([`greendot_protocol::limits`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Open connections. One more is closed with `full`. Default 100,000; mind the process's
    /// limit on descriptors.
    pub connections: usize,
    /// Connections whose token has not been checked yet. One more is closed with `full`. Default
    /// 2,000.
    pub unauthenticated: usize,
    /// How long a connection may take to say hello, else it is closed with `hello_timeout`.
    /// Default 10 s.
    pub hello_timeout: Duration,
    /// How long the check of a token may take, else the connection is closed with `check_failed`.
    /// Default 10 s.
    pub auth_timeout: Duration,
    /// Frames a second that one connection may send in the long run, else it is closed with
    /// `too_fast`. A frame counts as one, and one more for every 512 bytes of it. Default 100: a
    /// page that watches who is on screen sends some with each picture while it is scrolled.
    pub frames_per_second: u32,
    /// Frames that it may send at once. Default 1,000.
    pub burst: u32,
    /// Names a second that one user may watch in the long run, over all its connections, else the one that went too far is
    /// closed with `too_fast`: nobody goes through all names there are. Default 200.
    pub names_per_second: u32,
    /// Names that it may watch at once. Default 20,000: some devices that come back, each with a long list.
    pub name_burst: u32,
    /// Polls a second of one user in the long run, from all its devices; more are answered 429. One
    /// of many users counts as one more for every 100 of them. Default 1.
    pub polls_per_second: u32,
    /// Polls of one user at once. Default 20.
    pub poll_burst: u32,
    /// How long a client that is told to come back later (`full`) is asked to wait. Default 10 s.
    pub full_retry_after: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 100_000,
            unauthenticated: 2_000,
            hello_timeout: Duration::from_secs(10),
            auth_timeout: Duration::from_secs(10),
            frames_per_second: 100,
            burst: 1_000,
            names_per_second: 200,
            name_burst: 20_000,
            polls_per_second: 1,
            poll_burst: 20,
            full_retry_after: Duration::from_secs(10),
        }
    }
}

/// A bucket that fills with time and pays for frames. In thousandths of a frame, so that
/// milliseconds count exactly.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    level: u64,
    at: Time,
    per_second: u64,
    size: u64,
}

const FRAME: u64 = 1000;

/// Bytes that weigh as much as one more frame: a watch of many users is more work than a beat.
const WEIGHT: usize = 512;

impl Bucket {
    pub(super) fn full(now: Time, per_second: u32, burst: u32) -> Self {
        let size = u64::from(burst.max(1)) * FRAME;
        Self { level: size, at: now, per_second: u64::from(per_second), size }
    }

    /// Pays for a frame of `bytes`; false if there is not enough for it. One heavier than a whole
    /// burst empties a full bucket and passes: the protocol limits how heavy it is.
    pub(super) fn take(&mut self, now: Time, bytes: usize) -> bool {
        self.gain(now);
        self.pay(FRAME + (bytes / WEIGHT) as u64 * FRAME)
    }

    /// Pays for what weighs as much as so many frames.
    pub(super) fn take_weight(&mut self, now: Time, frames: u64) -> bool {
        self.gain(now);
        self.pay(frames.saturating_mul(FRAME))
    }

    /// Whether nothing was taken that has not come back.
    pub(super) fn is_full(&mut self, now: Time) -> bool {
        self.gain(now);
        self.level == self.size
    }

    fn gain(&mut self, now: Time) {
        let passed: Span = now.since(self.at);
        self.at = self.at.max(now);
        // Frames a second are thousandths of a frame a millisecond.
        let gained = passed.as_millis().saturating_mul(self.per_second);
        self.level = self.level.saturating_add(gained).min(self.size);
    }

    fn pay(&mut self, weight: u64) -> bool {
        let weight = weight.min(self.size);
        match self.level.checked_sub(weight) {
            Some(left) => {
                self.level = left;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    #[test]
    fn a_burst_passes_and_the_next_frame_does_not() {
        let mut bucket = Bucket::full(at(0), 10, 3);
        assert_eq!([(); 4].map(|()| bucket.take(at(0), 4)), [true, true, true, false]);
    }

    #[test]
    fn room_comes_back_at_the_rate() {
        let mut bucket = Bucket::full(at(0), 10, 1);
        assert!(bucket.take(at(0), 4));
        assert!(!bucket.take(at(99), 4));
        assert!(bucket.take(at(100), 4));
        // However long it was: no more than the burst.
        assert!(bucket.take(at(1_000_000), 4));
        assert!(!bucket.take(at(1_000_000), 4));
    }

    #[test]
    fn a_frame_stamped_before_the_last_one_gains_nothing() {
        let mut bucket = Bucket::full(at(1000), 1000, 1);
        assert!(bucket.take(at(1000), 4));
        assert!(!bucket.take(at(0), 4));
        assert!(!bucket.take(at(1000), 4));
    }

    #[test]
    fn a_heavy_frame_counts_for_several() {
        let mut bucket = Bucket::full(at(0), 10, 5);
        assert!(bucket.take(at(0), 511));
        assert!(bucket.take(at(0), 512));
        assert!(!bucket.take(at(0), 1024));
        assert!(bucket.take(at(0), 512));
        // Heavier than a full bucket.
        assert!(!bucket.take(at(499), 32 * 1024));
        assert!(bucket.take(at(500), 32 * 1024));
    }
}
