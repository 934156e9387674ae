//! What a node registers anew: all sessions that it holds, after the store was out of reach, or something told was lost on the way.
//!
//! That goes in portions, one behind the answer to the other, as what is asked anew does (see [`super::refresh`]). A node may
//! hold hundreds of thousands of sessions: told at once they are more than may wait on the way to the store, and what found no
//! room there would pass for lost, so that all began anew. First come those of which the store does not know that they are here:
//! what others have to say of them waits for that, and not for long (see [`super::farewells`]). The others are there as they were.
//!
//! Each is registered as it stands when its turn comes. One that says something before that says it as ever: what the store
//! knows of it is as old as the outage, and what it does not know goes with the session. One that ends is not registered.

use greendot_protocol::Time;

use super::words::{Word, keep};
use super::{Reach, Shared};
use crate::core::leases::ConnId;
use crate::core::node::Node;

/// So many sessions are registered at a time: that takes the node some three milliseconds and a store some sixty.
const PORTION: usize = 2_000;

/// What has yet to be registered.
#[derive(Debug, Default)]
pub(super) struct Anew {
    /// The last comes first.
    leases: Vec<ConnId>,
    /// What is said behind them.
    words: Vec<Word>,
    /// The node has stood still, and the store was in reach meanwhile.
    stood_still: bool,
    /// What comes next waits for the answer to this question.
    waits_for: Option<u64>,
}

impl Anew {
    /// Whether all has been registered, answered or not.
    pub(super) fn is_over(&self) -> bool {
        self.leases.is_empty() && self.words.is_empty()
    }

    /// What has yet to be said.
    pub(super) fn words(&self) -> &[Word] {
        &self.words
    }

    /// This word is said before them.
    pub(super) fn overruled_by(&mut self, word: &Word) {
        self.words.retain(|it| !word.overrules(it));
    }

    /// This question has been answered.
    pub(super) fn answered(&mut self, number: u64) {
        self.waits_for = self.waits_for.filter(|it| *it != number);
    }
}

impl Shared {
    /// All is to begin again: what has not been said is kept.
    pub(super) fn stop_registering(&mut self) {
        let anew = std::mem::take(&mut self.anew);
        if !anew.words.is_empty() {
            for later in std::mem::replace(&mut self.unsaid, anew.words) {
                keep(&mut self.unsaid, later);
            }
        }
    }
}

impl Node {
    /// Registers these sessions, and says these words behind them.
    pub(super) fn register_anew(
        &mut self,
        now: Time,
        mut leases: Vec<ConnId>,
        words: Vec<Word>,
        stood_still: bool,
    ) {
        leases.reverse();
        if let Some(shared) = self.shared.as_mut() {
            shared.anew = Anew { leases, words, stood_still, waits_for: None };
        }
        self.register_on(now);
    }

    /// Registers the next portion, once the one before is answered.
    pub(super) fn register_on(&mut self, now: Time) {
        loop {
            let Some(shared) = self.shared.as_mut() else { return };
            if shared.anew.waits_for.is_some() || shared.anew.is_over() {
                return;
            }
            let before = shared.next_request;
            let rest = shared.anew.leases.len().saturating_sub(PORTION);
            let portion = shared.anew.leases.split_off(rest);
            let stood_still = shared.anew.stood_still;
            for lease in portion.into_iter().rev() {
                self.register_as_it_stands(now, lease, stood_still);
            }
            let Some(shared) = self.shared.as_mut() else { return };
            if shared.reach == Reach::Lost {
                // That was too much.
                return;
            }
            if rest == 0 {
                let words = std::mem::take(&mut shared.anew.words);
                return self.say_behind_sessions(now, words);
            }
            if shared.next_request != before {
                shared.anew.waits_for = Some(shared.last_request());
            }
        }
    }

    /// Registers a session, unless it is over and the store has said so.
    fn register_as_it_stands(&mut self, now: Time, lease: ConnId, stood_still: bool) {
        // So it is in the store too.
        let over = self
            .leases
            .get(lease)
            .is_none_or(|it| it.lingers_until.is_none() && self.lives_until(&it) <= now);
        if over && stood_still {
            self.leases.report_anew(now, lease);
        } else {
            self.register(now, lease);
        }
    }
}
