//! The page's clock and timers.

use core::cell::Cell;

use greendot_protocol::Time;
use wasm_bindgen::JsValue;

use super::js::{clear_timeout, queue_microtask, set_timeout, steady_now, wall_now};
use super::shell::Handler;

/// The steady clock, watched for sleeps that it does not show.
///
/// Some machines stop it while they sleep, and then only the wall clock tells. That may also have
/// been set by hand, which is why a jump of it never means more than to ask whether the link is
/// still there; no time is ever taken from it.
#[derive(Default)]
pub(super) struct Clock {
    /// The wall clock less the steady one, in milliseconds.
    offset: Cell<f64>,
}

impl Clock {
    pub(super) fn now(&self) -> Time {
        Time::from_millis(steady_now() as u64)
    }

    /// The time now, and whether the wall clock has run ahead since this was last asked; it has
    /// when it is asked for the first time.
    pub(super) fn read(&self) -> (Time, bool) {
        let now = steady_now();
        let offset = wall_now() - now;
        let jumped = offset - self.offset.replace(offset) > JUMP_MILLIS;
        (Time::from_millis(now as u64), jumped)
    }
}

/// More than the two clocks drift apart between two reads, and less than a sleep that matters.
const JUMP_MILLIS: f64 = 2_000.0;

/// One timer, which is moved only when it would fire too late.
pub(super) struct Timer {
    armed: Cell<Time>,
    id: Cell<JsValue>,
}

impl Timer {
    pub(super) fn new() -> Self {
        Self { armed: Cell::new(Time::MAX), id: Cell::new(JsValue::UNDEFINED) }
    }

    /// It has fired.
    pub(super) fn fired(&self) {
        self.armed.set(Time::MAX);
    }

    /// Calls at `due` or earlier. True if it does so in a microtask, which cannot be taken back:
    /// then whatever is called has to live until then.
    pub(super) fn arm(&self, now: Time, due: Time, call: &Handler) -> bool {
        if self.armed.get() <= due {
            return false;
        }
        self.disarm();
        self.armed.set(due);
        if due <= now {
            // Behind the code that is running, and not held back in hidden pages as timers are.
            queue_microtask(call);
            return true;
        }
        let millis = due.since(now).as_millis().min(LONGEST_MILLIS);
        self.id.set(set_timeout(call, millis as f64));
        false
    }

    pub(super) fn disarm(&self) {
        if self.armed.replace(Time::MAX) < Time::MAX {
            clear_timeout(&self.id.replace(JsValue::UNDEFINED));
        }
    }
}

/// `setTimeout` takes 31 bits and fires at once beyond; firing too early is no trouble.
const LONGEST_MILLIS: u64 = i32::MAX as u64;
