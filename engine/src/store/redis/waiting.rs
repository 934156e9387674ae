//! Waiting and tasks, as the driver of a store needs them.

use std::time::Duration;

use greendot_protocol::Time;
use tokio::time::{Instant, Sleep};

/// Milliseconds since the store was opened.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock(Instant);

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "the driver is where time comes from")]
    pub(super) fn start() -> Self {
        Self(Instant::now())
    }

    #[expect(clippy::disallowed_methods, reason = "the driver is where time comes from")]
    pub(super) fn now(self) -> Time {
        let passed = Instant::now().saturating_duration_since(self.0);
        // Not from 0 on: ages may reach before the start.
        Time::from_millis(u64::try_from(passed.as_millis()).unwrap_or(u64::MAX) + (1 << 40))
    }
}

/// Waits for `future`, but no longer than `limit`.
pub(super) async fn timeout<T>(limit: Duration, future: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        done = future => Some(done),
        () = sleep(limit) => None,
    }
}

#[expect(clippy::disallowed_methods, reason = "the driver is where waiting is done")]
pub(super) fn sleep(time: Duration) -> Sleep {
    tokio::time::sleep(time)
}

#[expect(clippy::disallowed_methods, reason = "the driver is where tasks are started")]
pub(super) fn spawn(task: impl Future<Output = ()> + Send + 'static) {
    tokio::spawn(task);
}
