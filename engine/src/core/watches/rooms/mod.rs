//! Rooms, as those who look into them see them.
//!
//! A roster is a set of watches that the engine keeps for the one who looks: each member passes the
//! same gate in the same way as a user that is watched by name, and a member who hides is not there. A
//! room that is too large to name all tells how many are there and a sample, once a second at most.

mod transmit;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use foldhash::quality::SeedableRandomState;
use greendot_protocol::{Span, State, Time};

use super::{Shown, Slab, Under, ViewerId, Watch, WatchId, Watches};
use crate::core::directory::{Record, Roster};
use crate::core::gate::Fineness;
use crate::core::node::ConnId;
use crate::core::slab::Id;

/// How often a room that is too large to name all tells anything.
const EVERY: Span = Span::from_millis(1_000);

/// Members in a sample.
const SAMPLE: usize = 8;

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
    /// When a crowd was told of last, and is told of next.
    told: Time,
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
    /// Members who were shown and are there no more.
    left: BTreeSet<Arc<str>>,
    /// Everything is to be told afresh.
    whole: bool,
    /// Something is to be told.
    dirty: bool,
    /// What a crowd was shown as last: the count, and the sample.
    crowd: Option<(u32, Vec<Seen>)>,
}

/// The rooms that are looked into.
#[derive(Debug)]
pub(super) struct Rooms {
    names: HashMap<Arc<str>, Id, SeedableRandomState>,
    rows: Slab<Room>,
    seats: Slab<Seat>,
    limit: usize,
    due: BTreeSet<(Time, Id)>,
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
            forgotten: Vec::new(),
        }
    }
}

impl Roster {
    fn is_crowd(&self, limit: usize) -> bool {
        self.count > limit
    }
}

impl Watches {
    pub(crate) fn seat_count(&self) -> usize {
        self.rooms.seats.len()
    }

    pub(crate) fn room_deadline(&self) -> Time {
        self.rooms.due.first().map_or(Time::MAX, |it| it.0)
    }

    /// Rooms into which somebody looks.
    pub(crate) fn room_names(&self) -> Vec<Arc<str>> {
        self.rooms.rows.iter().map(|(_, it)| Arc::clone(&it.name)).collect()
    }

    /// Whether a roster is still to come from the shared store.
    pub(super) fn is_room_loading(&self) -> bool {
        self.rooms.rows.iter().any(|(_, it)| it.roster.is_none())
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

    /// The room that the viewer's number stands for.
    pub(crate) fn room_of(&self, viewer: ViewerId, number: u32) -> Option<Arc<str>> {
        let seat = self.rooms.seats.get(*self.viewers.get(viewer.0)?.seats.get(&number)?)?;
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
                    told: Time::ZERO,
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
            left: BTreeSet::new(),
            whole: true,
            dirty: true,
            crowd: None,
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

    /// Who is in a room now; `record` gives how a member stands where that is known here.
    pub(crate) fn take_roster(
        &mut self,
        now: Time,
        roster: Roster,
        record: &dyn Fn(&str) -> Option<Record>,
    ) -> RoomWork {
        let mut work = RoomWork::default();
        let Some(&id) = self.rooms.names.get(&roster.room) else { return work };
        let limit = self.rooms.limit;
        let Some(room) = self.rooms.rows.get_mut(id) else { return work };
        let known = room.next.as_ref().or(room.roster.as_ref());
        if known.is_some_and(|it| it.number > roster.number) {
            return work;
        }
        let crowds =
            roster.is_crowd(limit) && room.roster.as_ref().is_some_and(|it| it.is_crowd(limit));
        let soonest = room.told + EVERY;
        if crowds && now < soonest {
            room.next = Some(roster);
            if room.due.is_none() {
                room.due = Some(soonest);
                self.rooms.due.insert((soonest, id));
            }
        } else {
            self.seat_members(now, id, roster, record, &mut work);
        }
        work
    }

    /// One has just begun to look: it is told what the others were told last.
    pub(crate) fn fill_seat(
        &mut self,
        viewer: ViewerId,
        number: u32,
        record: &dyn Fn(&str) -> Option<Record>,
    ) -> RoomWork {
        let mut work = RoomWork::default();
        let seat = self.viewers.get(viewer.0).and_then(|it| it.seats.get(&number).copied());
        let Some(seat) = seat else { return work };
        let row = self.rooms.seats.get(seat).and_then(|it| self.rooms.rows.get(it.room));
        let Some(roster) = row.and_then(|it| it.roster.as_ref()) else { return work };
        let crowd = roster.is_crowd(self.rooms.limit);
        let members: BTreeSet<Arc<str>> = roster.members.iter().cloned().collect();
        self.seat_in(seat, &members, crowd, false, record, &mut work);
        work
    }

    /// Crowds of which it is time to tell.
    pub(crate) fn turn_rooms(
        &mut self,
        now: Time,
        record: &dyn Fn(&str) -> Option<Record>,
    ) -> RoomWork {
        let mut work = RoomWork::default();
        while let Some(&(at, id)) = self.rooms.due.first() {
            if at > now {
                break;
            }
            self.rooms.due.pop_first();
            let Some(room) = self.rooms.rows.get_mut(id) else { continue };
            room.due = None;
            let roster = room.next.take().or_else(|| room.roster.clone());
            if let Some(roster) = roster {
                self.seat_members(now, id, roster, record, &mut work);
            }
        }
        work
    }

    fn seat_members(
        &mut self,
        now: Time,
        id: Id,
        roster: Roster,
        record: &dyn Fn(&str) -> Option<Record>,
        work: &mut RoomWork,
    ) {
        let limit = self.rooms.limit;
        let Some(room) = self.rooms.rows.get_mut(id) else { return };
        let crowd = roster.is_crowd(limit);
        let turned = room.roster.as_ref().is_some_and(|it| it.is_crowd(limit) != crowd);
        room.next = None;
        room.told = now;
        if let Some(at) = room.due.take() {
            self.rooms.due.remove(&(at, id));
        }
        let members: BTreeSet<Arc<str>> = roster.members.iter().cloned().collect();
        let seats: Vec<Id> = room.seats.iter().copied().collect();
        room.roster = Some(roster);
        for seat in seats {
            self.seat_in(seat, &members, crowd, turned, record, work);
        }
    }

    fn seat_in(
        &mut self,
        seat: Id,
        members: &BTreeSet<Arc<str>>,
        crowd: bool,
        turned: bool,
        record: &dyn Fn(&str) -> Option<Record>,
        work: &mut RoomWork,
    ) {
        let Some(row) = self.rooms.seats.get_mut(seat) else { return };
        row.whole |= turned;
        let Some(viewer) = self.viewers.get(row.viewer.0) else { return };
        let (viewer_id, onlooker) = (row.viewer, viewer.onlooker);
        let conn = viewer.conn;
        let Some(own) = self.onlookers.get(onlooker).map(|it| Arc::clone(&it.name)) else { return };
        // Whoever is inside sees itself, whatever it lets others see.
        let sees_itself = row.inside && !crowd;
        let stays = |name: &Arc<str>| members.contains(name) || (sees_itself && *name == own);
        let gone: Vec<Arc<str>> = row.watches.keys().filter(|it| !stays(it)).cloned().collect();
        let itself = Some(&own).filter(|it| sees_itself && !members.contains(*it));
        let come: Vec<Arc<str>> = members
            .iter()
            .chain(itself)
            .filter(|it| !row.watches.contains_key(*it))
            .cloned()
            .collect();
        let mut changed = crowd || row.whole;
        for name in gone {
            let Some(row) = self.rooms.seats.get_mut(seat) else { return };
            let Some(watch) = row.watches.remove(&name) else { continue };
            if self.watches.get(watch).is_some_and(|it| is_present(it.shown.state)) {
                row.left.insert(name);
                changed = true;
            }
            self.remove(watch);
        }
        for name in come {
            let watch =
                self.seat_watch(viewer_id, onlooker, seat, &name, own == name, record, work);
            let Some(row) = self.rooms.seats.get_mut(seat) else { return };
            row.watches.insert(Arc::clone(&name), watch);
            if self.audited && own != name {
                work.ask.push((Arc::clone(&own), name, WatchId(watch)));
            }
            self.outboxes.mark(watch);
        }
        let Some(row) = self.rooms.seats.get_mut(seat) else { return };
        // A reader that reads nothing is not kept a list of all who came and went.
        if row.left.len() > self.rooms.limit.max(SAMPLE) {
            row.whole = true;
            row.left.clear();
        }
        if changed {
            row.dirty = true;
            self.outboxes.list(viewer_id);
        }
        if row_is_whole(&self.rooms.seats, seat) {
            work.wake.push(conn);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "what a watch is made of")]
    fn seat_watch(
        &mut self,
        viewer: ViewerId,
        onlooker: Id,
        seat: Id,
        user: &Arc<str>,
        own: bool,
        record: &dyn Fn(&str) -> Option<Record>,
        work: &mut RoomWork,
    ) -> Id {
        let (subject, load) = self.find_or_load(user, || record(user));
        work.load.extend(load);
        let grant = if self.audited { Fineness::Nothing } else { Fineness::Live };
        let pause = (self.audited && !own).then(Box::default);
        let watch = self.insert(Watch {
            viewer,
            onlooker,
            subject,
            place: 0,
            under: Under::Seat(seat),
            own,
            grant,
            pause,
            shut: None,
            renumber: false,
            offset: 0,
            shown: Shown::NOTHING,
        });
        self.outboxes.begin(watch, viewer, false);
        watch
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

    /// A member of rooms looks otherwise: those who look into them are told, those of large rooms when
    /// it is time to.
    pub(super) fn tell_seats(&mut self, now: Time, subject: Id) {
        let Some(subject) = self.subjects.get(subject) else { return };
        if subject.seats.len() <= self.crowds.limit {
            for &watch in &subject.seats {
                self.outboxes.mark(watch);
            }
            return;
        }
        let seat = |watch: &Id| match self.watches.get(*watch)?.under {
            Under::Seat(seat) => Some(seat),
            Under::Number(_) => None,
        };
        let mut rooms: BTreeMap<Id, Id> = BTreeMap::new();
        for seat in subject.seats.iter().filter_map(seat) {
            if let Some(row) = self.rooms.seats.get(seat) {
                rooms.entry(row.room).or_insert(seat);
            }
        }
        for seat in rooms.into_values() {
            self.crowd_changes(now, seat);
        }
    }

    /// A member of a crowd's sample looks otherwise: that is told when it is time to.
    fn crowd_changes(&mut self, now: Time, seat: Id) {
        let Some(id) = self.rooms.seats.get(seat).map(|it| it.room) else { return };
        let Some(room) = self.rooms.rows.get_mut(id) else { return };
        if room.due.is_none() {
            let at = now.max(room.told + EVERY);
            room.due = Some(at);
            self.rooms.due.insert((at, id));
        }
    }
}

fn row_is_whole(seats: &Slab<Seat>, seat: Id) -> bool {
    seats.get(seat).is_some_and(|it| it.whole)
}

fn is_present(state: State) -> bool {
    !matches!(state, State::Offline | State::Unknown)
}
