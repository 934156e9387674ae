//! Names, the same in each run.

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
