//! What the kernel has for alarms.

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
