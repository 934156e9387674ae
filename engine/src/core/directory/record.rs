//! What the directory says about a user to those who pass it on.

use std::sync::Arc;

use greendot_protocol::Time;

use super::Face;
use crate::core::gate::LastSeen;
use crate::store::Report;

/// All there is to show of a user. Who may see how much of it is decided at the gate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// What others may see.
    pub public: Face,
    /// What the user's own sessions see.
    pub own: Face,
    /// The note; empty if there is none.
    pub note: Arc<str>,
    /// When a frame was last heard from the user, standing still while hidden (rule 9).
    pub seen: Option<Time>,
    /// Whether the user has been visible in this epoch. If not, nobody can say in the warm-up
    /// whether the user is there (rule 12 a).
    pub heard: bool,
    /// How exactly the user lets others see when it was there last.
    pub wish: LastSeen,
    /// Counts these wishes.
    pub wishes: u32,
}

impl Record {
    /// What a shared store reported at `said`, on this node's clock.
    pub fn of(said: Time, report: &Report) -> Self {
        Self {
            public: report.public,
            own: report.own,
            note: Arc::clone(&report.note),
            seen: report.seen_ago.map(|ago| said - ago),
            heard: report.heard,
            wish: report.wish,
            wishes: report.wishes,
        }
    }

    /// Of two records of one user in one epoch the newer has seen more changes.
    pub(crate) fn changes(&self) -> u64 {
        u64::from(self.public.version.0) + u64::from(self.own.version.0) + u64::from(self.wishes)
    }
}
