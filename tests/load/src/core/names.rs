//! Names and orders, the same in each run.

/// A small generator, good enough to shuffle with (xorshift64*).
#[derive(Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, (self.next() % (last as u64 + 1)) as usize);
        }
    }
}

/// Names of 16 bytes, in one piece of memory so that reading them costs the measured code little.
#[derive(Debug)]
pub(super) struct Names(String);

const LENGTH: usize = 16;

impl Names {
    pub(super) fn new(prefix: char, count: usize) -> Self {
        let mut text = String::with_capacity(count * LENGTH);
        for number in 0..count {
            // Spread like real ones: not in the order of their making.
            let mixed = (number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 4;
            text.push_str(&format!("{prefix}{mixed:015x}"));
        }
        Self(text)
    }

    pub(super) fn get(&self, number: usize) -> &str {
        &self.0[number * LENGTH..(number + 1) * LENGTH]
    }
}
