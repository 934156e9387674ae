//! What the core has for one connection's task.
//!
//! Flags and a waker, no queue: whatever happens while the task is busy writing to a slow reader,
//! what waits for it here is a few bytes.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::Context;

use futures_util::task::AtomicWaker;
use greendot_protocol::Span;

use crate::core::Ending;

/// Frames wait in the core: transmit them.
pub(super) const READY: u8 = 1;
/// Ping the client.
pub(super) const PING: u8 = 1 << 1;
/// Read what has arrived and say so.
pub(super) const READ_FIRST: u8 = 1 << 2;
/// Close the connection as [`Mailbox::ending`] says.
pub(super) const CLOSE: u8 = 1 << 3;

/// Filled by whoever drives the core, emptied by the connection's task.
#[derive(Debug, Default)]
pub(super) struct Mailbox {
    flags: AtomicU8,
    ending: OnceLock<(Ending, Span)>,
    waker: AtomicWaker,
}

impl Mailbox {
    pub(super) fn post(&self, flag: u8) {
        self.flags.fetch_or(flag, Ordering::Release);
        self.waker.wake();
    }

    /// The first ending counts: what is said of a connection that ends already changes nothing.
    pub(super) fn post_close(&self, ending: Ending, retry_after: Span) {
        let _ = self.ending.set((ending, retry_after));
        self.post(CLOSE);
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
}
