//! What the application asks of a node.

use greendot_protocol::limits::NOTE_BYTES;
use greendot_protocol::{CloseCode, Mode, Time};

use super::connections::seen;
use super::{ConnId, Ending, Node};
use crate::core::directory::UserId;
use crate::core::leases::Waiting;

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
    /// Whether the user's account or tokens are no longer good, as far as this node knows.
    pub fn is_revoked(&self, user: &str) -> bool {
        self.directory.find(user).is_some_and(|it| self.directory.has_been_revoked(it))
    }

    /// The user's own choice of how to appear; it works with no session too.
    pub fn set_mode(&mut self, now: Time, user: &str, mode: Mode) {
        self.choose_mode(now, user, mode, None);
    }

    /// The same, said over this connection or by the application.
    pub(super) fn choose_mode(&mut self, now: Time, user: &str, mode: Mode, by: Option<ConnId>) {
        if self.shared.is_some() {
            self.share_mode(now, &user.into(), mode, by);
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
        self.look_again(now, user);
    }

    /// The user's note; empty takes it away.
    ///
    /// # Errors
    ///
    /// If it is too long; the old one stays.
    pub fn set_note(&mut self, now: Time, user: &str, note: &str) -> Result<(), NoteTooLong> {
        self.write_note(now, user, note, None)
    }

    /// The same, said over this connection or by the application.
    pub(super) fn write_note(
        &mut self,
        now: Time,
        user: &str,
        note: &str,
        by: Option<ConnId>,
    ) -> Result<(), NoteTooLong> {
        if note.len() > NOTE_BYTES {
            return Err(NoteTooLong);
        }
        if self.shared.is_some() {
            self.share_note(now, &user.into(), note.into(), by);
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
            let Some(standing) = self.leases.get(lease) else { continue };
            let Some(session) = self.directory.session_at(lease.slot()) else { continue };
            let ending = Ending::Code(CloseCode::Revoked);
            self.end_lease(now, lease, &standing, ending, false);
            ended.push((session, seen(now, &standing)));
        }
        self.totals.endings.revoked += ended.len() as u64;
        let change = self.directory.end_all(id, ended);
        self.publish(now, id, change);
    }

    /// Shuts down politely: every connection is closed with `drain`. By that alone no session ends (rule 10): each lingers
    /// until it has come back elsewhere, or its lease runs out.
    pub fn drain(&mut self, now: Time) {
        for conn in self.conn_ids() {
            let Some(standing) = self.leases.get(conn) else { continue };
            self.close(now, conn, Ending::Code(CloseCode::Drain));
            self.linger_until(now, conn, standing.deadline);
        }
    }

    /// Takes a revocation back.
    pub fn reinstate(&mut self, now: Time, user: &str) {
        if self.shared.is_some() {
            return self.share_revoke(now, &user.into(), false);
        }
        self.directory.reinstate(user);
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
        sessions.filter_map(|session| self.leases.at(session.slot())).collect()
    }
}
