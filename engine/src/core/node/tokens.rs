//! When the tokens of connections end (rule 18).

use std::collections::{BTreeSet, HashMap};

use foldhash::quality::FixedState;
use greendot_protocol::sabotage::{Fault, on};
use greendot_protocol::{CloseCode, ErrorCode, Span, Time};

use super::sweep::READING;
use super::{ConnId, Node, Output};
use crate::core::leases::Waiting;

/// Connections that are looked at in one step; the others follow as soon as the driver likes.
const AT_A_TIME: usize = 1024;

/// The connections whose token ends; most tokens end never, and have no place here.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    /// When each is looked at next, soonest first.
    due: BTreeSet<(Time, ConnId)>,
    of: HashMap<ConnId, Token, FixedState>,
}

/// The token of a connection.
#[derive(Clone, Copy, Debug)]
struct Token {
    ends: Time,
    due: Time,
    /// It has ended, and what waits on the connection is still to be read: that may be a fresh one.
    unread: bool,
    /// A fresh one has come, and is being checked.
    checked: bool,
}

impl Token {
    fn has_been_looked_at(&self) -> bool {
        self.due != self.ends
    }

    /// Whether the connection has to go: no fresh one is there, and none can be on its way any more.
    fn takes_along(&self) -> bool {
        self.has_been_looked_at() && !self.unread && !self.checked
    }
}

/// What to do about a token that has ended.
enum Step {
    ReadFirst(ConnId),
    Close(ConnId),
}

impl Tokens {
    /// The connection's token ends then, whatever was said before.
    pub(super) fn insert(&mut self, at: Time, conn: ConnId) {
        self.remove(conn);
        self.put(conn, Token { ends: at, due: at, unread: false, checked: false });
    }

    fn put(&mut self, conn: ConnId, token: Token) {
        self.due.insert((token.due, conn));
        self.of.insert(conn, token);
    }

    /// The connection has ended, or its token ends never.
    pub(super) fn remove(&mut self, conn: ConnId) {
        self.take(conn);
    }

    fn take(&mut self, conn: ConnId) -> Option<Token> {
        if self.of.is_empty() {
            return None;
        }
        let token = self.of.remove(&conn)?;
        self.due.remove(&(token.due, conn));
        Some(token)
    }

    /// When the first one is to be looked at.
    pub(super) fn deadline(&self) -> Time {
        self.due.first().map_or(Time::MAX, |&(at, _)| at)
    }

    /// How long the connection's token lasts from now on; zero: it does not end.
    pub(super) fn lasts(&self, now: Time, conn: ConnId) -> Span {
        let left = |it: &Token| it.ends.since(now).max(Span::from_millis(1));
        self.of.get(&conn).map_or(Span::ZERO, left)
    }

    /// A fresh token has come, and the driver has it checked.
    pub(super) fn begin_check(&mut self, conn: ConnId) {
        if let Some(token) = self.of.get_mut(&conn) {
            token.checked = true;
        }
    }

    /// The fresh token was not believed. Returns whether the connection has to go.
    fn end_check(&mut self, conn: ConnId) -> bool {
        self.of.get_mut(&conn).is_some_and(|it| {
            it.checked = false;
            it.takes_along()
        })
    }

    /// What waited on the connection has been read. Returns whether the connection has to go.
    fn has_read(&mut self, conn: ConnId) -> bool {
        self.of.get_mut(&conn).is_some_and(|it| {
            it.unread = false;
            it.takes_along()
        })
    }

    /// What to do about one that has ended, if any has. It is asked once for what may be unread, and for no longer than
    /// [`READING`] waited for that and for the check of what was read.
    fn step(&mut self, now: Time) -> Option<Step> {
        let &(_, conn) = self.due.first().filter(|(at, _)| *at <= now)?;
        let token = self.take(conn)?;
        if token.has_been_looked_at() || on(Fault::TokenEndsUnread) {
            return Some(Step::Close(conn));
        }
        // Counted from now: while the node stood still nobody could read.
        self.put(conn, Token { due: now + READING, unread: true, ..token });
        Some(Step::ReadFirst(conn))
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
        if self.tokens.end_check(conn) {
            self.hang_up(now, conn, CloseCode::TokenExpired);
        } else {
            self.complain(now, conn, ErrorCode::TokenRefused, 0, text.into());
        }
    }

    /// Tokens that have run out take their connections with them (rule 18): not before what waits there has been read, which
    /// may be a fresh one.
    pub(super) fn end_tokens(&mut self, now: Time) {
        for _ in 0..AT_A_TIME {
            match self.tokens.step(now) {
                None => return,
                Some(Step::ReadFirst(conn)) => self.say(Output::ReadFirst(conn)),
                Some(Step::Close(conn)) => self.close_for_token(now, conn),
            }
        }
    }

    /// What waited on the connection has been read: if no fresh token was among it, an ended one takes it along.
    pub(super) fn end_token_that_was_read(&mut self, now: Time, conn: ConnId) {
        if self.tokens.has_read(conn) {
            self.tokens.remove(conn);
            self.close_for_token(now, conn);
        }
    }

    fn close_for_token(&mut self, now: Time, conn: ConnId) {
        if !on(Fault::TokenKept) {
            self.hang_up(now, conn, CloseCode::TokenExpired);
        }
    }
}
