//! Finds a user by its name.
//!
//! The table holds places of rows and no names. A bucket of it is one line of the cache, where a look-up finds all it wants to
//! know and an insertion behind it all it has to write: in a table of many users that is the one thing that is waited for. No
//! user is ever taken out.
//!
//! When the table is full, one half as large again takes its place little by little: each new user moves some of the old ones
//! over, in the order of their rows, so that their names are read as they lie and no connect holds the core for longer than
//! another, however many users there are.

/// Users that each new one moves over: less than a microsecond, and the old table is given back before the new one is a tenth
/// fuller.
const MOVES: u32 = 16;

#[derive(Debug, Default)]
pub(super) struct Index {
    table: Buckets,
    /// While it grows: the table before, which has all rows up to `until`. Those before `moved` are in the new one, too.
    old: Buckets,
    moved: u32,
    until: u32,
}

impl Index {
    /// The place of the row with this hash that `is` the one.
    #[inline]
    pub(super) fn find(&self, hash: u64, mut is: impl FnMut(u32) -> bool) -> Option<u32> {
        let found = self.table.find(hash, &mut is);
        if found.is_none() && self.old.count > 0 { self.old.find(hash, is) } else { found }
    }

    /// Puts in a row that is not there. `hash_of` tells the hash of any row.
    #[inline]
    pub(super) fn insert(&mut self, hash: u64, place: u32, hash_of: impl Fn(u32) -> u64) {
        if self.moved < self.until {
            self.move_some(&hash_of);
        } else if self.table.is_full() {
            self.grow(place);
        }
        self.table.insert(hash, place);
    }

    #[cold]
    fn grow(&mut self, until: u32) {
        let larger =
            Buckets::new((self.table.count + self.table.count / 2).max(self.table.count + 1));
        self.old = std::mem::replace(&mut self.table, larger);
        (self.moved, self.until) = (0, until);
    }

    #[cold]
    fn move_some(&mut self, hash_of: &impl Fn(u32) -> u64) {
        let end = (self.moved + MOVES).min(self.until);
        let hashes: [u64; MOVES as usize] =
            std::array::from_fn(|it| hash_of((self.moved + it as u32).min(end - 1)));
        // Their buckets lie anywhere: read one behind the other, they come in side by side.
        std::hint::black_box(hashes.iter().fold(0, |it, &hash| it ^ self.table.state(hash)));
        for (place, hash) in (self.moved..end).zip(hashes) {
            self.table.insert(hash, place);
        }
        self.moved = end;
        if end == self.until {
            self.old = Buckets::default();
        }
    }
}

/// Words of 4 bytes in a bucket: as many as fit into a line of the cache.
const WORDS: usize = 16;
/// Places in a bucket. Its first three words hold a byte of the hash for each of them, none of which is 0.
const PLACES: usize = 12;
/// The word that says how many places are taken, and above that whether there are more in the next bucket.
const STATE: usize = 3;
/// The word with the first place.
const FIRST: usize = WORDS - PLACES;
/// In the state: how many.
const TAKEN: u32 = 0xF;
/// In the state: the next bucket has more.
const OVER: u32 = 1 << 4;
/// Places that are taken on the average when the table is full: with more of them in a bucket too many would be over.
const FULL: usize = 9;

/// A table of buckets.
#[derive(Debug, Default)]
struct Buckets {
    /// In one piece that the kernel hands out page by page, zeroed.
    words: Vec<u32>,
    /// Where in it the first bucket begins, so that each is a whole line.
    begin: usize,
    count: usize,
    len: usize,
}

impl Buckets {
    fn new(count: usize) -> Self {
        let words = vec![0; (count + 1) * WORDS];
        let begin = words.as_ptr().align_offset(WORDS * size_of::<u32>()).min(WORDS);
        Self { words, begin, count, len: 0 }
    }

    fn is_full(&self) -> bool {
        self.len >= FULL * self.count
    }

    /// The bucket where a row with this hash is looked for first.
    #[inline]
    fn home(&self, hash: u64) -> usize {
        (((hash >> 32) * self.count as u64) >> 32) as usize
    }

    /// Reads that bucket, which is about to be needed; what it returns means nothing.
    #[inline]
    fn state(&self, hash: u64) -> u32 {
        self.words.get(self.begin + self.home(hash) * WORDS + STATE).copied().unwrap_or_default()
    }

    #[inline]
    fn after(&self, bucket: usize) -> usize {
        if bucket + 1 == self.count { 0 } else { bucket + 1 }
    }

    #[inline]
    fn find(&self, hash: u64, mut is: impl FnMut(u32) -> bool) -> Option<u32> {
        let buckets = self.words.get(self.begin..)?.as_chunks::<WORDS>().0;
        let mut at = self.home(hash);
        loop {
            let bucket = buckets.get(at)?;
            let mut hits = hits(bucket, tag(hash));
            while hits != 0 {
                let place = bucket[FIRST + hits.trailing_zeros() as usize / 8];
                if is(place) {
                    return Some(place);
                }
                hits &= hits - 1;
            }
            if bucket[STATE] & OVER == 0 {
                return None;
            }
            at = self.after(at);
        }
    }

    /// There is room: fewer than [`FULL`] in a bucket on the average.
    #[inline]
    fn insert(&mut self, hash: u64, place: u32) {
        let mut at = self.home(hash);
        loop {
            let next = self.after(at);
            let bucket = &mut self.words[self.begin..].as_chunks_mut::<WORDS>().0[at];
            let taken = (bucket[STATE] & TAKEN) as usize;
            if taken < PLACES {
                bucket[taken / 4] |= u32::from(tag(hash)) << (taken % 4 * 8);
                bucket[FIRST + taken] = place;
                bucket[STATE] += 1;
                self.len += 1;
                return;
            }
            bucket[STATE] |= OVER;
            at = next;
        }
    }
}

/// A byte of the hash that has no part in [`Buckets::home`]; not 0.
#[inline]
fn tag(hash: u64) -> u8 {
    (hash as u8).max(1)
}

/// Of the bytes of hashes in a bucket those that may be this one, each by its highest bit: the first is, one behind it may not.
#[inline]
fn hits(bucket: &[u32; WORDS], tag: u8) -> u128 {
    const ONES: u128 = u128::from_ne_bytes([1; 16]);
    const HIGHEST: u128 = (ONES << 7) & ((1 << (8 * PLACES)) - 1);
    let low = u64::from(bucket[0]) | u64::from(bucket[1]) << 32;
    let differs = (u128::from(bucket[2]) << 64 | u128::from(low)) ^ (ONES * u128::from(tag));
    differs.wrapping_sub(ONES) & !differs & HIGHEST
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash_of(place: u32) -> u64 {
        u64::from(place).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(17)
    }

    #[test]
    fn every_row_is_found_at_any_moment_of_growth() {
        let mut index = Index::default();
        for place in 0..3_000 {
            assert_eq!(index.find(hash_of(place), |it| it == place), None);
            let before = index.table.count;
            index.insert(hash_of(place), place, hash_of);
            let after = index.table.count;
            assert!(after == before || index.old.count == before, "{before}, {after}");
            assert!(!index.table.is_full() || index.old.count == 0);
            for place in (0..=place).step_by(7).chain([place]) {
                assert_eq!(index.find(hash_of(place), |it| it == place), Some(place));
            }
        }
    }

    #[test]
    fn rows_whose_hashes_are_alike_are_found_too() {
        // All want the last bucket, and go on in the first one.
        let hash_of = |place: u32| u64::MAX - u64::from(place % 3);
        let mut index = Index::default();
        for place in 0..400 {
            index.insert(hash_of(place), place, hash_of);
            for place in 0..=place {
                assert_eq!(index.find(hash_of(place), |it| it == place), Some(place));
            }
            assert_eq!(index.find(hash_of(place), |_| false), None);
        }
    }

    #[test]
    fn a_byte_of_a_hash_is_found_wherever_it_stands() {
        for tag in [1, 2, 0x7F, 0x80, 0x81, 0xFF] {
            for place in 0..PLACES {
                let mut bucket = [0; WORDS];
                bucket[STATE] = u32::MAX;
                assert_eq!(hits(&bucket, tag), 0);
                bucket[place / 4] = u32::from(tag) << (place % 4 * 8);
                assert_eq!(hits(&bucket, tag).trailing_zeros() as usize / 8, place);
            }
        }
    }

    #[test]
    fn a_bucket_is_a_line_of_the_cache() {
        let buckets = Buckets::new(100);
        let first = &raw const buckets.words[buckets.begin];
        assert_eq!(first.addr() % 64, 0);
    }
}
