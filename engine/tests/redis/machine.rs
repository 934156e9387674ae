//! What the machine takes from the processes of a test: time in which a thread that was ready to run waited for a processor, or in
//! which nothing ran. How long something took is held to a bound without it, so that the bound is one on what the product does.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::ops::RangeInclusive;
use std::sync::{Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

/// How often it is looked at.
const EVERY: Duration = Duration::from_millis(100);

/// So far back it is known.
const KEPT: Duration = Duration::from_secs(120);

/// A sign of life that came so long before a moment, or what was to send it, may count for what is seen after it.
const BEFORE: Duration = Duration::from_secs(2);

#[derive(Default)]
struct Machine {
    /// When it was looked at, and all that it had taken by then.
    looks: VecDeque<(Instant, Duration)>,
    /// By thread: for how long it has waited for a processor so far, in ns.
    waited: HashMap<String, u64>,
}

static MACHINE: Mutex<Option<Machine>> = Mutex::new(None);

/// Looks from now on.
#[expect(clippy::disallowed_methods, reason = "looks on while processes run")]
pub(crate) fn watch() {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        look();
        std::thread::spawn(|| {
            loop {
                std::thread::sleep(EVERY);
                look();
            }
        });
    });
}

#[expect(clippy::disallowed_methods, reason = "measures how long real processes take")]
fn look() {
    let mut machine = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let machine = machine.get_or_insert_default();
    let waited: HashMap<String, u64> = processes().flat_map(threads).collect();
    let more =
        |(thread, all): (&String, &u64)| Some(all.saturating_sub(*machine.waited.get(thread)?));
    let longest = Duration::from_nanos(waited.iter().filter_map(more).max().unwrap_or(0));
    machine.waited = waited;
    let now = Instant::now();
    let (last, all) = machine.looks.back().copied().unwrap_or((now, Duration::ZERO));
    let passed = now - last;
    // That this was late itself says so, too.
    let taken = longest.max(passed.saturating_sub(2 * EVERY)).min(passed);
    machine.looks.push_back((now, all + taken));
    while machine.looks.front().is_some_and(|it| it.0 + KEPT < now) {
        machine.looks.pop_front();
    }
}

/// What it has taken since a moment.
fn taken_since(moment: Instant) -> Duration {
    look();
    let machine = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let looks = machine.iter().flat_map(|it| &it.looks);
    let before = looks.clone().take_while(|it| it.0 <= moment).last().or(looks.clone().next());
    let all = |it: Option<&(Instant, Duration)>| it.map_or(Duration::ZERO, |it| it.1);
    all(looks.last()) - all(before)
}

/// This process and those it has started.
fn processes() -> impl Iterator<Item = u32> {
    let me = std::process::id();
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let all = all.filter_map(|it| it.file_name().to_str()?.parse::<u32>().ok());
    let parent = |id: u32| {
        let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // Behind the name, which may have anything in it, and the state.
        text.rsplit_once(')')?.1.split(' ').nth(2)?.parse::<u32>().ok()
    };
    all.filter(move |&it| it == me || parent(it) == Some(me))
}

/// The threads of a process, and for how long each has waited for a processor so far, in ns.
fn threads(process: u32) -> Vec<(String, u64)> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let waited = tasks.filter_map(|task| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        Some((task.path().display().to_string(), text.split(' ').nth(1)?.parse().ok()?))
    });
    waited.collect()
}

/// A moment from which on it is measured how long something takes.
#[derive(Clone, Copy)]
pub(crate) struct Since(Instant);

#[expect(clippy::disallowed_methods, reason = "measures how long real processes take")]
pub(crate) fn now() -> Since {
    watch();
    Since(Instant::now())
}

impl Since {
    /// It has been so many ms: no more without what the machine took, and no less with what it took from a little earlier on.
    #[expect(clippy::disallowed_methods, reason = "measures how long real processes take")]
    pub(crate) fn within(&self, bounds: &RangeInclusive<u128>) {
        let passed = self.0.elapsed();
        let late = taken_since(self.0);
        let early = taken_since(self.0.checked_sub(BEFORE).unwrap_or(self.0));
        let (least, most) = (passed.saturating_sub(late).as_millis(), (passed + early).as_millis());
        assert!(
            least <= *bounds.end() && most >= *bounds.start(),
            "{} ms, of which the machine took {}, and not {bounds:?} ms",
            passed.as_millis(),
            late.as_millis()
        );
    }
}
