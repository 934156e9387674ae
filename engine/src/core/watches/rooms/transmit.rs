//! What goes out about rooms when a connection can take it.

use std::collections::BTreeMap;
use std::sync::Arc;

use greendot_protocol::{Member, ServerFrame, State, Time};

use super::super::outbox::Outboxes;
use super::super::sight::Scene;
use super::super::{Shown, Slab, ViewerId, Watch, Watches};
use super::{SAMPLE, Seen, is_present};
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
        let Some(row) = self.viewers.get(viewer.0) else { return };
        let seats: Vec<Id> = row.seats.values().copied().collect();
        let limit = self.rooms.limit;
        for id in seats {
            let Some(seat) = self.rooms.seats.get(id) else { continue };
            let Some(roster) = self.rooms.rows.get(seat.room).and_then(|it| it.roster.as_ref())
            else {
                continue;
            };
            let crowd = roster.is_crowd(limit);
            let marks = marked.iter().filter(|it| it.0 == id).map(|it| it.1);
            if !seat.whole && crowd && !seat.dirty {
                if marks.count() > 0 {
                    self.crowd_changes(now, id);
                }
                continue;
            }
            let scene = Scene {
                subjects: &self.subjects,
                onlookers: &self.onlookers,
                light: self.light(now),
                blind: false,
                throng: self.crowds.throng,
            };
            let all: Vec<Id> = seat.watches.values().copied().collect();
            if seat.whole
                && !all.iter().all(|it| self.watches.get(*it).is_none_or(|it| scene.can_show(it)))
            {
                continue;
            }
            if crowd {
                let count = rounded(roster.count);
                let mut sample: Vec<Seen> = Vec::new();
                for name in &roster.members {
                    let Some(watch) = seat.watches.get(name) else { continue };
                    let state = look(&scene, &mut self.watches, &mut self.outboxes, *watch).1;
                    if is_present(state) && sample.len() < SAMPLE {
                        sample.push((Arc::clone(name), state));
                    }
                }
                let Some(seat) = self.rooms.seats.get_mut(id) else { continue };
                let shown = Some((count, sample));
                seat.dirty = false;
                seat.left.clear();
                if !std::mem::take(&mut seat.whole) && seat.crowd == shown {
                    continue;
                }
                seat.crowd = shown;
                let sample = seat.crowd.iter().flat_map(|it| &it.1);
                let sample = sample.map(|(user, state)| Member { user, state: *state }).collect();
                emit(&ServerFrame::Crowd { number: seat.number, count, sample });
                continue;
            }
            if seat.whole {
                let mut members: Vec<Seen> = Vec::new();
                for (name, &watch) in &seat.watches {
                    let state = look(&scene, &mut self.watches, &mut self.outboxes, watch).1;
                    if is_present(state) {
                        members.push((Arc::clone(name), state));
                    }
                }
                let Some(seat) = self.rooms.seats.get_mut(id) else { continue };
                seat.whole = false;
                seat.dirty = false;
                seat.crowd = None;
                seat.left.clear();
                emit(&ServerFrame::Room { number: seat.number, members: rows(&members) });
                continue;
            }
            if !released {
                continue;
            }
            let mut members: BTreeMap<Arc<str>, State> = BTreeMap::new();
            for watch in marks {
                let Some(row) = self.watches.get(watch).filter(|it| it.pause.is_none()) else {
                    continue;
                };
                let Some(name) = scene.subjects.get(row.subject).map(|it| Arc::clone(&it.name))
                else {
                    continue;
                };
                let (before, state) = look(&scene, &mut self.watches, &mut self.outboxes, watch);
                let changed = before != state && (is_present(before) || is_present(state));
                // Who left and is there again has not left.
                if changed || (is_present(state) && seat.left.contains(&name)) {
                    let state = if is_present(state) { state } else { State::Offline };
                    members.insert(name, state);
                }
            }
            let Some(seat) = self.rooms.seats.get_mut(id) else { continue };
            seat.dirty = false;
            for name in std::mem::take(&mut seat.left) {
                members.entry(name).or_insert(State::Offline);
            }
            if !members.is_empty() {
                let members: Vec<Seen> = members.into_iter().collect();
                emit(&ServerFrame::RoomEvents { number: seat.number, members: rows(&members) });
            }
        }
    }
}

fn rows(members: &[Seen]) -> Vec<Member<'_>> {
    members.iter().map(|(user, state)| Member { user, state: *state }).collect()
}

/// What a member looked like to the viewer, and what it looks like now.
fn look(
    scene: &Scene<'_>,
    watches: &mut Slab<Watch>,
    outboxes: &mut Outboxes,
    id: Id,
) -> (State, State) {
    let Some(watch) = watches.get_mut(id) else { return (State::Offline, State::Offline) };
    let before = watch.shown.state;
    outboxes.unmark(id);
    if let Some(glimpse) = scene.glimpse(watch).filter(|_| watch.pause.is_none()) {
        watch.shown = Shown::of(&glimpse, glimpse.version());
    }
    (before, watch.shown.state)
}

/// About so many, to two digits: one who comes or goes does not show.
fn rounded(count: usize) -> u32 {
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
