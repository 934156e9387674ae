//! What a script has done so far: a step that ends what was never begun is a slip.

use std::collections::{BTreeMap, BTreeSet};

use super::super::fields::nearest;
use super::super::write::secs;
use super::super::{Kind, Scenario, Stands, Step, Verb};

/// What stands and what is the matter with whom. Who has been paused, cut, stalled and the like is
/// until the script ends it in so many words, whatever happens meanwhile.
#[derive(Debug)]
pub(super) struct Course<'a> {
    kind: Kind,
    /// Nodes that run.
    running: BTreeSet<&'a str>,
    /// Whether the nodes share a store, so that its data can be lost while they stand.
    shares: bool,
    /// (verb that begins it, whom it concerns).
    states: BTreeSet<(&'static str, &'a str)>,
    /// When each connection began that has a name of its own.
    conns: BTreeMap<&'a str, u64>,
    asks: BTreeSet<&'a str>,
    /// Since when each node is dead, each machine asleep and each page gone.
    dead: BTreeMap<&'a str, u64>,
    asleep: BTreeMap<&'a str, u64>,
    gone: BTreeMap<&'a str, u64>,
}

/// What a node, watcher or client is until it is no more: (verb that begins it, verb that ends it,
/// what it is).
const STATES: [(&str, &str, &str); 9] = [
    ("pause", "resume", "paused"),
    ("cut", "heal", "cut off"),
    ("stall", "unstall", "stalled"),
    ("hide", "show", "hidden"),
    ("offline", "online", "offline"),
    ("freeze", "thaw", "frozen"),
    ("sleep", "wake", "asleep"),
    ("cache_in", "cache_out", "in the page cache"),
    ("blackhole", "clear", "in a black hole"),
];

impl<'a> Course<'a> {
    pub(super) fn of(scenario: &'a Scenario) -> Self {
        Self {
            kind: scenario.kind,
            running: scenario.nodes.iter().map(|it| &**it).collect(),
            shares: scenario.nodes.len() > 1,
            states: BTreeSet::new(),
            conns: BTreeMap::new(),
            asks: BTreeSet::new(),
            dead: BTreeMap::new(),
            asleep: BTreeMap::new(),
            gone: BTreeMap::new(),
        }
    }

    /// A step is played; tells why it would do nothing, or something else than it says.
    pub(super) fn take(&mut self, step: &'a Step) -> Result<(), String> {
        let (key, name) = super::head(&step.verb);
        if let Some((begins, ..)) = STATES.iter().find(|it| it.0 == key) {
            self.states.insert((begins, name));
        }
        if let Some((begins, _, what)) = STATES.iter().find(|it| it.1 == key)
            && !self.states.remove(&(*begins, name))
        {
            return Err(format!("\"{name}\" is not {what}: `{begins}` comes before"));
        }
        match &step.verb {
            Verb::Kill { node } => {
                self.running.remove(&**node);
                if let Some(since) = self.dead.insert(node, step.at) {
                    return Err(again(node, "dead", since, "start"));
                }
            }
            Verb::Drain { node } => _ = self.running.remove(&**node),
            Verb::Start { node, empty } => {
                self.dead.remove(&**node);
                let stood = !self.running.insert(node);
                let loses = *empty && self.shares;
                if stood && !loses {
                    return Err(format!("\"{node}\" runs: `kill` or `drain` comes before"));
                }
            }
            Verb::Store { stands: Stands::Down | Stands::Still } => {
                _ = self.states.insert(("store", ""));
            }
            Verb::Store { stands: Stands::Up } if !self.states.remove(&("store", "")) => {
                return Err("the store is up: `store`: \"down\" or \"still\" comes before".into());
            }
            Verb::Connect { user, session, conn, .. } if !is_session(conn, user, session) => {
                if let Some(before) = self.conns.insert(conn, step.at) {
                    return Err(format!(
                        "a connection \"{conn}\" begins at {} s already: give this one a name of \
                         its own in `conn`",
                        secs(before)
                    ));
                }
            }
            Verb::Ask { name, since, .. } => {
                if let Some(since) = since.as_ref().filter(|it| !self.asks.contains(&***it)) {
                    let known: Vec<&str> = self.asks.iter().copied().collect();
                    let near = match &known[..] {
                        [] => "there is none before".into(),
                        known => nearest(since, known),
                    };
                    return Err(format!("`since` names no earlier ask \"{since}\"; {near}"));
                }
                self.asks.insert(name);
            }
            Verb::Mute { until, .. }
            | Verb::Hold { until, .. }
            | Verb::Refuse { until, .. }
            | Verb::LoseAnswers { until, .. }
                if *until <= step.at =>
            {
                return Err(format!(
                    "`until`, {} s, is not after the step, at {} s: it would be over at once",
                    secs(*until),
                    secs(step.at)
                ));
            }
            Verb::Input { client, .. } if self.gone.contains_key(&**client) => {
                return Err(format!(
                    "the page of \"{client}\" has left at {} s, and has no input: `open` comes before",
                    secs(self.gone[&**client])
                ));
            }
            Verb::LeavePage { client } => _ = self.gone.insert(client, step.at),
            Verb::Asleep { client, asleep: true } => {
                if let Some(since) = self.asleep.insert(client, step.at) {
                    return Err(again(client, "asleep", since, "wake"));
                }
            }
            Verb::Asleep { client, asleep: false } => _ = self.asleep.remove(&**client),
            Verb::Input { per_second, until, .. } if *per_second > 0.0 && *until < step.at => {
                return Err(format!(
                    "`until`, {} s, is before the step, at {} s: there would be no input",
                    secs(*until),
                    secs(step.at)
                ));
            }
            Verb::Open { twin_of: Some(twin), client, .. } if self.kind == Kind::World => {
                if !self.conns.contains_key(&**twin) {
                    return Err(format!(
                        "`twin_of` names no client \"{twin}\" that is open before"
                    ));
                }
                self.opens(client, step.at);
            }
            Verb::Open { client, .. } => self.opens(client, step.at),
            _ => {}
        }
        Ok(())
    }

    fn opens(&mut self, client: &'a str, at: u64) {
        self.conns.insert(client, at);
        // On a machine that is awake.
        self.asleep.remove(client);
        self.gone.remove(client);
    }
}

/// What begins what stands.
fn again(name: &str, what: &str, since: u64, ends: &str) -> String {
    format!("\"{name}\" is {what} since {} s already: `{ends}` comes before", secs(since))
}

/// Whether a connection goes by its session's name, as one does that has no `conn`.
fn is_session(conn: &str, user: &str, session: &str) -> bool {
    conn.strip_prefix(user).and_then(|it| it.strip_prefix('/')) == Some(session)
}
