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
    fn first_waits_are_spread_over_the_whole_3_s() {
        let mut tenths = [0u32; 30];
        for seed in 0..30_000 {
            let wait = Backoff::default().next(&mut Rng::new(seed)).as_millis();
            tenths[(wait / 100).min(29) as usize] += 1;
        }
        assert!(tenths.iter().all(|count| (850..1150).contains(count)), "{tenths:?}");
    }
}
