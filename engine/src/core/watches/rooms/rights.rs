//! While it is asked again whether a viewer may be in a room, and what comes of that.

use greendot_protocol::Time;

use super::{Opens, RoomWork, row_is_whole};
use crate::core::directory::Record;
use crate::core::slab::Id;
use crate::core::watches::{ViewerId, Watches};

impl Watches {
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
}
