//! The table of watched users, and which parts of the app watch each.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use hashbrown::HashTable;

use super::output::{Part, Row};
use super::view::{Early, Shown, Weight};

/// The rows. A row's place is also its number on the wire, less one, so that no second table is
/// needed; see [`Wire::Resting`] for what that asks of reuse.
#[derive(Debug, Default)]
pub(super) struct Rows {
    slots: Vec<Slot>,
    free: Vec<u32>,
    names: HashTable<u32>,
    seed: u32,
}

/// One watched user.
#[derive(Debug, Default)]
pub(super) struct Slot {
    /// None: the slot is free, or rests.
    pub(super) user: Option<Arc<str>>,
    pub(super) listeners: Vec<Listener>,
    pub(super) wire: Wire,
    pub(super) shown: Shown,
    pub(super) weight: Weight,
    /// An event that came before the snapshot it belongs behind: the newest.
    pub(super) early: Option<Box<Early>>,
    /// The count of the last snapshot that listed this row.
    pub(super) listed: u32,
}

/// A part that watches a user, as many times as it has asked to.
#[derive(Debug)]
pub(super) struct Listener {
    pub(super) part: Part,
    times: u32,
}

/// How a row stands on the present connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Wire {
    /// Not asked for yet.
    #[default]
    Off,
    /// Asked for in this request.
    Asked(u32),
    /// No room: as many users are watched as one connection may.
    Over,
    /// The name is none that a server would take.
    Refused,
    /// Ended; events about it may still be on their way. The slot, and with it the number, is used
    /// again once a request of this number or a later one is answered: frames are read in order,
    /// so behind that answer nothing about the earlier user can come.
    Resting(u32),
}

impl Rows {
    pub(super) fn new(seed: u64) -> Self {
        Self { seed: (seed >> 32) as u32, ..Self::default() }
    }

    pub(super) fn get(&self, row: Row) -> Option<&Slot> {
        self.slots.get(row.0 as usize).filter(|it| it.user.is_some())
    }

    pub(super) fn get_mut(&mut self, row: Row) -> Option<&mut Slot> {
        self.slots.get_mut(row.0 as usize).filter(|it| it.user.is_some())
    }

    /// Every slot with its place, the free and resting ones too.
    pub(super) fn slots(&mut self) -> impl Iterator<Item = (u32, &mut Slot)> {
        self.slots.iter_mut().enumerate().map(|(at, slot)| (at as u32, slot))
    }

    /// How many slots there are, the free and resting ones too.
    pub(super) fn places(&self) -> u32 {
        self.slots.len() as u32
    }

    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    pub(super) fn listeners(&self) -> usize {
        self.slots.iter().map(|it| it.listeners.len()).sum()
    }

    pub(super) fn find(&self, user: &str) -> Option<Row> {
        let slots = &self.slots;
        let at = self.names.find(hash(self.seed, user), |&at| is(slots, at, user))?;
        Some(Row(*at))
    }

    /// The user's row; made if there is none. Also whether it was made.
    pub(super) fn find_or_insert(&mut self, user: &str) -> (Row, bool) {
        if let Some(row) = self.find(user) {
            return (row, false);
        }
        let at = self.free.pop().unwrap_or(self.slots.len() as u32);
        let slot = Slot { user: Some(user.into()), ..Slot::default() };
        match self.slots.get_mut(at as usize) {
            Some(place) => *place = slot,
            None => self.slots.push(slot),
        }
        let (slots, seed) = (&self.slots, self.seed);
        self.names.insert_unique(hash(seed, user), at, |&at| {
            slots.get(at as usize).and_then(|it| it.user.as_ref()).map_or(0, |it| hash(seed, it))
        });
        (Row(at), true)
    }

    /// Takes the user out. With `rest` the slot is kept from reuse until that request is answered.
    pub(super) fn remove(&mut self, row: Row, rest: Option<u32>) {
        let Some(slot) = self.slots.get_mut(row.0 as usize) else { return };
        let Some(user) = slot.user.take() else { return };
        *slot = Slot::default();
        match rest {
            Some(request) => slot.wire = Wire::Resting(request),
            None => self.free.push(row.0),
        }
        if let Ok(entry) = self.names.find_entry(hash(self.seed, &user), |&at| at == row.0) {
            entry.remove();
        }
        self.shrink();
    }

    /// Lets the slots go that have rested for long enough: those that wait for `request` or an
    /// earlier one.
    pub(super) fn wake_resting(&mut self, request: u32) {
        for (at, slot) in self.slots.iter_mut().enumerate() {
            if let Wire::Resting(until) = slot.wire
                && until <= request
            {
                slot.wire = Wire::Off;
                self.free.push(at as u32);
            }
        }
        self.shrink();
    }

    /// A connection has gone: everyone has to be asked for again, and no number is on its way any
    /// more. Those whom nobody watches are let go.
    pub(super) fn restart(&mut self) {
        for at in 0..self.places() {
            let Some(slot) = self.slots.get_mut(at as usize) else { continue };
            slot.weight = Weight::None;
            slot.early = None;
            slot.listed = 0;
            match slot.wire {
                Wire::Resting(_) => {
                    slot.wire = Wire::Off;
                    self.free.push(at);
                }
                Wire::Refused => {}
                _ => slot.wire = Wire::Off,
            }
            if slot.user.is_some() && slot.listeners.is_empty() {
                self.remove(Row(at), None);
            }
        }
        self.shrink();
    }

    /// Gives memory back once nothing is left in the table.
    fn shrink(&mut self) {
        if self.free.len() == self.slots.len() {
            self.slots = Vec::new();
            self.free = Vec::new();
            self.names = HashTable::new();
        }
    }
}

impl Slot {
    /// One more interest of the part; whether it is its first.
    pub(super) fn listen(&mut self, part: Part) -> bool {
        if let Some(listener) = self.listeners.iter_mut().find(|it| it.part == part) {
            listener.times = listener.times.saturating_add(1);
            return false;
        }
        self.listeners.push(Listener { part, times: 1 });
        true
    }

    /// One interest of the part less, or with `all` none any more. Whether that was the last
    /// interest of anyone.
    pub(super) fn unlisten(&mut self, part: Part, all: bool) -> bool {
        let Some(at) = self.listeners.iter().position(|it| it.part == part) else { return false };
        if let Some(listener) = self.listeners.get_mut(at) {
            listener.times -= 1;
            if listener.times > 0 && !all {
                return false;
            }
        }
        self.listeners.swap_remove(at);
        self.listeners.is_empty()
    }
}

fn is(slots: &[Slot], at: u32, user: &str) -> bool {
    slots.get(at as usize).is_some_and(|it| it.user.as_deref() == Some(user))
}

/// FNV-1a with a seed, spread at the end because the table looks at the topmost bits.
fn hash(seed: u32, user: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325 ^ u64::from(seed);
    for &byte in user.as_bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash ^ (hash >> 29)
}

#[cfg(test)]
mod tests {
    use std::format;

    use super::*;

    #[test]
    fn a_user_has_one_row_and_keeps_it() {
        let mut rows = Rows::new(1);
        let (ana, made) = rows.find_or_insert("ana");
        assert!(made);
        let (bo, _) = rows.find_or_insert("bo");
        assert_ne!(ana, bo);
        assert_eq!(rows.find_or_insert("ana"), (ana, false));
        rows.remove(ana, None);
        assert_eq!(rows.find("ana"), None);
        assert_eq!(rows.find("bo"), Some(bo));
    }

    #[test]
    fn a_resting_slot_is_used_again_only_behind_a_later_answer() {
        let mut rows = Rows::new(1);
        let (ana, _) = rows.find_or_insert("ana");
        rows.find_or_insert("bo");
        rows.remove(ana, Some(3));
        assert_ne!(rows.find_or_insert("cy").0, ana);
        rows.wake_resting(2);
        assert_ne!(rows.find_or_insert("di").0, ana);
        rows.wake_resting(3);
        assert_eq!(rows.find_or_insert("ed").0, ana);
    }

    #[test]
    fn an_empty_table_holds_no_memory() {
        let mut rows = Rows::new(1);
        let made: std::vec::Vec<Row> =
            (0..500).map(|n| rows.find_or_insert(&format!("u{n}")).0).collect();
        for row in made {
            rows.remove(row, Some(1));
        }
        rows.wake_resting(1);
        assert_eq!((rows.slots.capacity(), rows.free.capacity(), rows.names.capacity()), (0, 0, 0));
    }

    #[test]
    fn a_part_listens_until_it_has_stopped_as_often_as_it_began() {
        let mut slot = Slot::default();
        assert!(slot.listen(Part(1)));
        assert!(!slot.listen(Part(1)));
        assert!(slot.listen(Part(2)));
        assert!(!slot.unlisten(Part(1), false));
        assert!(!slot.unlisten(Part(1), false));
        assert!(!slot.unlisten(Part(1), false), "it listens no more");
        assert!(slot.unlisten(Part(2), true));
    }
}
