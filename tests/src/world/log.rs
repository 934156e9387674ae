//! What happened, for the judge.

use std::collections::BTreeMap;
use std::fmt;

use greendot_protocol::{Epoch, State};

use crate::file::write::{quote, secs};

/// An event that reached a viewer.
#[derive(Clone, Debug)]
pub struct ViewerEvent {
    /// When, in ms.
    pub at: u64,
    /// Which of the viewer's connections.
    pub conn: usize,
    /// About whom.
    pub user: String,
    /// The state.
    pub state: State,
    /// The version.
    pub version: u32,
    /// The epoch in which the version counts.
    pub epoch: Epoch,
}

/// A snapshot that reached a viewer.
#[derive(Clone, Debug)]
pub struct ViewerSnapshot {
    /// When, in ms.
    pub at: u64,
    /// (user, state, version); users not listed in the frame are offline, at 0.
    pub entries: Vec<(String, State, u32)>,
}

/// The answer to an ask about one user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The state.
    pub state: State,
    /// The version.
    pub version: u32,
    /// When last seen, in ms of the run.
    pub last_seen: Option<u64>,
    /// The note.
    pub note: String,
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at version {}", self.state.name(), self.version)?;
        if let Some(at) = self.last_seen {
            write!(f, ", last seen at {} s", secs(at))?;
        }
        if !self.note.is_empty() {
            write!(f, ", note {}", quote(&self.note))?;
        }
        Ok(())
    }
}

/// A change told to a part of an app.
#[derive(Clone, Debug)]
pub struct Callback {
    /// When, in ms.
    pub at: u64,
    /// Which part.
    pub part: String,
    /// About whom.
    pub user: String,
    /// The state that the app saw then.
    pub state: State,
}

/// What a device did and was told.
#[derive(Clone, Debug, Default)]
pub struct DeviceLog {
    /// Connections tried: when, to which node.
    pub dials: Vec<(u64, usize)>,
    /// Frames sent: when, of which kind.
    pub sent: Vec<(u64, &'static str)>,
    /// Changes told.
    pub callbacks: Vec<Callback>,
    /// Link states told.
    pub links: Vec<(u64, &'static str)>,
    /// Most connections open or opening at a time.
    pub most_open: usize,
}

/// The log of a run.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// By viewer.
    pub events: BTreeMap<String, Vec<ViewerEvent>>,
    /// By viewer.
    pub snapshots: BTreeMap<String, Vec<ViewerSnapshot>>,
    /// Every frame and answer to a viewer whose words are looked at, as JSON.
    pub frames: BTreeMap<String, Vec<String>>,
    /// By the ask's name: one answer a read, each by user.
    pub asks: BTreeMap<String, Vec<BTreeMap<String, Asked>>>,
    /// By the ask's name: whether the latest answer spoke of everybody.
    pub full_asks: BTreeMap<String, bool>,
    /// By the list's name.
    pub lists: BTreeMap<String, Vec<String>>,
    /// Generations by (user, session), in the order they were given.
    pub generations: BTreeMap<(String, String), Vec<u64>>,
    /// When a session was heard, by (user, session).
    pub heard: BTreeMap<(String, String), Vec<u64>>,
    /// By device.
    pub devices: BTreeMap<String, DeviceLog>,
    /// How many entries wait for a viewer or device, and since when; of those who are asked about.
    pub outboxes: BTreeMap<String, Vec<(u64, usize)>>,
}
