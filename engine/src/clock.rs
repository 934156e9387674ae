//! The steady clock, waiting and tasks, as the drivers of the core and of a shared store need them.

use greendot_protocol::Time;
use tokio::time::{Duration, Instant, Sleep};

/// Milliseconds since the driver started. It never runs back and knows no calendar (rule 11).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(Instant);

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "the driver is where time comes from")]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    #[expect(clippy::disallowed_methods, reason = "the driver is where time comes from")]
    pub(crate) fn now(self) -> Time {
        self.time_of(Instant::now())
    }

    /// What it shows then.
    pub(crate) fn time_of(self, moment: Instant) -> Time {
        let passed = moment.saturating_duration_since(self.0);
        Time::from_millis(u64::try_from(passed.as_millis()).unwrap_or(u64::MAX))
    }

    /// When it shows `at`. A deadline that never comes is looked at once a day.
    #[cfg(feature = "server")]
    pub(crate) fn moment_of(self, at: Time) -> Instant {
        let ahead = Duration::from_millis(at.as_millis())
            .min(Duration::from_millis(self.now().as_millis()) + Duration::from_secs(24 * 3600));
        self.0 + ahead
    }
}

/// A moment to measure from, finer than the core's time.
#[cfg(feature = "server")]
#[expect(clippy::disallowed_methods, reason = "the driver is where time comes from")]
pub(crate) fn moment() -> Instant {
    Instant::now()
}

/// Waits for `future`, but no longer than `limit`.
pub(crate) async fn timeout<T>(limit: Duration, future: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        done = future => Some(done),
        () = sleep(limit) => None,
    }
}

/// Wakes after `time`.
#[expect(clippy::disallowed_methods, reason = "the driver is where waiting is done")]
pub(crate) fn sleep(time: Duration) -> Sleep {
    tokio::time::sleep(time)
}

/// Begins a task.
#[expect(clippy::disallowed_methods, reason = "the driver is where tasks are started")]
pub(crate) fn spawn(task: impl Future<Output = ()> + Send + 'static) {
    tokio::spawn(task);
}
