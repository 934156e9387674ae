//! Seats: who looks into which room, under which number, and since when.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use greendot_protocol::Time;

use super::{Opens, Room, Seat};
use crate::core::node::ConnId;
use crate::core::slab::Id;
use crate::core::watches::{ViewerId, Watches};

impl Watches {
    pub(crate) fn seat_count(&self) -> usize {
        self.rooms.seats.len()
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

    pub(in crate::core::watches) fn drop_seat(&mut self, seat: Id) {
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
    pub(super) fn seat_under(&self, viewer: ViewerId, number: u32) -> Option<Id> {
        self.viewers.get(viewer.0)?.seats.get(&number).copied()
    }

    /// The viewer's seat in a room, with its number.
    pub(super) fn seat_of(&self, viewer: ViewerId, room: &str) -> Option<(u32, Id)> {
        let id = self.rooms.names.get(room)?;
        let seats = &self.viewers.get(viewer.0)?.seats;
        let is_there = |seat: &Id| self.rooms.seats.get(*seat).is_some_and(|it| it.room == *id);
        seats.iter().find(|it| is_there(it.1)).map(|(number, seat)| (*number, *seat))
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
}
