//! Many connections are told at once: after a tick, whoever watches a user that changed.
//!
//! Waking a task for each of a thousand watchers costs more than what it then does. So the frames are made and handed to the
//! kernel right here, one connection after another: some at a time, so that nobody else waits long for the core or for a
//! turn. A connection whose reader is behind, whose task is at it already, or that waits for the time of its answer, is
//! left to its task.

use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use super::driver::Driver;
use super::line::{Line, Outlet, READY, REST};
use crate::clock::moment;
use crate::core::ConnId;

/// Connections that are told in one go. The core is locked while their frames are made, some 10 µs.
const AT_A_TIME: usize = 64;

/// After so long others get their turn on this thread.
const TURN: Duration = Duration::from_millis(1);

/// What is made here before it goes out, kept from one time to the next.
#[derive(Debug, Default)]
pub(super) struct Fanout {
    waiting: Vec<(ConnId, Arc<Line>)>,
    /// The bytes of all frames.
    bytes: Vec<u8>,
    /// Where each connection's end; none for one that is to be told later.
    ends: Vec<Option<usize>>,
}

impl Fanout {
    /// Tells some of those that wait to be told. Returns whether there may be more.
    pub(super) fn run(&mut self, driver: &Driver) -> bool {
        let begun = moment();
        while self.tell(driver) {
            if begun.elapsed() >= TURN {
                return true;
            }
        }
        false
    }

    fn tell(&mut self, driver: &Driver) -> bool {
        if !driver.take_ready(AT_A_TIME, &mut self.waiting) {
            return false;
        }
        let mut open: Vec<(ConnId, &Line, MutexGuard<'_, Outlet>, _)> = Vec::new();
        for (conn, line) in &self.waiting {
            match line.open_outlet() {
                Some((outlet, tcp)) => open.push((*conn, line, outlet, tcp)),
                None => line.post(READY),
            }
        }
        let (bytes, ends) = (&mut self.bytes, &mut self.ends);
        driver.with(|now, node| {
            for (conn, line, ..) in &open {
                let quiet = line.quiet_until() > now;
                if !quiet {
                    node.transmit(now, *conn, &mut |frame| line.put(frame, bytes));
                }
                ends.push((!quiet).then_some(bytes.len()));
            }
        });
        let mut begin = 0;
        for ((_, line, mut outlet, tcp), end) in open.into_iter().zip(ends.drain(..)) {
            let Some(end) = end else {
                drop(outlet);
                line.post(READY);
                continue;
            };
            let frames = &bytes[begin..end];
            begin = end;
            // A connection that is broken is found to be so by its task.
            if !frames.is_empty() && outlet.send(tcp, frames).unwrap_or(true) {
                drop(outlet);
                line.post(REST);
            }
        }
        bytes.clear();
        self.waiting.clear();
        true
    }
}
