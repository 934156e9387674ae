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
            if self.due.capacity() > 64 {
                // A crowd has passed: the room it took is given back.
                self.due = Vec::new();
            }
            self.now += 1;
            let bucket = &mut self.buckets[(self.now % BUCKETS as u64) as usize];
            std::mem::swap(bucket, &mut self.due);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
