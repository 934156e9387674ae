//! Rooms: which sessions are in them, and which of their users others see there.

use std::collections::{BTreeSet, HashMap};
use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::quality::SeedableRandomState;

use super::UserId;

/// Members of whom a room too large to name all tells some: enough to choose from for a viewer who
/// may not see a few of them.
const CANDIDATES: usize = 16;

/// Who is in a room, as far as others may see at all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Roster {
    /// The room's id.
    pub room: Arc<str>,
    /// Of two rosters of one room in one epoch the higher is the newer.
    pub number: u64,
    /// How many users are there who do not hide from everybody.
    pub count: usize,
    /// All of them, or, in a room that is too large, always the same few.
    pub members: Vec<Arc<str>>,
}

/// A user in rooms. Members stand in an order that nobody can foresee, and that goes by their names alone: one by their
/// numbers would tell who else there has been.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Occupant {
    place: u64,
    user: UserId,
}

#[derive(Debug, Default)]
struct Room {
    /// How many sessions each user has there.
    members: HashMap<UserId, u32, foldhash::quality::FixedState>,
    /// Those who do not hide from everybody.
    present: BTreeSet<Occupant>,
    number: u64,
}

#[derive(Debug)]
pub(super) struct Rooms {
    by_name: HashMap<Arc<str>, Room, SeedableRandomState>,
    hasher: SeedableRandomState,
    number: u64,
    touched: Vec<Arc<str>>,
}

impl Rooms {
    pub(super) fn new(seed: u64) -> Self {
        let hasher = SeedableRandomState::with_seed(seed, foldhash::SharedSeed::global_fixed());
        Self {
            by_name: HashMap::with_hasher(hasher.clone()),
            hasher,
            number: 0,
            touched: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.by_name.len()
    }

    /// The user of this name, as a member.
    pub(super) fn occupant(&self, user: UserId, name: &str) -> Occupant {
        Occupant { place: self.hasher.hash_one(name), user }
    }

    /// One more session of the user is in the room.
    pub(super) fn enter(&mut self, room: &Arc<str>, member: Occupant, present: bool) {
        // A room of this name may have been told of before: what is said of the new one is newer.
        let fresh = || Room { number: self.number, ..Room::default() };
        let row = self.by_name.entry(Arc::clone(room)).or_insert_with(fresh);
        let sessions = row.members.entry(member.user).or_default();
        *sessions += 1;
        if *sessions == 1 {
            self.show(room, member, present);
        }
    }

    /// One session less.
    pub(super) fn exit(&mut self, room: &Arc<str>, member: Occupant) {
        let Some(row) = self.by_name.get_mut(room) else { return };
        let Some(sessions) = row.members.get_mut(&member.user) else { return };
        *sessions -= 1;
        if *sessions > 0 {
            return;
        }
        row.members.remove(&member.user);
        self.show(room, member, false);
        if self.by_name.get(room).is_some_and(|it| it.members.is_empty()) {
            self.by_name.remove(room);
        }
    }

    /// A user who is in the room is seen there from now on, or is not.
    pub(super) fn show(&mut self, room: &Arc<str>, member: Occupant, present: bool) {
        let Some(row) = self.by_name.get_mut(room) else { return };
        if present && !row.members.contains_key(&member.user) {
            return;
        }
        let changed =
            if present { row.present.insert(member) } else { row.present.remove(&member) };
        if changed {
            self.number += 1;
            row.number = self.number;
            self.touched.push(Arc::clone(room));
        }
    }

    pub(super) fn has_touched(&self) -> bool {
        !self.touched.is_empty()
    }

    pub(super) fn take_touched(&mut self) -> Vec<Arc<str>> {
        let mut touched = std::mem::take(&mut self.touched);
        touched.sort_unstable();
        touched.dedup();
        touched
    }

    pub(super) fn roster(
        &self,
        room: &Arc<str>,
        limit: usize,
        name: impl Fn(UserId) -> Arc<str>,
    ) -> Roster {
        let Some(row) = self.by_name.get(room) else {
            // Nobody is there; one that was told before is known to be older.
            let number = self.number;
            return Roster { room: Arc::clone(room), number, ..Roster::default() };
        };
        let count = row.present.len();
        let told = if count > limit { CANDIDATES } else { limit };
        let members = row.present.iter().take(told).map(|it| name(it.user)).collect();
        Roster { room: Arc::clone(room), number: row.number, count, members }
    }
}
