//! A table of rows addressed by small numbers that are used again.
//!
//! Each slot counts its uses in a stamp; an id carries the stamp it was given with, so that what
//! was said about an earlier tenant of the slot has no effect on the present one.

/// A slot and the stamp of its tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Id {
    pub(crate) slot: u32,
    pub(crate) stamp: u32,
}

use super::table::Table;

#[derive(Debug)]
struct Slot<T> {
    stamp: u32,
    row: Option<T>,
}

/// The table. Rows never move while they live.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    slots: Table<Slot<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { slots: Table::default(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// # Panics
    ///
    /// At 2³² rows at a time.
    pub(crate) fn insert(&mut self, row: T) -> Id {
        if let Some(slot) = self.free.pop() {
            let place = &mut self.slots[slot as usize];
            place.row = Some(row);
            return Id { slot, stamp: place.stamp };
        }
        let slot = u32::try_from(self.slots.len()).expect("fewer than 2^32 rows");
        self.slots.push(Slot { stamp: 0, row: Some(row) });
        Id { slot, stamp: 0 }
    }

    pub(crate) fn remove(&mut self, id: Id) -> Option<T> {
        let place = self.slots.get_mut(id.slot as usize).filter(|it| it.stamp == id.stamp)?;
        let row = place.row.take()?;
        place.stamp = place.stamp.wrapping_add(1);
        self.free.push(id.slot);
        if self.free.len() == self.slots.len() {
            self.give_back();
        }
        Some(row)
    }

    /// Slots, those that are free included.
    pub(crate) fn slots(&self) -> u32 {
        self.slots.len() as u32
    }

    /// The id of the row in this slot, if there is one.
    pub(crate) fn id_at(&self, slot: u32) -> Option<Id> {
        let place = self.slots.get(slot as usize)?;
        place.row.as_ref().map(|_| Id { slot, stamp: place.stamp })
    }

    pub(crate) fn get(&self, id: Id) -> Option<&T> {
        self.slots.get(id.slot as usize).filter(|it| it.stamp == id.stamp)?.row.as_ref()
    }

    pub(crate) fn get_mut(&mut self, id: Id) -> Option<&mut T> {
        self.slots.get_mut(id.slot as usize).filter(|it| it.stamp == id.stamp)?.row.as_mut()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Id, &T)> {
        self.slots.iter().enumerate().filter_map(|(slot, place)| {
            let row = place.row.as_ref()?;
            Some((Id { slot: slot as u32, stamp: place.stamp }, row))
        })
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (Id, &mut T)> {
        self.slots.iter_mut().enumerate().filter_map(|(slot, place)| {
            let stamp = place.stamp;
            let row = place.row.as_mut()?;
            Some((Id { slot: slot as u32, stamp }, row))
        })
    }

    /// An empty table keeps its stamps, or a word about an earlier tenant might be believed, but
    /// not the room for rows beyond them.
    fn give_back(&mut self) {
        self.free.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_tenant_is_not_reached_with_an_earlier_id() {
        let mut slab = Slab::default();
        let first = slab.insert("first");
        assert_eq!(slab.remove(first), Some("first"));
        let second = slab.insert("second");
        assert_eq!(second.slot, first.slot);
        assert_eq!(slab.get(first), None);
        assert_eq!(slab.remove(first), None);
        assert_eq!(slab.get(second), Some(&"second"));
        assert_eq!(slab.len(), 1);
    }
}
