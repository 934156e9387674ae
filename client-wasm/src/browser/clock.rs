//! The page's clock and timers.

use alloc::rc::Weak;
use core::cell::Cell;

use greendot_protocol::Time;
use wasm_bindgen::prelude::*;

use super::shell::{Shell, on};

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = performance, js_name = now)]
    fn steady_now() -> f64;

    #[wasm_bindgen(js_namespace = Date, js_name = now)]
    fn wall_now() -> f64;

    #[wasm_bindgen(js_name = setTimeout)]
    fn set_timeout(call: &Closure<dyn Fn()>, millis: f64) -> JsValue;

    #[wasm_bindgen(js_name = clearTimeout)]
    fn clear_timeout(id: &JsValue);

    #[wasm_bindgen(js_name = queueMicrotask)]
    fn queue_microtask(call: &Closure<dyn Fn()>);
}

/// The steady clock, watched for sleeps that it does not show.
///
/// Some machines stop it while they sleep, and then only the wall clock tells. That may also have
/// been set by hand, which is why a jump of it never means more than to ask whether the link is
/// still there; no time is ever taken from it.
pub(super) struct Clock {
    /// The wall clock less the steady one, in milliseconds.
    offset: Cell<f64>,
}

impl Clock {
    pub(super) fn new() -> Self {
        Self { offset: Cell::new(wall_now() - steady_now()) }
    }

    pub(super) fn now(&self) -> Time {
        Time::from_millis(steady_now() as u64)
    }

    /// The time now, and whether the wall clock has run ahead since it was last asked.
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
    call: Closure<dyn Fn()>,
    armed: Cell<Option<Time>>,
    id: Cell<JsValue>,
}

impl Timer {
    pub(super) fn new(shell: &Weak<Shell>) -> Self {
        let call = on(shell, |shell, ()| shell.timed());
        Self {
            call: Closure::new(move || call(())),
            armed: Cell::new(None),
            id: Cell::new(JsValue::UNDEFINED),
        }
    }

    /// It has fired.
    pub(super) fn fired(&self) {
        self.armed.set(None);
    }

    /// Fires at `due` or earlier. True if it does so in a microtask, which cannot be taken back:
    /// then the timer has to live until it has fired.
    pub(super) fn arm(&self, now: Time, due: Time) -> bool {
        if self.armed.get().is_some_and(|armed| armed <= due) {
            return false;
        }
        self.disarm();
        self.armed.set(Some(due));
        if due <= now {
            // Behind the code that is running, and not held back in hidden pages as timers are.
            queue_microtask(&self.call);
            return true;
        }
        let millis = due.since(now).as_millis().min(LONGEST_MILLIS);
        self.id.set(set_timeout(&self.call, millis as f64));
        false
    }

    pub(super) fn disarm(&self) {
        if self.armed.take().is_some() {
            clear_timeout(&self.id.take());
        }
    }
}

/// `setTimeout` takes 31 bits and fires at once beyond; firing too early is no trouble.
const LONGEST_MILLIS: u64 = i32::MAX as u64;
