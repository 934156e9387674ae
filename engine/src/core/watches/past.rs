//! What a connection was shown of a user before it watches that user again: the numbering goes on from there (rules 6, 13).
//!
//! A watch that was cut off from its user, and saw it again, numbers what it was shown, and that may be more than what the user's
//! record counts. A new watch begins with the record's number, and so might be told of something newer under a lower one.

use std::sync::Arc;

use greendot_protocol::{State, Version};

use super::viewer::Viewer;
use super::{Shown, ViewerId, Watch, Watches};
use crate::core::directory::Screen;
use crate::core::slab::Id;

/// Of so many users whom it watches no more a connection's numbering is kept: as many as a viewer who hides and comes back
/// would let go of at once, at most.
const FLOORS: usize = 1_000;

/// What is taken over from the watch before.
#[derive(Debug, Default)]
pub(super) struct Past {
    /// The least version that may be shown.
    pub(super) floor: Option<Version>,
    /// The viewer had lost sight of the user, and sees this since.
    pub(super) shut: Option<Box<Screen>>,
}

impl Watch {
    /// The least version under which something else may be shown; none if the record's own is higher anyhow.
    fn floor(&self) -> Option<Version> {
        let goes_ahead = self.offset > 0 || self.shut.is_some();
        if self.shown == Shown::NOTHING {
            return u32::try_from(self.offset).ok().filter(|it| *it > 0).map(Version);
        }
        // What it looks like since it was shut may have been shown already.
        let told = self.shut.is_some() && self.shown.state == State::Offline;
        goes_ahead.then(|| Version(self.shown.version.0.saturating_add(u32::from(!told))))
    }
}

impl Viewer {
    fn keep_floor(&mut self, user: &Arc<str>, floor: Version) {
        if self.floors.len() < FLOORS {
            self.floors.insert(Arc::clone(user), floor);
        }
    }
}

impl Watches {
    /// What the viewer was shown of the user before, on this connection.
    pub(super) fn past_of(&mut self, viewer: ViewerId, user: &str) -> Past {
        let Some(row) = self.viewers.get_mut(viewer.0) else { return Past::default() };
        let left = row.floors.remove(user);
        let before = self.names.get(user).and_then(|it| row.sees(*it));
        let Some(before) = before.and_then(|it| self.watches.get(it)) else {
            return Past { floor: left, shut: None };
        };
        Past { floor: before.floor(), shut: before.shut.clone() }
    }

    /// A watch is ended: the numbering is kept where a later one could not know it.
    pub(super) fn keep_numbering(&mut self, viewer: ViewerId, watch: Id) {
        let Some(watch) = self.watches.get(watch) else { return };
        let name = self.subjects.get(watch.subject).map(|it| &it.name);
        let row = self.viewers.get_mut(viewer.0);
        if let (Some(floor), Some(name), Some(row)) = (watch.floor(), name, row) {
            row.keep_floor(name, floor);
        }
    }
}
