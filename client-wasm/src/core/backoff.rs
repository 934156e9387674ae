//! How long to wait before the next dial.
//!
//! Full jitter from the first dial on: a dead node's thousand clients come back spread over
//! seconds, not at once.

use greendot_protocol::Span;

use super::rng::Rng;

/// Counts the dials since a link was lost.
#[derive(Clone, Debug, Default)]
pub(super) struct Backoff {
    dials: u32,
}

impl Backoff {
    /// The wait before the next dial: even over 0 to [`longest`].
    pub(super) fn next(&mut self, rng: &mut Rng) -> Span {
        let wait = rng.up_to(longest(self.dials));
        self.dials = self.dials.saturating_add(1);
        wait
    }

    /// The link has held for long enough, or the app has started anew.
    pub(super) fn reset(&mut self) {
        self.dials = 0;
    }
}

/// The longest wait before dial `n` after a loss, counted from 0.
fn longest(n: u32) -> Span {
    Span::from_millis((FIRST_MILLIS << n.min(8)).min(MOST_MILLIS))
}

const FIRST_MILLIS: u64 = 3_000;
const MOST_MILLIS: u64 = 30_000;

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use proptest::{prop_assert, prop_assert_eq, proptest};

    use super::*;

    #[test]
    fn the_longest_wait_doubles_from_3_s_to_30_s() {
        let secs: [u64; 6] = core::array::from_fn(|n| longest(n as u32).as_secs());
        assert_eq!(secs, [3, 6, 12, 24, 30, 30]);
        assert_eq!(longest(u32::MAX).as_secs(), 30);
    }

    proptest! {
        #[test]
        fn no_wait_is_longer_than_the_law_allows(seed: u64, dials in 0u32..100) {
            let mut rng = Rng::new(seed);
            let mut backoff = Backoff { dials };
            prop_assert!(backoff.next(&mut rng) <= longest(dials));
            prop_assert_eq!(backoff.dials, dials + 1);
        }
    }

    #[test]
    fn the_waits_before_each_dial_are_spread_over_all_that_is_allowed() {
        // Full jitter is even over 0 to the longest. Of 20,000 draws a quarter's count strays from 5,000 by 61 (one standard
        // deviation) and their mean from the middle by 0.2 % of the range; five of each are allowed.
        for dials in [0, 1, 2, 3, 4, 9] {
            let most = longest(dials).as_millis();
            let (mut quarters, mut sum) = ([0u32; 4], 0);
            for seed in 0..20_000 {
                let wait = Backoff { dials }.next(&mut Rng::new(seed)).as_millis();
                quarters[(wait * 4 / (most + 1)) as usize] += 1;
                sum += wait;
            }
            assert!(quarters.iter().all(|it| it.abs_diff(5_000) < 306), "{dials}: {quarters:?}");
            assert!((sum / 20_000).abs_diff(most / 2) <= most / 98, "{dials}: {sum}");
        }
    }

    #[test]
    fn the_waits_of_one_client_say_nothing_of_each_other() {
        // All the waits of one loss are drawn from one seed: a long first one must not mean a long second one.
        let mut both_long = 0;
        for seed in 0..20_000 {
            let (mut rng, mut backoff) = (Rng::new(seed), Backoff::default());
            let long =
                (0..2).all(|n| backoff.next(&mut rng).as_millis() * 2 > longest(n).as_millis());
            both_long += u32::from(long);
        }
        assert!(both_long.abs_diff(5_000) < 306, "{both_long}");
    }
}
