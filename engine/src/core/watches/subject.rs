//! A user whom somebody on this node watches.

use std::sync::Arc;

use greendot_protocol::Time;

use super::Under;
use super::crowd::Round;
use crate::core::directory::Record;
use crate::core::slab::Id;

#[derive(Debug)]
pub(super) struct Subject {
    pub(super) name: Arc<str>,
    /// The watches of this user by others; each knows its place in here.
    pub(super) watchers: Vec<Id>,
    /// How many watch it at other nodes, as far as the shared store has said.
    pub(super) elsewhere: u32,
    /// How many here the shared store was told of.
    pub(super) counted: u32,
    /// The watches by the user's own sessions.
    pub(super) own: Vec<Id>,
    /// Those that rooms keep for the ones who look into them. Apart, or who comes and goes in a room
    /// would show in when a crowd is told.
    pub(super) seats: Vec<Id>,
    /// The newest that was published of the user; none while the shared store is being asked.
    pub(super) record: Option<Record>,
    /// The shared store is being asked for those who watch by name, whatever is known here: from rooms in which the user is, or because
    /// it looks at itself. They wait for the answer; else they would be told sooner of one who is there.
    pub(super) asked: bool,
    /// It was watched by name when the store went out of reach, and whoever comes back to it is told what is known.
    pub(super) kept: bool,
    /// The round of telling a crowd that is under way.
    pub(super) round: Option<Round>,
    /// Of the round before: when it began, and by how many it was paced.
    pub(super) paced: (Time, usize),
}

impl Subject {
    pub(super) fn new(name: Arc<str>, record: Option<Record>) -> Self {
        Self {
            name,
            watchers: Vec::new(),
            elsewhere: 0,
            counted: 0,
            own: Vec::new(),
            seats: Vec::new(),
            record,
            asked: false,
            kept: false,
            round: None,
            paced: (Time::ZERO, 0),
        }
    }

    /// How many watch the user, over all nodes.
    pub(super) fn many(&self) -> usize {
        self.watchers.len() + self.elsewhere as usize
    }

    /// Whether nobody wants to know of the user.
    pub(super) fn is_idle(&self) -> bool {
        self.watchers.is_empty() && self.own.is_empty() && self.seats.is_empty()
    }

    /// Whether what is known of the user may be told to those who watch it by name.
    pub(super) fn is_open(&self) -> bool {
        (self.kept || !self.watchers.is_empty()) && !self.asked
    }

    /// Takes a watch out of its list; those that have moved for it, and to which places. A round under way goes through a list from its
    /// end: of those who were told, none moves among those who were not.
    pub(super) fn take_out(
        &mut self,
        own: bool,
        under: Under,
        place: usize,
    ) -> impl Iterator<Item = (Id, usize)> + use<> {
        let round = self.round.as_mut().filter(|_| !own && matches!(under, Under::Number(_)));
        let last_untold = round.and_then(|it| it.take_from_untold(place));
        let list = self.list(own, under);
        let hole = last_untold.unwrap_or(place);
        list.swap(place, hole);
        list.swap_remove(hole);
        let moved = [Some(place).filter(|it| *it != hole), Some(hole)];
        let moved = moved.map(|it| it.and_then(|at| Some((*list.get(at)?, at))));
        moved.into_iter().flatten()
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
