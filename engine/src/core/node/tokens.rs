//! When the tokens of connections end (rule 18).

use std::collections::{BTreeSet, HashMap};

use foldhash::quality::FixedState;
use greendot_protocol::Time;

use super::ConnId;

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
        if let Some(at) = self.of.remove(&conn) {
            self.ends.remove(&(at, conn));
        }
    }

    /// When the first one ends.
    pub(super) fn deadline(&self) -> Time {
        self.ends.first().map_or(Time::MAX, |&(at, _)| at)
    }

    /// Takes a connection whose token has ended.
    pub(super) fn pop(&mut self, now: Time) -> Option<ConnId> {
        let &(_, conn) = self.ends.first().filter(|(at, _)| *at <= now)?;
        self.remove(conn);
        Some(conn)
    }
}
