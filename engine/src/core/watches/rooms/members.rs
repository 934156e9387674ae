//! Who is in a room, as each of those who look into it is to see: a watch for each member, kept while it is there.

use std::collections::BTreeSet;
use std::sync::Arc;

use greendot_protocol::{State, Time};

use super::{RoomWork, SAMPLE, is_present, row_is_whole};
use crate::core::directory::{Record, Roster};
use crate::core::gate::Fineness;
use crate::core::slab::Id;
use crate::core::watches::{Shown, Under, ViewerId, Watch, WatchId, Watches};

impl Watches {
    pub(super) fn seat_members(
        &mut self,
        now: Time,
        id: Id,
        roster: Roster,
        record: &dyn Fn(&str) -> Option<Record>,
        work: &mut RoomWork,
    ) {
        let Some(room) = self.rooms.rows.get_mut(id) else { return };
        let all = roster.names_all();
        let members: BTreeSet<Arc<str>> = roster.members.iter().cloned().collect();
        let seats: Vec<Id> = room.seats.iter().copied().collect();
        room.next = None;
        let before = room.roster.replace(roster);
        let same = |it: &Roster| it.members.len() == members.len();
        let same = |it: &Roster| same(it) && it.members.iter().all(|it| members.contains(it));
        let others = !before.as_ref().is_some_and(same);
        for seat in seats {
            self.seat_in(now, seat, &members, (all, others), record, work);
        }
    }

    pub(super) fn seat_in(
        &mut self,
        now: Time,
        seat: Id,
        members: &BTreeSet<Arc<str>>,
        (all, others): (bool, bool),
        record: &dyn Fn(&str) -> Option<Record>,
        work: &mut RoomWork,
    ) {
        let Some(row) = self.rooms.seats.get(seat) else { return };
        let Some(viewer) = self.viewers.get(row.viewer.0) else { return };
        let (viewer_id, onlooker) = (row.viewer, viewer.onlooker);
        let conn = viewer.conn;
        let Some(own) = self.onlookers.get(onlooker).map(|it| Arc::clone(&it.name)) else { return };
        // Whoever is inside sees itself, whatever it lets others see.
        let sees_itself = row.inside && all;
        let stays = |name: &Arc<str>| members.contains(name) || (sees_itself && *name == own);
        let gone: Vec<Arc<str>> = row.watches.keys().filter(|it| !stays(it)).cloned().collect();
        let itself = Some(&own).filter(|it| sees_itself && !members.contains(*it));
        let come: Vec<Arc<str>> = members
            .iter()
            .chain(itself)
            .filter(|it| !row.watches.contains_key(*it))
            .cloned()
            .collect();
        // What is not named to all may have changed without any of these, and so may whether the one who looks
        // counts itself.
        let mut changed = !all || others || row.whole;
        let (crowd, room) = (row.crowd.is_some() && !row.whole, row.room);
        for name in gone {
            let Some(row) = self.rooms.seats.get_mut(seat) else { return };
            let Some(watch) = row.watches.remove(&name) else { continue };
            let shown = self.watches.get(watch).map_or(State::Offline, |it| it.shown.state);
            if is_present(shown) {
                row.left.insert(name, shown);
                changed = true;
            }
            self.remove(watch);
        }
        changed |= !come.is_empty();
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
        if changed && crowd {
            self.await_turn(now, room);
        } else if changed {
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
        let (subject, load) = self.find_or_load(user, false, || record(user));
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
            awaits: false,
            shut: None,
            renumber: false,
            offset: 0,
            shown: Shown::NOTHING,
        });
        self.outboxes.begin(watch, viewer, false);
        watch
    }
}
