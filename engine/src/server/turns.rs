//! Those who wait for a turn of the clock: answers that are ready and go out by it.
//!
//! They do not wait by the runtime's timer, which would tell when the work before was over (see [`super::alarm`]).

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use greendot_protocol::Time;

use super::driver::Driver;

/// What wakes them, in the order of their times, and of those of one time in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Turns(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    wakers: BTreeMap<Key, Waker>,
    /// How many have waited.
    count: u64,
}

type Key = (Time, u64);

impl Turns {
    /// When the next one is to be woken.
    pub(super) fn next(&self) -> Time {
        self.lock().wakers.first_key_value().map_or(Time::MAX, |it| it.0.0)
    }

    /// Wakes those whose time has come.
    pub(super) fn turn(&self, now: Time) {
        let due: Vec<Waker> = {
            let wakers = &mut self.lock().wakers;
            std::iter::from_fn(|| {
                let first = wakers.first_entry().filter(|it| it.key().0 <= now)?;
                Some(first.remove())
            })
            .collect()
        };
        for waker in due {
            waker.wake();
        }
    }

    /// Another one waits. Whether it is the next to be woken.
    fn wait(&self, at: Time, waker: Waker) -> (Key, bool) {
        let mut waiting = self.lock();
        waiting.count += 1;
        let key = (at, waiting.count);
        waiting.wakers.insert(key, waker);
        (key, waiting.wakers.first_key_value().is_some_and(|it| *it.0 == key))
    }

    fn forget(&self, key: Key) {
        self.lock().wakers.remove(&key);
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ready when a time has come.
#[derive(Debug)]
pub(super) struct Turn {
    driver: Arc<Driver>,
    at: Time,
    /// What is to be woken, and where it stands.
    waits: Option<(Key, Waker)>,
}

impl Turn {
    pub(super) fn new(driver: Arc<Driver>, at: Time) -> Self {
        Self { driver, at, waits: None }
    }

    /// That time.
    pub(super) fn at(&self) -> Time {
        self.at
    }

    fn give_up(&mut self) {
        if let Some((key, _)) = self.waits.take() {
            self.driver.turns.forget(key);
        }
    }
}

impl Future for Turn {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.driver.has_come(self.at) {
            self.give_up();
            return Poll::Ready(());
        }
        if self.waits.as_ref().is_none_or(|it| !it.1.will_wake(cx.waker())) {
            self.give_up();
            let waker = cx.waker().clone();
            let (key, is_next) = self.driver.turns.wait(self.at, waker.clone());
            self.waits = Some((key, waker));
            if is_next {
                self.driver.come_sooner();
            }
        }
        Poll::Pending
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.give_up();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn those_whose_time_has_come_are_woken_once_and_none_who_has_given_up() {
        let (turns, count) = (Turns::default(), Arc::new(Count::default()));
        let woken = || count.0.load(Ordering::Relaxed);
        let at = Time::from_millis;
        let wait = |time| turns.wait(at(time), Waker::from(Arc::clone(&count)));
        assert_eq!(turns.next(), Time::MAX);
        let (late, first) = wait(30);
        assert!(first && wait(10).1 && !wait(10).1 && !wait(20).1);
        assert_eq!(turns.next(), at(10));
        turns.turn(at(9));
        assert_eq!(woken(), 0);
        turns.turn(at(10));
        assert_eq!((woken(), turns.next()), (2, at(20)));
        turns.forget(late);
        turns.turn(at(40));
        assert_eq!((woken(), turns.next()), (3, Time::MAX));
        assert_eq!(Arc::strong_count(&count), 1);
    }
}
