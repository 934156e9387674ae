//! The table of watched users, and which parts of the app watch each.

use alloc::boxed::Box;
use alloc::vec::Vec;

use greendot_protocol::Epoch;

use super::output::{Part, Row};
use super::view::{Early, Shown};

/// The rows. A row's place is also its number on the wire, less one, so that no second table is
/// needed; see [`Wire::Resting`] for what that asks of reuse.
#[derive(Debug, Default)]
pub(super) struct Rows {
    slots: Vec<Slot>,
    /// The latest request that was answered: what rests since before it may be used again.
    answered: u32,
    /// How many slots have a user.
    users: usize,
}

/// One watched user.
#[derive(Debug, Default)]
pub(super) struct Slot {
    /// The name's hash.
    hash: u32,
    /// None: the slot is free, or rests.
    pub(super) user: Option<Box<str>>,
    pub(super) listeners: Vec<Part>,
    pub(super) wire: Wire,
    pub(super) shown: Shown,
    /// The epoch that its version counts in; none: this connection has not spoken of it yet.
    pub(super) epoch: Option<Epoch>,
    /// Events that came before the snapshots they belong behind: the newest of each epoch.
    pub(super) early: Vec<Early>,
    /// The count of the last snapshot that listed this row.
    pub(super) listed: u32,
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
        self.users
    }

    pub(super) fn listeners(&self) -> usize {
        self.slots.iter().map(|it| it.listeners.len()).sum()
    }

    /// The user's row. All rows are looked through, but this is only done when a part begins to
    /// watch; a table of hashes beside the rows would be three times the code.
    pub(super) fn find(&self, user: &str) -> Option<Row> {
        let hash = hash(user);
        let is = |it: &Slot| it.hash == hash && it.user.as_deref() == Some(user);
        self.slots.iter().position(is).map(|at| Row(at as u32))
    }

    /// The user's row; made if there is none. Also whether it was made.
    pub(super) fn find_or_insert(&mut self, user: &str) -> (Row, bool) {
        if let Some(row) = self.find(user) {
            return (row, false);
        }
        let at = self.vacancy();
        if let Some(slot) = self.slots.get_mut(at as usize) {
            slot.wire = Wire::Off;
            slot.hash = hash(user);
            slot.user = Some(user.into());
            self.users += 1;
        }
        (Row(at), true)
    }

    /// Takes the user out. With `rest` the slot is kept from reuse until that request is answered.
    pub(super) fn remove(&mut self, row: Row, rest: Option<u32>) {
        let Some(slot) = self.get_mut(row) else { return };
        *slot = Slot { wire: rest.map_or(Wire::Off, Wire::Resting), ..Slot::default() };
        self.users -= 1;
        self.shrink();
    }

    /// Gives memory back once nothing is left in the table.
    fn shrink(&mut self) {
        if self.users == 0 && self.vacancies().count() == self.slots.len() {
            self.slots = Vec::new();
        }
    }

    /// The places of those slots that may be used.
    fn vacancies(&self) -> impl Iterator<Item = u32> {
        self.slots.iter().zip(0..).filter_map(|(slot, at)| {
            let rests = matches!(slot.wire, Wire::Resting(until) if until > self.answered);
            (slot.user.is_none() && !rests).then_some(at)
        })
    }

    /// The first place that may be used; made if there is none.
    fn vacancy(&mut self) -> u32 {
        let vacant = self.users < self.slots.len();
        if let Some(at) = vacant.then(|| self.vacancies().next()).flatten() {
            return at;
        }
        self.slots.push(Slot::default());
        self.slots.len() as u32 - 1
    }

    /// A request was answered.
    pub(super) fn answered(&mut self, request: u32) {
        self.answered = self.answered.max(request);
    }

    /// A connection has gone: everyone has to be asked for again, and no number is on its way any
    /// more. Those whom nobody watches are let go.
    pub(super) fn restart(&mut self) {
        self.answered = 0;
        for at in 0..self.places() {
            let Some(slot) = self.slots.get_mut(at as usize) else { continue };
            slot.epoch = None;
            slot.early = Vec::new();
            slot.listed = 0;
            if slot.wire != Wire::Refused {
                slot.wire = Wire::Off;
            }
            if slot.listeners.is_empty() {
                self.remove(Row(at), None);
            }
        }
        self.shrink();
    }
}

impl Slot {
    /// The part is interested; whether it was not before.
    pub(super) fn listen(&mut self, part: Part) -> bool {
        let fresh = !self.listeners.contains(&part);
        if fresh {
            self.listeners.push(part);
        }
        fresh
    }

    /// The part is interested no more. Whether that was the last interest of anyone.
    pub(super) fn unlisten(&mut self, part: Part) -> bool {
        let Some(at) = self.listeners.iter().position(|it| *it == part) else { return false };
        self.listeners.swap_remove(at);
        self.listeners.is_empty()
    }
}

/// FNV-1a.
fn hash(user: &str) -> u32 {
    user.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use std::format;

    use super::*;

    #[test]
    fn a_user_has_one_row_and_keeps_it() {
        let mut rows = Rows::default();
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
        let mut rows = Rows::default();
        let (ana, _) = rows.find_or_insert("ana");
        rows.find_or_insert("bo");
        rows.remove(ana, Some(3));
        assert_ne!(rows.find_or_insert("cy").0, ana);
        rows.answered(2);
        assert_ne!(rows.find_or_insert("di").0, ana);
        rows.answered(3);
        assert_eq!(rows.find_or_insert("ed").0, ana);
    }

    #[test]
    fn an_empty_table_holds_no_memory() {
        let mut rows = Rows::default();
        let made: std::vec::Vec<Row> =
            (0..500).map(|n| rows.find_or_insert(&format!("u{n}")).0).collect();
        for row in made {
            rows.remove(row, Some(1));
        }
        rows.restart();
        assert_eq!(rows.slots.capacity(), 0);
    }

    #[test]
    fn a_part_listens_until_it_has_stopped_as_often_as_it_began() {
        let mut slot = Slot::default();
        assert!(slot.listen(Part(1)));
        assert!(!slot.listen(Part(1)));
        assert!(slot.listen(Part(2)));
        assert!(!slot.unlisten(Part(1)));
        assert!(!slot.unlisten(Part(1)));
        assert!(!slot.unlisten(Part(1)), "it listens no more");
        assert!(slot.unlisten(Part(2)));
    }
}
