//! The steady clock, waiting and tasks, as the drivers of the core and of a shared store need them.

use greendot_protocol::Time;
use tokio::time::{Duration, Instant, Sleep};

#[cfg(all(feature = "server", target_os = "linux"))]
use self::kernel::{Stage, Timer};

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
        let passed = Instant::now().saturating_duration_since(self.0);
        Time::from_millis(u64::try_from(passed.as_millis()).unwrap_or(u64::MAX))
    }

    /// When it shows `at`. A deadline that never comes is looked at once a day.
    #[cfg(feature = "server")]
    fn moment(self, at: Time) -> Instant {
        let ahead = Duration::from_millis(at.as_millis())
            .min(Duration::from_millis(self.now().as_millis()) + Duration::from_secs(24 * 3600));
        self.0 + ahead
    }
}

/// Wakes when a time has come, whatever was done before it.
///
/// The runtime's own timer counts whole ms: it sleeps so many of them from when there was nothing more to do, and so wakes as many µs behind the
/// ms as that was. By these µs everybody who is told something at a turn of the clock would be told when the work before was over. The
/// kernel's timer is set to the time itself. Where there is none, the runtime's has to do.
///
/// What comes then is some 20 µs quicker where something was written to a connection a moment ago, for all that it takes lies ready in the
/// processor's caches, and slower where the processor has slept for long. So that this does not tell either what was done before, it is
/// rehearsed twice a little ahead, whatever was done: the alarm writes to a connection of its own, and reads from it.
///
/// What is left then are some 4 µs. They drown: it wakes up to a ms late, by chance, and for all alike that wait for the same time.
#[cfg(feature = "server")]
#[derive(Debug)]
pub(crate) struct Alarm {
    clock: Clock,
    #[cfg(target_os = "linux")]
    timer: Option<Timer>,
    #[cfg(target_os = "linux")]
    stage: Option<Stage>,
}

/// How long before its time what is to come is rehearsed.
#[cfg(all(feature = "server", target_os = "linux"))]
const AHEAD: [Duration; 2] = [Duration::from_millis(1), Duration::from_micros(250)];

#[cfg(feature = "server")]
#[expect(clippy::disallowed_methods, reason = "the driver is where waiting is done")]
impl Alarm {
    /// # Panics
    ///
    /// If the runtime drives no sockets.
    pub(crate) fn new(clock: Clock) -> Self {
        Self {
            clock,
            #[cfg(target_os = "linux")]
            timer: Timer::new().ok(),
            #[cfg(target_os = "linux")]
            stage: Stage::new().ok(),
        }
    }

    /// Waits until `at` has come, and up to a ms more.
    pub(crate) async fn reach(&self, at: Time) {
        let at = self.clock.moment(at) + chance();
        loop {
            let left = at.saturating_duration_since(Instant::now());
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
#[cfg(feature = "server")]
#[expect(clippy::disallowed_methods, reason = "the driver's chance, which no core knows of")]
fn chance() -> Duration {
    let mut random = [0; 4];
    match getrandom::fill(&mut random) {
        Ok(()) => Duration::from_nanos(u64::from(u32::from_le_bytes(random) % 1_000_000)),
        Err(_) => Duration::ZERO,
    }
}

/// What the kernel has for that.
#[cfg(all(feature = "server", target_os = "linux"))]
mod kernel {
    use std::io;
    use std::net::{Ipv4Addr, TcpListener};
    use std::os::fd::OwnedFd;
    use std::time::Duration;

    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;
    use tokio::net::TcpStream;

    /// A connection from here to here.
    #[derive(Debug)]
    pub(super) struct Stage {
        from: TcpStream,
        to: TcpStream,
    }

    impl Stage {
        pub(super) fn new() -> io::Result<Self> {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            let from = std::net::TcpStream::connect(listener.local_addr()?)?;
            let (to, peer) = listener.accept()?;
            if peer != from.local_addr()? {
                // Somebody else was quicker.
                return Err(io::ErrorKind::ConnectionRefused.into());
            }
            let stream = |it: std::net::TcpStream| {
                it.set_nodelay(true)?;
                it.set_nonblocking(true)?;
                TcpStream::from_std(it)
            };
            Ok(Self { from: stream(from)?, to: stream(to)? })
        }

        /// Goes the way that an answer goes, once.
        pub(super) async fn rehearse(&self) {
            if self.from.try_write(&[0; 8]).is_err() {
                return;
            }
            while self.to.readable().await.is_ok() {
                match self.to.try_read(&mut [0; 64]) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    _ => return,
                }
            }
        }
    }

    #[derive(Debug)]
    pub(super) struct Timer(AsyncFd<OwnedFd>);

    impl Timer {
        #[expect(
            deprecated,
            reason = "for descriptors that may be closed meanwhile; this one is owned"
        )]
        pub(super) fn new() -> io::Result<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
            AsyncFd::with_interest(timer, Interest::READABLE).map(Self)
        }

        /// It rings once, after this time, and not when it was to ring before.
        pub(super) fn set(&self, left: Duration) -> io::Result<()> {
            let never = Timespec { tv_sec: 0, tv_nsec: 0 };
            let once = Itimerspec {
                it_interval: never,
                it_value: Timespec {
                    tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
                    tv_nsec: left.subsec_nanos().into(),
                },
            };
            timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::empty(), &once)?;
            Ok(())
        }

        /// Waits until it rings, or has rung since this was last waited for.
        pub(super) async fn rings(&self) {
            match self.0.readable().await {
                Ok(mut rung) => rung.clear_ready(),
                // The runtime ends.
                Err(_) => std::future::pending().await,
            }
        }
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

#[cfg(all(test, feature = "server", target_os = "linux"))]
mod tests {
    use greendot_protocol::Span;

    use super::*;

    /// By the runtime's timer it would wake as late in the ms as the work before was over: 500 µs at the least.
    #[tokio::test]
    async fn an_alarm_does_not_tell_when_the_work_before_was_over() {
        let clock = Clock::start();
        let alarm = Alarm::new(clock);
        let mut least = Duration::MAX;
        // A machine that is busy wakes late, too, but not always.
        for _ in 0..200 {
            let at = clock.now() + Span::from_millis(4);
            while clock.0.elapsed().subsec_micros() % 1_000 < 500 {}
            alarm.reach(at).await;
            let late = clock.0.elapsed().checked_sub(Duration::from_millis(at.as_millis()));
            least = least.min(late.expect("not too early"));
        }
        assert!(least < Duration::from_micros(400), "{least:?}");
    }
}
