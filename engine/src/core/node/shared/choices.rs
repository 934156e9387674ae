//! What users here have chosen and the store has not taken yet. Should this node die, nobody else knows of it: their clients
//! are not told that it is settled (rule 5), and choose it again where they connect next.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::quality::FixedState;

use super::words::Word;
use crate::core::leases::ConnId;
use crate::core::node::Node;

/// By user: the number of the latest request that says what it chose.
#[derive(Debug, Default)]
pub(super) struct Choices(HashMap<Arc<str>, u64, FixedState>);

impl Choices {
    /// The request of this number says a word.
    pub(super) fn asked(&mut self, number: u64, word: &Word) {
        if let Some(user) = word.chooser() {
            self.0.insert(Arc::clone(user), number);
        }
    }

    /// It was answered. The user all of whose choices have been taken now, if that is so.
    pub(super) fn answered(&mut self, number: u64, word: &Word) -> Option<Arc<str>> {
        let user = word.chooser()?;
        if self.0.get(user) != Some(&number) {
            return None;
        }
        self.0.remove(user);
        Some(Arc::clone(user))
    }

    /// The store is out of reach, and nothing waits for it: clients are told that nothing is settled.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

impl Node {
    /// Whether what the connection's user chose is on its way to the store: what would settle it has to wait. Not for long,
    /// for a store that does not answer is soon out of reach, and a stale node settles nothing.
    pub(in crate::core::node) fn is_unsettled(&self, conn: ConnId) -> bool {
        let Some(shared) = self.shared.as_ref().filter(|it| !it.is_stale()) else { return false };
        if shared.choices.0.is_empty() && shared.hiders.is_empty() && shared.anew.is_over() {
            return false;
        }
        let Some(user) = self.user_of(conn).map(|it| self.directory.name(it)) else { return false };
        let mut waiting = shared.anew.words_by(user);
        shared.choices.0.contains_key(&**user)
            || shared.hiders.contains(&**user)
            || waiting.any(|it| it.chooser().is_some())
    }

    /// The store has taken what the user chose.
    pub(super) fn settled(&mut self, user: &str) {
        let Some(user) = self.directory.find(user) else { return };
        for conn in self.leases_of(user) {
            if self.leases.is_connected(conn) {
                self.wake(conn);
            }
        }
    }
}
