//! Deadlines, each under its reason.

use greendot_protocol::Time;

/// Why there is a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Watches that were begun in this tick wait to be sent.
    Flush,
    /// Watches that nobody needs any more wait to be ended.
    Unwatch,
    /// A connect attempt takes too long.
    Attempt,
    /// The wait before the next dial is over.
    Retry,
    /// A beat is due.
    Beat,
    /// The answer to a beat takes too long.
    Answer,
    /// The person has not touched the page for long.
    Idle,
    /// Cut off for so long that nobody can say any more how anyone is.
    Unknown,
    /// The token of the open connection ends before long: a fresh one is to be had.
    Token,
}

use Reason::{Answer, Attempt, Beat, Flush, Idle, Retry, Token, Unknown, Unwatch};

impl Reason {
    const ALL: [Self; 9] = [Flush, Unwatch, Attempt, Retry, Beat, Answer, Idle, Unknown, Token];
}

/// One deadline at most for each reason.
///
/// Those that move with every frame or touch (beat, idle) stay where they were set and are looked
/// at again when they come up: to move them costs more than to come up once too often.
#[derive(Debug)]
pub(super) struct Alarms([Time; Reason::ALL.len()]);

impl Default for Alarms {
    fn default() -> Self {
        Self([NEVER; _])
    }
}

impl Alarms {
    pub(super) fn set(&mut self, reason: Reason, at: Time) {
        self.0[reason as usize] = at;
    }

    /// Sets it unless it is set already.
    pub(super) fn set_if_clear(&mut self, reason: Reason, at: Time) {
        if !self.is_set(reason) {
            self.set(reason, at);
        }
    }

    pub(super) fn clear(&mut self, reason: Reason) {
        self.set(reason, NEVER);
    }

    /// Clears all that belongs to a connection or an attempt at one.
    pub(super) fn clear_connection(&mut self) {
        for &reason in &Reason::ALL {
            if reason != Unknown {
                self.clear(reason);
            }
        }
    }

    pub(super) fn is_set(&self, reason: Reason) -> bool {
        self.at(reason) != NEVER
    }

    /// When it comes up; [`Time::MAX`] if it does not.
    pub(super) fn at(&self, reason: Reason) -> Time {
        self.0[reason as usize]
    }

    /// The first to come up.
    pub(super) fn next(&self) -> Option<(Time, Reason)> {
        let mut first = None;
        let mut at = NEVER;
        for &reason in &Reason::ALL {
            if self.at(reason) < at {
                at = self.at(reason);
                first = Some((at, reason));
            }
        }
        first
    }

    pub(super) fn count(&self) -> usize {
        self.0.iter().filter(|&&at| at != NEVER).count()
    }
}

const NEVER: Time = Time::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_comes_first_and_under_its_reason() {
        let mut alarms = Alarms::default();
        assert_eq!((alarms.next(), alarms.count()), (None, 0));
        for (millis, reason) in [(9, Beat), (3, Idle), (5, Unknown)] {
            alarms.set(reason, Time::from_millis(millis));
        }
        assert_eq!(alarms.next(), Some((Time::from_millis(3), Idle)));
        alarms.clear_connection();
        assert_eq!(alarms.next(), Some((Time::from_millis(5), Unknown)));
        assert_eq!(alarms.count(), 1);
    }

    #[test]
    fn reasons_are_in_the_order_of_their_numbers() {
        assert!(Reason::ALL.iter().enumerate().all(|(at, &it)| it as usize == at));
    }
}
