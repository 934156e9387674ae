//! What goes out to a viewer when its connection can take it.

use greendot_protocol::{Entry, Epoch, ServerFrame, Time, Version};

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
        let requests = std::mem::take(&mut row.requests);
        let dirty = if row.released { std::mem::take(&mut row.dirty) } else { Vec::new() };
        row.released = false;
        for request in requests {
            let entries = request
                .watches
                .iter()
                .filter_map(|&id| show(now, &mut self.watches, &self.subjects, self.warming, id))
                .map(|(entry, blank)| (!blank).then_some(entry))
                .collect::<Vec<_>>();
            let entries = entries.into_iter().flatten().collect();
            emit(&ServerFrame::Snapshot { epoch, request: request.number, entries });
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

/// The first sight of a user, and whether there is nothing to see.
fn show<'a>(
    now: Time,
    watches: &mut Slab<Watch>,
    subjects: &'a Slab<Subject>,
    warming: bool,
    id: Id,
) -> Option<(Entry<'a>, bool)> {
    let watch = watches.get_mut(id)?;
    let glimpse = Glimpse::of(&subjects.get(watch.subject)?.record, watch.sight, warming);
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
    let glimpse = Glimpse::of(&subjects.get(watch.subject)?.record, watch.sight, warming);
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
