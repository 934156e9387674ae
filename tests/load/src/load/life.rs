//! One client's life: what the person and the network do to it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use greendot_client::core::{Client, LinkState};
use greendot_protocol::{Mode, State};
use tokio::sync::{Semaphore, watch};
use tokio::time::sleep_until;

use super::Phase;
use super::line::{Line, Note};
use super::outcome::Action;
use super::plan::Plan;
use super::truth::Truth;
use crate::random::Random;

/// How long a slow reader stands still.
const STALL: Duration = Duration::from_secs(20);
/// How often.
const STALLS: Duration = Duration::from_secs(50);
/// So long after a client's line or the client itself was in trouble a connection may be lost for it: an answer is waited
/// for one round more.
const AFTERMATH: Duration = Duration::from_secs(15);

struct Life {
    plan: Arc<Plan>,
    number: usize,
    truth: Arc<Truth>,
    watched: Vec<usize>,
    random: Random,
    line: Line,
    away: Option<Away>,
    /// While it stands still: nothing is read, no timer fires.
    still_until: Option<Instant>,
    /// Since when its view has been good.
    good_since: Instant,
    /// Until then a lost connection is no surprise.
    excused_until: Instant,
    arrived: bool,
}

/// Why it is not there, and until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Away {
    /// It has said goodbye.
    Gone(Instant),
    /// Nothing gets through.
    Cut(Instant),
}

/// Connects when it is its turn, and lives until it is aborted.
pub(super) async fn live(
    plan: Arc<Plan>,
    number: usize,
    truth: Arc<Truth>,
    dials: Arc<Semaphore>,
    phases: watch::Receiver<Phase>,
) {
    let mut random =
        Random::new(plan.seed ^ ((plan.worker as u64 + 1) << 32 | (number as u64 + 1) << 1));
    let watched = (0..plan.watches).map(|_| random.below(plan.clients as u64) as usize);
    let mut watched: Vec<usize> = watched.filter(|&it| it != number).collect();
    watched.sort_unstable();
    watched.dedup();
    let names: Vec<String> = watched.iter().map(|&it| truth.name(it)).collect();
    // Each has its own order of servers, as a list that was shuffled.
    let mut ports = plan.ports.clone();
    random.shuffle(&mut ports);
    if let Ok(turn) = dials.acquire().await {
        turn.forget();
    }
    let line = Line::new(&truth.name(number), &names, &ports, plan.address(), random.next());
    let mut life = Life {
        plan,
        number,
        truth,
        watched,
        random,
        line,
        away: None,
        still_until: None,
        good_since: Instant::now(),
        excused_until: Instant::now(),
        arrived: false,
    };
    life.line.tell(Client::connect).await;
    life.run(phases).await;
}

impl Life {
    async fn run(&mut self, mut phases: watch::Receiver<Phase>) {
        let mut act_at = self.next_action();
        let mut stall_at = Instant::now() + self.up_to(STALLS);
        loop {
            // First: what has come about so far was before anything that is done now.
            self.look().await;
            let now = Instant::now();
            let lively = *phases.borrow() == Phase::Lively;
            if lively && self.away.is_some_and(|it| now >= it.until()) {
                self.come_back().await;
            }
            if self.still_until.take_if(|it| now >= *it).is_some() {
                self.excused_until = now + AFTERMATH;
            }
            if now >= act_at {
                act_at = self.next_action();
                if lively && self.away.is_none() && self.still_until.is_none() {
                    self.act().await;
                }
            }
            if now >= stall_at {
                stall_at = now + STALLS;
                if lively && self.away.is_none() && self.is_slow() {
                    self.still_until = Some(now + STALL);
                    self.line.forget_beat();
                }
            }
            self.look().await;
            let mut wake = act_at;
            if self.is_slow() {
                wake = wake.min(stall_at);
            }
            if let Some(until) = self.away.filter(|_| lively).map(Away::until) {
                wake = wake.min(until);
            }
            if let Some(until) = self.still_until {
                wake = wake.min(until);
            }
            let still = self.still_until.is_some();
            tokio::select! {
                event = self.line.wait(), if !still => self.line.handle(event).await,
                () = sleep_until(wake.into()) => {}
                changed = phases.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    if *phases.borrow_and_update() == Phase::Judging {
                        self.judge();
                    }
                }
            }
        }
    }

    /// Does something.
    async fn act(&mut self) {
        if self.plan.cut_one_in > 0 && self.random.below(self.plan.cut_one_in as u64) == 0 {
            self.truth.acted(Action::Cut);
            // Half of them are over before anybody else notices.
            let lasts = match self.random.below(2) {
                0 => Duration::from_secs(1) + self.up_to(Duration::from_secs(29)),
                _ => self.plan.periods.ttl + self.up_to(Duration::from_secs(30)),
            };
            self.cut(lasts);
            return;
        }
        match self.random.below(10) {
            0..6 => {
                const MODES: [Mode; 5] =
                    [Mode::Auto, Mode::Away, Mode::Busy, Mode::Dnd, Mode::Invisible];
                let mode = MODES[(self.random.below(5)) as usize];
                self.truth.acted(Action::Change);
                self.truth.chooses(self.number, mode);
                self.line.tell(|it, now| it.set_mode(now, mode)).await;
            }
            6..8 => {
                self.truth.acted(Action::Return);
                self.truth.tell(self.number, "dropped", 0);
                self.truth.dropped(self.number);
                self.excused_until = Instant::now() + AFTERMATH;
                self.line.drop_connection();
                self.line.miss_connection().await;
            }
            8 => {
                self.truth.acted(Action::Vanish);
                self.truth.tell(self.number, "vanished", 0);
                self.truth.dropped(self.number);
                self.line.drop_connection();
                let lasts = self.plan.periods.grace + Duration::from_secs(5);
                let lasts = lasts + self.up_to(Duration::from_secs(10));
                self.cut(lasts);
            }
            _ => {
                self.truth.acted(Action::Goodbye);
                self.truth.leaves(self.number);
                self.line.tell(Client::sign_out).await;
                let lasts = Duration::from_secs(2) + self.up_to(Duration::from_secs(10));
                self.away = Some(Away::Gone(Instant::now() + lasts));
            }
        }
    }

    fn cut(&mut self, lasts: Duration) {
        self.truth.is_cut(self.number);
        self.line.cut();
        self.line.forget_beat();
        self.away = Some(Away::Cut(Instant::now() + lasts));
    }

    async fn come_back(&mut self) {
        match self.away.take() {
            Some(Away::Gone(_)) => {
                // The app remembers what the person chose; the client forgot it with the goodbye.
                let mode = self.truth.mode(self.number);
                self.line.tell(|it, now| it.set_mode(now, mode)).await;
                self.line.tell(Client::connect).await;
            }
            Some(Away::Cut(_)) => {
                self.truth.is_mended(self.number);
                self.excused_until = Instant::now() + AFTERMATH;
                self.line.mend().await;
                self.line.miss_connection().await;
            }
            None => {}
        }
    }

    /// Tells what has come about.
    async fn look(&mut self) {
        if self.line.is_stale() {
            self.good_since = Instant::now();
        }
        for note in self.line.notes() {
            match note {
                Note::Dialled(port) => self.truth.tell(self.number, "dialled", port),
                Note::Welcomed { hello, took } => {
                    self.truth.tell(self.number, "welcomed", 0);
                    self.truth.connected(took);
                    self.truth.proved(self.number, hello, self.line.node_is_alone());
                }
                Note::Beaten(sent) => {
                    self.truth.beaten(sent.elapsed());
                    self.truth.proved(self.number, sent, self.line.node_is_alone());
                }
                Note::Live if !self.arrived => {
                    self.arrived = true;
                    self.truth.arrive();
                }
                // What waited while it stood still, or its line was cut, is read late, and the newest of it last.
                Note::Changed(place) if !self.line.is_stale() && !self.is_excused() => {
                    let state = self.line.sees(place);
                    let user = self.watched[place];
                    self.truth.hears(self.number, user, state, self.good_since);
                }
                Note::Lost(code) if self.plan.unbroken && !self.is_excused() => {
                    self.truth.broke(self.number, code);
                }
                Note::Stopped(code) => {
                    self.truth.strays(self.number, &format!("was told not to come back ({code})"));
                }
                Note::Lost(code) => self.truth.tell(self.number, "lost", code),
                Note::Closed => {
                    self.truth.tell(self.number, "closed", 0);
                    self.truth.dropped(self.number);
                }
                Note::Refused(text) => self.truth.strays(self.number, &text),
                _ => {}
            }
        }
    }

    fn judge(&mut self) {
        if self.away.is_none() {
            let (own, chosen) = (self.line.mode(), self.truth.mode(self.number));
            if own != Some(chosen) {
                let how = format!("sees itself {own:?}, and chose {chosen:?}");
                self.truth.strays(self.number, &how);
            }
            if self.line.link() != LinkState::Live || self.line.is_stale() {
                let how = format!(
                    "is {:?}{}",
                    self.line.link(),
                    if self.line.is_stale() { " and stale" } else { "" }
                );
                self.truth.strays(self.number, &how);
            }
            let views: Vec<(usize, State)> = self
                .watched
                .iter()
                .enumerate()
                .map(|(place, &user)| (user, self.line.sees(place)))
                .collect();
            self.truth.judge(self.number, views.into_iter());
        }
        self.truth.is_judged();
    }

    /// Whether its line or it itself is in trouble, or was a moment ago.
    fn is_excused(&self) -> bool {
        self.away.is_some() || Instant::now() <= self.excused_until
    }

    /// Whether it stands still for long stretches.
    fn is_slow(&self) -> bool {
        self.plan.slow_one_in > 0 && self.number.is_multiple_of(self.plan.slow_one_in)
    }

    fn next_action(&mut self) -> Instant {
        Instant::now() + self.up_to(2 * self.plan.action_every)
    }

    fn up_to(&mut self, most: Duration) -> Duration {
        Duration::from_millis(self.random.below(most.as_millis().max(1) as u64))
    }
}

impl Away {
    fn until(self) -> Instant {
        match self {
            Self::Gone(until) | Self::Cut(until) => until,
        }
    }
}
