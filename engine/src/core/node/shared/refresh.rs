//! All that watchers see is asked about anew: after the store was out of reach, or something that it told was lost.
//!
//! That goes in portions, one behind the answer to the other. A node may watch hundreds of thousands of users: asked about at
//! once they would hold up whatever else is said for seconds, until the store counted as out of reach again and all began anew.

use std::sync::Arc;

use greendot_protocol::Time;

use super::{Reach, Shared, Then};
use crate::core::node::Node;
use crate::store::Request;

/// So many users are asked about at a time: that takes a store some seventy milliseconds, and whatever is said meanwhile is
/// answered long before it would pass for unheard.
const PORTION: usize = 4_000;

/// What it takes to ask about a viewer, by users: every partition of the store has a part of what stands between it and others.
const VIEWER: usize = 4;

/// No question has this number.
const NOT_YET: u64 = u64::MAX;

/// The refresh that is under way, or was last.
#[derive(Debug, Default)]
pub(super) struct Refresh {
    viewers: Vec<Arc<str>>,
    users: Vec<Arc<str>>,
    /// The last question about what stands between viewers and others.
    looks: u64,
    /// The question of who is in rooms.
    rooms: u64,
    /// What comes next waits for the answer to this question.
    waits_for: Option<u64>,
}

impl Refresh {
    /// Whether it asks anew what was asked with this number, or has asked since.
    pub(super) fn asks_after(&self, number: u64) -> bool {
        number < self.rooms
    }

    /// Whether with this answer it is known what stands between all viewers and others.
    pub(super) fn has_looked(&self, number: u64) -> bool {
        number >= self.looks && self.looks != NOT_YET
    }

    /// This question has been answered.
    pub(super) fn answered(&mut self, number: u64) {
        self.waits_for = self.waits_for.filter(|it| *it != number);
    }

    /// The question of who is in rooms has been answered, if that was this number: members whom nobody knew of here have been asked
    /// about by the question before `next`, and are among what it waits for.
    pub(super) fn seated(&mut self, number: u64, next: u64) {
        if self.rooms == number && self.waits_for.is_some() {
            self.waits_for = Some(next.wrapping_sub(1));
        }
    }
}

impl Shared {
    pub(in crate::core::node) fn last_request(&self) -> u64 {
        self.next_request.wrapping_sub(1)
    }

    /// Whether there are users about whom the refresh has yet to ask.
    pub(in crate::core::node) fn asks_on(&self) -> bool {
        !self.refresh.users.is_empty()
    }
}

impl Node {
    /// Asks how all watched users stand, and all that it takes to show them.
    pub(super) fn refresh(&mut self, now: Time) {
        if let Some(shared) = self.shared.as_mut() {
            shared.opens_at = shared.opens_at.filter(|at| *at > now);
        }
        self.submit(now, Request::HearNothing, Then::Nothing);
        self.watches.forget_idle();
        self.unload(now);
        let viewers = self.watches.onlookers();
        if let Some(shared) = self.shared.as_mut() {
            shared.refresh =
                Refresh { viewers, looks: NOT_YET, rooms: NOT_YET, ..Refresh::default() };
        }
        self.refresh_on(now);
        self.watches.count_anew();
    }

    /// Asks for the next portion.
    fn refresh_on(&mut self, now: Time) {
        let mut left = PORTION;
        let Some(shared) = self.shared.as_mut() else { return };
        if shared.refresh.looks == NOT_YET {
            let rest = shared.refresh.viewers.len().saturating_sub(left / VIEWER);
            let viewers = shared.refresh.viewers.split_off(rest);
            left = left.saturating_sub(viewers.len() * VIEWER);
            self.look(now, viewers);
            let Some(shared) = self.shared.as_mut() else { return };
            shared.refresh.waits_for = Some(shared.last_request());
            if rest > 0 {
                return;
            }
            shared.refresh.looks = shared.last_request();
        }
        let Some(shared) = self.shared.as_ref() else { return };
        if shared.refresh.rooms == NOT_YET {
            let users = self.owners.names();
            self.submit(now, Request::Own { users }, Then::Nothing);
            let users = self.watches.subjects();
            if let Some(shared) = self.shared.as_mut() {
                (shared.refresh.users, shared.refresh.rooms) = (users, shared.next_request);
            }
            let rooms = self.watches.room_names();
            self.submit(now, Request::LookInto { rooms }, Then::LookedInto);
        }
        let Some(shared) = self.shared.as_mut() else { return };
        let rest = shared.refresh.users.len().saturating_sub(left);
        let mut users = shared.refresh.users.split_off(rest);
        // Whoever is watched no more by now is told of no more.
        users.retain(|it| self.watches.subject(it).is_some());
        self.load_watched(now, users);
        if let Some(shared) = self.shared.as_mut() {
            shared.refresh.waits_for = Some(shared.last_request());
        }
    }

    /// Goes on with the refresh once a portion has been answered. It is over when all that it asked for is: what others ask for
    /// meanwhile comes as ever, and on a busy node something always does.
    pub(super) fn end_refresh(&mut self, now: Time) {
        let Some(shared) = self.shared.as_mut() else { return };
        if shared.reach != Reach::Back(None) || shared.refresh.waits_for.is_some() {
            return;
        }
        if shared.refresh.looks == NOT_YET || !shared.refresh.users.is_empty() {
            return self.refresh_on(now);
        }
        shared.reach = Reach::Good;
        for it in shared.pending.iter_mut() {
            // What was asked behind all this has waited for it.
            it.since = now;
        }
        let made_up = !shared.blinded && shared.skipped.is_empty();
        self.watches.set_blind(None);
        if made_up {
            self.open_waiting(now, None);
        } else {
            self.take_up(now);
        }
        self.watches.forget_idle();
        self.unload(now);
        self.tell_stale();
        self.wake_waiting(now);
    }
}
