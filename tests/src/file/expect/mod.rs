//! The expectations of a file.

mod parse;
mod values;

use greendot_protocol::{CloseCode, State};

pub(crate) use self::values::end_name;
use super::settings::FileSettings;

/// From when to when, in ms, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// From.
    pub from: u64,
    /// To.
    pub to: u64,
}

impl Window {
    /// The whole run.
    pub const ALL: Self = Self { from: 0, to: u64::MAX };

    /// Whether a time lies in it.
    pub fn holds(self, at: u64) -> bool {
        (self.from..=self.to).contains(&at)
    }
}

/// How many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// At least.
    pub least: u64,
    /// At most.
    pub most: u64,
}

/// A state that an app was shown, with when if the file says.
pub type ShownState = (State, Option<Window>);

/// An expectation; the words are the format's.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the format documents its expectations")]
pub enum Expect {
    Events {
        watcher: String,
        user: String,
        events: Vec<(State, Option<u64>, Window)>,
    },
    EventsInAll {
        watcher: String,
        count: Count,
        between: Window,
    },
    Ask {
        ask: String,
        user: String,
        state: Option<State>,
        version: Option<u64>,
        last_seen: Option<(u64, u64)>,
    },
    AskRepeated {
        ask: String,
        user: String,
        states: Vec<State>,
        rising: bool,
    },
    AskChanges {
        ask: String,
        changes: Vec<(String, State)>,
        full: Option<bool>,
    },
    Snapshot {
        watcher: String,
        nth: u64,
        user: String,
        state: Option<State>,
        version: Option<u64>,
    },
    NeverSent {
        watcher: String,
        text: String,
    },
    AskSame {
        asks: Vec<(String, Option<String>)>,
    },
    Sessions {
        user: String,
        at: u64,
        live: Option<u64>,
        lingering: Option<u64>,
        generations: Option<Vec<(String, u64)>>,
        nodes: Option<Vec<String>>,
    },
    LastSeen {
        user: String,
        at: u64,
        is: Window,
    },
    ConnClosed {
        conn: String,
        closed: u16,
        at: Window,
    },
    ConnOpenAt {
        conn: String,
        at: u64,
    },
    ConnRefused {
        conn: String,
        refused: u16,
    },
    Empty {
        at: u64,
    },
    Published {
        user: String,
        count: Count,
    },
    Outbox {
        who: String,
        at_most: u64,
        between: Window,
    },
    Memory {
        from: u64,
        to: u64,
        within: f64,
    },
    View {
        client: String,
        at: u64,
        users: Vec<(String, State, Option<u64>)>,
    },
    Shown {
        client: String,
        user: String,
        states: Vec<ShownState>,
    },
    NeverShown {
        client: String,
        user: String,
        never: Vec<State>,
    },
    Callbacks {
        client: String,
        part: Option<String>,
        count: Count,
        between: Window,
    },
    Link {
        client: String,
        at: u64,
        is: String,
        why: Option<CloseCode>,
    },
    Links {
        client: String,
        are: Vec<String>,
    },
    OpenAtOnce {
        client: String,
        at_most: u64,
    },
    Stale {
        client: String,
        at: u64,
        is: bool,
    },
    Dials {
        client: String,
        count: Count,
        between: Window,
    },
    DialPeak {
        node: String,
        slot: u64,
        at_most: u64,
    },
    Silence {
        session: String,
        at_most: u64,
        between: Window,
    },
    Beats {
        client: String,
        count: Count,
        between: Window,
    },
    Sent {
        client: String,
        frame: String,
        count: Count,
        between: Window,
    },
    Lease {
        session: String,
        ahead_at_least: u64,
        between: Window,
    },
    Writes {
        user: String,
        count: Count,
        between: Window,
    },
    Answered {
        conn: String,
        at: u64,
        is: String,
    },
    Conns {
        user: String,
        at: u64,
        is: u64,
    },
    Timers {
        client: String,
        same_at: Vec<u64>,
    },
    Ago {
        client: String,
        user: String,
        at: u64,
        is: Window,
    },
    List {
        list: String,
        online: Option<Vec<String>>,
        count: Option<u64>,
    },
    Room {
        room: String,
        at: u64,
        count: Option<u64>,
        members: Option<Vec<String>>,
    },
    Roster {
        conn: String,
        room: String,
        at: u64,
        members: Option<Vec<(String, State)>>,
        count: Option<u64>,
    },
    RosterFrames {
        conn: String,
        room: String,
        count: Count,
        between: Window,
    },
    Leaks {
        client: String,
        at: u64,
    },
    RefusedStart {
        settings: FileSettings,
        names: Vec<String>,
    },
}

impl Expect {
    /// The nodes that it names.
    pub(super) fn nodes(&self) -> Vec<&String> {
        match self {
            Self::Sessions { nodes: Some(nodes), .. } => nodes.iter().collect(),
            Self::DialPeak { node, .. } => vec![node],
            _ => Vec::new(),
        }
    }

    /// The moments at which it is to be looked at while the run lasts, in ms.
    pub(crate) fn moments(&self, until: u64) -> Vec<u64> {
        match self {
            Self::Sessions { at, .. }
            | Self::LastSeen { at, .. }
            | Self::ConnOpenAt { at, .. }
            | Self::Empty { at }
            | Self::View { at, .. }
            | Self::Link { at, .. }
            | Self::Stale { at, .. }
            | Self::Conns { at, .. }
            | Self::Ago { at, .. }
            | Self::Room { at, .. }
            | Self::Roster { at, .. }
            | Self::Leaks { at, .. } => vec![*at],
            Self::Memory { from, to, .. } => vec![*from, *to],
            Self::Timers { same_at, .. } => same_at.clone(),
            Self::Lease { between, .. } => {
                let to = between.to.min(until);
                (between.from.div_ceil(1000)..=to / 1000).map(|secs| secs * 1000).collect()
            }
            _ => Vec::new(),
        }
    }
}
