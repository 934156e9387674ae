//! Rooms whose members are in several partitions.

use std::collections::BTreeMap;
use std::sync::Arc;

use greendot_protocol::{Span, Time};

use crate::core::directory::Roster;
use crate::store::redis::keys::fnv;
use crate::store::redis::part::PartRoster;

/// Members of whom a room too large to name all tells some.
const CANDIDATES: usize = 16;

/// A room that is too large to name all is told of once in each of these, counted by the clock.
const ROOM_EVERY: Span = Span::from_millis(1_000);

#[derive(Debug, Default)]
pub(super) struct Room {
    pub(super) parts: BTreeMap<usize, PartRoster>,
    /// When the node was told last that there is a crowd.
    pub(super) told: Time,
    /// Whether something has not been told.
    pub(super) untold: bool,
}

/// Which of the spans of [`ROOM_EVERY`] a time is in.
pub(super) fn turn(at: Time) -> u64 {
    at.as_millis() / ROOM_EVERY.as_millis()
}

/// Who is in a room, over all partitions.
pub(super) fn roster(limit: usize, name: &Arc<str>, parts: &BTreeMap<usize, PartRoster>) -> Roster {
    let count = parts.values().map(|it| it.count).sum();
    let mut members: Vec<Arc<str>> =
        parts.values().flat_map(|it| it.members.iter().map(Arc::clone)).collect();
    // In an order that has nothing to do with them, and always the same.
    members.sort_unstable_by_key(|it| fnv(it.as_bytes()));
    members.truncate(if count > limit { CANDIDATES } else { limit });
    let number = parts.values().map(|it| it.number).sum();
    Roster { room: Arc::clone(name), number, count, members }
}
