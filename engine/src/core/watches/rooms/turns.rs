//! When those who look into rooms are told: of a crowd by turns of the clock, of others at once.

use std::collections::BTreeSet;

use greendot_protocol::sabotage::{Fault, on};
use greendot_protocol::{Span, Time};

use super::{Opens, RoomWork};
use crate::core::directory::Record;
use crate::core::slab::Id;
use crate::core::watches::{Under, Watches};

/// How often a room that is too large to name all tells anything.
const EVERY: Span = Span::from_millis(1_000);

impl Watches {
    pub(crate) fn room_deadline(&self) -> Time {
        let first = |of: &BTreeSet<(Time, Id)>| of.first().map_or(Time::MAX, |it| it.0);
        first(&self.rooms.due).min(first(&self.rooms.openings))
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

    pub(super) fn await_turn(&mut self, now: Time, id: Id) {
        let Some(room) = self.rooms.rows.get_mut(id) else { return };
        if room.due.is_none() {
            // At the same moments whatever has happened before: else who comes and goes unseen would show in when the others
            // are told of.
            let at = if on(Fault::CrowdAtOnce) { now } else { now.next_turn(EVERY) };
            room.due = Some(at);
            self.rooms.due.insert((at, id));
        }
    }

    /// A member of rooms looks otherwise: those who look into them are told, those who see a crowd when it is time to.
    pub(in crate::core::watches) fn tell_seats(&mut self, now: Time, subject: Id) {
        let Some(subject) = self.subjects.get(subject) else { return };
        let many = subject.seats.len() > self.crowds.limit;
        for watch in subject.seats.clone() {
            self.touch_member(now, watch, many);
        }
    }

    /// What the watch of a member shows has changed.
    pub(in crate::core::watches) fn touch_member(&mut self, now: Time, watch: Id, many: bool) {
        let Some(Under::Seat(seat)) = self.watches.get(watch).map(|it| it.under) else { return };
        let Some(row) = self.rooms.seats.get(seat) else { return };
        if many || (row.crowd.is_some() && !row.whole) {
            // Now, and not once the tick has come: the time would tell what kind of change it was.
            return self.await_turn(now, row.room);
        }
        self.outboxes.mark(watch);
    }

    /// A member of a crowd looks otherwise: that is told when it is time to.
    pub(super) fn crowd_changes(&mut self, now: Time, seat: Id) {
        if let Some(id) = self.rooms.seats.get(seat).map(|it| it.room) {
            self.await_turn(now, id);
        }
    }
}
