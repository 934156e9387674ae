//! A timing wheel with lazy re-arm.
//!
//! Deadlines that only ever move later need not touch the wheel when they move: an entry comes up
//! at the tick it was armed for, its owner looks at the true deadline and arms it again if that is
//! still ahead. A heartbeat is then one store into the owner's row. Ticks are counted by the
//! owner; one that lies further ahead than the wheel reaches comes up early and is armed again.

/// Ticks that the wheel reaches ahead.
const BUCKETS: usize = 1024;

/// The wheel. `T` is what comes up.
#[derive(Debug)]
pub(crate) struct Wheel<T> {
    buckets: Vec<Vec<T>>,
    /// The tick that comes up or has come up last.
    now: u64,
    /// What is left of that tick.
    due: Vec<T>,
    /// The tick that the owner has got to: nothing is armed for one that has passed already, or
    /// an entry that waits for something would come up again and again in one go.
    reached: u64,
    len: usize,
}

impl<T> Wheel<T> {
    pub(crate) fn new() -> Self {
        Self {
            buckets: (0..BUCKETS).map(|_| Vec::new()).collect(),
            now: 0,
            due: Vec::new(),
            reached: 0,
            len: 0,
        }
    }

    /// Entries on the wheel, those that their owners no longer want included.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The tick that the owner has got to.
    pub(crate) fn reached(&self) -> u64 {
        self.reached
    }

    /// Puts an entry on the wheel and says at which tick it will come up: `tick`, or sooner if
    /// that is too far ahead, or the next one if `tick` has passed.
    pub(crate) fn arm(&mut self, tick: u64, entry: T) -> u64 {
        // Each bucket holds one tick: those up to a turn after the one that comes up.
        let tick = tick.max(self.reached + 1).min(self.now + BUCKETS as u64);
        self.buckets[(tick % BUCKETS as u64) as usize].push(entry);
        self.len += 1;
        tick
    }

    /// Up to so many of the entries that [`Self::pop`] will take next.
    pub(crate) fn upcoming(&self, most: usize) -> &[T] {
        &self.due[self.due.len().saturating_sub(most)..]
    }

    /// Takes one entry that is due at or before `tick`, with the tick it was due at.
    ///
    /// Time that has passed without entries is skipped a turn at most, however long it was.
    pub(crate) fn pop(&mut self, tick: u64) -> Option<(u64, T)> {
        self.reached = self.reached.max(tick);
        loop {
            if let Some(entry) = self.due.pop() {
                self.len -= 1;
                return Some((self.now, entry));
            }
            if self.len == 0 {
                self.now = self.now.max(tick);
            }
            if self.now >= tick {
                return None;
            }
            self.now += 1;
            let bucket = &mut self.buckets[(self.now % BUCKETS as u64) as usize];
            if !bucket.is_empty() || self.due.capacity() > 64 {
                // The room that an earlier tick took is given back: if it went to the bucket, every
                // bucket would come to hold some.
                self.due = std::mem::take(bucket);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::Strategy;
    use proptest::{collection, prop_assert, prop_assert_eq, proptest};

    use super::*;

    #[test]
    fn room_does_not_grow_with_time() {
        let mut wheel = Wheel::new();
        (0..100).for_each(|it| _ = wheel.arm(1 + it % 10, it));
        for tick in 1..3_000 {
            while let Some((_, it)) = wheel.pop(tick) {
                wheel.arm(tick + 30, it);
            }
            let room =
                wheel.due.capacity() + wheel.buckets.iter().map(Vec::capacity).sum::<usize>();
            assert!(room <= 300, "{room} at {tick}");
        }
    }

    /// What the owner of a wheel does next.
    #[derive(Clone, Debug)]
    enum Deed {
        /// Wants something so many ticks from now; 0: it is due already.
        Arm(u64),
        /// So many ticks later takes what is due. Each entry that came up in its time and has turns left is wanted again,
        /// so many ticks on.
        Sweep { later: u64, again: u64 },
    }

    fn deeds() -> impl Strategy<Value = Deed> {
        let reach = BUCKETS as u64;
        let far = || proptest::prop_oneof![6 => 0..40u64, 2 => 900..1_200u64, 1 => 0..20 * reach];
        proptest::prop_oneof![
            3 => far().prop_map(Deed::Arm),
            2 => (proptest::prop_oneof![9 => 0..60u64, 1 => 0..9 * reach], far())
                .prop_map(|(later, again)| Deed::Sweep { later, again }),
        ]
    }

    proptest! {
        /// The measure is a sorted list: at each sweep comes up, in the order of ticks, exactly what is due, early looks at
        /// what lies too far ahead left aside.
        #[test]
        fn a_sweep_brings_up_what_a_sorted_list_would(script in collection::vec(deeds(), 1..80)) {
            let mut wheel = Wheel::new();
            // When each entry is wanted: (tick, number, turns left).
            let mut list: Vec<(u64, usize, u32)> = Vec::new();
            // By number: the tick at which the wheel said that it would come up.
            let mut promised: Vec<u64> = Vec::new();
            let mut tick = 0;
            for deed in script {
                let (later, again) = match deed {
                    Deed::Arm(ahead) => {
                        let number = promised.len();
                        let at = wheel.arm(tick + ahead, number);
                        prop_assert!(tick < at && at <= (tick + ahead).max(tick + 1));
                        promised.push(at);
                        list.push((tick + ahead, number, 2));
                        continue;
                    }
                    Deed::Sweep { later, again } => (later, again),
                };
                let before = tick;
                tick += later;
                list.sort_unstable();
                // What was wanted in the past waits for the next tick.
                let is_due = |it: &(u64, usize, u32)| it.0.max(before + 1) <= tick;
                let due: Vec<_> = list.extract_if(.., |it| later > 0 && is_due(it)).collect();
                let (mut up, mut last, mut looks) = (Vec::new(), 0, 0);
                while let Some((at, number)) = wheel.pop(tick) {
                    prop_assert!(last <= at && at <= tick, "out of order");
                    prop_assert_eq!(at, promised[number]);
                    last = at;
                    looks += 1;
                    if let Some(&(wanted, ..)) = list.iter().find(|it| it.1 == number) {
                        // An early look, or one at what came up before in this very sweep.
                        promised[number] = wheel.arm(wanted, number);
                        prop_assert!(promised[number] > at, "it would come up without end");
                        continue;
                    }
                    let turns = due.iter().find(|it| it.1 == number).map(|it| it.2);
                    prop_assert!(turns.is_some(), "{number} has been up already");
                    let turns = turns.unwrap_or(0);
                    up.push(number);
                    if turns > 0 {
                        promised[number] = wheel.arm(tick + again, number);
                        list.push((tick + again, number, turns - 1));
                    }
                }
                let turns = later / BUCKETS as u64 + 2;
                prop_assert!(looks <= turns * (due.len() + list.len()) as u64, "{looks} looks");
                let mut expected: Vec<usize> = due.iter().map(|it| it.1).collect();
                expected.sort_unstable();
                up.sort_unstable();
                prop_assert_eq!(up, expected);
                prop_assert_eq!(wheel.len(), list.len());
            }
        }
    }

    #[test]
    fn entries_come_up_at_their_tick_and_not_before() {
        let mut wheel = Wheel::new();
        assert_eq!(wheel.arm(3, 'b'), 3);
        assert_eq!(wheel.arm(1, 'a'), 1);
        assert_eq!(wheel.pop(0), None);
        assert_eq!(wheel.pop(2), Some((1, 'a')));
        assert_eq!(wheel.pop(2), None);
        assert_eq!(wheel.pop(3), Some((3, 'b')));
        assert_eq!(wheel.len(), 0);
    }

    #[test]
    fn what_lies_beyond_the_reach_comes_up_early() {
        let mut wheel = Wheel::new();
        let armed = wheel.arm(1_000_000, ());
        assert!(armed <= BUCKETS as u64);
        assert_eq!(wheel.pop(armed), Some((armed, ())));
    }

    #[test]
    fn an_entry_armed_for_the_past_comes_up_next() {
        let mut wheel = Wheel::new();
        assert_eq!(wheel.pop(100), None);
        assert_eq!(wheel.arm(7, ()), 101);
        assert_eq!(wheel.pop(100), None);
        assert_eq!(wheel.pop(101), Some((101, ())));
    }

    #[test]
    fn an_entry_armed_again_while_its_tick_comes_up_waits_for_the_next_sweep() {
        let mut wheel = Wheel::new();
        wheel.arm(1, 'a');
        assert_eq!(wheel.pop(5), Some((1, 'a')));
        assert_eq!(wheel.arm(1, 'a'), 6);
        assert_eq!(wheel.pop(5), None);
        assert_eq!(wheel.pop(6), Some((6, 'a')));
    }

    #[test]
    fn after_a_long_stand_still_all_come_up_and_what_is_armed_meanwhile_too() {
        let mut wheel = Wheel::new();
        wheel.arm(1, 'a');
        wheel.arm(1000, 'b');
        let late = 10_000;
        assert_eq!(wheel.pop(late), Some((1, 'a')));
        // Too far ahead for the wheel, so it comes up early.
        let armed = wheel.arm(1, 'a');
        assert_eq!(wheel.pop(late), Some((1000, 'b')));
        assert_eq!(wheel.pop(late), Some((armed, 'a')));
        assert_eq!(wheel.pop(late), None);
        assert_eq!(wheel.arm(1, 'a'), late + 1);
    }
}
