//! What the driver and a connection's task share.
//!
//! Flags and a waker, no queue: whatever happens while the task is busy writing to a slow reader, what waits for it here is a
//! few bytes. And the way out, which one of the two has at a time.

use std::io;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::task::Context;

use futures_util::task::AtomicWaker;
use greendot_protocol::{ServerFrame, Span, Time, Welcome};
use tokio::net::TcpStream;

use super::beacon::Ticket;
use super::encoding::Encoding;
use super::websocket::compose;
use crate::core::Ending;

/// Frames wait in the core: transmit them.
pub(super) const READY: u8 = 1;
/// Ping the client.
pub(super) const PING: u8 = 1 << 1;
/// Read what has arrived and say so.
pub(super) const READ_FIRST: u8 = 1 << 2;
/// Close the connection as [`Line::ending`] says.
pub(super) const CLOSE: u8 = 1 << 3;
/// The kernel did not take all of a frame: write the rest when it can.
pub(super) const REST: u8 = 1 << 4;

/// Between the driver and a connection's task.
#[derive(Debug)]
pub(super) struct Line {
    flags: AtomicU8,
    ending: OnceLock<(Ending, Span)>,
    waker: AtomicWaker,
    outlet: Mutex<Outlet>,
    /// The connection itself, if whoever has the outlet may write to it at once.
    tcp: Option<Arc<TcpStream>>,
    pub(super) encoding: Encoding,
    /// The right to say `closing` by a beacon, once the client has a seat.
    ticket: OnceLock<Ticket>,
    /// Until when nothing is said, in ms of the driver's clock.
    quiet: AtomicU64,
}

/// The way out of a connection: what was put here goes before anything that is said later.
#[derive(Debug, Default)]
pub(super) struct Outlet {
    /// Bytes that the kernel has not taken.
    rest: Vec<u8>,
    /// How many of them it has taken since.
    taken: usize,
}

impl Line {
    pub(super) fn new(encoding: Encoding, tcp: Option<Arc<TcpStream>>) -> Self {
        Self {
            flags: AtomicU8::new(0),
            ending: OnceLock::new(),
            waker: AtomicWaker::new(),
            outlet: Mutex::default(),
            tcp,
            encoding,
            ticket: OnceLock::new(),
            quiet: AtomicU64::new(0),
        }
    }

    pub(super) fn post(&self, flag: u8) {
        self.flags.fetch_or(flag, Ordering::Release);
        self.waker.wake();
    }

    /// The first ending counts: what is said of a connection that ends already changes nothing.
    pub(super) fn post_close(&self, ending: Ending, retry_after: Span) {
        let _ = self.ending.set((ending, retry_after));
        self.post(CLOSE);
    }

    /// Nothing is said before this time. Whoever asks anything is answered by the clock,
    /// so that how long it took to find the answer, which is a little longer for one who is there and
    /// hides, is not in the time of the answer. To be called before the work begins.
    pub(super) fn keep_quiet(&self, until: Time) {
        self.quiet.fetch_max(until.as_millis(), Ordering::Relaxed);
    }

    /// Until when nothing is said.
    pub(super) fn quiet_until(&self) -> Time {
        Time::from_millis(self.quiet.load(Ordering::Relaxed))
    }

    /// Takes what has been posted, and sees to it that the task is woken for what will be.
    pub(super) fn take(&self, cx: &Context<'_>) -> u8 {
        self.waker.register(cx.waker());
        self.flags.swap(0, Ordering::Acquire)
    }

    /// How to close, once [`CLOSE`] has been posted.
    pub(super) fn ending(&self) -> Option<(Ending, Span)> {
        self.ending.get().copied()
    }

    /// The ticket that the client is told in its welcome.
    pub(super) fn set_ticket(&self, ticket: Ticket) {
        let _ = self.ticket.set(ticket);
    }

    pub(super) fn ticket(&self) -> Option<&Ticket> {
        self.ticket.get()
    }

    /// Appends a frame for this client as a WebSocket message.
    pub(super) fn put(&self, frame: &ServerFrame<'_>, out: &mut Vec<u8>) {
        compose(out, self.encoding.opcode(), |out| match frame {
            // The core knows no tickets: they are this server's, as its sockets are.
            ServerFrame::Welcome(welcome) => {
                let ticket = self.ticket().map_or(String::new(), Ticket::text);
                let welcome = Welcome { ticket: &ticket, ..welcome.clone() };
                self.encoding.encode(&ServerFrame::Welcome(welcome), out);
            }
            frame => self.encoding.encode(frame, out),
        });
    }

    /// The way out, when it is free. To be had *before* the core is locked: so what one encodes is
    /// sent before what another encodes later.
    pub(super) fn outlet(&self) -> MutexGuard<'_, Outlet> {
        self.outlet.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The way out, with the connection, if a frame may go out at once.
    pub(super) fn open_outlet(&self) -> Option<(MutexGuard<'_, Outlet>, &TcpStream)> {
        let tcp = self.tcp.as_deref()?;
        let outlet = match self.outlet.try_lock() {
            Ok(outlet) => outlet,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // Its task is about to transmit, or has just done so.
            Err(TryLockError::WouldBlock) => return None,
        };
        outlet.is_empty().then_some((outlet, tcp))
    }
}

impl Outlet {
    /// Whether the kernel has taken everything.
    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Where to put what is to go out.
    pub(super) fn put(&mut self) -> &mut Vec<u8> {
        &mut self.rest
    }

    /// What is left to go out.
    pub(super) fn rest(&self) -> &[u8] {
        &self.rest[self.taken..]
    }

    /// The kernel has taken so many bytes.
    pub(super) fn took(&mut self, bytes: usize) {
        self.taken += bytes;
        if self.taken == self.rest.len() {
            // An idle connection keeps no buffer.
            *self = Self::default();
        }
    }

    /// Writes as much as the kernel takes now, and keeps the rest. Returns whether any is left.
    ///
    /// # Errors
    ///
    /// If the connection is broken.
    pub(super) fn send(&mut self, tcp: &TcpStream, bytes: &[u8]) -> io::Result<bool> {
        let written = match tcp.try_write(bytes) {
            Ok(written) => written,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error),
        };
        self.rest.extend_from_slice(&bytes[written..]);
        Ok(written < bytes.len())
    }
}
