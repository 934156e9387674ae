//! Randomness from a seed.

use greendot_protocol::Span;

/// SplitMix64: a few instructions, one word of state, and even enough for jitter.
#[derive(Clone, Debug)]
pub(super) struct Rng(u64);

impl Rng {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Even over 0 ..= `most`. Spans over 49 days count as that: no jitter needs more.
    pub(super) const fn up_to(&mut self, most: Span) -> Span {
        let most = most.as_millis();
        let values = if most < u32::MAX as u64 { most + 1 } else { u32::MAX as u64 };
        Span::from_millis(((self.next() >> 32) * values) >> 32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_the_range_come_up() {
        let mut rng = Rng::new(1);
        let mut seen = [0; 4];
        for _ in 0..400 {
            seen[rng.up_to(Span::from_millis(3)).as_millis() as usize] += 1;
        }
        assert!(seen.iter().all(|&count| count > 60), "{seen:?}");
    }

    #[test]
    fn a_span_without_end_is_no_trouble() {
        let most = Span::from_millis(u64::MAX);
        assert!(Rng::new(7).up_to(most) <= most);
    }
}
