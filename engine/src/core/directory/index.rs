//! Finds a user by its name.
//!
//! The table holds places of rows, 5 bytes for a bucket, and no names. When it is full, one twice as large takes its place
//! little by little: each new user moves some of the old ones over, in the order of their rows, so that their names are read
//! as they lie and no connect holds the core for longer than another, however many users there are.

use hashbrown::HashTable;

/// Users that each new one moves over: less than a microsecond, and the old table is given back before the new one is a tenth
/// fuller.
const MOVES: u32 = 16;

#[derive(Debug, Default)]
pub(super) struct Index {
    table: HashTable<u32>,
    /// While it grows: the table before, which has all rows up to `until`. Those before `moved` are in the new one, too.
    old: HashTable<u32>,
    moved: u32,
    until: u32,
}

impl Index {
    /// The place of the row with this hash that `is` the one.
    #[inline]
    pub(super) fn find(&self, hash: u64, mut is: impl FnMut(u32) -> bool) -> Option<u32> {
        if let Some(&place) = self.table.find(hash, |&it| is(it)) {
            return Some(place);
        }
        if self.old.is_empty() { None } else { self.old.find(hash, |&it| is(it)).copied() }
    }

    /// Puts in a row that is not there. `hash_of` tells the hash of any row.
    #[inline]
    pub(super) fn insert(&mut self, hash: u64, place: u32, hash_of: impl Fn(u32) -> u64) {
        if self.moved < self.until {
            self.move_some(&hash_of);
        } else if self.table.len() == self.table.capacity() {
            self.grow(place);
        }
        self.table.insert_unique(hash, place, |&it| hash_of(it));
    }

    #[cold]
    fn grow(&mut self, until: u32) {
        let room = HashTable::with_capacity((2 * self.table.capacity()).max(4));
        self.old = std::mem::replace(&mut self.table, room);
        (self.moved, self.until) = (0, until);
        if until == 0 {
            self.old = HashTable::new();
        }
    }

    fn move_some(&mut self, hash_of: &impl Fn(u32) -> u64) {
        let end = (self.moved + MOVES).min(self.until);
        for place in self.moved..end {
            self.table.insert_unique(hash_of(place), place, |&it| hash_of(it));
        }
        self.moved = end;
        if end == self.until {
            self.old = HashTable::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash_of(place: u32) -> u64 {
        u64::from(place).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }

    #[test]
    fn every_row_is_found_at_any_moment_of_growth() {
        let mut index = Index::default();
        for place in 0..3_000 {
            assert_eq!(index.find(hash_of(place), |it| it == place), None);
            let before = index.table.capacity();
            index.insert(hash_of(place), place, hash_of);
            let after = index.table.capacity();
            assert!(before == 0 || after == before || after == 2 * before, "{before}, {after}");
            assert!(after > index.table.len() || index.old.is_empty());
            for place in (0..=place).step_by(7).chain([place]) {
                assert_eq!(index.find(hash_of(place), |it| it == place), Some(place));
            }
        }
    }
}
