//! The store's clock, read through messages that take their time.
//!
//! What the store says is as old as its way was long, and a node that has stood still reads it
//! late. How far the two clocks are apart shows best in the message that was quickest; by that one
//! the others are dated.

use greendot_protocol::{Span, Time};

/// How long the quickest message counts: clocks drift apart, by some 50 ms in this time.
const LASTS: Span = Span::from_secs(600);

/// Messages of which even the quickest may have taken longer than this, in ms, tell too little: rather than to
/// date what was said too late, and take it back, it is dated by when it was asked for.
const SLOW: i64 = 100;

/// How far the store's clock is behind this node's, as messages show it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StoreClock {
    /// The least of the present span of time, and of the one before.
    least: Option<i64>,
    before: Option<i64>,
    /// What it is at least: an answer was not said before it was asked for. Of both spans, too.
    floor: Option<i64>,
    floor_before: Option<i64>,
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
            self.floor_before = self.floor.take();
        }
        self.least = Some(self.least.map_or(apart, |it| it.min(apart)));
        let apart = self.least.into_iter().chain(self.before).min().unwrap_or(apart);
        let floor = self.floor.into_iter().chain(self.floor_before).max();
        let apart = floor.filter(|it| apart.wrapping_sub(*it) > SLOW).unwrap_or(apart);
        Time::from_millis(at_millis.wrapping_add(apart).clamp(0, now_millis) as u64)
    }

    /// The same for the answer to what was asked at `asked`.
    pub(super) fn date_answer(&mut self, now: Time, asked: Time, at: Time) -> Time {
        let apart = (asked.as_millis() as i64).wrapping_sub(at.as_millis() as i64);
        self.floor = Some(self.floor.map_or(apart, |it| it.max(apart)));
        self.date(now, at)
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
    fn where_all_took_long_an_answer_is_dated_by_its_question() {
        let mut clock = StoreClock::default();
        assert_eq!(clock.date_answer(at(1_010_000), at(1_000_000), at(5_000_500)), at(1_000_000));
        // A quick one shows how it really is.
        assert_eq!(clock.date_answer(at(1_020_004), at(1_020_000), at(5_020_002)), at(1_020_004));
        assert_eq!(clock.date(at(1_040_000), at(5_030_000)), at(1_030_002));
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
