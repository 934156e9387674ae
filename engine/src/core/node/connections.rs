//! Connections: how they open, take over, and end.

use std::collections::VecDeque;
use std::sync::Arc;

use greendot_protocol::limits::SESSION_BYTES;
use greendot_protocol::{CloseCode, ErrorCode, Mode, ModeChoice, Revision, Span, Time};

use super::{Ending, Node, Output, Refusal};
use crate::core::directory::{Joining, SessionId, UserId};
use crate::core::leases::{Idle, LeaseId};
use crate::core::slab::Id;
use crate::core::watches::ViewerId;

/// Sessions that one user may have at a time; far above what a person opens, and a bound on what a
/// stolen token can fill.
const SESSIONS_OF_A_USER: usize = 256;

/// A connection's place on its node. One that has ended is reached by no id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConnId(pub(super) Id);

impl PartialOrd for ConnId {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ConnId {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.0.slot, self.0.stamp).cmp(&(other.0.slot, other.0.stamp))
    }
}

/// A connection whose hello has been read and whose token was believed.
#[derive(Clone, Copy, Debug)]
pub struct Connect<'a> {
    /// Who the token says the user is.
    pub user: &'a str,
    /// The session id that the client claims.
    pub session: &'a str,
    /// Whether the session is passive.
    pub passive: bool,
    /// What the client says of itself.
    pub report: SelfReport,
    /// When the token ends, if it does.
    pub token_until: Option<Time>,
}

/// What a client says of itself in its hello.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SelfReport {
    /// Idle or active, if it says so.
    pub idle: Option<bool>,
    /// How long ago the person last touched the device.
    pub input_age: Option<Span>,
    /// After how long without input the device counts as idle; zero: never; none: the setting.
    pub idle_after: Option<Span>,
    /// The user's mode, chosen afresh or repeated.
    pub mode: Option<ModeChoice>,
}

/// A row of the table of connections.
#[derive(Debug)]
pub(super) struct Conn {
    pub(super) user: UserId,
    pub(super) name: Arc<str>,
    pub(super) session: SessionId,
    /// The lease that this connection renews; none once it speaks for no session any more.
    pub(super) lease: Option<LeaseId>,
    pub(super) viewer: Option<ViewerId>,
    pub(super) token_until: Option<Time>,
    pub(super) waiting: Waiting,
}

/// What waits for a connection beside snapshots and events. All of it is bounded.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    pub(super) welcome: bool,
    /// Whether the welcome has been said, or waits.
    pub(super) welcomed: bool,
    /// Whether the node's word may be old has changed.
    pub(super) stale: bool,
    pub(super) mode: bool,
    /// Only the latest beat is answered: it proves what the earlier ones would.
    pub(super) beat_answer: Option<u8>,
    pub(super) errors: VecDeque<(ErrorCode, u32, String)>,
    /// Whether the driver has been told that something waits.
    pub(super) told: bool,
}

impl Node {
    /// A client has said hello and its token was believed. The welcome waits for it at once.
    ///
    /// # Errors
    ///
    /// If it may not have a session; the connection is to be closed with the code.
    pub fn handle_connect(&mut self, now: Time, connect: &Connect<'_>) -> Result<ConnId, Refusal> {
        if connect.session.is_empty() || connect.session.len() > SESSION_BYTES {
            return Err(Refusal::new(CloseCode::BadSession));
        }
        if connect.user.is_empty() || connect.user.len() > greendot_protocol::limits::USER_BYTES {
            return Err(Refusal::new(CloseCode::BadToken));
        }
        if self.directory.is_revoked(connect.user) {
            return Err(Refusal::new(CloseCode::Revoked));
        }
        let known = self.directory.find(connect.user);
        if let Some(user) = known {
            let is_new = self.directory.session(user, connect.session).is_none();
            if is_new && self.directory.views(user).len() >= SESSIONS_OF_A_USER {
                return Err(Refusal::new(CloseCode::Full));
            }
        }
        if let Some(user) = known.filter(|_| self.shared.is_some())
            && self.directory.ids_of(user).next().is_none()
        {
            // Since its last session left, nobody has told this node what the user chose.
            self.directory.adopt_mode(user, Mode::Auto, Revision(0));
        }
        let connected = self.directory.connect(
            now,
            &Joining {
                user: connect.user,
                session: connect.session,
                passive: connect.passive,
                idle: connect.report.idle,
                mode: connect.report.mode,
                generation: None,
            },
        );
        let before = self.release_lease(now, connected.session);
        let alone = self.shared.is_none();
        let conn = ConnId(self.conns.insert(Conn {
            user: connected.user,
            name: Arc::clone(self.directory.name(connected.user)),
            session: connected.session,
            lease: None,
            viewer: None,
            token_until: connect.token_until,
            waiting: Waiting { welcome: alone, welcomed: alone, ..Waiting::default() },
        }));
        let idle_after = connect.report.idle_after.unwrap_or(self.settings.idle_after);
        let lease = self.leases.insert(now, connected.session, conn, idle_after);
        if let Some(row) = self.leases.get_mut(lease) {
            row.input = connect.report.input_age.map(|age| now - age);
            row.idle = match (connect.report.idle, before) {
                (Some(true), _) => Idle::Told,
                (None, Some(idle)) => idle,
                _ => Idle::No,
            };
        }
        self.leases.arm(lease);
        self.set_lease_of(connected.session, Some(lease));
        if let Some(row) = self.conns.get_mut(conn.0) {
            row.lease = Some(lease);
        }
        if let Some(at) = connect.token_until {
            self.tokens.insert((at, conn));
        }
        if alone {
            self.wake(conn);
        } else {
            // Welcome once the store has taken it.
            self.seat_connects(now, lease, connect.report.idle, connect.report.mode);
        }
        self.publish(now, connected.user, connected.change);
        if connected.mode_changed && alone {
            // The shared store weighs it, and says so.
            self.tell_mode(connected.user, Some(conn));
        }
        Ok(conn)
    }

    /// The connection has ended. The session lingers (rule 3), unless the connection spoke for it
    /// no more.
    pub fn handle_drop(&mut self, now: Time, conn: ConnId) {
        let Some(gone) = self.conns.remove(conn.0) else { return };
        if let Some(viewer) = gone.viewer {
            self.watches.close(viewer);
            self.unload(now);
        }
        if let Some(at) = gone.token_until {
            self.tokens.remove(&(at, conn));
        }
        if let Some(lease) = gone.lease {
            if let Some(row) = self.leases.get_mut(lease) {
                row.conn = None;
            }
            self.linger(now, lease);
        }
    }

    /// The session lingers from now on: until grace is over or its lease runs out.
    pub(super) fn linger(&mut self, now: Time, lease: LeaseId) {
        let grace = self.settings.grace;
        let Some(row) = self.leases.get(lease) else { return };
        let until = (now + grace).min(self.leases.deadline(row));
        let session = row.session;
        if let Some(row) = self.leases.get_mut(lease) {
            // Of `closing` and the end of its connection the first counts.
            row.lingers_until.get_or_insert(until);
            row.reading_since = None;
        }
        self.directory.linger(session);
        self.leases.arm(lease);
        self.seat_lingers(now, lease);
    }

    /// Ends the session that a lease kept, and its connection with it if it still has one.
    pub(super) fn end(&mut self, now: Time, lease: LeaseId, ending: Ending) {
        let Some((session, heard)) = self.end_lease(now, lease, ending) else { return };
        let Some(user) = self.directory.user_of(session) else { return };
        let change = self.directory.end(session, heard);
        self.publish(now, user, change);
    }

    /// Ends a lease, and its connection with it if it still has one. Tells which session has to end
    /// with it, and when it was last heard.
    pub(super) fn end_lease(
        &mut self,
        now: Time,
        lease: LeaseId,
        ending: Ending,
    ) -> Option<(SessionId, Time)> {
        let name = self.shared.as_ref().and_then(|_| self.session_name(lease));
        let gone = self.leases.remove(lease)?;
        if let Some(name) = name {
            self.seat_ends(now, lease, name, gone.heard);
            self.forget_seat(lease);
        }
        self.set_lease_of(gone.session, None);
        if let Some(conn) = gone.conn {
            self.close(now, conn, ending);
        }
        Some((gone.session, gone.heard))
    }

    /// Closes a connection, unless that has been done; nothing it says has any effect from now on.
    pub(super) fn close(&mut self, now: Time, conn: ConnId, code: Ending) {
        let Some(row) = self.conns.get_mut(conn.0) else { return };
        if row.lease.take().is_none() {
            return;
        }
        if let Some(viewer) = row.viewer.take() {
            self.watches.close(viewer);
            self.unload(now);
        }
        self.outputs.push_back(Output::Close { conn, code, retry_after: Span::ZERO });
    }

    /// Takes the lease of a session that connects anew (rule 4): its old connection, if it still
    /// has one, is closed. Returns whether the session was idle.
    fn release_lease(&mut self, now: Time, session: SessionId) -> Option<Idle> {
        let lease = self.lease_of(session)?;
        self.set_lease_of(session, None);
        let gone = self.leases.remove(lease)?;
        self.forget_seat(lease);
        if let Some(old) = gone.conn {
            self.close(now, old, Ending::Code(CloseCode::Replaced));
        }
        Some(gone.idle)
    }

    /// Tokens that have run out take their connections with them (rule 18).
    pub(super) fn end_tokens(&mut self, now: Time) {
        while let Some(&(at, conn)) = self.tokens.first() {
            if at > now {
                return;
            }
            self.tokens.pop_first();
            let Some(row) = self.conns.get_mut(conn.0) else { continue };
            row.token_until = None;
            let lease = row.lease;
            if let Some(row) = lease.and_then(|it| self.leases.get_mut(it)) {
                row.conn = None;
            }
            self.close(now, conn, Ending::Code(CloseCode::TokenExpired));
            if let Some(lease) = lease {
                self.linger(now, lease);
            }
        }
    }

    pub(super) fn conn_ids(&self) -> Vec<ConnId> {
        self.conns.iter().map(|(id, _)| ConnId(id)).collect()
    }

    pub(super) fn lease_of(&self, session: SessionId) -> Option<LeaseId> {
        self.lease_of.get(session.id().slot as usize).copied().flatten()
    }

    fn set_lease_of(&mut self, session: SessionId, lease: Option<LeaseId>) {
        let slot = session.id().slot as usize;
        if slot >= self.lease_of.len() {
            self.lease_of.resize(slot + 1, None);
        }
        self.lease_of[slot] = lease;
    }

    /// Tells the driver, once, that something waits for the connection.
    pub(super) fn wake(&mut self, conn: ConnId) {
        if let Some(row) = self.conns.get_mut(conn.0).filter(|it| !it.waiting.told) {
            row.waiting.told = true;
            self.outputs.push_back(Output::Ready(conn));
        }
    }
}
