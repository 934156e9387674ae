//! Sweeping: what is due is found and done.

use greendot_protocol::{CloseCode, Span, Time};

use super::shared::Then;
use super::{Ending, Node, Output};
use crate::core::leases::{Due, Idle, LeaseId};
use crate::store::Request;

/// Leases looked at in one step, so that no step holds the core for long whatever is due. At some
/// 300 ns for one that ends, well under 5 ms.
const STEP: usize = 4096;

/// A driver that does not say it has read a connection is waited for this long.
const READING: Span = Span::from_secs(5);

impl Node {
    pub(super) fn sweep(&mut self, now: Time) {
        if now < self.sweep_at {
            return;
        }
        let late = now.since(self.sweep_at);
        if late > self.stall() {
            // The node has stood still. What arrived meanwhile is not read yet: nobody is ended
            // before the driver had a turn to read it (rule 1).
            self.sweep_at = now + self.settings.sweep;
            return;
        }
        for _ in 0..STEP {
            let Some((lease, due)) = self.leases.pop(now) else {
                self.sweep_at = self.leases.time_of(self.leases.tick_at(now) + 1);
                if self.warm_until.is_some_and(|at| at <= now) {
                    self.warm_until = None;
                    self.watches.end_warmup();
                    self.schedule_flush(now);
                }
                self.submit(now, Request::Sweep, Then::Nothing);
                return;
            };
            self.act(now, lease, due);
            self.leases.arm(lease);
        }
        // More is due: the next step follows as soon as the driver likes.
        self.sweep_at = now;
    }

    /// How late a sweep may be before the node is taken to have stood still.
    pub(super) fn stall(&self) -> Span {
        (self.settings.sweep + self.settings.sweep).max(Span::from_secs(1))
    }

    fn act(&mut self, now: Time, lease: LeaseId, due: Option<Due>) {
        let spared = self.shared.as_ref().is_some_and(|it| !it.may_expire(now));
        match due {
            None => {}
            // Nobody could renew anything for a while: nobody ends for it. One that lingers has left
            // this node, and nothing could have renewed it here (rule 3).
            Some(Due::Expired) if spared => {
                if self.leases.get(lease).is_some_and(|it| it.has_idled(now)) {
                    self.set_idle(now, lease, Idle::Found);
                }
            }
            Some(Due::Silent) => self.seat_is_silent(lease),
            Some(Due::Ping) => {
                if let Some(conn) = self.leases.get(lease).and_then(|it| it.conn) {
                    self.outputs.push_back(Output::Ping(conn));
                }
            }
            Some(Due::Idle) => self.set_idle(now, lease, Idle::Found),
            // A session that said `closing` may still have its connection, too.
            Some(Due::Expired | Due::Lingered) => {
                let Some(row) = self.leases.get_mut(lease) else { return };
                match (row.conn, row.reading_since) {
                    (Some(conn), None) => {
                        row.reading_since = Some(now);
                        self.outputs.push_back(Output::ReadFirst(conn));
                    }
                    (Some(_), Some(since)) if now.since(since) < READING => {}
                    _ => self.expire(now, lease),
                }
            }
        }
    }

    /// The lease has run out or has lingered long enough, if it still has: the session ends, or
    /// lingers for `expiry_grace` more (rule 2).
    pub(super) fn expire(&mut self, now: Time, lease: LeaseId) {
        let Some(row) = self.leases.get_mut(lease) else { return };
        row.reading_since = None;
        let Some(row) = self.leases.get(lease) else { return };
        let deadline = self.leases.deadline(row);
        if row.lingers_until.unwrap_or(deadline) > now {
            return;
        }
        if row.lingers_until.is_some() || self.settings.expiry_grace == Span::ZERO {
            return self.end(now, lease, Ending::Code(CloseCode::Ended));
        }
        let Some(row) = self.leases.get_mut(lease) else { return };
        row.lingers_until = Some(deadline + self.settings.expiry_grace);
        let (session, conn) = (row.session, row.conn.take());
        self.directory.linger(session);
        self.seat_lingers(now, lease);
        if let Some(conn) = conn {
            self.close(now, conn, Ending::Code(CloseCode::Ended));
        }
        self.leases.arm(lease);
    }
}
