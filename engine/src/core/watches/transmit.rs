//! What goes out to a viewer when its connection can take it.

use greendot_protocol::{Entry, Epoch, ServerFrame, Time, Version};

use super::outbox::Outboxes;
use super::sight::Scene;
use super::viewer::Request;
use super::{Shown, Slab, Under, ViewerId, Watch, Watches};
use crate::core::slab::Id;

impl Watches {
    /// Hands out the snapshots and events that wait for the viewer, snapshots first.
    pub(crate) fn transmit(
        &mut self,
        now: Time,
        epoch: Epoch,
        viewer: ViewerId,
        emit: &mut dyn FnMut(&ServerFrame<'_>),
    ) {
        let light = self.light(now);
        let Some(row) = self.viewers.get_mut(viewer.0) else { return };
        let mut scene = Scene {
            subjects: &self.subjects,
            onlookers: &self.onlookers,
            light,
            blind: false,
            throng: self.crowds.throng,
        };
        if row.afresh {
            let all: Vec<Id> = row.numbers.values().copied().collect();
            if !can_show(&scene, &self.watches, &all) {
                // Nothing of an epoch before its snapshot.
                return;
            }
            row.afresh = false;
            self.outboxes.take(viewer, &mut self.taken);
            self.taken.clear();
            let entries = first_sights(&scene, &mut self.watches, &mut self.outboxes, &all);
            emit(&ServerFrame::Snapshot { epoch, request: 0, entries });
        }
        scene.blind = self.blind;
        let watches = &self.watches;
        let requests: Vec<Request> =
            row.requests.extract_if(.., |it| can_show(&scene, watches, &it.watches)).collect();
        let released = self.outboxes.take_released(viewer);
        if released {
            self.outboxes.take(viewer, &mut self.taken);
        }
        let mut members: Vec<(Id, Id)> = Vec::new();
        for request in requests {
            let Request { number, watches } = request;
            let entries = first_sights(&scene, &mut self.watches, &mut self.outboxes, &watches);
            emit(&ServerFrame::Snapshot { epoch, request: number, entries });
        }
        let mut entries: Vec<Entry<'_>> = Vec::new();
        for slot in self.taken.drain(..) {
            let Some(id) = self.watches.id_at(slot) else { continue };
            match self.watches.get(id).map(|it| it.under) {
                Some(Under::Number(number)) => {
                    entries.extend(change(&scene, &mut self.watches, id, number));
                }
                Some(Under::Seat(seat)) => members.push((seat, id)),
                None => {}
            }
        }
        // The order in which they were marked tells what happened: whether it was the user who did it.
        entries.sort_unstable_by_key(|it| it.number);
        if !entries.is_empty() {
            emit(&ServerFrame::Events { epoch, entries });
        }
        if !row.seats.is_empty() || !row.cleared.is_empty() {
            self.transmit_rooms(now, viewer, &members, released, emit);
        }
    }
}

/// Whether a snapshot of these watches can be given: all has been said that it takes, or cannot be
/// asked.
fn can_show(scene: &Scene<'_>, watches: &Slab<Watch>, ids: &[Id]) -> bool {
    ids.iter().all(|&id| watches.get(id).is_none_or(|it| scene.can_show(it)))
}

/// The entries of a snapshot: the first sight of each user, but for those of whom there is nothing
/// to say.
fn first_sights<'a>(
    scene: &Scene<'a>,
    watches: &mut Slab<Watch>,
    outboxes: &mut Outboxes,
    ids: &[Id],
) -> Vec<Entry<'a>> {
    ids.iter()
        .filter_map(|&id| show(scene, watches, outboxes, id))
        .filter_map(|(entry, blank)| (!blank).then_some(entry))
        .collect()
}

/// The first sight of a user, and whether there is nothing to see.
fn show<'a>(
    scene: &Scene<'a>,
    watches: &mut Slab<Watch>,
    outboxes: &mut Outboxes,
    id: Id,
) -> Option<(Entry<'a>, bool)> {
    let watch = watches.get_mut(id)?;
    let Under::Number(number) = watch.under else { return None };
    let glimpse = scene.glimpse(watch)?;
    outboxes.begin_marks(id);
    // Watched before on this connection, perhaps: the numbering goes on from there.
    let floor = if watch.shown == Shown::NOTHING { watch.offset } else { 0 };
    let held = i64::from(glimpse.version().0);
    let told = held.max(floor);
    watch.offset = told - held;
    watch.renumber = false;
    let version = Version(u32::try_from(told).unwrap_or(u32::MAX));
    watch.shown = Shown::of(&glimpse, version);
    let entry = glimpse.entry(scene.light.now, number, version);
    Some((entry, glimpse.is_blank()))
}

/// A change of a user, unless it leaves the viewer's view as it was (rule 6).
fn change<'a>(
    scene: &Scene<'a>,
    watches: &mut Slab<Watch>,
    id: Id,
    number: u32,
) -> Option<Entry<'a>> {
    let watch = watches.get_mut(id)?;
    if watch.pause.is_some() {
        // It is marked again when the application has answered.
        return None;
    }
    let glimpse = scene.glimpse(watch)?;
    let differs = watch.shown.differs(&glimpse);
    let held = i64::from(glimpse.version().0);
    let shown = i64::from(watch.shown.version.0);
    if std::mem::take(&mut watch.renumber) {
        // Changes that were hidden leave no gap.
        watch.offset = shown + i64::from(differs) - held;
    }
    if !differs {
        return None;
    }
    // Each change that is shown has a higher number than the one before, whatever the record says.
    let told = (held + watch.offset).max(shown + 1);
    watch.offset = told - held;
    let version = Version(u32::try_from(told).unwrap_or(u32::MAX));
    watch.shown = Shown::of(&glimpse, version);
    Some(glimpse.entry(scene.light.now, number, version))
}
