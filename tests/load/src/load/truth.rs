//! What the clients of one process really did, and what others may see of it.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use greendot_protocol::{Mode, State};

use super::outcome::{Action, Outcome};
use super::plan::{Periods, Plan};

/// Who was offline this lately may still be seen so: an event may be this late on a busy machine.
const LATE: Duration = Duration::from_secs(10);

/// By so long after the store works again all nodes have told it what they hold.
const REACHED: Duration = Duration::from_secs(5);

/// Latencies that are kept of each kind: enough for percentiles.
const KEPT: usize = 2_000_000;

/// So many steps of a client's story are kept.
const STORY: usize = 10;

#[derive(Debug)]
pub(super) struct Truth {
    worker: usize,
    periods: Periods,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    users: Vec<User>,
    outcome: Outcome,
    /// When they began to live: what went wrong is dated by that.
    began: Instant,
    /// Of any server, or of the store.
    faults: Faults,
    /// Of what the servers know: the store, where there is one.
    store: Faults,
    /// Of the machine, which does not let run who is ready to.
    machine: Faults,
    arrived: usize,
    judged: usize,
}

/// When something failed last, and whether it does now.
#[derive(Debug)]
struct Faults {
    open: usize,
    /// The beginning of the last stretch with any.
    began: Instant,
    /// Its end.
    over: Instant,
}

impl Faults {
    fn begin(&mut self) {
        if self.open == 0 {
            self.began = Instant::now();
        }
        self.open += 1;
    }

    fn end(&mut self) {
        self.open = self.open.saturating_sub(1);
        self.over = Instant::now();
    }

    /// Whether there is a fault, or was one less than this ago.
    fn is_felt(&self, now: Instant, after: Duration) -> bool {
        self.open > 0 || now < self.over + after
    }
}

#[derive(Clone, Debug)]
struct User {
    mode: Mode,
    /// When it last became what it is.
    changed: Instant,
    /// When it was last rightly offline for others.
    offline: Instant,
    /// It hid, and since when it has wanted to be seen again: until a server has heard of that it is hidden still.
    hid: Option<Instant>,
    /// It is there no more by its own word, or was not there yet.
    gone: bool,
    /// The last sign of life that the server is known to have had: when that was sent.
    proved: Instant,
    /// Its first connection since that ended at this moment, as its server saw.
    dropped: Option<Instant>,
    /// Since when nothing of it gets through.
    cut: Option<Instant>,
    /// What it went through lately, for people who look for a fault.
    story: VecDeque<(Instant, &'static str, u16)>,
}

impl Inner {
    /// When that is, for people who hold it against what failed when.
    fn time(&self, now: Instant) -> String {
        format!("{:.1} s", (now - self.began).as_secs_f64())
    }
}

impl User {
    fn state(&self) -> State {
        match self.mode {
            _ if self.gone || self.cut.is_some() => State::Offline,
            Mode::Invisible => State::Offline,
            Mode::Auto => State::Online,
            Mode::Away => State::Away,
            Mode::Busy => State::Busy,
            Mode::Dnd => State::Dnd,
        }
    }

    fn tell(&mut self, what: &'static str, number: u16) {
        if self.story.len() == STORY {
            self.story.pop_front();
        }
        self.story.push_back((Instant::now(), what, number));
    }

    /// What it went through, with how many seconds ago.
    fn story(&self, now: Instant) -> String {
        let step = |(at, what, number): &(Instant, &str, u16)| {
            format!("{what} {number} -{:.1}", now.saturating_duration_since(*at).as_secs_f64())
        };
        self.story.iter().map(step).collect::<Vec<_>>().join(", ")
    }

    /// Whether it is offline for others by its own word.
    fn is_hidden(&self) -> bool {
        self.gone || self.mode == Mode::Invisible || self.hid.is_some()
    }

    /// Whether a server that knows could end its last session by now: no sooner than last frame + ttl - beat, or grace
    /// after its connection ended.
    fn may_have_ended(&self, now: Instant, periods: Periods) -> bool {
        self.gone
            || now >= self.proved + periods.ttl.saturating_sub(periods.beat)
            || self.dropped.is_some_and(|at| now >= at + periods.grace)
    }
}

impl Truth {
    pub(super) fn new(plan: &Plan) -> Self {
        let now = Instant::now();
        let faults = || Faults { open: 0, began: now, over: now };
        let nobody = User {
            mode: Mode::Auto,
            changed: now,
            offline: now,
            hid: None,
            gone: true,
            proved: now,
            dropped: None,
            cut: None,
            story: VecDeque::new(),
        };
        Self {
            worker: plan.worker,
            periods: plan.periods,
            inner: Mutex::new(Inner {
                users: vec![nobody; plan.clients],
                outcome: Outcome::default(),
                began: now,
                faults: faults(),
                store: faults(),
                machine: faults(),
                arrived: 0,
                judged: 0,
            }),
        }
    }

    pub(super) fn name(&self, user: usize) -> String {
        format!("w{}-{user}", self.worker)
    }

    pub(super) fn arrived(&self) -> usize {
        self.lock().arrived
    }

    pub(super) fn arrive(&self) {
        self.lock().arrived += 1;
    }

    /// Clients begin to live.
    pub(super) fn begins(&self) {
        self.lock().began = Instant::now();
    }

    /// A server begins to fail, or the store.
    pub(super) fn fails(&self, store: bool) {
        let mut inner = self.lock();
        inner.faults.begin();
        if store {
            inner.store.begin();
        }
    }

    /// It is as it should be again.
    pub(super) fn works(&self, store: bool) {
        let mut inner = self.lock();
        inner.faults.end();
        if store {
            inner.store.end();
        }
    }

    /// Somebody waits for a processor, or nobody does any more.
    pub(super) fn starves(&self, does: bool) {
        let inner = &mut *self.lock();
        for faults in [&mut inner.faults, &mut inner.machine] {
            if does {
                faults.begin();
            } else {
                faults.end();
            }
        }
    }

    /// A step of the user's story.
    pub(super) fn tell(&self, user: usize, what: &'static str, number: u16) {
        self.lock().users[user].tell(what, number);
    }

    /// The user chooses, right now.
    pub(super) fn chooses(&self, user: usize, mode: Mode) {
        self.tell(user, "chose", mode as u16);
        self.becomes(user, |row| {
            if row.is_hidden() {
                row.hid = Some(Instant::now());
            }
            row.mode = mode;
        });
    }

    /// The user has said goodbye.
    pub(super) fn leaves(&self, user: usize) {
        self.tell(user, "left", 0);
        self.becomes(user, |row| row.gone = true);
    }

    /// The user's line is cut.
    pub(super) fn is_cut(&self, user: usize) {
        self.tell(user, "cut", 0);
        self.becomes(user, |row| row.cut = Some(Instant::now()));
    }

    /// The user's line is mended.
    pub(super) fn is_mended(&self, user: usize) {
        self.tell(user, "mended", 0);
        self.becomes(user, |row| row.cut = None);
    }

    /// A server sees the user's connection end.
    pub(super) fn dropped(&self, user: usize) {
        self.lock().users[user].dropped.get_or_insert_with(Instant::now);
    }

    /// A server has heard what the user sent then; `alone` if it does not reach the store.
    pub(super) fn proved(&self, user: usize, sent: Instant, alone: bool) {
        let periods = self.periods;
        let now = Instant::now();
        // While a node does not reach the store it alone knows; should it die, nobody does. One that waits for a processor tells
        // it late.
        let inner = self.lock();
        let felt = [&inner.store, &inner.machine].iter().any(|it| it.is_felt(now, REACHED));
        let told = !alone && !felt;
        drop(inner);
        self.becomes(user, |row| {
            if row.may_have_ended(now, periods) {
                row.offline = now;
            }
            row.gone = false;
            if told {
                row.hid.take_if(|it| *it <= sent);
                row.proved = row.proved.max(sent);
                row.dropped = None;
            }
        });
    }

    /// What is told of the user otherwise from now on.
    fn becomes(&self, user: usize, change: impl FnOnce(&mut User)) {
        let mut inner = self.lock();
        let row = &mut inner.users[user];
        let (before, hidden) = (row.state(), row.is_hidden());
        change(row);
        let now = Instant::now();
        if hidden || row.is_hidden() {
            row.offline = now;
        }
        if row.state() != before {
            row.changed = now;
        }
    }

    pub(super) fn mode(&self, user: usize) -> Mode {
        self.lock().users[user].mode
    }

    /// A client whose view is good, and has been since then, is shown a user otherwise.
    pub(super) fn hears(&self, client: usize, user: usize, state: State, good_since: Instant) {
        let (who, whom) = (self.name(client), self.name(user));
        let now = Instant::now();
        let periods = self.periods;
        let mut inner = self.lock();
        let row = inner.users[user].clone();
        if state == State::Unknown {
            // A store that has lost what it held warms up for ttl + grace (rule 12), and who comes back to it takes a while.
            if !inner.store.is_felt(now, periods.ttl + periods.grace + LATE) {
                let at = inner.time(now);
                inner.outcome.wronged(format!("{at}: {who} was shown {whom} unknown"));
            }
        } else if state == State::Offline && !row.is_hidden() {
            if row.may_have_ended(now, periods) {
                if let Some(cut) = row.cut {
                    push(&mut inner.outcome.cuts, (now - cut).as_micros() as u64);
                }
            } else {
                // What happened in a fault may be told after it.
                let faults = &inner.faults;
                let told_by = if faults.is_felt(now, LATE) { faults.began.min(now) } else { now };
                if row.offline + LATE < told_by {
                    let (at, ago) = (inner.time(now), (now - row.proved).as_millis());
                    inner.outcome.flapped(format!(
                        "{at}: {who} was shown {whom} offline, who was heard {ago} ms before: {}",
                        row.story(now)
                    ));
                }
            }
        }
        if state == row.state() && good_since < row.changed && row.cut.is_none() {
            push(&mut inner.outcome.deliveries, (now - row.changed).as_micros() as u64);
        }
    }

    pub(super) fn connected(&self, took: Duration) {
        push(&mut self.lock().outcome.connects, took.as_micros() as u64);
    }

    pub(super) fn beaten(&self, took: Duration) {
        push(&mut self.lock().outcome.beats, took.as_micros() as u64);
    }

    pub(super) fn acted(&self, what: Action) {
        self.lock().outcome.actions[what as usize] += 1;
    }

    /// A connection was lost that nobody meant to lose.
    pub(super) fn broke(&self, client: usize, code: u16) {
        let text = format!("{} lost its connection with {code}", self.name(client));
        self.lock().outcome.lost(text);
    }

    /// Something is wrong with a client itself.
    pub(super) fn strays(&self, client: usize, how: &str) {
        let mut inner = self.lock();
        let now = Instant::now();
        let (at, story) = (inner.time(now), inner.users[client].story(now));
        let who = self.name(client);
        inner.outcome.wronged(format!("{at}: {who} {how}: {story}"));
    }

    /// A client that is there tells how all those stand whom it watches.
    pub(super) fn judge(&self, client: usize, views: impl Iterator<Item = (usize, State)>) {
        let now = Instant::now();
        let mut inner = self.lock();
        for (user, seen) in views {
            inner.outcome.views += 1;
            let is = inner.users[user].state();
            if seen != is {
                let (who, whom) = (self.name(client), self.name(user));
                let (seen, is) = (seen.name(), is.name());
                let story = inner.users[user].story(now);
                inner.outcome.wronged(format!("{who} sees {whom} {seen}, who is {is}: {story}"));
            }
        }
    }

    /// A client has told all, or is not there.
    pub(super) fn is_judged(&self) {
        self.lock().judged += 1;
    }

    pub(super) fn judged(&self) -> usize {
        self.lock().judged
    }

    /// What came of it since this was asked last.
    pub(super) fn outcome(&self) -> Outcome {
        let mut inner = self.lock();
        inner.judged = 0;
        std::mem::take(&mut inner.outcome)
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
