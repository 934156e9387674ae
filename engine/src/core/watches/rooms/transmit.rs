//! What goes out about rooms when a connection can take it.

use std::collections::BTreeMap;
use std::sync::Arc;

use greendot_protocol::sabotage::{Fault, on};
use greendot_protocol::{Member, ServerFrame, State, Time};

use super::super::sight::Scene;
use super::super::{Shown, Slab, ViewerId, Watch, Watches};
use super::{Opens, SAMPLE, Seen, is_present};
use crate::core::slab::Id;

impl Watches {
    /// Hands out what waits for the viewer of its rooms. `marked` are watches of members.
    pub(in crate::core::watches) fn transmit_rooms(
        &mut self,
        now: Time,
        viewer: ViewerId,
        marked: &[(Id, Id)],
        released: bool,
        emit: &mut dyn FnMut(&ServerFrame<'_>),
    ) {
        let Some(row) = self.viewers.get_mut(viewer.0) else { return };
        for number in std::mem::take(&mut row.cleared) {
            emit(&ServerFrame::Room { number, members: Vec::new() });
        }
        let seats: Vec<Id> = row.seats.values().copied().collect();
        for id in seats {
            let marks = marked.iter().filter(|it| it.0 == id).map(|it| it.1);
            self.transmit_seat(now, id, marks.collect(), released, emit);
        }
    }

    fn transmit_seat(
        &mut self,
        now: Time,
        id: Id,
        marks: Vec<Id>,
        released: bool,
        emit: &mut dyn FnMut(&ServerFrame<'_>),
    ) {
        let Some(seat) = self.rooms.seats.get(id) else { return };
        if seat.paused || seat.opens != Opens::Open {
            return;
        }
        if seat.whole && self.is_held_back(seat.viewer) {
            // Whoever is there: it depends on none of them.
            return;
        }
        let Some(roster) = self.rooms.rows.get(seat.room).and_then(|it| it.roster.as_ref()) else {
            return;
        };
        let scene = Scene {
            subjects: &self.subjects,
            onlookers: &self.onlookers,
            light: self.light(now),
            blind: false,
            throng: self.crowds.throng,
        };
        let (whole, sees_crowd) = (seat.whole, seat.crowd.is_some());
        let can_show = || {
            let mut all = seat.watches.values().filter_map(|it| self.watches.get(*it));
            all.all(|it| scene.can_show(it))
        };
        if !whole && !released {
            return;
        }
        if !whole && sees_crowd && !seat.dirty {
            if !marks.is_empty() {
                self.crowd_changes(now, id);
            }
            return;
        }
        let there = |name: &Arc<str>| {
            let watch = seat.watches.get(name).and_then(|it| self.watches.get(*it));
            watch.is_some_and(|it| is_present(state_of(&scene, it)))
        };
        let visible = || roster.members.iter().filter(|it| there(it)).count();
        let crowd = if !roster.names_all() {
            Some(roster.count)
        } else if seat.watches.len() <= self.rooms.limit {
            None
        } else {
            // Nobody turns a crowd back into names before all is known of everybody.
            let visible = visible();
            let stays = sees_crowd && !whole && !can_show();
            (visible > self.rooms.limit || stays).then_some(visible)
        };
        let number = seat.number;
        if let Some(count) = crowd.filter(|_| !on(Fault::RoomNeverCrowded)) {
            let count = rounded(count);
            let mut sample: Vec<Seen> = Vec::new();
            for name in &roster.members {
                let Some(watch) = seat.watches.get(name) else { continue };
                let state = look(&scene, &mut self.watches, *watch).1;
                if is_present(state) && sample.len() < SAMPLE {
                    sample.push((Arc::clone(name), state));
                }
            }
            let count = count.max(sample.len() as u32);
            let Some(seat) = self.rooms.seats.get_mut(id) else { return };
            (seat.whole, seat.dirty) = (false, false);
            seat.left.clear();
            let shown = Some((count, sample));
            if !whole && seat.crowd == shown {
                return;
            }
            seat.crowd = shown;
            let sample = seat.crowd.iter().flat_map(|it| &it.1);
            let sample = sample.map(|(user, state)| Member { user, state: *state }).collect();
            return emit(&ServerFrame::Crowd { number, count, sample });
        }
        if whole || sees_crowd {
            let mut members: Vec<Seen> = Vec::new();
            for (name, &watch) in &seat.watches {
                let state = look(&scene, &mut self.watches, watch).1;
                if is_present(state) {
                    members.push((Arc::clone(name), state));
                }
            }
            let Some(seat) = self.rooms.seats.get_mut(id) else { return };
            (seat.whole, seat.dirty, seat.crowd) = (false, false, None);
            seat.left.clear();
            return emit(&ServerFrame::Room { number, members: rows(&members) });
        }
        let mut members: BTreeMap<Arc<str>, State> = BTreeMap::new();
        let mut left = seat.left.clone();
        for watch in marks {
            let Some(row) = self.watches.get(watch).filter(|it| it.pause.is_none()) else {
                continue;
            };
            let Some(name) = scene.subjects.get(row.subject).map(|it| Arc::clone(&it.name)) else {
                continue;
            };
            let (before, state) = look(&scene, &mut self.watches, watch);
            // Who left and is there again has not left.
            let before = left.remove(&name).unwrap_or(before);
            if before != state && (is_present(before) || is_present(state)) {
                let state = if is_present(state) { state } else { State::Offline };
                members.insert(name, state);
            }
        }
        let Some(seat) = self.rooms.seats.get_mut(id) else { return };
        seat.dirty = false;
        seat.left.clear();
        members.extend(left.into_keys().map(|name| (name, State::Offline)));
        if !members.is_empty() {
            let members: Vec<Seen> = members.into_iter().collect();
            emit(&ServerFrame::RoomEvents { number, members: rows(&members) });
        }
    }
}

fn rows(members: &[Seen]) -> Vec<Member<'_>> {
    members.iter().map(|(user, state)| Member { user, state: *state }).collect()
}

/// What a member looks like to the viewer now; while the application or the store is asked, as it did before. Nobody waits for
/// that: it would show that there is somebody about whom to ask.
fn state_of(scene: &Scene<'_>, watch: &Watch) -> State {
    let glimpse = scene.glimpse(watch).filter(|_| scene.can_show(watch));
    glimpse.map_or(watch.shown.state, |it| it.state())
}

/// What a member looked like to the viewer, and what it looks like now.
fn look(scene: &Scene<'_>, watches: &mut Slab<Watch>, id: Id) -> (State, State) {
    let Some(watch) = watches.get_mut(id) else { return (State::Offline, State::Offline) };
    let before = watch.shown.state;
    if let Some(glimpse) = scene.glimpse(watch).filter(|_| scene.can_show(watch)) {
        watch.shown = Shown::of(&glimpse, glimpse.version());
    }
    (before, watch.shown.state)
}

/// About so many, to two digits: one who comes or goes does not show.
pub(crate) fn rounded(count: usize) -> u32 {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    let mut step = 10;
    while count / step >= 100 {
        step *= 10;
    }
    count.saturating_add(step / 2) / step * step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_told_to_two_digits() {
        let told = [51, 54, 55, 99, 104, 105, 994, 1_049, 1_050, 123_456].map(rounded);
        assert_eq!(told, [50, 50, 60, 100, 100, 110, 990, 1_000, 1_100, 120_000]);
    }
}
