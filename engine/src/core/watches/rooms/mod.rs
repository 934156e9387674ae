//! Rooms, as those who look into them see them.
//!
//! A roster is a set of watches that the engine keeps for the one who looks: each member passes the
//! same gate in the same way as a user that is watched by name, and a member who hides is not there. Who may see
//! more members than are told by name is told how many they are and a sample, once a second at most. That goes by what this
//! one may see, and the seconds go by the clock: neither tells of members who hide from it.

mod members;
mod transmit;

pub(crate) use self::transmit::rounded;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use foldhash::quality::SeedableRandomState;
use greendot_protocol::sabotage::{Fault, on};
use greendot_protocol::{Span, State, Time};

use super::{Slab, Under, ViewerId, WatchId, Watches};
use crate::core::directory::{Record, Roster};
use crate::core::node::ConnId;
use crate::core::slab::Id;

/// How often a room that is too large to name all tells anything.
const EVERY: Span = Span::from_millis(1_000);

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
    pub(crate) fn seat_count(&self) -> usize {
        self.rooms.seats.len()
    }

    pub(crate) fn room_deadline(&self) -> Time {
        let first = |of: &BTreeSet<(Time, Id)>| of.first().map_or(Time::MAX, |it| it.0);
        first(&self.rooms.due).min(first(&self.rooms.openings))
    }

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

    /// How many rooms the viewer looks into.
    pub(crate) fn seats_of(&self, viewer: ViewerId) -> usize {
        self.viewers.get(viewer.0).map_or(0, |it| it.seats.len())
    }

    /// The rooms that the viewer looks into.
    pub(crate) fn rooms_of(&self, viewer: ViewerId) -> Vec<Arc<str>> {
        let seats = self.viewers.get(viewer.0).into_iter().flat_map(|it| it.seats.values());
        let rooms = seats.filter_map(|it| self.rooms.rows.get(self.rooms.seats.get(*it)?.room));
        rooms.map(|it| Arc::clone(&it.name)).collect()
    }

    /// The room that the viewer's number stands for.
    pub(crate) fn room_of(&self, viewer: ViewerId, number: u32) -> Option<Arc<str>> {
        let seat = self.rooms.seats.get(self.seat_under(viewer, number)?)?;
        self.rooms.rows.get(seat.room).map(|it| Arc::clone(&it.name))
    }

    /// The viewer begins to look into a room, under `number`; if it does so already, it is told
    /// anew. True if the room's roster is to be loaded.
    pub(crate) fn sit(
        &mut self,
        viewer: ViewerId,
        number: u32,
        room: &Arc<str>,
        inside: bool,
    ) -> bool {
        let (id, fresh) = match self.rooms.names.get(room) {
            Some(&id) => (id, false),
            None => {
                let id = self.rooms.rows.insert(Room {
                    name: Arc::clone(room),
                    roster: None,
                    seats: BTreeSet::new(),
                    next: None,
                    due: None,
                });
                self.rooms.names.insert(Arc::clone(room), id);
                (id, true)
            }
        };
        let Some(row) = self.viewers.get(viewer.0) else { return false };
        let seat_in_room = |seat: &Id| self.rooms.seats.get(*seat).is_some_and(|it| it.room == id);
        let before = row.seats.iter().find(|it| seat_in_room(it.1)).map(|it| *it.0);
        let seat = self.rooms.seats.insert(Seat {
            viewer,
            room: id,
            number,
            inside,
            watches: BTreeMap::new(),
            left: BTreeMap::new(),
            whole: true,
            dirty: true,
            crowd: None,
            paused: false,
            opens: Opens::Unknown,
            question: 0,
        });
        if let Some(row) = self.rooms.rows.get_mut(id) {
            row.seats.insert(seat);
        }
        // Only now, or the room would be forgotten in between.
        for gone in before.into_iter().chain([number]) {
            self.rise(viewer, gone);
        }
        if let Some(row) = self.viewers.get_mut(viewer.0) {
            row.seats.insert(number, seat);
        }
        fresh
    }

    /// The viewer looks into the room with this number no more.
    pub(crate) fn rise(&mut self, viewer: ViewerId, number: u32) {
        let found = self.viewers.get_mut(viewer.0).and_then(|it| it.seats.remove(&number));
        if let Some(seat) = found {
            self.drop_seat(seat);
        }
    }

    pub(super) fn drop_seat(&mut self, seat: Id) {
        let Some(gone) = self.rooms.seats.remove(seat) else { return };
        if let Opens::At(at) = gone.opens {
            self.rooms.openings.remove(&(at, seat));
        }
        for watch in gone.watches.into_values() {
            self.remove(watch);
        }
        let Some(room) = self.rooms.rows.get_mut(gone.room) else { return };
        room.seats.remove(&seat);
        if room.seats.is_empty()
            && let Some(room) = self.rooms.rows.remove(gone.room)
        {
            if let Some(at) = room.due {
                self.rooms.due.remove(&(at, gone.room));
            }
            self.rooms.names.remove(&room.name);
            self.rooms.forgotten.push(room.name);
        }
    }

    /// The number under which the viewer looks into a room.
    pub(crate) fn number_of(&self, viewer: ViewerId, room: &str) -> Option<u32> {
        self.seat_of(viewer, room).map(|it| it.0)
    }

    /// The seat that the viewer has under this number.
    fn seat_under(&self, viewer: ViewerId, number: u32) -> Option<Id> {
        self.viewers.get(viewer.0)?.seats.get(&number).copied()
    }

    /// The viewer's seat in a room, with its number.
    fn seat_of(&self, viewer: ViewerId, room: &str) -> Option<(u32, Id)> {
        let id = self.rooms.names.get(room)?;
        let seats = &self.viewers.get(viewer.0)?.seats;
        let is_there = |seat: &Id| self.rooms.seats.get(*seat).is_some_and(|it| it.room == *id);
        seats.iter().find(|it| is_there(it.1)).map(|(number, seat)| (*number, *seat))
    }

    /// Whether the viewer may be in the room is asked again: nothing newer is told.
    pub(crate) fn pause_room(&mut self, viewer: ViewerId, room: &str) {
        let seat = self.seat_of(viewer, room);
        if let Some(row) = seat.and_then(|it| self.rooms.seats.get_mut(it.1)) {
            row.paused = true;
        }
    }

    /// Nobody could say whether the viewer may be in the room: it is told that nobody is there, and nothing more.
    pub(crate) fn darken_room(&mut self, viewer: ViewerId, room: &str) {
        let Some((number, seat)) = self.seat_of(viewer, room) else { return };
        self.clear(viewer, number, seat);
        let Some(row) = self.rooms.seats.get_mut(seat) else { return };
        (row.paused, row.whole, row.crowd) = (true, true, None);
        if let Opens::At(at) = std::mem::replace(&mut row.opens, Opens::Unknown) {
            self.rooms.openings.remove(&(at, seat));
        }
        row.left.clear();
        for watch in std::mem::take(&mut row.watches).into_values() {
            self.remove(watch);
        }
    }

    /// The viewer may stay in the room: what was kept back is told now. If it is to be told as if it had just joined, its
    /// number for the room.
    pub(crate) fn resume_room(
        &mut self,
        now: Time,
        viewer: ViewerId,
        room: &str,
        record: &dyn Fn(&str) -> Option<Record>,
    ) -> (RoomWork, Option<u32>) {
        let Some((number, seat)) = self.seat_of(viewer, room) else { return Default::default() };
        let work = self.fill_seat(now, viewer, number, record);
        let Some(row) = self.rooms.seats.get_mut(seat) else { return (work, None) };
        row.paused = false;
        row.dirty = true;
        let opens = (row.opens == Opens::Unknown).then_some(number);
        for watch in row.watches.values() {
            self.outboxes.mark(*watch);
        }
        self.outboxes.list(viewer);
        (work, opens)
    }

    /// The viewer may not be in the room any more: it is told that nobody is there.
    pub(crate) fn clear_room(&mut self, viewer: ViewerId, room: &str) {
        let Some((number, seat)) = self.seat_of(viewer, room) else { return };
        self.clear(viewer, number, seat);
        self.rise(viewer, number);
    }

    fn clear(&mut self, viewer: ViewerId, number: u32, seat: Id) {
        if row_is_whole(&self.rooms.seats, seat) {
            // It was told nothing yet.
            return;
        }
        if let Some(row) = self.viewers.get_mut(viewer.0) {
            row.cleared.insert(number);
        }
        self.outboxes.list(viewer);
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

    /// The viewer is told at this time who is in the room that it has joined. Whether that is now.
    pub(crate) fn open_seat(&mut self, viewer: ViewerId, number: u32, now: Time, at: Time) -> bool {
        let Some(seat) = self.seat_under(viewer, number) else { return false };
        let Some(row) = self.rooms.seats.get_mut(seat) else { return false };
        if row.opens != Opens::Unknown {
            return row.opens == Opens::Open;
        }
        if at <= now {
            row.opens = Opens::Open;
            return true;
        }
        row.opens = Opens::At(at);
        self.rooms.openings.insert((at, seat));
        false
    }

    /// Members of the room of this seat of whom it is not known how they stand.
    pub(crate) fn unknown_members(&self, viewer: ViewerId, number: u32) -> Vec<Arc<str>> {
        let watches =
            self.seat_under(viewer, number).into_iter().flat_map(|it| self.members_of(it));
        let subjects = watches.filter_map(|it| self.subjects.get(self.watches.get(it)?.subject));
        subjects.filter(|it| it.record.is_none()).map(|it| Arc::clone(&it.name)).collect()
    }

    /// The store has been asked about a seat by this question.
    pub(crate) fn ask_for_seat(&mut self, viewer: ViewerId, number: u32, question: u64) {
        let seat = self.seat_under(viewer, number);
        if let Some(row) = seat.and_then(|it| self.rooms.seats.get_mut(it)) {
            row.question = question;
        }
    }

    /// Whether this was the last question about the seat.
    pub(crate) fn seat_waits_for(&self, viewer: ViewerId, number: u32, question: u64) -> bool {
        let seat = self.seat_under(viewer, number);
        seat.and_then(|it| self.rooms.seats.get(it)).is_some_and(|it| it.question == question)
    }

    /// Connections that have joined rooms, under these numbers, of which the store has yet to say who is there, and was asked
    /// before this question.
    pub(crate) fn unseated(&self, question: u64) -> Vec<(ConnId, u32)> {
        let waits = |it: &Seat| it.opens == Opens::Unknown && it.question < question;
        let waits = self.rooms.seats.iter().filter(|(_, it)| waits(it));
        waits.filter_map(|(_, it)| Some((self.viewers.get(it.viewer.0)?.conn, it.number))).collect()
    }

    /// Crowds of which it is time to tell, and those who have joined.
    pub(crate) fn turn_rooms(
        &mut self,
        now: Time,
        record: &dyn Fn(&str) -> Option<Record>,
    ) -> RoomWork {
        let mut work = RoomWork::default();
        while let Some(&(at, seat)) = self.rooms.openings.first() {
            if at > now {
                break;
            }
            self.rooms.openings.pop_first();
            let Some(row) = self.rooms.seats.get_mut(seat) else { continue };
            row.opens = Opens::Open;
            work.wake.extend(self.viewers.get(row.viewer.0).map(|it| it.conn));
        }
        while let Some(&(at, id)) = self.rooms.due.first() {
            if at > now {
                break;
            }
            self.rooms.due.pop_first();
            let Some(room) = self.rooms.rows.get_mut(id) else { continue };
            room.due = None;
            if let Some(roster) = room.next.take() {
                self.seat_members(now, id, roster, record, &mut work);
            }
            let seats = self.rooms.rows.get(id).map(|it| it.seats.iter().copied().collect());
            let seats: Vec<Id> = seats.unwrap_or_default();
            for seat in seats {
                self.turn_seat(seat);
            }
        }
        work
    }

    /// Time has come for one who looks: it is told whatever there is to tell.
    fn turn_seat(&mut self, seat: Id) {
        let Some(row) = self.rooms.seats.get_mut(seat) else { return };
        if row.crowd.is_some() {
            row.dirty = true;
            let viewer = row.viewer;
            return self.outboxes.list(viewer);
        }
        let members: Vec<Id> = row.watches.values().copied().collect();
        for watch in members {
            self.outboxes.mark(watch);
        }
    }

    fn await_turn(&mut self, now: Time, id: Id) {
        let Some(room) = self.rooms.rows.get_mut(id) else { return };
        if room.due.is_none() {
            // At the same moments whatever has happened before: else who comes and goes unseen would show in when the others
            // are told of.
            let at = if on(Fault::CrowdAtOnce) { now } else { now.next_turn(EVERY) };
            room.due = Some(at);
            self.rooms.due.insert((at, id));
        }
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

    /// A member of rooms looks otherwise: those who look into them are told, those who see a crowd when it is time to.
    pub(super) fn tell_seats(&mut self, now: Time, subject: Id) {
        let Some(subject) = self.subjects.get(subject) else { return };
        let many = subject.seats.len() > self.crowds.limit;
        for watch in subject.seats.clone() {
            self.touch_member(now, watch, many);
        }
    }

    /// What the watch of a member shows has changed.
    pub(super) fn touch_member(&mut self, now: Time, watch: Id, many: bool) {
        let Some(Under::Seat(seat)) = self.watches.get(watch).map(|it| it.under) else { return };
        let Some(row) = self.rooms.seats.get(seat) else { return };
        if many || (row.crowd.is_some() && !row.whole) {
            // Now, and not once the tick has come: the time would tell what kind of change it was.
            return self.await_turn(now, row.room);
        }
        self.outboxes.mark(watch);
    }

    /// A member of a crowd looks otherwise: that is told when it is time to.
    fn crowd_changes(&mut self, now: Time, seat: Id) {
        if let Some(id) = self.rooms.seats.get(seat).map(|it| it.room) {
            self.await_turn(now, id);
        }
    }
}

fn row_is_whole(seats: &Slab<Seat>, seat: Id) -> bool {
    seats.get(seat).is_some_and(|it| it.whole)
}

fn is_present(state: State) -> bool {
    !matches!(state, State::Offline | State::Unknown)
}
