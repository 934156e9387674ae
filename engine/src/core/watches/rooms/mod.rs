//! Rooms, as those who look into them see them.
//!
//! A roster is a set of watches that the engine keeps for the one who looks: each member passes the
//! same gate in the same way as a user that is watched by name, and a member who hides is not there. Who may see
//! more members than are told by name is told how many they are and a sample, once a second at most. That goes by what this
//! one may see, and the seconds go by the clock: neither tells of members who hide from it.

mod members;
mod rights;
mod seats;
mod transmit;
mod turns;

pub(crate) use self::transmit::rounded;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use foldhash::quality::SeedableRandomState;
use greendot_protocol::{State, Time};

use super::{Slab, ViewerId, WatchId, Watches};
use crate::core::directory::{Record, Roster};
use crate::core::node::ConnId;
use crate::core::slab::Id;

/// Members in a sample.
pub(crate) const SAMPLE: usize = 8;

/// A room into which somebody on this node looks.
#[derive(Debug)]
struct Room {
    name: Arc<str>,
    /// None while the shared store is being asked.
    roster: Option<Roster>,
    /// Who looks.
    seats: BTreeSet<Id>,
    /// A newer roster that waits for its time.
    next: Option<Roster>,
    /// When those who see a crowd are told next.
    due: Option<Time>,
}

/// A member, and what it looks like.
type Seen = (Arc<str>, State);

/// A connection that looks into a room.
#[derive(Debug)]
struct Seat {
    viewer: ViewerId,
    room: Id,
    /// The client's number for the room.
    number: u32,
    /// The viewer's user is in the room by this connection, and sees itself there.
    inside: bool,
    /// By the member's name.
    watches: BTreeMap<Arc<str>, Id>,
    /// Members who were shown and are there no more, and how they were shown.
    left: BTreeMap<Arc<str>, State>,
    /// Everything is to be told afresh.
    whole: bool,
    /// Something is to be told.
    dirty: bool,
    /// What the crowd was shown as last, the count and the sample, if this one sees a crowd.
    crowd: Option<(u32, Vec<Seen>)>,
    /// Whether the user may be here is being asked again: nothing newer is told.
    paused: bool,
    /// What it is to be told first is still to come.
    opens: Opens,
    /// The last question to the store about it.
    question: u64,
}

/// When one who has joined is told who is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opens {
    /// Once the store has said it.
    Unknown,
    /// At this time.
    At(Time),
    /// It has been told, or is told with the next frames.
    Open,
}

/// The rooms that are looked into.
#[derive(Debug)]
pub(super) struct Rooms {
    names: HashMap<Arc<str>, Id, SeedableRandomState>,
    rows: Slab<Room>,
    seats: Slab<Seat>,
    limit: usize,
    due: BTreeSet<(Time, Id)>,
    /// Seats that open at a time.
    openings: BTreeSet<(Time, Id)>,
    forgotten: Vec<Arc<str>>,
}

/// What a change in a room asks of others.
#[derive(Debug, Default)]
pub(crate) struct RoomWork {
    /// Users who are to be loaded.
    pub(crate) load: Vec<Arc<str>>,
    /// Watches of whom the application is to be asked: who looks, at whom.
    pub(crate) ask: Vec<(Arc<str>, Arc<str>, WatchId)>,
    /// Connections for which something waits.
    pub(crate) wake: Vec<ConnId>,
}

impl Rooms {
    pub(super) fn new(limit: usize, seed: u64) -> Self {
        Self {
            names: HashMap::with_hasher(SeedableRandomState::with_seed(
                seed,
                foldhash::SharedSeed::global_fixed(),
            )),
            rows: Slab::default(),
            seats: Slab::default(),
            limit,
            due: BTreeSet::new(),
            openings: BTreeSet::new(),
            forgotten: Vec::new(),
        }
    }
}

impl Roster {
    /// Whether it names all who are there.
    fn names_all(&self) -> bool {
        self.members.len() >= self.count
    }
}

impl Watches {
    /// Rooms into which somebody looks.
    pub(crate) fn room_names(&self) -> Vec<Arc<str>> {
        self.rooms.rows.iter().map(|(_, it)| Arc::clone(&it.name)).collect()
    }

    /// Whether somebody looks into the room.
    pub(crate) fn knows_room(&self, room: &str) -> bool {
        self.rooms.names.contains_key(room)
    }

    /// Rooms into which nobody has looked any more since the last call.
    pub(crate) fn take_forgotten_rooms(&mut self) -> Vec<Arc<str>> {
        let mut forgotten = std::mem::take(&mut self.rooms.forgotten);
        forgotten.retain(|it| !self.rooms.names.contains_key(it));
        forgotten
    }

    /// Who is in a room now; `record` gives how a member stands where that is known here.
    pub(crate) fn take_roster(
        &mut self,
        now: Time,
        roster: Roster,
        record: &dyn Fn(&str) -> Option<Record>,
    ) -> RoomWork {
        let mut work = RoomWork::default();
        let Some(&id) = self.rooms.names.get(&roster.room) else { return work };
        let Some(room) = self.rooms.rows.get_mut(id) else { return work };
        let known = room.next.as_ref().or(room.roster.as_ref());
        if known.is_some_and(|it| it.number > roster.number) {
            return work;
        }
        // Where all are named, each viewer's own count says whether it sees a crowd.
        let vast = !roster.names_all() && room.roster.as_ref().is_some_and(|it| !it.names_all());
        if vast {
            room.next = Some(roster);
            self.await_turn(now, id);
        } else {
            self.seat_members(now, id, roster, record, &mut work);
        }
        work
    }

    /// One has just begun to look: it is told what the others were told last.
    pub(crate) fn fill_seat(
        &mut self,
        now: Time,
        viewer: ViewerId,
        number: u32,
        record: &dyn Fn(&str) -> Option<Record>,
    ) -> RoomWork {
        let mut work = RoomWork::default();
        let Some(seat) = self.seat_under(viewer, number) else { return work };
        let row = self.rooms.seats.get(seat).and_then(|it| self.rooms.rows.get(it.room));
        let Some(roster) = row.and_then(|it| it.roster.as_ref()) else { return work };
        let members: BTreeSet<Arc<str>> = roster.members.iter().cloned().collect();
        let all = roster.names_all();
        self.seat_in(now, seat, &members, (all, false), record, &mut work);
        work
    }

    /// The watches of a seat.
    pub(super) fn members_of(&self, seat: Id) -> impl Iterator<Item = Id> {
        self.rooms.seats.get(seat).into_iter().flat_map(|it| it.watches.values().copied())
    }

    /// A new epoch: rooms are told afresh once they are known.
    pub(super) fn begin_room_epoch(&mut self) {
        for (_, room) in self.rooms.rows.iter_mut() {
            room.roster = None;
            room.next = None;
        }
        for (_, seat) in self.rooms.seats.iter_mut() {
            seat.whole = true;
            seat.left.clear();
            seat.crowd = None;
        }
    }

    /// Viewers that wait to be told of a room afresh.
    pub(super) fn waits_for_room(&self, seats: &BTreeMap<u32, Id>) -> bool {
        seats.values().any(|it| row_is_whole(&self.rooms.seats, *it))
    }
}

fn row_is_whole(seats: &Slab<Seat>, seat: Id) -> bool {
    seats.get(seat).is_some_and(|it| it.whole)
}

fn is_present(state: State) -> bool {
    !matches!(state, State::Offline | State::Unknown)
}
