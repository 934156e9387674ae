//! What the store tells while a word said here has not been answered is not taken.
//!
//! It may be newer than what its viewers are to see by that word (rule 13). Whom it was about is asked behind the word: those
//! alone, for where the store is slow some word always waits, and to ask about everybody anew each time would leave it no time
//! to answer.

use std::collections::BTreeSet;
use std::sync::Arc;

use greendot_protocol::Time;

use super::{Reach, Shared, Then};
use crate::core::node::Node;
use crate::store::{Notice, Request};

/// Of whom something was not taken.
#[derive(Debug, Default)]
pub(super) struct Skipped {
    users: BTreeSet<Arc<str>>,
    rooms: BTreeSet<Arc<str>>,
    /// The last question about them.
    asked: Option<u64>,
}

impl Skipped {
    /// Whether something was skipped that has not been made up for.
    pub(super) fn is_empty(&self) -> bool {
        self.users.is_empty() && self.rooms.is_empty() && self.asked.is_none()
    }
}

impl Shared {
    /// A notice is not taken. Before a refresh has been asked for it need not be remembered.
    pub(super) fn skip(&mut self, notice: &Notice) {
        if !matches!(self.reach, Reach::Good | Reach::Back(None)) {
            return;
        }
        match notice {
            Notice::Changed { report, .. } => {
                self.skipped.users.insert(Arc::clone(&report.user));
            }
            Notice::Room { roster, .. } => {
                self.skipped.rooms.insert(Arc::clone(&roster.room));
            }
            _ => {}
        }
    }
}

impl Node {
    /// Once the store answers what it was told before, asks about those of whom something was skipped meanwhile.
    pub(super) fn see_again(&mut self, now: Time) {
        let Some(shared) = self.shared.as_ref() else { return };
        let waits = shared.blinded && shared.reach == Reach::Good && shared.skipped.asked.is_none();
        if waits && !shared.is_unheard(now) {
            self.ask_about_skipped(now);
        }
    }

    fn ask_about_skipped(&mut self, now: Time) {
        let Some(shared) = self.shared.as_mut() else { return };
        let (users, rooms) =
            (std::mem::take(&mut shared.skipped.users), std::mem::take(&mut shared.skipped.rooms));
        let rooms: Vec<_> = rooms.into_iter().filter(|it| self.watches.knows_room(it)).collect();
        if !rooms.is_empty() {
            self.submit(now, Request::LookInto { rooms }, Then::Nothing);
        }
        let users = users.into_iter().filter(|it| self.watches.subject(it).is_some()).collect();
        self.load(now, users);
        if let Some(shared) = self.shared.as_mut() {
            shared.skipped.asked = Some(shared.next_request.wrapping_sub(1));
        }
    }

    /// The question of this number has been answered. If it was about those who were skipped, what is new is taken again; who
    /// was skipped since is asked about once more.
    pub(super) fn skipped_answered(&mut self, now: Time, number: u64) {
        let Some(shared) = self.shared.as_mut() else { return };
        if shared.skipped.asked != Some(number) {
            return;
        }
        shared.skipped.asked = None;
        shared.blinded = shared.is_unheard(now);
        self.take_up(now);
    }

    /// What is new is taken again: what has waited for that is asked for.
    pub(super) fn take_up(&mut self, now: Time) {
        let Some(shared) = self.shared.as_ref() else { return };
        if !shared.is_known_anew() {
            return;
        }
        if !shared.skipped.is_empty() {
            self.ask_about_skipped(now);
        }
        self.ask_before_opening(now);
    }
}
