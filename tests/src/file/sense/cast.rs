//! Everybody who appears in a script, and what is asked in it.

use std::collections::{BTreeMap, BTreeSet};

use super::super::fields::nearest;
use super::super::write::secs;
use super::super::{Expect, Kind, Scenario, Verb};

/// What a name must be the name of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Conn,
    Client,
    Watcher,
    /// A watcher, or somebody who only asks.
    Viewer,
    /// A client or a viewer.
    Reader,
    /// A client or a connection, that of a session too.
    Member,
    /// A session, by "user/session".
    Session,
    /// A client in kind `world`, a session in kind `engine`, or a node.
    Clock,
}

impl Role {
    pub(super) fn of_step(key: &str, kind: Kind) -> Option<Self> {
        Some(match key {
            "beat" | "idle" | "active" | "own" | "disown" | "bye" | "closing" | "drop"
            | "vanish" | "mute" => Self::Conn,
            "unwatch" | "hangup" | "stall" | "unstall" | "renew" => Self::Viewer,
            "room_join" | "room_leave" => Self::Member,
            "skew" => Self::Clock,
            "app_watch" | "app_unwatch" | "app_mode" | "app_connect" | "app_disconnect" | "on"
            | "sign_out" | "leave_page" | "before_unload" | "input" | "hide" | "show"
            | "freeze" | "thaw" | "sleep" | "wake" | "cache_in" | "cache_out" | "offline"
            | "online" | "blackhole" | "clear" | "reset" | "lose_answers"
                if kind == Kind::World =>
            {
                Self::Client
            }
            _ => return None,
        })
    }

    /// (what it is, how it comes to be)
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Conn => ("connection", "`connect`"),
            Self::Client => ("client", "`open`"),
            Self::Watcher => ("watcher", "`watch`"),
            Self::Viewer => ("watcher", "`watch` or `ask`"),
            Self::Reader => ("watcher or client", "`watch`, `ask` or `open`"),
            Self::Member => ("connection, session or client", "`connect` or `open`"),
            Self::Session => ("session", "`connect` or `open`"),
            Self::Clock => ("session, client or node", "`connect`, `open` or `nodes`"),
        }
    }
}

/// When somebody is there first, and by which step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entrance {
    at: u64,
    index: usize,
    line: usize,
}

/// Everybody who appears in the script.
#[derive(Debug, Default)]
pub(super) struct Cast<'a> {
    /// By role and name.
    entrances: BTreeMap<(u8, &'a str), Entrance>,
    /// Whom each watcher, and each client's app, ever watches.
    watched: BTreeMap<&'a str, BTreeSet<&'a str>>,
    /// Sessions that connect.
    sessions: BTreeMap<String, Entrance>,
    nodes: Vec<&'a str>,
    /// Whom each name of an ask has asked about.
    asked: BTreeMap<&'a str, BTreeSet<&'a str>>,
    lists: BTreeSet<&'a str>,
}

const CONN: u8 = 0;
const CLIENT: u8 = 1;
const WATCHER: u8 = 2;
const ASKER: u8 = 3;

impl<'a> Cast<'a> {
    pub(super) fn of(scenario: &'a Scenario) -> Self {
        let nodes = scenario.nodes.iter().map(|it| &**it).collect();
        let mut cast = Self { nodes, ..Self::default() };
        for (index, step) in scenario.steps.iter().enumerate() {
            let entrance = Entrance { at: step.at, index, line: step.line };
            let mut enters = |role, name| {
                cast.entrances.entry((role, name)).or_insert(entrance);
            };
            match &step.verb {
                Verb::Connect { user, session, conn, .. } => {
                    enters(CONN, conn);
                    cast.sessions.entry(format!("{user}/{session}")).or_insert(entrance);
                }
                Verb::Open { client, .. } => enters(CLIENT, client),
                Verb::Watch { watcher, users, .. } => {
                    enters(WATCHER, watcher);
                    cast.watched.entry(watcher).or_default().extend(users.iter().map(|it| &**it));
                }
                Verb::AppWatch { client, users, .. } => {
                    cast.watched.entry(client).or_default().extend(users.iter().map(|it| &**it));
                }
                Verb::Ask { watcher, users, name, .. } => {
                    enters(ASKER, watcher);
                    cast.asked.entry(name).or_default().extend(users.iter().map(|it| &**it));
                }
                Verb::List { watcher, name } => {
                    enters(ASKER, watcher);
                    cast.lists.insert(name);
                }
                _ => {}
            }
        }
        cast
    }

    /// Whether somebody of that name has entered by then: a time, and which step it is of; none: by the end.
    pub(super) fn find(
        &self,
        role: Role,
        name: &str,
        by: Option<(u64, usize)>,
    ) -> Result<(), String> {
        let kinds: &[u8] = match role {
            Role::Conn => &[CONN],
            Role::Client | Role::Session | Role::Clock => &[CLIENT],
            Role::Watcher => &[WATCHER],
            Role::Viewer => &[WATCHER, ASKER],
            Role::Reader => &[WATCHER, ASKER, CLIENT],
            Role::Member => &[CONN, CLIENT],
        };
        let as_session = matches!(role, Role::Session | Role::Member | Role::Clock);
        if role == Role::Clock && self.nodes.contains(&name) {
            return Ok(());
        }
        let entrances = kinds.iter().filter_map(|&kind| self.entrances.get(&(kind, name)));
        let session = self.sessions.get(name).filter(|_| as_session);
        let (what, verb) = role.words();
        match (entrances.chain(session).min(), by) {
            (Some(it), Some((at, _))) if it.at > at => Err(format!(
                "the {what} \"{name}\" begins only at {} s: put the step after its {verb}",
                secs(it.at)
            )),
            (Some(it), Some((_, index))) if role == Role::Client && it.index > index => {
                Err(format!(
                    "the {what} \"{name}\" begins only with line {}, at the same `t`: put the step \
                     after its {verb}",
                    it.line
                ))
            }
            (Some(_), _) => Ok(()),
            (None, _) => {
                let mut known: BTreeSet<&str> = self
                    .entrances
                    .keys()
                    .filter(|(kind, _)| kinds.contains(kind))
                    .map(|it| it.1)
                    .collect();
                if as_session {
                    known.extend(self.sessions.keys().map(|it| &**it));
                }
                if role == Role::Clock {
                    known.extend(&self.nodes);
                }
                let known: Vec<&str> = known.into_iter().collect();
                let near = meant(name, &known);
                Err(format!("no {what} \"{name}\" ever begins, with {verb}; {near}"))
            }
        }
    }

    /// An answer that is looked at must have been asked for.
    pub(super) fn keeps(&self, expect: &Expect) -> Result<(), String> {
        match expect {
            Expect::Ask { ask, user, .. } | Expect::AskRepeated { ask, user, .. } => {
                self.asks("ask", ask, Some(user))
            }
            Expect::AskChanges { ask, changes, .. } => {
                self.asks("ask", ask, None)?;
                changes.iter().try_for_each(|(user, _)| self.asks("ask", ask, Some(user)))
            }
            Expect::AskSame { asks } => {
                asks.iter().try_for_each(|(ask, user)| self.asks("ask_same", ask, user.as_deref()))
            }
            Expect::List { list, .. } if !self.lists.contains(&**list) => {
                let known: Vec<&str> = self.lists.iter().copied().collect();
                let near = meant(list, &known);
                Err(format!(
                    "`list`: no step keeps a list \"{list}\", with `list` and `as`; {near}"
                ))
            }
            _ => Ok(()),
        }
    }

    fn asks(&self, key: &str, ask: &str, user: Option<&str>) -> Result<(), String> {
        let Some(asked) = self.asked.get(ask) else {
            let known: Vec<&str> = self.asked.keys().copied().collect();
            let near = meant(ask, &known);
            return Err(format!(
                "`{key}`: no step keeps an answer \"{ask}\", with `ask` and `as`; {near}"
            ));
        };
        match user.filter(|it| !asked.contains(it)) {
            None => Ok(()),
            Some(user) => {
                let known: Vec<&str> = asked.iter().copied().collect();
                let near = meant(user, &known);
                Err(format!("`{key}`: \"{ask}\" does not ask about \"{user}\"; {near}"))
            }
        }
    }

    /// Who is told of a user must have asked for that user.
    pub(super) fn watches(&self, expect: &Expect) -> Result<(), String> {
        let (key, watcher, user, verb) = match expect {
            Expect::Events { watcher, user, .. } => ("watcher", watcher, user, "watch"),
            Expect::Snapshot { watcher, user, .. } => ("snapshot", watcher, user, "watch"),
            Expect::Shown { client, user, .. } | Expect::NeverShown { client, user, .. } => {
                ("shown", client, user, "app_watch")
            }
            _ => return Ok(()),
        };
        let watched = self.watched.get(&**watcher);
        if watched.is_some_and(|it| it.contains(&**user)) {
            return Ok(());
        }
        let known: Vec<&str> = watched.into_iter().flatten().copied().collect();
        Err(format!(
            "`{key}`: \"{watcher}\" never watches \"{user}\", with `{verb}`, and is told nothing of \
             that user; {}",
            meant(user, &known)
        ))
    }
}

/// "did you mean", without a list as long as a crowd.
fn meant(name: &str, known: &[&str]) -> String {
    match known.len() {
        0 => "there is none in this file".into(),
        1..=8 => nearest(name, known),
        more => {
            let near = nearest(name, known);
            if near.starts_with("did") { near } else { format!("there are {more} others") }
        }
    }
}
