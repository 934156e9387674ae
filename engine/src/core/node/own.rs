//! A user's own sessions: shown to those of them that ask, and ended by one another.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use greendot_protocol::{CloseCode, OwnSession, ServerFrame, Time};

use super::shared::Then;
use super::{ConnId, Ending, Node};
use crate::core::directory::SessionView;
use crate::core::leases::Waiting;
use crate::store::Request;

/// A user of whom some connection wants to be told the sessions.
#[derive(Debug, Default)]
struct Owner {
    conns: BTreeSet<ConnId>,
    /// With a shared store: what it said last.
    sessions: Option<Vec<SessionView>>,
}

/// Those users.
#[derive(Debug, Default)]
pub(super) struct Owners {
    by_name: BTreeMap<Arc<str>, Owner>,
    of: BTreeMap<ConnId, Arc<str>>,
}

impl Owners {
    pub(super) fn len(&self) -> usize {
        self.of.len()
    }

    pub(super) fn names(&self) -> Vec<Arc<str>> {
        self.by_name.keys().cloned().collect()
    }

    /// The connection wants to be told no more. The user, if no other one does.
    fn leave(&mut self, conn: ConnId) -> Option<Arc<str>> {
        let name = self.of.remove(&conn)?;
        let owner = self.by_name.get_mut(&name)?;
        owner.conns.remove(&conn);
        if !owner.conns.is_empty() {
            return None;
        }
        self.by_name.remove(&name);
        Some(name)
    }
}

impl Node {
    pub(super) fn on_own(&mut self, now: Time, conn: ConnId, on: bool) {
        if !on {
            return self.disown(now, conn);
        }
        let Some(name) = self.name_of(conn) else { return };
        let fresh = !self.owners.by_name.contains_key(&name);
        self.owners.by_name.entry(Arc::clone(&name)).or_default().conns.insert(conn);
        self.owners.of.insert(conn, Arc::clone(&name));
        self.directory.follow_sessions(true);
        self.leases.wait(conn, Waiting::SESSIONS);
        if self.shared.is_some() && fresh {
            self.submit(now, Request::Own { users: vec![name] }, Then::Nothing);
        }
        self.wake(conn);
    }

    /// The connection is told of its user's sessions no more.
    pub(super) fn disown(&mut self, now: Time, conn: ConnId) {
        let Some(name) = self.owners.leave(conn) else { return };
        self.directory.follow_sessions(!self.owners.by_name.is_empty());
        if self.shared.is_some() {
            self.submit(now, Request::Disown { users: vec![name] }, Then::Nothing);
        }
    }

    /// Sessions have changed: those who want to know are told. With a shared store, it is the store
    /// that says so.
    #[inline(always)]
    pub(super) fn tell_own_sessions(&mut self) {
        if self.directory.has_followed() {
            self.tell_followed();
        }
    }

    fn tell_followed(&mut self) {
        let users = self.directory.take_followed();
        if self.shared.is_some() {
            return;
        }
        for user in users {
            let name = self.directory.shared_name(user);
            self.wake_owners(&name);
        }
    }

    /// What a shared store said of a user's sessions.
    pub(super) fn take_sessions(&mut self, user: &str, sessions: Vec<SessionView>) {
        let Some(owner) = self.owners.by_name.get_mut(user) else { return };
        if owner.sessions.as_ref() != Some(&sessions) {
            owner.sessions = Some(sessions);
            self.wake_owners(user);
        }
    }

    fn wake_owners(&mut self, user: &str) {
        let Some(owner) = self.owners.by_name.get(user) else { return };
        for conn in owner.conns.iter().copied().collect::<Vec<_>>() {
            self.leases.wait(conn, Waiting::SESSIONS);
            self.wake(conn);
        }
    }

    /// Hands out the sessions of the connection's user, once they are known.
    pub(super) fn transmit_own(
        &mut self,
        now: Time,
        conn: ConnId,
        emit: &mut dyn FnMut(&ServerFrame<'_>),
    ) {
        let Some(name) = self.owners.of.get(&conn) else { return };
        let Some(own) = self.session_of(conn).and_then(|it| self.directory.session_name(it)) else {
            return;
        };
        let mut sessions = if self.shared.is_some() {
            let Some(known) = self.owners.by_name.get(name).and_then(|it| it.sessions.clone())
            else {
                return;
            };
            known
        } else {
            self.directory.find(name).map_or_else(Vec::new, |it| self.directory.views(it))
        };
        sessions
            .sort_by(|one, other| (one.since, &one.session).cmp(&(other.since, &other.session)));
        let sessions = sessions
            .iter()
            .map(|it| OwnSession {
                session: &it.session,
                device: &it.device,
                idle: it.idle,
                lingering: it.lingering,
                passive: it.passive,
                this: *it.session == *own,
                since_ago: now.since(it.since),
            })
            .collect();
        emit(&ServerFrame::Sessions(sessions));
    }

    /// A session asks that another one of its user ends; one that is not there, and itself, are
    /// passed over.
    pub(super) fn on_end(&mut self, now: Time, conn: ConnId, session: &str) {
        let Some(name) = self.name_of(conn) else { return };
        let own = self.session_of(conn).and_then(|it| self.directory.session_name(it));
        if own == Some(session) {
            return;
        }
        self.end_session(now, &name, session);
    }

    /// Ends a session of a user, wherever it is: its connection is closed with `signed_out`, and
    /// its client stops. One that is not there is passed over.
    pub fn end_session(&mut self, now: Time, user: &str, session: &str) {
        if self.shared.is_some() {
            self.share_sign_out(now, user, session);
        }
        if self.shared.as_ref().is_some_and(|it| !it.is_lost()) {
            // The store tells the node that has it.
            return;
        }
        let Some(id) = self.directory.find(user) else { return };
        let Some(session) = self.directory.session(id, session) else { return };
        if let Some(conn) = self.leases.at(session.slot()) {
            self.totals.endings.signed_out += 1;
            self.end(now, conn, Ending::Code(CloseCode::SignedOut));
        }
    }
}
