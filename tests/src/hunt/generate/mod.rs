//! From a seed to a world: a list of ordinary steps, so that any world is a scenario file.

mod devices;
mod draft;
mod heal;
mod nodes;
mod raws;
mod settings;

use self::draft::{Draft, MODES, NodeDraft, WATCHERS, WatcherDraft};
pub(super) use self::heal::quiet_after;
use super::Plan;
use crate::file::{Kind, Scenario, Verb};
use crate::world::rng::Rng;

/// Sets the second source of chance apart from the first.
const MORE: u64 = 0x6d6f_7265;

/// Sets the source of what apps choose apart from both.
const CHOICES: u64 = 0x6368_6f69;

/// No world's script is longer than this, in ms.
const LONGEST: u64 = 240_000;

/// The world of a seed.
pub fn world(seed: u64) -> Plan {
    let mut rng = Rng::new(seed);
    let kind = if rng.one_in(2) { Kind::Engine } else { Kind::World };
    let mut settings = settings::settings(&mut rng, kind);
    let nodes = if rng.one_in(2) { 1 } else { 2 + rng.below(3) };
    settings.thin = rng.one_in(3);
    let jitter = if settings.latency > 0 && rng.one_in(2) { 1 + settings.latency } else { 0 };
    let watchers = if kind == Kind::Engine { 1 + rng.below(3) } else { rng.below(3) };
    let users = 1 + rng.below(4);
    let rooms = rng.one_in(2);
    if rooms && rng.one_in(2) {
        settings.engine.room_limit = 1 + rng.below(2);
    }
    let blocks = rng.one_in(2);
    // Apart, so that a world without any of these is the same as if there were none.
    let mut more = Rng::new(seed ^ MORE);
    settings::crowds(&mut more, &mut settings);
    settings.engine.reciprocal = more.one_in(4);
    let twins = more.one_in(4);
    let owns = more.one_in(4);
    let mut choices = Rng::new(seed ^ CHOICES);
    let choices = choices.one_in(4).then_some(choices);
    let mut draft = Draft {
        kind,
        settings,
        nodes: (1..=nodes)
            .map(|it| NodeDraft { name: format!("N{it}"), up: true, paused: false, cut: false })
            .collect(),
        users,
        watchers: WATCHERS[..watchers]
            .iter()
            .map(|name| WatcherDraft {
                name,
                watched: Vec::new(),
                stalled: false,
                asked: None,
                lost: true,
                token_until: None,
                node: 0,
            })
            .collect(),
        raws: Vec::new(),
        devices: Vec::new(),
        steps: Vec::new(),
        now: 0,
        busy_until: 0,
        conns: 0,
        asks: 0,
        rooms,
        blocks,
        twins,
        owns,
        choices,
        down: false,
        rng,
        more,
    };
    draft.begin();
    let many = 4 + draft.rng.below(36);
    while draft.steps.len() < many && draft.now < LONGEST {
        draft.pass();
        draft.any_step();
    }
    let until = draft.heal();
    let scenario = Scenario {
        case: format!("hunt-{seed}"),
        title: format!("The world of seed {seed}"),
        kind,
        settings: draft.settings,
        nodes: draft.nodes.into_iter().map(|it| it.name).collect(),
        steps: draft.steps,
        until,
        slack: 1_000,
        expects: Vec::new(),
        expect_line: 0,
    };
    Plan { scenario, seed, jitter }
}

impl Draft {
    fn begin(&mut self) {
        for watcher in 0..self.watchers.len() {
            if !self.rng.one_in(3) {
                self.watch(watcher);
            }
        }
        for _ in 0..1 + self.rng.below(3) {
            match self.kind {
                Kind::Engine => self.connect(),
                _ => self.open(),
            }
        }
    }

    fn any_step(&mut self) {
        if self.rng.one_in(3) {
            self.common_step();
        } else if self.kind == Kind::Engine {
            self.raw_step();
        } else {
            self.device_step();
        }
    }

    /// Steps for both kinds.
    fn common_step(&mut self) {
        match self.rng.below(32) {
            0..=4 => self.mode(),
            5..=11 => self.watcher_step(),
            12 => self.revoke(),
            13..=19 if self.blocks => self.block(),
            20 => self.note(),
            21..=23 => self.read(),
            _ => self.node_step(),
        }
    }

    /// A user hides from somebody who may look, or shows itself again.
    fn block(&mut self) {
        if !self.any_runs() {
            return;
        }
        let user = self.user();
        let viewer = match self.watchers.len() {
            0 => self.user(),
            many if self.kind == Kind::Engine || self.rng.one_in(2) => {
                WATCHERS[self.rng.below(many)].to_owned()
            }
            _ => self.user(),
        };
        let blocked = !self.rng.one_in(3);
        if user != viewer {
            self.step(Verb::Block { user, viewer, blocked });
        }
    }

    /// A watcher asks, goes on from what it was told before, or has those listed that are there.
    fn read(&mut self) {
        if self.watchers.is_empty() || self.nodes.iter().any(|it| it.paused) || !self.any_runs() {
            return;
        }
        self.asks += 1;
        let name = format!("a{}", self.asks);
        let watcher = self.rng.below(self.watchers.len());
        let who = self.watchers[watcher].name.to_owned();
        if self.kind == Kind::Engine && self.rng.one_in(4) {
            return self.step(Verb::List { watcher: who, name });
        }
        let before = self.watchers[watcher].asked.clone().filter(|_| !self.rng.one_in(3));
        let (since, users) = match before {
            Some((before, users)) => (Some(before), users),
            None => (None, self.some_users()),
        };
        self.watchers[watcher].asked = Some((name.clone(), users.clone()));
        self.step(Verb::Ask { watcher: who, users, name, since, repeat: 1, every: 0 });
    }

    fn note(&mut self) {
        if self.any_runs() {
            let user = self.user();
            let note = ["lunch", "back at 3", ""][self.rng.below(3)].to_owned();
            self.step(Verb::Note { user, note });
        }
    }

    fn mode(&mut self) {
        if !self.any_runs() {
            return;
        }
        let mode = MODES[self.rng.below(MODES.len())];
        let user = self.user();
        self.step(Verb::Mode { user, mode });
    }

    fn revoke(&mut self) {
        if self.any_runs() && self.rng.one_in(2) {
            let user = self.user();
            self.step(Verb::Revoke { user });
        }
    }

    fn watcher_step(&mut self) {
        if self.watchers.is_empty() {
            return;
        }
        let watcher = self.rng.below(self.watchers.len());
        let name = self.watchers[watcher].name.to_owned();
        match self.rng.below(8) {
            0..=3 => self.watch(watcher),
            // Without a connection there is nothing to end and nothing to leave unread.
            _ if self.watchers[watcher].lost => {}
            4 if !self.watchers[watcher].watched.is_empty() => {
                let many = self.watchers[watcher].watched.len();
                let user = self.watchers[watcher].watched.remove(self.rng.below(many));
                self.step(Verb::Unwatch { watcher: name, users: vec![user] });
            }
            4 => self.step(Verb::Renew { watcher: name }),
            5 => {
                self.watchers[watcher].watched.clear();
                self.watchers[watcher].lost = true;
                self.step(Verb::Hangup { watcher: name });
            }
            _ => {
                let stalled = !self.watchers[watcher].stalled;
                self.watchers[watcher].stalled = stalled;
                self.step(Verb::Stall { watcher: name, stalled });
            }
        }
    }

    /// The watcher watches those of some users that it does not watch yet, or now and then all of them.
    fn watch(&mut self, watcher: usize) {
        let mut users = self.some_users();
        let again = self.rng.one_in(8);
        let row = &mut self.watchers[watcher];
        users.retain(|it| again || !row.watched.contains(it));
        if users.is_empty() {
            return;
        }
        row.watched.extend(users.iter().cloned());
        self.watch_these(watcher, users);
    }

    pub(super) fn watch_these(&mut self, watcher: usize, users: Vec<String>) {
        let mut token_until = None;
        if self.watchers[watcher].lost {
            self.watchers[watcher].lost = false;
            self.watchers[watcher].stalled = false;
            self.watchers[watcher].node = self.some_node();
            token_until = self.rng.one_in(8).then(|| self.now + 500 * self.rng.below(80) as u64);
            self.watchers[watcher].token_until = token_until;
        }
        let node = self.named(self.watchers[watcher].node);
        let watcher = self.watchers[watcher].name.to_owned();
        self.step(Verb::Watch { watcher, users, node, token_until });
    }
}
