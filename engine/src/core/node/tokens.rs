//! When the tokens of connections end (rule 18).

use std::collections::{BTreeSet, HashMap};

use foldhash::quality::FixedState;
use greendot_protocol::sabotage::{Fault, on};
use greendot_protocol::{CloseCode, ErrorCode, Span, Time};

use super::{ConnId, Node};
use crate::core::leases::Waiting;

/// Connections that are ended in one step; the others follow as soon as the driver likes.
const AT_A_TIME: usize = 1024;

/// The connections whose token ends; most tokens end never, and have no place here.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    /// Soonest first.
    ends: BTreeSet<(Time, ConnId)>,
    of: HashMap<ConnId, Time, FixedState>,
}

impl Tokens {
    /// The connection's token ends then, whatever was said before.
    pub(super) fn insert(&mut self, at: Time, conn: ConnId) {
        self.remove(conn);
        self.ends.insert((at, conn));
        self.of.insert(conn, at);
    }

    /// The connection has ended.
    pub(super) fn remove(&mut self, conn: ConnId) {
        if !self.of.is_empty()
            && let Some(at) = self.of.remove(&conn)
        {
            self.ends.remove(&(at, conn));
        }
    }

    /// When the first one ends.
    pub(super) fn deadline(&self) -> Time {
        self.ends.first().map_or(Time::MAX, |&(at, _)| at)
    }

    /// How long the connection's token lasts from now on; zero: it does not end.
    pub(super) fn lasts(&self, now: Time, conn: ConnId) -> Span {
        let left = |at: &Time| at.since(now).max(Span::from_millis(1));
        self.of.get(&conn).map_or(Span::ZERO, left)
    }

    /// Takes a connection whose token has ended.
    pub(super) fn pop(&mut self, now: Time) -> Option<ConnId> {
        let &(_, conn) = self.ends.first().filter(|(at, _)| *at <= now)?;
        self.remove(conn);
        Some(conn)
    }
}

impl Node {
    /// A fresh token of the connection has been checked: it is this user's, until then if it ends.
    /// One of another user ends the connection: whoever is signed in there now has no right to
    /// what the session may see.
    pub fn handle_token(&mut self, now: Time, conn: ConnId, user: &str, until: Option<Time>) {
        let Some(name) = self.name_of(conn) else { return };
        if *name != *user {
            self.hang_up(now, conn, CloseCode::NotAllowed);
            return;
        }
        match until {
            Some(at) => self.tokens.insert(at, conn),
            None => self.tokens.remove(conn),
        }
        self.leases.wait(conn, Waiting::TOKEN);
        self.wake(conn);
    }

    /// A fresh token of the connection was not believed, or could not be checked: the old one
    /// stays in force. `text` tells people why.
    pub fn refuse_token(&mut self, now: Time, conn: ConnId, text: &str) {
        self.complain(now, conn, ErrorCode::TokenRefused, 0, text.into());
    }

    /// Tokens that have run out take their connections with them (rule 18).
    pub(super) fn end_tokens(&mut self, now: Time) {
        for _ in 0..AT_A_TIME {
            let Some(conn) = self.tokens.pop(now) else { return };
            if on(Fault::TokenKept) {
                continue;
            }
            self.hang_up(now, conn, CloseCode::TokenExpired);
        }
    }
}
