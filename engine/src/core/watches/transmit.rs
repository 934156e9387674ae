//! What goes out to a viewer when its connection can take it.

use greendot_protocol::{Entry, Epoch, ServerFrame, Time, Version};

use super::viewer::Request;
use super::{Shown, Slab, Subject, ViewerId, Watch, Watches};
use crate::core::gate::Glimpse;
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
        let Some(row) = self.viewers.get_mut(viewer.0) else { return };
        if row.afresh {
            let all: Vec<Id> = row.numbers.values().copied().collect();
            if !can_show(&self.watches, &self.subjects, false, &all) {
                // Nothing of an epoch before its snapshot.
                return;
            }
            row.afresh = false;
            row.dirty.clear();
            let entries = first_sights(now, &mut self.watches, &self.subjects, self.warming, &all);
            emit(&ServerFrame::Snapshot { epoch, request: 0, entries });
        }
        let blind = self.blind;
        let (watches, subjects) = (&self.watches, &self.subjects);
        let requests: Vec<Request> = row
            .requests
            .extract_if(.., |it| can_show(watches, subjects, blind, &it.watches))
            .collect();
        let dirty = if row.released { std::mem::take(&mut row.dirty) } else { Vec::new() };
        row.released = false;
        for request in requests {
            let Request { number, watches } = request;
            let entries =
                first_sights(now, &mut self.watches, &self.subjects, self.warming, &watches);
            emit(&ServerFrame::Snapshot { epoch, request: number, entries });
        }
        let entries: Vec<Entry<'_>> = dirty
            .iter()
            .filter_map(|&id| change(now, &mut self.watches, &self.subjects, self.warming, id))
            .collect();
        if !entries.is_empty() {
            emit(&ServerFrame::Events { epoch, entries });
        }
    }
}

/// Whether a snapshot of these watches can be given: the shared store has said how their users
/// stand, or cannot be asked.
fn can_show(watches: &Slab<Watch>, subjects: &Slab<Subject>, blind: bool, ids: &[Id]) -> bool {
    let is_loaded = |id: Id| {
        let subject = watches.get(id).and_then(|it| subjects.get(it.subject));
        subject.is_none_or(|it| it.record.is_some())
    };
    blind || ids.iter().all(|&id| is_loaded(id))
}

/// The entries of a snapshot: the first sight of each user, but for those of whom there is nothing
/// to say.
fn first_sights<'a>(
    now: Time,
    watches: &mut Slab<Watch>,
    subjects: &'a Slab<Subject>,
    warming: bool,
    ids: &[Id],
) -> Vec<Entry<'a>> {
    ids.iter()
        .filter_map(|&id| show(now, watches, subjects, warming, id))
        .filter_map(|(entry, blank)| (!blank).then_some(entry))
        .collect()
}

fn glimpse<'a>(subjects: &'a Slab<Subject>, watch: &Watch, warming: bool) -> Option<Glimpse<'a>> {
    let record = &subjects.get(watch.subject)?.record;
    Some(record.as_ref().map_or_else(Glimpse::unknown, |it| Glimpse::of(it, watch.sight, warming)))
}

/// The first sight of a user, and whether there is nothing to see.
fn show<'a>(
    now: Time,
    watches: &mut Slab<Watch>,
    subjects: &'a Slab<Subject>,
    warming: bool,
    id: Id,
) -> Option<(Entry<'a>, bool)> {
    let watch = watches.get_mut(id)?;
    let glimpse = glimpse(subjects, watch, warming)?;
    watch.marked = false;
    watch.offset = 0;
    watch.shown = Shown::of(&glimpse, glimpse.version());
    Some((glimpse.entry(now, watch.number, glimpse.version()), glimpse.is_blank()))
}

/// A change of a user, unless it leaves the viewer's view as it was (rule 6).
fn change<'a>(
    now: Time,
    watches: &mut Slab<Watch>,
    subjects: &'a Slab<Subject>,
    warming: bool,
    id: Id,
) -> Option<Entry<'a>> {
    let watch = watches.get_mut(id)?;
    let glimpse = glimpse(subjects, watch, warming)?;
    watch.marked = false;
    if !watch.shown.differs(&glimpse) {
        return None;
    }
    let held = i64::from(glimpse.version().0);
    let least = i64::from(watch.shown.version.0) + 1;
    // Each change that is shown has a higher number than the one before, whatever the record says.
    let number = (held + watch.offset).max(least);
    watch.offset = number - held;
    let version = Version(u32::try_from(number).unwrap_or(u32::MAX));
    watch.shown = Shown::of(&glimpse, version);
    Some(glimpse.entry(now, watch.number, version))
}
