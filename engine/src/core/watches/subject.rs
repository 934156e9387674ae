//! A user whom somebody on this node watches.

use std::sync::Arc;

use super::Under;
use super::crowd::Round;
use crate::core::directory::Record;
use crate::core::slab::Id;

#[derive(Debug)]
pub(super) struct Subject {
    pub(super) name: Arc<str>,
    /// The watches of this user by others; each knows its place in here.
    pub(super) watchers: Vec<Id>,
    /// The watches by the user's own sessions.
    pub(super) own: Vec<Id>,
    /// Those that rooms keep for the ones who look into them. Apart, or who comes and goes in a room
    /// would show in when a crowd is told.
    pub(super) seats: Vec<Id>,
    /// The newest that was published of the user; none while the shared store is being asked.
    pub(super) record: Option<Record>,
    /// The round of telling a crowd that is under way.
    pub(super) round: Option<Round>,
}

impl Subject {
    pub(super) fn new(name: Arc<str>, record: Option<Record>) -> Self {
        Self { name, watchers: Vec::new(), own: Vec::new(), seats: Vec::new(), record, round: None }
    }

    /// Whether nobody wants to know of the user.
    pub(super) fn is_idle(&self) -> bool {
        self.watchers.is_empty() && self.own.is_empty() && self.seats.is_empty()
    }

    /// The list in which such a watch stands.
    pub(super) fn list(&mut self, own: bool, under: Under) -> &mut Vec<Id> {
        match under {
            _ if own => &mut self.own,
            Under::Number(_) => &mut self.watchers,
            Under::Seat(_) => &mut self.seats,
        }
    }
}
