//! Connections: how they open, take over, and end.

use greendot_protocol::limits::{DEVICE_BYTES, SESSION_BYTES};
use greendot_protocol::sabotage::{Fault, on};
use greendot_protocol::{CloseCode, Mode, ModeChoice, Revision, Span, Time};

use super::{ConnId, Ending, Node, Output, Refusal};
use crate::core::directory::{Joining, SessionId, UserId};
use crate::core::leases::{Device, Idle, Standing, Waiting};
use crate::core::seal::unseal;
use crate::core::watches::ViewerId;
use crate::store::Departed;

/// Sessions that one user may have at a time; far above what a person opens, and a bound on what a
/// stolen token can fill.
const SESSIONS_OF_A_USER: usize = 256;

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
    /// What the person may call the device; may be empty.
    pub device: &'a str,
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
        let user = self.directory.intern(connect.user);
        if self.directory.has_been_revoked(user) {
            return Err(Refusal::new(CloseCode::Revoked));
        }
        if self.directory.ids_of(user).nth(SESSIONS_OF_A_USER - 1).is_some()
            && self.directory.session(user, connect.session).is_none()
        {
            return Err(Refusal::new(CloseCode::Full));
        }
        let choice = own_choice(connect.user, connect.report.mode);
        let mut mode = choice;
        if self.shared.is_some() {
            if self.directory.ids_of(user).next().is_none() {
                // Since its last session left, nobody has told this node what the user chose.
                self.directory.forget_choice(user);
            } else {
                // What is repeated the store weighs; the others here know what it said last.
                mode = mode.filter(|it| it.fresh);
            }
        }
        let outdone =
            if connect.passive { self.count_no_more(now, user, connect.session) } else { None };
        let connected = self.directory.connect_user(
            now,
            user,
            &Joining {
                user: connect.user,
                session: connect.session,
                passive: connect.passive,
                idle: connect.report.idle,
                mode,
                device: cut(connect.device),
                generation: None,
            },
        );
        let before =
            if connected.was_there { self.release_lease(now, connected.session) } else { None };
        let report = &connect.report;
        let device = Device {
            input: report.input_age.map(|age| now - age),
            idle_after: report.idle_after,
            idle: match (report.idle, before) {
                (Some(true), _) => Idle::Told,
                (None, Some(idle)) => idle,
                _ => Idle::No,
            },
        };
        // With a shared store it is welcomed once that has taken it.
        let first = if self.shared.is_none() { Waiting::FIRST } else { Waiting::NONE };
        let conn = self.leases.connect(now, connected.session.slot(), device, first);
        if let Some(at) = connect.token_until {
            self.tokens.insert(at, conn);
        }
        if self.shared.is_none() {
            self.ready.push_back(conn);
        } else {
            self.seat_connects(now, conn, report.idle, choice);
            if let Some(departed) = outdone {
                self.seat_was_outdone(now, departed);
            }
        }
        self.totals.connects += 1;
        self.totals.reconnects += u64::from(before.is_some());
        if connected.change.public {
            self.count_flap(now, connected.user);
        }
        self.publish(now, connected.user, connected.change);
        if connected.mode_changed {
            self.tell_mode(connected.user, Some(conn));
        }
        if mode.is_some() {
            self.look_again(now, connect.user);
        }
        Ok(conn)
    }

    /// The connection has ended. The session lingers (rule 3), unless the connection spoke for it
    /// no more.
    pub fn handle_drop(&mut self, now: Time, conn: ConnId) {
        // While the lease is waited for, too.
        self.directory.look_ahead_at(conn.slot());
        if self.release_conn(now, conn) {
            self.linger(now, conn);
        }
    }

    /// The connection speaks for its session no more, and nothing waits for it any more. Returns
    /// whether it did until now.
    fn release_conn(&mut self, now: Time, conn: ConnId) -> bool {
        let Some((waiting, viewer)) = self.leases.disconnect(conn) else { return false };
        if waiting.has(Waiting::ERRORS) {
            self.errors.remove(&conn);
        }
        self.tokens.remove(conn);
        self.rights.forget(conn);
        self.disown(now, conn);
        if let Some(viewer) = viewer.and_then(|slot| self.watches.viewer_at(slot, conn)) {
            self.watches.close(viewer);
            self.unload(now);
        }
        true
    }

    pub(super) fn viewer_of(&self, conn: ConnId) -> Option<ViewerId> {
        self.watches.viewer_at(self.leases.viewer(conn)?, conn)
    }

    /// The connection ends, and its session lingers for so long.
    pub(super) fn leave_for(&mut self, now: Time, conn: ConnId, lasts: Span) {
        if !self.release_conn(now, conn) {
            return;
        }
        let Some(session) = self.session_of(conn) else { return };
        self.leases.linger(conn, now + lasts);
        self.directory.linger(session);
        self.tell_own_sessions();
        self.seat_lingers(now, conn);
    }

    /// The session lingers from now on: until grace is over or its lease runs out.
    pub(super) fn linger(&mut self, now: Time, conn: ConnId) {
        let Some(standing) = self.leases.get(conn) else { return };
        let grace = if on(Fault::LingerIgnored) { Span::ZERO } else { self.settings.grace };
        self.linger_until(now, conn, (now + grace).min(standing.deadline));
    }

    /// The session lingers until then, or less if it does so already: of `closing` and the end of its connection the
    /// first counts.
    pub(super) fn linger_until(&mut self, now: Time, conn: ConnId, until: Time) {
        let Some(session) = self.session_of(conn) else { return };
        self.leases.end_reading(conn);
        self.leases.linger(conn, until);
        self.directory.linger(session);
        self.tell_own_sessions();
        self.seat_lingers(now, conn);
    }

    /// Ends the session of a connect, and its connection if that is still open.
    pub(super) fn end(&mut self, now: Time, conn: ConnId, ending: Ending) {
        let Some(standing) = self.leases.get(conn) else { return };
        let Some(session) = self.directory.session_at(conn.slot()) else { return };
        self.end_lease(now, conn, &standing, ending, false);
        if let Some((user, change)) = self.directory.end(session, seen(now, &standing)) {
            self.publish(now, user, change);
        }
    }

    /// Ends a lease that stands so, and its connection if that is still open. The session has to end with it.
    /// `swept`: it was due here, and the store has not said that it is over.
    pub(super) fn end_lease(
        &mut self,
        now: Time,
        conn: ConnId,
        standing: &Standing,
        ending: Ending,
        swept: bool,
    ) {
        if self.shared.is_some()
            && let Some(name) = self.session_name(conn)
        {
            self.seat_ends(now, conn, name, standing.heard, ending == Ending::Bye, swept);
            self.forget_seat(conn);
        }
        if standing.connected {
            self.close(now, conn, ending);
        }
        self.leases.remove(conn);
    }

    /// Closes a connection, unless that has been done; nothing it says has any effect from now on.
    pub(super) fn close(&mut self, now: Time, conn: ConnId, code: Ending) {
        if self.leases.is_connected(conn) && self.release_conn(now, conn) {
            self.say(Output::Close { conn, code, retry_after: Span::ZERO });
        }
    }

    /// Takes the lease of a session that connects anew (rule 4): its old connection, if that is
    /// still open, is closed. Returns whether the session was idle.
    fn release_lease(&mut self, now: Time, session: SessionId) -> Option<Idle> {
        let conn = self.leases.at(session.slot())?;
        let idle = self.leases.get(conn)?.idle;
        self.forget_seat(conn);
        self.totals.endings.replaced += u64::from(self.leases.is_connected(conn));
        self.close(now, conn, Ending::Code(CloseCode::Replaced));
        Some(idle)
    }

    /// A passive connect is about to take a session over that counts: its user was seen when that was heard last (rule 9). What
    /// the store is to be told of it, if there is one.
    #[cold]
    fn count_no_more(&mut self, now: Time, user: UserId, session: &str) -> Option<Departed> {
        let session = self.directory.session(user, session)?;
        let lease = self.leases.at(session.slot())?;
        let heard = seen(now, &self.leases.get(lease)?);
        self.directory.count_no_more(session, heard);
        // Last seen stands still while the user is hidden.
        if self.shared.is_none() || self.directory.mode(user).0 == Mode::Invisible {
            return None;
        }
        let name = self.session_name(lease)?;
        self.departed(now, lease, name, heard, false).filter(|it| !it.passive)
    }

    /// The open connections.
    pub fn conn_ids(&self) -> Vec<ConnId> {
        self.leases.conns().collect()
    }

    /// The session of a connect, while no later one has it.
    pub(super) fn session_of(&self, conn: ConnId) -> Option<SessionId> {
        self.leases.idle(conn)?;
        self.directory.session_at(conn.slot())
    }

    /// The user that an open connection speaks for.
    pub(super) fn user_of(&self, conn: ConnId) -> Option<UserId> {
        if !self.leases.is_connected(conn) {
            return None;
        }
        self.directory.user_of(self.directory.session_at(conn.slot())?)
    }

    /// Tells the driver, once, that something waits for the connection.
    pub(super) fn wake(&mut self, conn: ConnId) {
        if self.leases.tell(conn) {
            self.ready.push_back(conn);
        }
    }
}

/// When a session that ends counts as heard last.
pub(super) fn seen(now: Time, standing: &Standing) -> Time {
    if on(Fault::SeenWhenSwept) { now } else { standing.heard }
}

/// What a client says of its user's mode. What it repeats was told to it as this user's, or is of another account in the
/// same page.
fn own_choice(user: &str, choice: Option<ModeChoice>) -> Option<ModeChoice> {
    let choice = choice?;
    match unseal(user, choice.revision) {
        Some(revision) => Some(ModeChoice { revision, ..choice }),
        None => choice.fresh.then_some(ModeChoice { revision: Revision(0), ..choice }),
    }
}

/// A device label, cut to what is allowed.
fn cut(device: &str) -> &str {
    &device[..device.floor_char_boundary(DEVICE_BYTES)]
}
