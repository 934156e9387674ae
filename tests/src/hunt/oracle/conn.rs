//! A connection, as its node must see it: who it speaks for, and what it watches.

use std::collections::VecDeque;

use greendot_protocol::{Mode, State};

use super::own::Own;
use super::rooms::Seat;

/// A connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Conn {
    pub(super) node: usize,
    /// The device behind it, if it is a client core's.
    pub(super) device: Option<usize>,
    /// The watcher or scripted connection behind it; empty for a device.
    pub(super) name: String,
    /// Whom it speaks for, once its hello was taken.
    pub(super) user: Option<usize>,
    pub(super) session: String,
    /// Whether its session is passive.
    pub(super) passive: bool,
    pub(super) epoch: Option<u32>,
    /// When its token ends, if it does.
    pub(super) token_until: Option<u64>,
    /// A fresh one that came in time waits at a node that stands still.
    pub(super) fresh_waits: bool,
    /// Its node still has it open.
    pub(super) open: bool,
    /// Its node has closed it.
    pub(super) is_closing: bool,
    /// Its hello, for this user's session of this name, waits at a node that stands still.
    pub(super) awaits: Option<(usize, String)>,
    /// That it has ended waits at a node that stands still: what comes after is not of it.
    pub(super) end_waits: bool,
    /// What it was told last of its node's word.
    pub(super) stale: Option<bool>,
    /// Its client reads nothing, or is gone: what is sent to it shows nothing.
    pub(super) stalled: bool,
    /// What refreshes its view after an outage still waits for it.
    pub(super) owed_refresh: bool,
    /// Its client has hung up.
    pub(super) left: bool,
    pub(super) watches: Vec<Watch>,
    /// Watch frames that are not answered: (request, serials of its watches, since when).
    pub(super) requests: Vec<(u32, Vec<u64>, u64)>,
    /// The rooms into which it looks.
    pub(super) seats: Vec<Seat>,
    /// What it is told of its user's sessions, if it has asked for that.
    pub(super) own: Option<Own>,
    /// When it was last read from, or not, from then on.
    pub(super) stalled_at: u64,
    /// Whether it has ever watched, or looked into a room.
    pub(super) has_watched: bool,
    /// When its client said what the node has not read yet.
    pub(super) said: VecDeque<u64>,
    /// When what waits at a node that stands still arrived.
    pub(super) waiting: VecDeque<u64>,
    /// What is on the way to the client.
    pub(super) on_the_way: VecDeque<Parcel>,
}

/// What a connection was last shown of a user.
#[derive(Clone, Debug)]
pub(super) struct Watch {
    /// Tells it from others under the same number.
    pub(super) serial: u64,
    pub(super) number: u32,
    pub(super) user: usize,
    /// The last word; none before the snapshot.
    pub(super) shown: Option<Shown>,
    /// When.
    pub(super) shown_at: u64,
    /// When it was told a change last; none if that was the first that could be said.
    pub(super) event_at: Option<u64>,
    /// When its node read of it.
    pub(super) begun: u64,
    pub(super) version: u32,
    /// When its client said it.
    pub(super) said: u64,
    /// Since when the rules want another one.
    pub(super) wrong_since: Option<u64>,
}

/// A state with its note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) state: State,
    pub(super) note: String,
}

impl Shown {
    /// Of whom nothing was said.
    pub(super) const NOTHING: Self = Self { state: State::Unknown, note: String::new() };
}

/// What a frame says of a user.
#[derive(Clone, Debug)]
pub(super) struct Word {
    pub(super) user: usize,
    pub(super) shown: Shown,
    /// When the client said the watch that it answers; 0 if that has an answer of its own still to come.
    pub(super) watched: u64,
}

/// A frame on the way to a client.
#[derive(Clone, Debug)]
pub(super) enum Parcel {
    /// What it says of users.
    Words(Vec<Word>),
    /// The answer to a beat.
    Answer(u8),
    /// The welcome, with the user's mode.
    Welcome(Mode),
    /// The user's mode.
    Mode(Mode),
    /// Who is in a room.
    Room {
        /// The room.
        room: usize,
        /// When the client said the join that it answers.
        said: u64,
        /// Whether that is all that are there, and about how many there are if it is not.
        whole: Option<Option<u32>>,
        /// The members told of.
        members: Vec<(usize, State)>,
    },
    /// Anything else.
    Other,
}

impl Conn {
    /// Who is behind it, for people.
    pub(super) fn owner(&self) -> String {
        match self.device {
            Some(device) => format!("device {device}"),
            None => self.name.clone(),
        }
    }
}
