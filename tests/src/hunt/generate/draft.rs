//! A world in the making: what stands, so that each step makes sense.

use greendot_protocol::Mode;

use crate::file::{FileSettings, Kind, Step, Verb};
use crate::world::rng::Rng;

/// Names that worlds draw from.
pub(super) const USERS: [&str; 4] = ["ana", "bo", "cy", "dee"];
pub(super) const WATCHERS: [&str; 3] = ["W", "X", "Y"];
pub(super) const ROOMS: [&str; 2] = ["r", "q"];
pub(super) const SESSIONS: [&str; 3] = ["s1", "s2", "s3"];

/// What users choose, the more interesting ones more often.
pub(super) const MODES: [Mode; 7] =
    [Mode::Auto, Mode::Auto, Mode::Invisible, Mode::Invisible, Mode::Away, Mode::Busy, Mode::Dnd];

/// A world in the making.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) rng: Rng,
    /// A second source of chance, for what only some worlds have.
    pub(super) more: Rng,
    pub(super) kind: Kind,
    pub(super) settings: FileSettings,
    pub(super) nodes: Vec<NodeDraft>,
    pub(super) users: usize,
    pub(super) watchers: Vec<WatcherDraft>,
    pub(super) raws: Vec<RawDraft>,
    pub(super) devices: Vec<DeviceDraft>,
    pub(super) steps: Vec<Step>,
    pub(super) now: u64,
    /// When everything that was named with an end is over.
    pub(super) busy_until: u64,
    pub(super) conns: usize,
    pub(super) asks: usize,
    /// Whether anybody goes into rooms, and hides from others.
    pub(super) rooms: bool,
    pub(super) blocks: bool,
    /// Whether tabs are copied.
    pub(super) twins: bool,
    /// Whether connections ask to be told of their user's sessions.
    pub(super) owns: bool,
    /// A source of chance for what apps choose of how their users appear, where any does.
    pub(super) choices: Option<Rng>,
    /// The store answers nothing.
    pub(super) down: bool,
}

#[derive(Debug)]
pub(super) struct NodeDraft {
    pub(super) name: String,
    pub(super) up: bool,
    pub(super) paused: bool,
    pub(super) cut: bool,
}

#[derive(Debug)]
pub(super) struct WatcherDraft {
    pub(super) name: &'static str,
    pub(super) watched: Vec<String>,
    pub(super) stalled: bool,
    /// The last ask: its name, and about whom.
    pub(super) asked: Option<(String, Vec<String>)>,
    /// It has no connection: never had, hung up, or lost it with its node.
    pub(super) lost: bool,
    /// When the token of its connection ends, if it does.
    pub(super) token_until: Option<u64>,
    pub(super) node: usize,
}

#[derive(Debug)]
pub(super) struct RawDraft {
    pub(super) name: String,
    pub(super) vanished: bool,
    pub(super) leaving: bool,
    pub(super) node: usize,
}

#[derive(Debug)]
pub(super) struct DeviceDraft {
    pub(super) name: String,
    /// What its page is kept from.
    pub(super) still: Still,
    pub(super) hidden: bool,
    pub(super) offline: bool,
    pub(super) blackholed: bool,
}

/// Whether a page's code runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Still {
    Runs,
    Gone,
    Frozen,
    Asleep,
    Cached,
}

impl Draft {
    /// Somebody goes into a room, or leaves it.
    pub(super) fn room(&mut self, who: String) {
        let room = ROOMS[usize::from(self.rng.one_in(4))].to_owned();
        let join = !self.rng.one_in(4);
        self.step(Verb::Room { who, room, join });
    }

    pub(super) fn step(&mut self, verb: Verb) {
        self.steps.push(Step { at: self.now, line: 0, verb });
    }

    pub(super) fn user(&mut self) -> String {
        let users = self.users;
        USERS[self.rng.below(users)].to_owned()
    }

    /// Some users, at least one, each once.
    pub(super) fn some_users(&mut self) -> Vec<String> {
        let (first, many) = (self.rng.below(self.users), 1 + self.rng.below(self.users));
        (0..many).map(|it| USERS[(first + it) % self.users].to_owned()).collect()
    }

    /// Time passes: often none, often just around a period's end.
    pub(super) fn pass(&mut self) {
        let engine = self.settings.engine;
        let period = |rng: &mut Rng| {
            let periods = [
                engine.grace,
                engine.ttl,
                engine.beat,
                engine.sweep,
                engine.tick,
                engine.expiry_grace,
                engine.idle_after,
            ];
            periods[rng.below(periods.len())].as_millis().min(90_000)
        };
        let sweep = engine.sweep.as_millis();
        self.now += match self.rng.below(20) {
            0..=4 => 0,
            5..=6 => 1 + self.rng.below(20) as u64,
            7..=11 => 100 * (1 + self.rng.below(20) as u64),
            12..=15 => 500 * (1 + self.rng.below(20) as u64),
            _ => {
                let off = [0, 1, sweep, 500][self.rng.below(4)];
                let period = period(&mut self.rng);
                if self.rng.one_in(2) { period + off } else { period.saturating_sub(off) }
            }
        };
    }

    /// A time from now on, for things that last.
    pub(super) fn until(&mut self) -> u64 {
        let longest = self.settings.engine.ttl.as_millis() * 2;
        let until = self.now + 500 * (1 + self.rng.below(longest as usize / 500)) as u64;
        self.busy_until = self.busy_until.max(until);
        until
    }

    /// A node to connect to: mostly one that stands.
    pub(super) fn some_node(&mut self) -> usize {
        let node = self.rng.below(self.nodes.len());
        if self.nodes[node].up || self.rng.one_in(4) {
            return node;
        }
        self.nodes.iter().position(|it| it.up).unwrap_or(node)
    }

    /// The node's name, where there are several to tell apart.
    pub(super) fn named(&self, node: usize) -> Option<String> {
        (self.nodes.len() > 1).then(|| self.nodes[node].name.clone())
    }

    /// Whether any node runs: what the application does is lost otherwise.
    pub(super) fn any_runs(&self) -> bool {
        self.nodes.iter().any(|it| it.up && !it.paused)
    }
}
