//! How fast each user does something, over all its devices. Those whose bucket is full again are forgotten.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use greendot_protocol::Time;

use super::limits::Bucket;

/// Pays for what users do, each from its own bucket.
#[derive(Debug)]
pub(super) struct Meter {
    per_second: u32,
    burst: u32,
    counted: Mutex<Counted>,
}

#[derive(Debug)]
struct Counted {
    buckets: HashMap<String, Bucket>,
    /// How many there may be before those at rest are looked for.
    most: usize,
}

/// Users who are counted, before those at rest are looked for.
const COUNTED: usize = 10_000;

impl Meter {
    pub(super) fn new(per_second: u32, burst: u32) -> Self {
        let counted = Counted { buckets: HashMap::new(), most: COUNTED };
        Self { per_second, burst, counted: Mutex::new(counted) }
    }

    /// Pays for so much; false if there is not enough for it.
    pub(super) fn take(&self, now: Time, user: &str, weight: u64) -> bool {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let full = || Bucket::full(now, self.per_second, self.burst);
        counted.bucket(now, user, full).take_weight(now, weight)
    }
}

impl Counted {
    fn bucket(&mut self, now: Time, user: &str, full: impl FnOnce() -> Bucket) -> &mut Bucket {
        if self.buckets.len() >= self.most && !self.buckets.contains_key(user) {
            self.buckets.retain(|_, it| !it.is_full(now));
            // As many may come as there are before all are gone through again: so each costs a few looks, however many they are.
            self.most = COUNTED.max(2 * self.buckets.len());
        }
        self.buckets.entry(user.into()).or_insert_with(full)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(meter: &Meter) -> (usize, usize) {
        let counted = meter.counted.lock().expect("nobody panics here");
        (counted.buckets.len(), counted.most)
    }

    #[test]
    fn those_at_rest_are_forgotten() {
        let meter = Meter::new(1, 20);
        for user in 0..100_000u64 {
            // A thousand users a second, each at rest a second later.
            assert!(meter.take(Time::from_millis(user), &user.to_string(), 1));
            assert!(held(&meter).0 <= COUNTED);
        }
    }

    #[test]
    fn however_many_are_counted_each_costs_a_few_looks() {
        let meter = Meter::new(1, 20);
        let mut rounds = 0;
        for user in 0..100_000u64 {
            let before = held(&meter).1;
            assert!(meter.take(Time::from_millis(0), &user.to_string(), 1));
            rounds += usize::from(held(&meter).1 != before);
        }
        assert_eq!((rounds, held(&meter).0), (4, 100_000));
    }

    #[test]
    fn one_users_devices_pay_from_one_bucket_and_others_from_theirs() {
        let meter = Meter::new(1, 20);
        let now = Time::from_millis(0);
        assert!(meter.take(now, "ana", 15) && !meter.take(now, "ana", 15));
        assert!(meter.take(now, "bo", 15));
        assert!(meter.take(Time::from_millis(10_000), "ana", 15));
    }
}
