//! The steps of a script.

mod parse;

use greendot_protocol::{Mode, State};

/// A step.
#[derive(Clone, Debug)]
pub struct Step {
    /// When, in ms.
    pub at: u64,
    /// The line.
    pub line: usize,
    /// What happens.
    pub verb: Verb,
}

/// What an app's callback does with what it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callback {
    /// It only looks.
    Look,
    /// It writes over all it is given.
    Spoil,
    /// It throws the first time.
    ThrowOnce,
}

/// What an app calls inside a link callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkAction {
    /// `connect()`.
    Connect,
    /// `disconnect()`.
    Disconnect,
}

/// How the shared store stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stands {
    /// It answers.
    Up,
    /// It answers nothing, and what it is asked is lost.
    Down,
    /// It stands still: what it is asked waits.
    Still,
}

impl Stands {
    pub(crate) const ALL: [Self; 3] = [Self::Up, Self::Down, Self::Still];

    /// As the format has it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Still => "still",
        }
    }
}

/// A frame fed to a client core.
#[derive(Clone, Debug)]
pub struct FrameStep {
    /// Whether it is a snapshot of all that is watched, or events.
    pub snapshot: bool,
    /// Its epoch.
    pub epoch: String,
    /// (user, state, version).
    pub entries: Vec<(String, State, u32)>,
}

/// What happens in a step; the words are the format's.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the format documents its verbs and keys")]
pub enum Verb {
    Watch {
        watcher: String,
        users: Vec<String>,
        node: Option<String>,
        token_until: Option<u64>,
    },
    Unwatch {
        watcher: String,
        users: Vec<String>,
    },
    Hangup {
        watcher: String,
    },
    Ask {
        watcher: String,
        users: Vec<String>,
        name: String,
        since: Option<String>,
        repeat: u64,
        every: u64,
    },
    Stall {
        watcher: String,
        stalled: bool,
    },
    Renew {
        watcher: String,
    },
    Connect {
        user: String,
        session: String,
        conn: String,
        node: Option<String>,
        passive: bool,
        idle: Option<bool>,
        beats: bool,
        fails: bool,
    },
    Beat {
        conn: String,
    },
    Own {
        conn: String,
        on: bool,
    },
    Idle {
        conn: String,
        idle: bool,
    },
    Note {
        user: String,
        note: String,
    },
    Mode {
        user: String,
        mode: Mode,
    },
    Bye {
        conn: String,
    },
    Closing {
        conn: String,
    },
    Drop {
        conn: String,
    },
    Vanish {
        conn: String,
    },
    Mute {
        conn: String,
        until: u64,
    },
    Revoke {
        user: String,
    },
    Block {
        user: String,
        viewer: String,
        blocked: bool,
    },
    Kill {
        node: String,
    },
    Start {
        node: String,
        empty: bool,
    },
    Pause {
        node: String,
        paused: bool,
    },
    Drain {
        node: String,
    },
    Cut {
        node: String,
        cut: bool,
    },
    Store {
        stands: Stands,
    },
    Skew {
        who: String,
        by: i64,
    },
    LoseAnswers {
        client: String,
        until: u64,
    },
    List {
        watcher: String,
        name: String,
    },
    Hold {
        node: String,
        until: u64,
    },
    Room {
        who: String,
        room: String,
        join: bool,
    },
    AppWatch {
        client: String,
        users: Vec<String>,
        part: String,
        callback: Callback,
    },
    AppUnwatch {
        client: String,
        users: Vec<String>,
        part: String,
    },
    AppMode {
        client: String,
        mode: Mode,
    },
    AppConnect {
        client: String,
    },
    AppDisconnect {
        client: String,
    },
    On {
        client: String,
        state: String,
        nth: u64,
        actions: Vec<LinkAction>,
    },
    Open {
        client: String,
        nodes: Vec<String>,
        idle_after: Option<u64>,
        stored: Option<String>,
        twin_of: Option<String>,
    },
    SignOut {
        client: String,
    },
    LeavePage {
        client: String,
    },
    BeforeUnload {
        client: String,
    },
    Input {
        client: String,
        per_second: f64,
        until: u64,
    },
    Hidden {
        client: String,
        hidden: bool,
    },
    Frozen {
        client: String,
        frozen: bool,
    },
    Asleep {
        client: String,
        asleep: bool,
    },
    Cached {
        client: String,
        cached: bool,
    },
    Online {
        client: String,
        online: bool,
    },
    Blackhole {
        client: String,
    },
    Clear {
        client: String,
    },
    Reset {
        client: String,
        server_sees: u64,
    },
    Refuse {
        node: String,
        until: u64,
    },
    Frame(FrameStep),
    Lost,
    Back,
}

/// The states a link can be in, as the app is told.
pub(in crate::file) const LINKS: [(&str, ()); 5] =
    [("connecting", ()), ("live", ()), ("waiting", ()), ("stopped", ()), ("closed", ())];
