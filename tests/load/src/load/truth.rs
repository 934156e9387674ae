//! What the clients of one process really did, and what they saw.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use greendot_protocol::{Mode, State};

use super::{EXAMPLES, Outcome, Plan};

/// Who was offline this lately may still be seen so.
const LATE: Duration = Duration::from_secs(10);

/// Latencies that are kept of each kind: enough for percentiles.
const KEPT: usize = 2_000_000;

#[derive(Debug)]
pub(super) struct Truth {
    worker: usize,
    inner: Mutex<Inner>,
    arrived: AtomicUsize,
    begun: AtomicBool,
    ended: AtomicBool,
}

#[derive(Debug, Default)]
struct Inner {
    users: Vec<User>,
    /// What each client sees, by the user's number; none while it is not connected.
    views: Vec<Option<HashMap<usize, State>>>,
    outcome: Outcome,
}

#[derive(Clone, Debug)]
struct User {
    mode: Mode,
    there: bool,
    /// When it last became what it is.
    changed: Instant,
    /// When it was offline last.
    offline: Instant,
    /// Since when its line has been cut, if that is why it is not there.
    cut: Option<Instant>,
}

impl User {
    fn state(&self) -> State {
        match (self.there, self.mode) {
            (false, _) | (_, Mode::Invisible) => State::Offline,
            (_, Mode::Auto) => State::Online,
            (_, Mode::Away) => State::Away,
            (_, Mode::Busy) => State::Busy,
            (_, Mode::Dnd) => State::Dnd,
        }
    }
}

impl Truth {
    pub(super) fn new(plan: &Plan) -> Self {
        let now = Instant::now();
        let nobody = User { mode: Mode::Auto, there: false, changed: now, offline: now, cut: None };
        Self {
            worker: plan.worker,
            inner: Mutex::new(Inner {
                users: vec![nobody; plan.clients],
                views: vec![None; plan.clients],
                outcome: Outcome::default(),
            }),
            arrived: AtomicUsize::new(0),
            begun: AtomicBool::new(false),
            ended: AtomicBool::new(false),
        }
    }

    pub(super) fn name(&self, user: usize) -> String {
        format!("w{}-{user}", self.worker)
    }

    pub(super) fn arrive(&self) {
        self.arrived.fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn arrived(&self) -> usize {
        self.arrived.load(Ordering::SeqCst)
    }

    pub(super) fn begin(&self) {
        self.begun.store(true, Ordering::SeqCst);
    }

    pub(super) fn end(&self) {
        self.ended.store(true, Ordering::SeqCst);
    }

    /// Whether clients are to do something now.
    pub(super) fn is_lively(&self) -> bool {
        self.begun.load(Ordering::SeqCst) && !self.has_ended()
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    /// The user does this, right now.
    pub(super) fn does(&self, user: usize, mode: Option<Mode>, there: bool) {
        let mut inner = self.lock();
        let row = &mut inner.users[user];
        let before = row.state();
        row.mode = mode.unwrap_or(row.mode);
        row.there = there;
        row.cut = None;
        let now = Instant::now();
        if before == State::Offline || row.state() == State::Offline {
            row.offline = now;
        }
        if row.state() != before {
            row.changed = now;
        }
    }

    /// The user's line is cut, right now.
    pub(super) fn is_cut(&self, user: usize) {
        self.does(user, None, false);
        self.lock().users[user].cut = Some(Instant::now());
    }

    pub(super) fn mode(&self, user: usize) -> Mode {
        self.lock().users[user].mode
    }

    /// A client hears how a user stands; not `timely`, if it did not read for a while.
    pub(super) fn hears(&self, client: usize, user: usize, state: State, timely: bool) {
        let mut inner = self.lock();
        let row = inner.users[user].clone();
        if let Some(view) = &mut inner.views[client] {
            view.insert(user, state);
        }
        if !timely {
            return;
        }
        if let Some(cut) = row.cut.filter(|_| state == State::Offline) {
            push(&mut inner.outcome.cuts, cut.elapsed().as_micros() as u64);
        } else if state == row.state() {
            let took = row.changed.elapsed().as_micros() as u64;
            push(&mut inner.outcome.deliveries, took);
        } else if state == State::Offline && row.offline.elapsed() > LATE {
            inner.outcome.flaps += 1;
        }
    }

    /// A client is shown how those stand whom it watches; who is not listed is offline.
    pub(super) fn shown(&self, client: usize, watched: &[usize], listed: &[(usize, State)]) {
        let mut view: HashMap<usize, State> =
            watched.iter().map(|&user| (user, State::Offline)).collect();
        view.extend(listed.iter().copied());
        self.lock().views[client] = Some(view);
    }

    /// A client sees nothing any more.
    pub(super) fn blind(&self, client: usize) {
        self.lock().views[client] = None;
    }

    pub(super) fn connected(&self, took: Duration) {
        push(&mut self.lock().outcome.connects, took.as_micros() as u64);
    }

    pub(super) fn beaten(&self, took: Duration) {
        push(&mut self.lock().outcome.beats, took.as_micros() as u64);
    }

    pub(super) fn acted(&self, what: usize) {
        self.lock().outcome.actions[what] += 1;
    }

    pub(super) fn broke(&self, client: usize, how: &str) {
        let text = format!("{}: {how}", self.name(client));
        let broken = &mut self.lock().outcome.broken;
        if broken.len() < EXAMPLES {
            broken.push(text);
        }
    }

    /// Holds every view against what is true.
    pub(super) fn outcome(&self) -> Outcome {
        let mut inner = self.lock();
        let mut outcome = std::mem::take(&mut inner.outcome);
        for (client, view) in inner.views.iter().enumerate() {
            for (&user, &seen) in view.iter().flatten() {
                outcome.views += 1;
                let is = inner.users[user].state();
                if seen != is && outcome.wrong.len() < EXAMPLES {
                    let (who, whom) = (self.name(client), self.name(user));
                    outcome.wrong.push(format!(
                        "{who} sees {whom} {}, who is {}",
                        seen.name(),
                        is.name()
                    ));
                }
            }
        }
        outcome
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn push(kept: &mut Vec<u64>, micros: u64) {
    if kept.len() < KEPT {
        kept.push(micros);
    }
}
