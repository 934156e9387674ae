//! Wakes when a time has come, whatever was done before it.
//!
//! The runtime's own timer counts whole ms: it sleeps so many of them from when there was nothing more to do, and so wakes as many µs behind the
//! ms as that was. By these µs everybody who is told something at a turn of the clock would be told when the work before was over. The
//! kernel's timer is set to the time itself. Where there is none, the runtime's has to do.
//!
//! What comes then is some 20 µs quicker where something was written to a connection a moment ago, for all that it takes lies ready in the
//! processor's caches, and slower where the processor has slept for long. So that this does not tell either what was done before, it is
//! rehearsed twice a little ahead, whatever was done: the alarm writes to a connection of its own, and reads from it.
//!
//! What is left then are some 4 µs. They drown: it wakes up to a ms late, by chance, and for all alike that wait for the same time.

#[cfg(target_os = "linux")]
mod kernel;

use std::time::Duration;

use greendot_protocol::Time;

#[cfg(target_os = "linux")]
use self::kernel::{Stage, Timer};
use crate::clock::{Clock, moment};

/// Wakes when a time has come, whatever was done before it.
#[derive(Debug)]
pub(super) struct Alarm {
    clock: Clock,
    #[cfg(target_os = "linux")]
    timer: Option<Timer>,
    #[cfg(target_os = "linux")]
    stage: Option<Stage>,
}

/// How long before its time what is to come is rehearsed.
#[cfg(target_os = "linux")]
const AHEAD: [Duration; 2] = [Duration::from_millis(1), Duration::from_micros(250)];

#[expect(clippy::disallowed_methods, reason = "the driver is where waiting is done")]
impl Alarm {
    /// # Panics
    ///
    /// If the runtime drives no sockets.
    pub(super) fn new(clock: Clock) -> Self {
        Self {
            clock,
            #[cfg(target_os = "linux")]
            timer: Timer::new().ok(),
            #[cfg(target_os = "linux")]
            stage: Stage::new().ok(),
        }
    }

    /// Waits until `at` has come, and up to a ms more.
    pub(super) async fn reach(&self, at: Time) {
        let at = self.clock.moment_of(at) + chance();
        loop {
            let left = at.saturating_duration_since(moment());
            if left == Duration::ZERO {
                return;
            }
            #[cfg(target_os = "linux")]
            if let Some(timer) = &self.timer {
                let ahead = AHEAD.into_iter().find(|it| *it < left).unwrap_or_default();
                if timer.set(left - ahead).is_ok() {
                    let rings = async {
                        timer.rings().await;
                        if let Some(stage) = self.stage.as_ref().filter(|_| ahead > Duration::ZERO)
                        {
                            stage.rehearse().await;
                        }
                    };
                    tokio::select! {
                        biased;
                        () = rings => {}
                        // Where the runtime's clock is one that is set.
                        () = tokio::time::sleep_until(at + Duration::from_millis(1)) => {}
                    }
                    continue;
                }
            }
            tokio::time::sleep_until(at).await;
        }
    }
}

/// Up to a ms, evenly spread, by a source that nobody can foretell; none where there is no such source.
#[expect(clippy::disallowed_methods, reason = "the driver's chance, which no core knows of")]
fn chance() -> Duration {
    let mut random = [0; 4];
    match getrandom::fill(&mut random) {
        Ok(()) => Duration::from_nanos(u64::from(u32::from_le_bytes(random) % 1_000_000)),
        Err(_) => Duration::ZERO,
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use greendot_protocol::Span;

    use super::*;

    /// By the runtime's timer it would wake as late in the ms as the work before was over: 500 µs at the least.
    #[tokio::test]
    async fn an_alarm_does_not_tell_when_the_work_before_was_over() {
        let clock = Clock::start();
        let (alarm, begin) = (Alarm::new(clock), clock.moment_of(Time::ZERO));
        let mut least = Duration::MAX;
        // A machine that is busy wakes late, too, but not always.
        for _ in 0..200 {
            let at = clock.now() + Span::from_millis(4);
            while begin.elapsed().subsec_micros() % 1_000 < 500 {}
            alarm.reach(at).await;
            let late = begin.elapsed().checked_sub(Duration::from_millis(at.as_millis()));
            least = least.min(late.expect("not too early"));
        }
        assert!(least < Duration::from_micros(400), "{least:?}");
    }
}
