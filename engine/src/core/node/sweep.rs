//! Sweeping: what is due is found and done.

use greendot_protocol::sabotage::{Fault, on};
use greendot_protocol::{CloseCode, Span, Time};

use super::connections::seen;
use super::shared::Then;
use super::{ConnId, Ending, Node, Output};
use crate::core::directory::SessionId;
use crate::core::leases::{Due, Idle, Standing};
use crate::store::Request;

/// Leases looked at in one step, so that no step holds the core for long whatever is due: at some 200 ns for one that ends, a
/// fifth of a millisecond. The driver takes what a step has to say while the users' rows are still in the cache.
const STEP: usize = 1024;

/// Leases that are looked at together. They lie anywhere in memory: read one behind the other their
/// rows come in side by side, and not each when it is needed.
const AT_A_TIME: usize = 64;

/// A driver that does not say it has read a connection is waited for this long.
pub(super) const READING: Span = Span::from_secs(5);

impl Node {
    pub(super) fn sweep(&mut self, now: Time) {
        if now < self.sweep_at {
            return;
        }
        let late = now.since(self.sweep_at);
        if late > self.stall() && !on(Fault::SweepBeforeRead) {
            // The node has stood still. What arrived meanwhile is not read yet: nobody is ended
            // before the driver had a turn to read it (rule 1).
            self.sweep_at = now + self.settings.sweep;
            self.still_until = self.sweep_at;
            return;
        }
        let (mut due, mut users) = (Vec::new(), Vec::new());
        for _ in 0..STEP / AT_A_TIME {
            if !self.leases.pop(now, AT_A_TIME, &mut due) {
                self.sweep_at = self.leases.time_of(self.leases.tick_at(now) + 1);
                if self.warm_until.is_some_and(|at| at <= now) {
                    self.warm_until = None;
                    self.watches.end_warmup();
                }
                if self.watches.is_cooling() {
                    if self.watches.cool_down() {
                        // The rest in the next step.
                        self.sweep_at = now;
                    }
                    self.schedule_flush(now);
                }
                self.directory.give_back();
                self.leases.give_back();
                self.submit(now, Request::Sweep, Then::Nothing);
                return;
            }
            self.directory.look_ahead(due.iter().map(|it| it.0.slot()), &mut users);
            for (conn, due) in due.drain(..) {
                self.act(now, conn, due);
                self.leases.arm(conn);
            }
        }
        // More is due: the next step follows as soon as the driver likes.
        self.sweep_at = now;
    }

    /// Whether the node has stood still up to now, and what waited meanwhile may be unread.
    pub(super) fn has_stood_still(&self, now: Time) -> bool {
        now < self.still_until || now.since(self.sweep_at) > self.stall()
    }

    /// How late a sweep may be before the node is taken to have stood still.
    pub(super) fn stall(&self) -> Span {
        (self.settings.sweep + self.settings.sweep).max(Span::from_secs(1))
    }

    fn act(&mut self, now: Time, conn: ConnId, due: Due) {
        let spared = self.shared.as_ref().is_some_and(|it| !it.may_expire(now));
        match due {
            Due::Ping if self.leases.is_connected(conn) => {
                self.say(Output::Ping(conn));
            }
            Due::Ping => {}
            // Nobody could renew anything for a while: nobody ends for it. One that lingers has left
            // this node, and nothing could have renewed it here (rule 3).
            Due::Expired if spared && self.leases.has_idled(now, conn) => {
                self.find_idle(now, conn);
            }
            Due::Expired if spared => {}
            Due::Silent => self.seat_is_silent(conn),
            Due::Idle => self.find_idle(now, conn),
            Due::Expired | Due::Lingered => {
                let Some(standing) = self.leases.get(conn) else { return };
                if !self.reads_first(now, conn, &standing) {
                    self.expire_as(now, conn, &standing);
                }
            }
        }
    }

    fn find_idle(&mut self, now: Time, conn: ConnId) {
        self.leases.find_idle(conn);
        self.set_idle(now, conn, Idle::Found);
    }

    /// Whether what waits on the connection is still to be read, before the session may end: then the driver is
    /// asked to. A session that said `closing` may still have its connection, too.
    pub(super) fn reads_first(&mut self, now: Time, conn: ConnId, standing: &Standing) -> bool {
        if !standing.connected || on(Fault::SweepBeforeRead) {
            return false;
        }
        match self.leases.reading(conn) {
            // Heard since, it is another end that is due now.
            Some((since, read)) if since >= standing.heard => !read && now.since(since) < READING,
            _ => {
                self.leases.begin_reading(now, conn);
                self.say(Output::ReadFirst(conn));
                true
            }
        }
    }

    /// The lease has run out or has lingered long enough, if it still has: the session ends, or
    /// lingers for `expiry_grace` more (rule 2).
    pub(super) fn expire(&mut self, now: Time, conn: ConnId) {
        let Some(standing) = self.leases.get(conn).filter(|it| it.ends_at() <= now) else {
            return self.leases.end_reading(conn);
        };
        self.expire_as(now, conn, &standing);
    }

    /// When a session that stands so is over. Behind a lease that ran out while the node stood still the extra wait may be
    /// over as well: then there is nothing to linger for.
    fn is_over_at(&self, standing: &Standing) -> Time {
        standing.lingers_until.unwrap_or_else(|| self.lives_until(standing))
    }

    /// Until when a session lives that is heard no more: its lease runs out, and `expiry_grace` behind that (rule 2).
    pub(super) fn lives_until(&self, standing: &Standing) -> Time {
        standing.deadline + self.settings.expiry_grace
    }

    fn expire_as(&mut self, now: Time, conn: ConnId, standing: &Standing) {
        let Some(session) = self.directory.session_at(conn.slot()) else { return };
        if standing.lingers_until.is_some() || self.is_over_at(standing) <= now {
            return self.end_what_is_due(now, conn, session, standing);
        }
        self.leases.end_reading(conn);
        self.leases.linger(conn, self.lives_until(standing));
        self.directory.linger(session);
        self.tell_own_sessions();
        self.seat_lingers(now, conn);
        self.close(now, conn, Ending::Code(CloseCode::Ended));
    }

    /// Ends a session that is due and stands so, and with it those of its user that are due in the same sweep: what the user
    /// would be between one end and the next it never was.
    fn end_what_is_due(
        &mut self,
        now: Time,
        conn: ConnId,
        session: SessionId,
        standing: &Standing,
    ) {
        let Some(user) = self.directory.user_of(session) else { return };
        let spared = self.shared.as_ref().is_some_and(|it| !it.may_expire(now));
        let mut due = std::mem::take(&mut self.due);
        for it in self.directory.ids_of(user) {
            if it == session {
                due.push((conn, session, *standing));
                continue;
            }
            let Some(other) = self.leases.at(it.slot()) else { continue };
            let standing = self.leases.get(other).filter(|it| self.is_over_at(it) <= now);
            let standing = standing.filter(|it| it.lingers_until.is_some() || !spared);
            due.extend(standing.map(|standing| (other, it, standing)));
        }
        let mut unread = false;
        for &(it, _, standing) in due.iter().filter(|it| it.0 != conn) {
            unread |= self.reads_first(now, it, &standing);
        }
        // If so, it comes up again when that has been read.
        if !unread {
            for (it, _, standing) in &due {
                self.count_due(now, self.is_over_at(standing), standing.lingers_until.is_some());
                self.end_lease(now, *it, standing, Ending::Code(CloseCode::Ended), true);
            }
            let ended = due.iter().map(|(_, session, standing)| (*session, seen(now, standing)));
            let change = self.directory.end_all(user, ended);
            self.publish(now, user, change);
        }
        due.clear();
        self.due = due;
    }
}
