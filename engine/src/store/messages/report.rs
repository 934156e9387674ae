//! How users stand, and what stands between them.

use std::sync::Arc;

use greendot_protocol::{Span, Version};

use crate::core::LastSeen;
use crate::core::directory::Face;

/// How a user stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The user.
    pub user: Arc<str>,
    /// What others may see.
    pub public: Face,
    /// What the user's own sessions see.
    pub own: Face,
    /// The note.
    pub note: Arc<str>,
    /// How long ago the user was last seen.
    pub seen_ago: Option<Span>,
    /// Whether the user has been visible in this epoch.
    pub heard: bool,
    /// How exactly the user lets others see when it was there last.
    pub wish: LastSeen,
    /// Counts these wishes.
    pub wishes: u32,
    /// How many watch the user, by the counts of all nodes ([`Request::Count`](super::Request::Count)).
    pub watchers: u32,
}

/// What stands between one viewer and others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutlookReport {
    /// The viewer.
    pub viewer: Arc<str>,
    /// Of two outlooks of one viewer in one epoch the higher is the newer.
    pub number: u64,
    /// Whether the viewer hides from everybody.
    pub hides: bool,
    /// By the user's name.
    pub bars: Vec<BarReport>,
}

/// What stands, or stood, between a viewer and a user.
#[derive(Clone, Debug, PartialEq)]
pub struct BarReport {
    /// The user.
    pub user: Arc<str>,
    /// By how much the viewer's numbering is behind.
    pub behind: i64,
    /// What the viewer is shown while it stands.
    pub screen: Option<ScreenReport>,
}

/// What a viewer that was shut out is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScreenReport {
    /// The version, in the viewer's numbering.
    pub version: Version,
    /// How long ago the user was last seen.
    pub seen_ago: Option<Span>,
    /// Whether the user had been visible in this epoch.
    pub heard: bool,
}
