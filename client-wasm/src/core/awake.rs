//! Telling a page that ran from one that stood still.
//!
//! There is no event for a machine that sleeps. What gives it away is a deadline that nobody kept:
//! whatever comes first after the sleep, a timer or a frame that had waited, comes much later than
//! the deadline before it. Clocks that stand still during a sleep show nothing, and then nothing
//! has to be put right, except that the link may be dead; a driver that knows better (a wall clock
//! that jumped against the steady one) says [`Page::Resumed`](super::Page::Resumed).

use greendot_protocol::{Span, Time};

use super::beat::LATE;

/// Timers of a hidden page run once a minute in some browsers, and that page is awake all the same.
const HIDDEN_LATE: Span = Span::from_secs(65);

/// What is known of the page's life.
#[derive(Clone, Debug)]
pub(super) struct Awake {
    /// When anything was handled last: then at least the page was awake.
    last: Time,
    hidden: bool,
    frozen: bool,
}

impl Awake {
    pub(super) fn new(now: Time) -> Self {
        Self { last: now, hidden: false, frozen: false }
    }

    /// Something is about to be handled while `due` was the next deadline. Tells how long the page
    /// has stood still, if it has.
    pub(super) fn arrive(&mut self, now: Time, due: Option<Time>) -> Option<Span> {
        // Frozen pages say themselves when they are thawed, and then how long it was is known.
        if self.frozen {
            return None;
        }
        let last = self.last;
        self.last = now.max(last);
        let late = now.since(due?.max(last));
        (late > if self.hidden { HIDDEN_LATE } else { LATE }).then_some(late)
    }

    /// When anything was handled last.
    pub(super) fn last(&self) -> Time {
        self.last
    }

    pub(super) fn hide(&mut self, hidden: bool) {
        self.hidden = hidden;
    }

    pub(super) fn freeze(&mut self) {
        self.frozen = true;
    }

    /// The page runs again. Tells how long it was frozen, if it was.
    pub(super) fn thaw(&mut self, now: Time) -> Option<Span> {
        let frozen = core::mem::take(&mut self.frozen).then(|| now.since(self.last));
        self.last = now.max(self.last);
        frozen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Time {
        Time::from_millis(secs * 1000)
    }

    #[test]
    fn a_deadline_missed_by_more_than_2_s_is_a_sleep() {
        let mut awake = Awake::new(at(0));
        assert_eq!(awake.arrive(at(12), Some(at(10))), None);
        assert_eq!(awake.arrive(at(30), Some(at(20))), Some(Span::from_secs(10)));
    }

    #[test]
    fn a_sleep_is_counted_once() {
        let mut awake = Awake::new(at(0));
        assert!(awake.arrive(at(100), Some(at(10))).is_some());
        assert_eq!(awake.arrive(at(101), Some(at(10))), None);
    }

    #[test]
    fn a_hidden_page_whose_timers_run_once_a_minute_is_awake() {
        let mut awake = Awake::new(at(0));
        awake.hide(true);
        assert_eq!(awake.arrive(at(70), Some(at(10))), None);
        assert_eq!(awake.arrive(at(200), Some(at(80))), Some(Span::from_secs(120)));
    }

    #[test]
    fn with_nothing_due_nothing_can_be_told() {
        assert_eq!(Awake::new(at(0)).arrive(at(1000), None), None);
    }

    #[test]
    fn a_frozen_time_is_counted_from_the_freeze_to_the_thaw() {
        let mut awake = Awake::new(at(0));
        awake.arrive(at(50), None);
        awake.freeze();
        assert_eq!(awake.arrive(at(90), Some(at(60))), None);
        assert_eq!(awake.thaw(at(90)), Some(Span::from_secs(40)));
        assert_eq!(awake.thaw(at(95)), None);
    }
}
