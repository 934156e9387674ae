//! What a node tells of a session.

use std::sync::Arc;

use greendot_protocol::{ModeChoice, Span};

use super::claim::SessionName;

/// What a node tells of a session that it holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Register {
    /// The session.
    pub name: SessionName,
    /// The node's number for the connect.
    pub seat: u64,
    /// How long ago it connected: of two that claim a session the later holds it.
    pub connected_ago: Span,
    /// How long ago it was last heard.
    pub heard_ago: Span,
    /// Its generation, if the store gave it one already.
    pub generation: Option<u64>,
    /// Whether it is passive.
    pub passive: bool,
    /// Idle or active, if the connect said so.
    pub idle: Option<bool>,
    /// For how long it lingers from now on, if it does.
    pub lingers_for: Option<Span>,
    /// The user's mode, chosen afresh or repeated.
    pub mode: Option<ModeChoice>,
    /// Rooms that it is in, as far as the node knows.
    pub rooms: Vec<Arc<str>>,
    /// Whether it is in no others: it has left what earlier connects of it joined.
    pub no_others: bool,
    /// What the person may call the device; may be empty.
    pub device: Arc<str>,
}

/// The connect of a session that says something of its user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Speaker {
    /// The session's id.
    pub session: Arc<str>,
    /// The node's number for the connect.
    pub seat: u64,
    /// How long ago it connected.
    pub connected_ago: Span,
}

/// A session that has been silent for more than a beat, and so has a deadline of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Silent {
    /// The session.
    pub name: SessionName,
    /// The node's number for the connect.
    pub seat: u64,
    /// How long ago it was heard.
    pub heard_ago: Span,
}

/// A session that has ended at the node that held it. The store may have heard of it as of an earlier connect, or
/// never: what it does not hold was there all the same, and last seen says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departed {
    /// The session.
    pub name: SessionName,
    /// The node's number for the connect.
    pub seat: u64,
    /// How long ago it connected.
    pub connected_ago: Span,
    /// How long ago it was last heard.
    pub heard_ago: Span,
    /// Whether it was passive.
    pub passive: bool,
    /// Whether it said goodbye.
    pub bye: bool,
}
