//! What waits for viewers: of each, the watches with something new.
//!
//! What is new is not kept but read when the viewer is told, so that an outbox holds each watch at most once, and a watch
//! stands in one outbox at most. So an outbox is a list through a table that goes along with the watches: whatever happens
//! there is no room to be made and none to be given back, and a change of a user with 100,000 watchers touches 12 bytes for
//! each watch and 16 for each viewer, in the order in which they lie.

use super::ViewerId;
use crate::core::leases::ConnId;
use crate::core::slab::Id;

/// A watch's place in an outbox.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// The slot of the viewer.
    viewer: u32,
    /// The slot of the next watch in the outbox, or [`END`]; [`UNMARKED`] or [`UNSEEN`] in one that stands in none.
    next: u32,
    /// The slot of the one before, or [`END`].
    before: u32,
}

/// No further watch.
const END: u32 = u32::MAX;
/// There is nothing new.
const UNMARKED: u32 = u32::MAX - 1;
/// It waits for its first sight, which tells all that is new until then.
const UNSEEN: u32 = u32::MAX - 2;

/// One viewer's.
#[derive(Clone, Copy, Debug)]
struct Outbox {
    conn: ConnId,
    /// The slot of the first watch, or [`END`].
    first: u32,
    /// How many there are, above two flags.
    state: u32,
}

/// The viewer waits for the tick.
const LISTED: u32 = 1;
/// The tick has come.
const RELEASED: u32 = 2;
/// One watch.
const ONE: u32 = 4;

/// The outboxes of all viewers.
#[derive(Debug, Default)]
pub(super) struct Outboxes {
    /// By the slots of watches.
    marks: Vec<Mark>,
    /// By the slots of viewers.
    boxes: Vec<Outbox>,
    /// The slots of viewers that wait for the tick; some may have gone since.
    listed: Vec<u32>,
    /// Marks so far.
    marked: u64,
    /// Times so far that there was something newer for a watch that stood in an outbox.
    overtaken: u64,
}

impl Outboxes {
    /// A connection begins to look. What was marked for an earlier one in this slot is gone.
    pub(super) fn open(&mut self, viewer: ViewerId, conn: ConnId) {
        let slot = viewer.slot() as usize;
        let fresh = Outbox { conn, first: END, state: 0 };
        if slot >= self.boxes.len() {
            self.boxes.resize(slot + 1, fresh);
        }
        // It may still be listed for its predecessor, which does no harm.
        let listed = self.boxes[slot].state & LISTED;
        self.boxes[slot] = Outbox { state: listed, ..fresh };
    }

    /// A watch begins; unseen if its first sight is still to come.
    pub(super) fn begin(&mut self, watch: Id, viewer: ViewerId, unseen: bool) {
        let slot = watch.slot as usize;
        let next = if unseen { UNSEEN } else { UNMARKED };
        let mark = Mark { viewer: viewer.slot(), next, before: END };
        if slot >= self.marks.len() {
            self.marks.resize(slot + 1, mark);
        }
        self.marks[slot] = mark;
    }

    /// There is something new for the watch, if it has been seen and is not marked already.
    #[inline]
    pub(super) fn mark(&mut self, watch: Id) {
        let Some(mark) = self.marks.get_mut(watch.slot as usize) else { return };
        if mark.next != UNMARKED {
            self.overtaken += u64::from(mark.next != UNSEEN);
            return;
        }
        let viewer = mark.viewer;
        let Some(row) = self.boxes.get_mut(viewer as usize) else { return };
        let second = std::mem::replace(&mut row.first, watch.slot);
        (mark.next, mark.before) = (second, END);
        if row.state & LISTED == 0 {
            row.state |= LISTED;
            self.listed.push(viewer);
        }
        row.state += ONE;
        self.marked += 1;
        if second != END {
            self.marks[second as usize].before = watch.slot;
        }
    }

    /// The watch has had its first sight. What is marked stays marked: when it is told must not depend on what else was.
    pub(super) fn begin_marks(&mut self, watch: Id) {
        if let Some(mark) = self.marks.get_mut(watch.slot as usize).filter(|it| it.next == UNSEEN) {
            mark.next = UNMARKED;
        }
    }

    /// The watch has ended.
    pub(super) fn unmark(&mut self, watch: Id) {
        let Some(mark) = self.marks.get_mut(watch.slot as usize) else { return };
        let Mark { viewer, next, before } = *mark;
        mark.next = UNMARKED;
        if next == UNMARKED || next == UNSEEN {
            return;
        }
        if next != END {
            self.marks[next as usize].before = before;
        }
        let row = &mut self.boxes[viewer as usize];
        row.state -= ONE;
        if before == END {
            row.first = next;
        } else {
            self.marks[before as usize].next = next;
        }
    }

    /// Takes the slots of the watches in the viewer's outbox, in the order in which they were marked.
    pub(super) fn take(&mut self, viewer: ViewerId, into: &mut Vec<u32>) {
        let Some(row) = self.boxes.get_mut(viewer.slot() as usize) else { return };
        row.state &= ONE - 1;
        let mut next = std::mem::replace(&mut row.first, END);
        while let Some(mark) = self.marks.get_mut(next as usize) {
            into.push(next);
            next = std::mem::replace(&mut mark.next, UNMARKED);
        }
        into.reverse();
    }

    /// How many watches stand in the viewer's outbox.
    pub(super) fn len(&self, viewer: ViewerId) -> usize {
        self.boxes.get(viewer.slot() as usize).map_or(0, |it| (it.state / ONE) as usize)
    }

    /// The viewer is to be told something at the next tick.
    pub(super) fn list(&mut self, viewer: ViewerId) {
        let Some(row) = self.boxes.get_mut(viewer.slot() as usize) else { return };
        if row.state & LISTED == 0 {
            row.state |= LISTED;
            self.listed.push(viewer.slot());
        }
    }

    /// How many marks there have been.
    pub(super) fn marked(&self) -> u64 {
        self.marked
    }

    /// How often something newer took the place of what waited.
    pub(super) fn overtaken(&self) -> u64 {
        self.overtaken
    }

    /// Whether any viewer waits for the tick.
    pub(super) fn has_listed(&self) -> bool {
        !self.listed.is_empty()
    }

    /// The tick has come: what was marked may go. Tells the connections of the viewers concerned.
    pub(super) fn release(&mut self, mut tell: impl FnMut(ConnId)) {
        for viewer in self.listed.drain(..) {
            let Some(row) = self.boxes.get_mut(viewer as usize) else { continue };
            row.state = row.state & !LISTED | RELEASED;
            tell(row.conn);
        }
    }

    /// Whether the tick has come for what the viewer waits for; no more from now on.
    pub(super) fn take_released(&mut self, viewer: ViewerId) -> bool {
        let Some(row) = self.boxes.get_mut(viewer.slot() as usize) else { return false };
        let released = row.state & RELEASED != 0;
        row.state &= !RELEASED;
        released
    }

    /// Nobody watches anything any more: the room goes back.
    pub(super) fn give_back(&mut self) {
        (self.marks, self.boxes) = (Vec::new(), Vec::new());
        self.listed = Vec::new();
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection, prop_assert_eq, proptest};

    use super::*;
    use crate::core::leases::ConnId;

    fn watch(slot: u32) -> Id {
        Id { slot, stamp: 0 }
    }

    fn viewer(slot: u32) -> ViewerId {
        ViewerId(Id { slot, stamp: 0 })
    }

    #[test]
    fn a_mark_and_an_outbox_are_small() {
        assert_eq!(size_of::<Mark>(), 12);
        assert_eq!(size_of::<Outbox>(), 16);
    }

    proptest! {
        /// The measure is a list for each viewer: whatever is marked and unmarked in whichever order, an outbox holds each of
        /// its watches once, in the order of their marks.
        #[test]
        fn an_outbox_is_a_list_without_repeats(deeds in collection::vec((0..4u8, 0..12u32), 1..120)) {
            let mut boxes = Outboxes::default();
            let mut lists: [Vec<u32>; 3] = Default::default();
            let mut overtaken = 0;
            for slot in 0..3 {
                boxes.open(viewer(slot), ConnId::for_test(slot));
            }
            for slot in 0..12 {
                boxes.begin(watch(slot), viewer(slot % 3), false);
            }
            for (deed, slot) in deeds {
                let list = &mut lists[slot as usize % 3];
                match deed {
                    0 | 1 => {
                        boxes.mark(watch(slot));
                        if list.contains(&slot) {
                            overtaken += 1;
                        } else {
                            list.push(slot);
                        }
                    }
                    2 => {
                        boxes.unmark(watch(slot));
                        list.retain(|it| *it != slot);
                    }
                    _ => {
                        let mut taken = Vec::new();
                        boxes.take(viewer(slot % 3), &mut taken);
                        prop_assert_eq!(&taken, &*list);
                        list.clear();
                    }
                }
                prop_assert_eq!(boxes.overtaken(), overtaken);
                for (slot, list) in lists.iter().enumerate() {
                    prop_assert_eq!(boxes.len(viewer(slot as u32)), list.len());
                }
            }
            let mut told = Vec::new();
            boxes.release(|conn| told.push(conn.slot()));
            told.sort_unstable();
            told.dedup();
            for (slot, list) in lists.iter().enumerate() {
                if !list.is_empty() {
                    prop_assert_eq!(told.contains(&(slot as u32)), true);
                }
            }
        }
    }

    #[test]
    fn what_was_never_seen_is_not_marked() {
        let mut boxes = Outboxes::default();
        boxes.open(viewer(0), ConnId::for_test(0));
        boxes.begin(watch(0), viewer(0), true);
        boxes.mark(watch(0));
        assert_eq!((boxes.len(viewer(0)), boxes.overtaken()), (0, 0));
        boxes.begin_marks(watch(0));
        boxes.mark(watch(0));
        assert_eq!(boxes.len(viewer(0)), 1);
    }
}
