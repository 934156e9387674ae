//! What a node makes up for that has stood still.
//!
//! Its lease in the store is then older by as much, and its first beat renews nothing there: who was silent meanwhile the store
//! does not know. Neither does the node before it has read what waits on its connections. Were it left at that, the node's
//! next beat would see to it; but should the node die before, what it heard last would not count (rule 10). So it has that
//! read at once, and tells who was silent with a beat right behind the first, which renews.

use greendot_protocol::sabotage::{Fault, on};
use greendot_protocol::{Span, Time};

use super::Reach;
use crate::core::node::{Node, Output};

/// A beat that is late by this much may renew nothing: the store takes one that comes 1.5 s after the one before for the
/// first after a gap, and on its way it may be delayed some more.
const GAP: Span = Span::from_millis(400);

impl Node {
    /// A beat has gone that was due then. If it was late, what may have been missed since the one before is asked for.
    pub(super) fn begin_to_catch_up(&mut self, now: Time, due: Time) {
        let Some(shared) = self.shared.as_mut().filter(|it| it.thin) else { return };
        if now.since(due) < GAP || shared.reach == Reach::Lost || on(Fault::GapLeftOpen) {
            return;
        }
        shared.catches_up = true;
        for conn in self.leases.silent(now) {
            // Where the lease has run out that is done before the session ends.
            if self.leases.get(conn).is_some_and(|it| it.connected && it.deadline > now) {
                self.leases.begin_reading(now, conn);
                self.say(Output::ReadFirst(conn));
            }
        }
        self.catch_up(now);
    }

    /// Whether it has stood still, and what waits on its connections is being read.
    pub(in crate::core::node) fn catches_up(&self) -> bool {
        self.shared.as_ref().is_some_and(|it| it.catches_up)
    }

    /// Once all is read that waited, the store is told who was silent, and that the node is there.
    pub(in crate::core::node) fn catch_up(&mut self, now: Time) {
        if !self.catches_up() || self.leases.has_unread() {
            return;
        }
        self.find_silent(now);
        if self.shared.as_ref().is_some_and(|it| it.reach != Reach::Lost) {
            self.send_beat(now);
        }
    }

    /// Notes who is silent, if the node is catching up: a beat is about to renew its lease, whether all is read or not.
    pub(super) fn find_silent(&mut self, now: Time) {
        let Some(shared) = self.shared.as_mut() else { return };
        if !std::mem::take(&mut shared.catches_up) || on(Fault::SilenceUntold) {
            return;
        }
        let silent = self.leases.silent(now);
        for conn in &silent {
            self.leases.reported_silent(*conn);
        }
        shared.silent.extend(silent);
    }
}
