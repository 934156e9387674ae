//! What the application asks of a node.

use std::sync::Arc;

use greendot_protocol::limits::NOTE_BYTES;
use greendot_protocol::{CloseCode, Mode, Time};

use super::output::Answer;
use super::shared::{Shared, Then};
use super::{ConnId, Ending, Node, Output};
use crate::core::directory::{Record, UserId};
use crate::core::gate::{Glimpse, Sight};
use crate::core::leases::Waiting;
use crate::store::{Report, Request};

/// A connect or a wish that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What to close the connection with.
    pub code: CloseCode,
}

impl Refusal {
    pub(super) fn new(code: CloseCode) -> Self {
        Self { code }
    }
}

/// A note longer than the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoteTooLong;

impl Node {
    /// The user's own choice of how to appear; it works with no session too.
    pub fn set_mode(&mut self, now: Time, user: &str, mode: Mode) {
        if self.shared.is_some() {
            self.share_mode(now, &user.into(), mode);
            if self.directory.find(user).is_none() {
                // No session of the user is here.
                return;
            }
        }
        let (id, change) = self.directory.set_mode(now, user, mode);
        if let Some(change) = change {
            self.publish(now, id, change);
            self.tell_mode(id, None);
        }
    }

    /// The user's note; empty takes it away.
    ///
    /// # Errors
    ///
    /// If it is too long; the old one stays.
    pub fn set_note(&mut self, now: Time, user: &str, note: &str) -> Result<(), NoteTooLong> {
        if note.len() > NOTE_BYTES {
            return Err(NoteTooLong);
        }
        if self.shared.is_some() {
            self.share_note(now, &user.into(), note.into());
            return Ok(());
        }
        let (id, change) = self.directory.set_note(user, note);
        self.publish(now, id, change);
        Ok(())
    }

    /// The account or its tokens are no longer good: its sessions, connections and watches end,
    /// and none opens until [`Self::reinstate`].
    pub fn revoke(&mut self, now: Time, user: &str) {
        let id = if self.shared.is_some() {
            self.share_revoke(now, &user.into(), true);
            let Some(id) = self.directory.find(user) else { return };
            id
        } else {
            self.directory.revoke(user)
        };
        let mut ended = Vec::new();
        for lease in self.leases_of(id) {
            // The store ends them by itself.
            self.forget_seat(lease);
            ended.extend(self.end_lease(now, lease, Ending::Code(CloseCode::Revoked)));
        }
        let change = self.directory.end_all(id, &ended);
        self.publish(now, id, change);
    }

    /// Shuts down politely: every connection is closed with `drain`, and its session lingers until
    /// it has come back elsewhere.
    pub fn drain(&mut self, now: Time) {
        for conn in self.conn_ids() {
            self.hang_up(now, conn, CloseCode::Drain);
        }
    }

    /// Takes a revocation back.
    pub fn reinstate(&mut self, now: Time, user: &str) {
        if self.shared.is_some() {
            return self.share_revoke(now, &user.into(), false);
        }
        self.directory.reinstate(user);
    }

    /// One look at some users, as `viewer` may see them; [`Output::Answer`] brings it under the
    /// number `ask`. With a shared store, the store is asked.
    pub fn ask(&mut self, now: Time, ask: u64, viewer: &str, users: &[&str]) {
        let users: Vec<Arc<str>> = users.iter().map(|&it| it.into()).collect();
        if self.shared.as_ref().is_some_and(|it| !it.is_lost()) {
            let then = Then::Asked { ask, viewer: viewer.into(), users: users.clone() };
            self.submit(now, Request::Read { users }, then);
            return;
        }
        let answers = users
            .iter()
            .map(|user| self.read(viewer, user, |glimpse| Answer::new(user, &glimpse)))
            .collect();
        self.outputs.push_back(Output::Answer { ask, users: answers });
    }

    /// The store has answered an ask at `said`, or cannot: then users are as far as this node knows
    /// them.
    pub(super) fn answer_ask(
        &mut self,
        said: Time,
        ask: u64,
        viewer: &str,
        users: &[Arc<str>],
        reports: &[Report],
    ) {
        let warming = self.watches.is_warming();
        let lost = self.shared.as_ref().is_some_and(Shared::is_lost);
        let answers = users
            .iter()
            .map(|user| {
                let sight = if *viewer == **user { Sight::Own } else { Sight::Public };
                if lost {
                    return self.read(viewer, user, |glimpse| Answer::new(user, &glimpse));
                }
                match reports.iter().find(|it| it.user == *user) {
                    Some(report) => {
                        let record = Record::of(said, report);
                        Answer::new(user, &Glimpse::of(&record, sight, warming))
                    }
                    None => Answer::new(user, &Glimpse::of_nobody(warming)),
                }
            })
            .collect();
        self.outputs.push_back(Output::Answer { ask, users: answers });
    }

    /// One look at a user, as `viewer` may see it and as far as this node knows: with a shared
    /// store, users whom nobody here watches are unknown.
    pub fn read<R>(&self, viewer: &str, user: &str, with: impl FnOnce(Glimpse<'_>) -> R) -> R {
        let warming = self.watches.is_warming();
        let sight = if viewer == user { Sight::Own } else { Sight::Public };
        if self.shared.is_some() {
            let record = self.watches.record(user);
            let glimpse =
                record.map_or_else(Glimpse::unknown, |it| Glimpse::of(it, sight, warming));
            return with(glimpse);
        }
        match self.directory.find(user) {
            Some(id) => with(Glimpse::of(self.directory.record(id), sight, warming)),
            None => with(Glimpse::of_nobody(warming)),
        }
    }

    /// One look at a user, as everybody may see it.
    pub fn read_public<R>(&self, user: &str, with: impl FnOnce(Glimpse<'_>) -> R) -> R {
        let warming = self.watches.is_warming();
        match self.directory.find(user) {
            Some(id) => with(Glimpse::of(self.directory.record(id), Sight::Public, warming)),
            None => with(Glimpse::of_nobody(warming)),
        }
    }

    /// Tells the user's connections the mode, but for the one that knows.
    pub(super) fn tell_mode(&mut self, user: UserId, except: Option<ConnId>) {
        for conn in self.leases_of(user) {
            if Some(conn) != except && self.leases.is_connected(conn) {
                self.leases.wait(conn, Waiting::MODE);
                self.wake(conn);
            }
        }
    }

    /// The latest connects of the user's sessions here.
    pub(super) fn leases_of(&self, user: UserId) -> Vec<ConnId> {
        let sessions = self.directory.ids_of(user);
        sessions.filter_map(|session| self.leases.at(session.id().slot)).collect()
    }
}
