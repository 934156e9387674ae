//! Whether the machine lets servers, their Redis and the processes of clients run when they are to.
//!
//! Who waits for a processor answers late through no fault of its own: times run out, leases are renewed late, and what is seen
//! is as old as that. It counts like a store that is out of reach, and is told to the clients' processes so.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::stage::Stage;
use super::workers::{Word, Workers};

/// How often it is looked at.
const EVERY: Duration = Duration::from_secs(1);

/// A thread that has waited for a processor for this share of the time, though it was ready to run, is starved: of the
/// shortest times that anything is waited for (half a second, for a node's sign of life) that leaves half.
const STARVED: f64 = 0.25;

/// So long without starving, and what was late for it has come.
const FED: Duration = Duration::from_secs(10);

/// Of a time to settle in, this many times as long is waited for.
const PATIENCE: u32 = 4;

/// Looks after the machine.
#[derive(Debug)]
pub struct Vigil {
    looked: Instant,
    /// By thread: for how long it has waited for a processor so far, in ns.
    waited: HashMap<String, u64>,
    /// Whether anybody starves, as the clients' processes were told.
    starves: bool,
    fed_since: Instant,
    starved: Duration,
    most: f64,
}

impl Vigil {
    /// Looks from now on.
    pub fn start() -> Self {
        let now = Instant::now();
        Self {
            looked: now,
            waited: HashMap::new(),
            starves: false,
            fed_since: now,
            starved: Duration::ZERO,
            most: 0.0,
        }
    }

    /// Looks, if it is time to.
    ///
    /// # Errors
    ///
    /// If a process of clients has ended.
    pub(super) fn look(&mut self, stage: Option<&Stage>, workers: &mut Workers) -> io::Result<()> {
        let now = Instant::now();
        let passed = now - self.looked;
        if passed < EVERY {
            return Ok(());
        }
        self.looked = now;
        let pids = stage.into_iter().flat_map(Stage::pids).chain(workers.pids());
        let waited: HashMap<String, u64> = pids.flat_map(threads).collect();
        let more =
            |(thread, all): (&String, &u64)| all.saturating_sub(*self.waited.get(thread)?).into();
        let longest: u64 = waited.iter().filter_map(more).max().unwrap_or(0);
        self.waited = waited;
        let share = longest as f64 / passed.as_nanos() as f64;
        self.most = self.most.max(share);
        let starves = share >= STARVED;
        if starves {
            self.starved += passed;
            self.fed_since = now;
        }
        if starves != self.starves {
            self.starves = starves;
            workers.tell(if starves { Word::Starves } else { Word::Runs })?;
        }
        Ok(())
    }

    /// Lets so much time pass.
    ///
    /// # Errors
    ///
    /// If a process of clients has ended.
    pub fn rest(
        &mut self,
        stage: Option<&Stage>,
        workers: &mut Workers,
        lasts: Duration,
    ) -> io::Result<()> {
        let end = Instant::now() + lasts;
        while Instant::now() < end {
            self.look(stage, workers)?;
            sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Lets so much time pass in which nobody starves, the end of it in one piece.
    ///
    /// # Errors
    ///
    /// If the machine is too busy for that, and nothing can be said of what is seen on it; or a process of clients has ended.
    pub fn settle(
        &mut self,
        stage: Option<&Stage>,
        workers: &mut Workers,
        lasts: Duration,
    ) -> io::Result<()> {
        let (begun, before) = (Instant::now(), self.starved);
        loop {
            let now = Instant::now();
            let (all, starved) = (now - begun, self.starved - before);
            if all >= lasts + starved && now >= self.fed_since + FED.min(lasts) {
                return Ok(());
            }
            if all > lasts * PATIENCE {
                let text = format!(
                    "this machine is too busy to tell: for {} of {} s somebody waited for a processor",
                    starved.as_secs(),
                    all.as_secs()
                );
                return Err(io::Error::other(text));
            }
            self.look(stage, workers)?;
            sleep(Duration::from_millis(20));
        }
    }

    /// For people, of all the time since this was asked last.
    pub fn print(&mut self) {
        println!(
            "machine     {:.0} s in which a thread waited for a processor for {:.0} % of the time or more; at most {:.0} %",
            self.starved.as_secs_f64(),
            STARVED * 100.0,
            self.most * 100.0
        );
        (self.starved, self.most) = (Duration::ZERO, 0.0);
    }
}

/// The threads of a process, and for how long each has waited for a processor so far, in ns. None of one that is gone.
fn threads(pid: u32) -> Vec<(String, u64)> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let waited = tasks.filter_map(|task| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        let waited = text.split(' ').nth(1)?.parse().ok()?;
        Some((task.path().display().to_string(), waited))
    });
    waited.collect()
}
