//! What the application asks of a node.

use std::sync::Arc;

use greendot_protocol::limits::NOTE_BYTES;
use greendot_protocol::{CloseCode, Mode, Time};

use super::{ConnId, Ending, Node};
use crate::core::directory::UserId;
use crate::core::gate::{Glimpse, Sight};

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
        let (id, change) = self.directory.set_note(user, note);
        self.publish(now, id, change);
        Ok(())
    }

    /// The account or its tokens are no longer good: its sessions, connections and watches end,
    /// and none opens until [`Self::reinstate`].
    pub fn revoke(&mut self, now: Time, user: &str) {
        let id = self.directory.revoke(user);
        for lease in self.leases_of(id) {
            self.end(now, lease, Ending::Code(CloseCode::Revoked));
        }
    }

    /// Takes a revocation back.
    pub fn reinstate(&mut self, user: &str) {
        self.directory.reinstate(user);
    }

    /// One look at a user, as `viewer` may see it.
    pub fn read<R>(&self, viewer: &str, user: &str, with: impl FnOnce(Glimpse<'_>) -> R) -> R {
        let warming = self.watches.is_warming();
        let sight = if viewer == user { Sight::Own } else { Sight::Public };
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
        for lease in self.leases_of(user) {
            let conn = self.leases.get(lease).and_then(|it| it.conn);
            if let Some(conn) = conn.filter(|&it| Some(it) != except) {
                if let Some(row) = self.conns.get_mut(conn.0) {
                    row.waiting.mode = true;
                }
                self.wake(conn);
            }
        }
    }

    pub(super) fn leases_of(&self, user: UserId) -> Vec<crate::core::leases::LeaseId> {
        self.directory.ids_of(user).filter_map(|session| self.lease_of(session)).collect()
    }

    /// The name that a connection speaks for.
    pub fn user_of(&self, conn: ConnId) -> Option<&Arc<str>> {
        self.conns.get(conn.0).map(|it| &it.name)
    }
}
