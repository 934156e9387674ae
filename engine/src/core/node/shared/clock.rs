//! The store's clock, read through messages that take their time.
//!
//! What the store says is as old as its way was long, and a node that has stood still reads it
//! late. How far the two clocks are apart shows best in the message that was quickest; by that one
//! the others are dated.

use greendot_protocol::{Span, Time};

/// How long the quickest message counts: clocks drift apart, by some 50 ms in this time.
const LASTS: Span = Span::from_secs(600);

/// How far the store's clock is behind this node's, as messages show it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StoreClock {
    /// The least of the present span of time, and of the one before.
    least: Option<i64>,
    before: Option<i64>,
    since: Time,
}

impl StoreClock {
    /// When, on this node's clock, the store said what has arrived now and was said at `at` of its
    /// own clock.
    pub(super) fn date(&mut self, now: Time, at: Time) -> Time {
        let (now_millis, at_millis) = (now.as_millis() as i64, at.as_millis() as i64);
        let apart = now_millis.wrapping_sub(at_millis);
        if now.since(self.since) >= LASTS {
            self.since = now;
            self.before = self.least.take();
        }
        self.least = Some(self.least.map_or(apart, |it| it.min(apart)));
        let apart = self.least.into_iter().chain(self.before).min().unwrap_or(apart);
        Time::from_millis(at_millis.wrapping_add(apart).clamp(0, now_millis) as u64)
    }

    /// The store has another clock now.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    #[test]
    fn a_late_message_is_dated_by_a_quick_one() {
        let mut clock = StoreClock::default();
        assert_eq!(clock.date(at(1_000_002), at(5_000_000)), at(1_000_002));
        assert_eq!(clock.date(at(1_040_000), at(5_010_000)), at(1_010_002));
        assert_eq!(clock.date(at(1_050_001), at(5_050_000)), at(1_050_001));
        assert_eq!(clock.date(at(1_060_000), at(5_020_000)), at(1_020_001));
    }

    #[test]
    fn the_quickest_of_the_span_before_counts_after_a_long_silence() {
        let mut clock = StoreClock::default();
        clock.date(at(1_000_000), at(5_000_000));
        assert_eq!(clock.date(at(1_700_000), at(5_100_000)), at(1_100_000));
    }

    #[test]
    fn a_clock_that_has_drifted_is_followed_in_time() {
        let mut clock = StoreClock::default();
        clock.date(at(0), at(5_000_000));
        for minute in 1..60 {
            clock.date(at(minute * 60_000), at(5_000_000 + minute * 59_990));
        }
        let drifted = clock.date(at(3_600_000), at(5_000_000 + 60 * 59_990));
        assert!(at(3_600_000).since(drifted) <= Span::from_millis(220), "{drifted:?}");
    }
}
