//! Sessions as the directory knows them.

use std::sync::Arc;

use greendot_protocol::{Mode, ModeChoice, Revision, Time};

use super::{Change, UserId};
use crate::core::slab::Id;

/// A session's place in the directory. One that has ended is reached by no id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(pub(super) Id);

/// A session that connects.
#[derive(Clone, Copy, Debug)]
pub struct Joining<'a> {
    /// The user's name, as authenticated.
    pub user: &'a str,
    /// The session's id, as claimed.
    pub session: &'a str,
    /// Whether it is passive: it counts for nothing but itself.
    pub passive: bool,
    /// Idle or active, if the connect says so.
    pub idle: Option<bool>,
    /// The mode, chosen afresh or repeated.
    pub mode: Option<ModeChoice>,
    /// What the person may call the device; empty: as it was called before.
    pub device: &'a str,
    /// The generation to go on in, for a session that is registered again; none: a new one.
    pub generation: Option<u64>,
}

/// What came of a connect.
#[derive(Clone, Copy, Debug)]
pub struct Connected {
    /// The user.
    pub user: UserId,
    /// The session.
    pub session: SessionId,
    /// The session's generation, higher than any earlier one's.
    pub generation: u64,
    /// What changed for watchers.
    pub change: Change,
    /// The user's mode.
    pub mode: Mode,
    /// The number of the choice of mode.
    pub revision: Revision,
    /// Whether this connect changed the mode, so that the user's other sessions are told.
    pub mode_changed: bool,
}

/// A session as shown to those who look into the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionView {
    /// The session's id.
    pub session: Box<str>,
    /// Its generation.
    pub generation: u64,
    /// Whether its connection has ended and it still counts.
    pub lingering: bool,
    /// Whether it is idle.
    pub idle: bool,
    /// Whether it is passive.
    pub passive: bool,
    /// What the person may call the device; may be empty.
    pub device: Box<str>,
    /// When it began, to the second.
    pub since: Time,
}

/// A row of the directory's table.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) user: UserId,
    /// The user's next session: a list through the table, since most users have just one.
    pub(super) next: Option<SessionId>,
    pub(super) name: Box<str>,
    pub(super) generation: u64,
    pub(super) idle: bool,
    pub(super) passive: bool,
    pub(super) lingering: bool,
    /// When it began, in seconds.
    since: u32,
}

/// What few sessions have.
#[derive(Debug, Default)]
pub(super) struct Extra {
    /// The rooms it is in.
    pub(super) rooms: Vec<Arc<str>>,
    /// What the person may call the device; may be empty.
    pub(super) device: Box<str>,
}

impl Session {
    pub(super) fn new(
        user: UserId,
        next: Option<SessionId>,
        now: Time,
        generation: u64,
        joining: &Joining<'_>,
    ) -> Self {
        Self {
            user,
            next,
            name: joining.session.into(),
            generation,
            idle: joining.idle.unwrap_or(false),
            passive: joining.passive,
            lingering: false,
            since: u32::try_from(now.as_millis() / 1000).unwrap_or(u32::MAX),
        }
    }

    pub(super) fn view(&self, extra: Option<&Extra>) -> SessionView {
        SessionView {
            session: self.name.clone(),
            generation: self.generation,
            lingering: self.lingering,
            idle: self.idle,
            passive: self.passive,
            device: extra.map(|it| it.device.clone()).unwrap_or_default(),
            since: Time::from_millis(u64::from(self.since) * 1000),
        }
    }
}
