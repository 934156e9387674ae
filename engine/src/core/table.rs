//! A table of very many rows, in pieces.
//!
//! One piece of memory for all rows would be twice as large as needed after it has grown, and growing or giving it back would
//! hold the core for tens of milliseconds at a few million rows. So it has pieces of some 100 KB: no more than one of them is
//! empty, and when the rows have gone the pieces go a few at a time.

use std::ops::{Index, IndexMut};

/// Rows in a piece, as a power of two.
const BITS: u32 = 12;
/// Rows in a piece.
const PIECE: usize = 1 << BITS;

/// The table. Rows never move.
#[derive(Debug)]
pub(crate) struct Table<T> {
    pieces: Vec<Vec<T>>,
    len: usize,
    /// Pieces that are to be given back.
    old: Vec<Vec<T>>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { pieces: Vec::new(), len: 0, old: Vec::new() }
    }
}

impl<T> Table<T> {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Room is made first, apart from the row: one that had to lie in memory for that would be written in pieces and read in
    /// words, which waits until all that was stored before has reached the cache.
    #[inline(always)]
    pub(crate) fn push(&mut self, row: T) {
        if self.len.is_multiple_of(PIECE) {
            self.add_piece();
        }
        if let Some(piece) = self.pieces.last_mut() {
            piece.push(row);
            self.len += 1;
        }
    }

    #[cold]
    fn add_piece(&mut self) {
        // The first one grows as a vector does: many a node has few of something.
        let first = self.pieces.is_empty();
        let mut piece = self.old.pop().filter(|_| !first).unwrap_or_default();
        piece.clear();
        if !first {
            piece.reserve_exact(PIECE);
        }
        self.pieces.push(piece);
    }

    #[inline]
    pub(crate) fn get(&self, place: usize) -> Option<&T> {
        self.pieces.get(place >> BITS)?.get(place % PIECE)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, place: usize) -> Option<&mut T> {
        self.pieces.get_mut(place >> BITS)?.get_mut(place % PIECE)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.pieces.iter().flatten()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.pieces.iter_mut().flatten()
    }

    /// Takes all rows out. Their room goes back with [`Self::give_back`].
    pub(crate) fn clear(&mut self) {
        self.old.append(&mut self.pieces);
        self.len = 0;
    }

    /// Gives some of the room back that nobody needs any more; false if there is none left.
    pub(crate) fn give_back(&mut self) -> bool {
        self.old.truncate(self.old.len().saturating_sub(AT_A_TIME));
        if self.old.is_empty() {
            self.old = Vec::new();
        }
        !self.old.is_empty()
    }

    /// Rows for which there is room.
    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.pieces.iter().chain(&self.old).map(Vec::capacity).sum()
    }
}

/// Pieces given back at a time: some 100 µs.
const AT_A_TIME: usize = 16;

impl<T> Index<usize> for Table<T> {
    type Output = T;

    #[inline]
    fn index(&self, place: usize) -> &T {
        &self.pieces[place >> BITS][place % PIECE]
    }
}

impl<T> IndexMut<usize> for Table<T> {
    #[inline]
    fn index_mut(&mut self, place: usize) -> &mut T {
        &mut self.pieces[place >> BITS][place % PIECE]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_where_they_were_put() {
        let mut table = Table::default();
        for number in 0..3 * PIECE + 7 {
            assert_eq!(table.len(), number);
            table.push(number);
        }
        for number in [0, 1, PIECE - 1, PIECE, 3 * PIECE, 3 * PIECE + 6] {
            assert_eq!((table[number], table.get(number)), (number, Some(&number)));
        }
        assert_eq!(table.get(3 * PIECE + 7), None);
        assert_eq!(table.get(usize::MAX), None);
        assert!(table.iter().copied().eq(0..table.len()));
    }

    #[test]
    fn no_more_than_one_piece_is_empty_and_all_go_back() {
        let mut table = Table::default();
        for number in 0..40 * PIECE + 1 {
            table.push(number);
        }
        assert!(table.capacity() <= table.len() + PIECE);
        table.clear();
        assert_eq!(table.len(), 0);
        assert!(table.give_back());
        // Taken into use again while the rest is being given back.
        table.push(7);
        assert_eq!(table[0], 7);
        while table.give_back() {}
        assert!(table.capacity() <= PIECE);
    }
}
