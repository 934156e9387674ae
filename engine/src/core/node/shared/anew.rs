//! What a node tells the store anew: all sessions that it holds, after the store was out of reach, or something told was lost on
//! the way, and what was said meanwhile, before the sessions or behind them.
//!
//! That goes in portions, one behind the answer to the other, as what is asked anew does (see [`super::refresh`]). A node may
//! hold hundreds of thousands of sessions, and most of them may say goodbye in an outage: told at once that is more than may wait
//! on the way to the store, and what found no room there would pass for lost, so that all began anew. First come those sessions
//! of which the store does not know that they are here: what others have to say of them waits for that, and not for long (see
//! [`super::farewells`]). The others are there as they were.
//!
//! Each is registered as it stands when its turn comes. One that says something before that says it as ever: what the store
//! knows of it is as old as the outage, and what it does not know goes with the session. One that ends is not registered. What a
//! user says goes behind what it had said before and waits here.

use greendot_protocol::Time;

use super::waiting::Words;
use super::words::Word;
use super::{Reach, Shared, Then};
use crate::core::leases::ConnId;
use crate::core::node::Node;

/// So much is told at a time: to register as many sessions takes the node some three milliseconds and a store some sixty.
const PORTION: usize = 2_000;

/// What has yet to be told.
#[derive(Debug, Default)]
pub(super) struct Anew {
    /// What is said before the sessions.
    before: Words,
    /// The last comes first.
    leases: Vec<ConnId>,
    /// What is said behind them.
    behind: Words,
    /// The node has stood still, and the store was in reach meanwhile.
    stood_still: bool,
    /// What comes next waits for the answer to this question.
    waits_for: Option<u64>,
}

impl Anew {
    /// These words, and then these sessions.
    pub(super) fn new(words: Vec<Word>, mut leases: Vec<ConnId>, stood_still: bool) -> Self {
        let (behind, before): (Vec<Word>, _) =
            words.into_iter().partition(Word::waits_for_sessions);
        leases.reverse();
        let (before, behind) = (Words::of(before), Words::of(behind));
        Self { before, leases, behind, stood_still, waits_for: None }
    }

    /// Whether all has been told, answered or not.
    pub(super) fn is_over(&self) -> bool {
        self.before.is_empty() && self.leases.is_empty() && self.behind.is_empty()
    }

    /// What the user said and has yet to be told.
    pub(super) fn words_by(&self, user: &str) -> impl Iterator<Item = &Word> {
        self.before.by(user).chain(self.behind.by(user))
    }

    /// This word is said before them.
    pub(super) fn overruled_by(&mut self, word: &Word) {
        self.before.drop_overruled(word);
        self.behind.drop_overruled(word);
    }

    /// Takes what the user said that is told before sessions: it is to be told now.
    pub(super) fn take_first_by(&mut self, user: &str) -> Vec<Word> {
        self.before.take_by(user)
    }

    /// What was under way when this began goes on: what it says is older, and its sessions come behind these.
    pub(super) fn take_over(&mut self, other: Self) {
        let leases = std::mem::replace(&mut self.leases, other.leases);
        self.leases.extend(leases);
        let (before, behind) = (std::mem::take(&mut self.before), std::mem::take(&mut self.behind));
        (self.before, self.behind) = (other.before, other.behind);
        before.into_iter().for_each(|it| self.before.keep(it));
        behind.into_iter().for_each(|it| self.behind.keep(it));
        self.stood_still |= other.stood_still;
        self.waits_for = self.waits_for.or(other.waits_for);
    }

    /// This question has been answered.
    pub(super) fn answered(&mut self, number: u64) {
        self.waits_for = self.waits_for.filter(|it| *it != number);
    }

    /// The next words that are said before the sessions, and the next sessions if there are no more.
    fn next(&mut self) -> (Vec<Word>, Vec<ConnId>) {
        let words = self.before.take_first(PORTION);
        let most = if self.before.is_empty() { PORTION.saturating_sub(words.len()) } else { 0 };
        let rest = self.leases.len().saturating_sub(most);
        let mut leases = self.leases.split_off(rest);
        leases.reverse();
        (words, leases)
    }

    /// The next words behind them, where so much has been told in this portion.
    fn next_behind(&mut self, told: usize) -> Vec<Word> {
        let are_told = self.before.is_empty() && self.leases.is_empty();
        let most = if are_told { PORTION.saturating_sub(told) } else { 0 };
        let mut words = self.behind.take_first(most);
        // Where a session went its node has registered; that it left the store may not know, and have it there as of
        // before, or of an earlier connect.
        words.retain(|it| !matches!(it, Word::Room(.., true)));
        words
    }
}

impl Shared {
    /// All is to begin again: what has not been said is kept.
    pub(super) fn stop_registering(&mut self) {
        let anew = std::mem::take(&mut self.anew);
        let said = std::mem::take(&mut self.unsaid);
        for word in anew.before.into_iter().chain(anew.behind).chain(said) {
            self.unsaid.keep(word);
        }
    }
}

impl Node {
    /// Tells all that.
    pub(super) fn tell_anew(&mut self, now: Time, anew: Anew) {
        if let Some(shared) = self.shared.as_mut() {
            shared.anew = anew;
        }
        self.tell_on(now);
    }

    /// Tells the next portion, once the one before is answered.
    pub(super) fn tell_on(&mut self, now: Time) {
        loop {
            let Some(shared) = self.shared.as_mut() else { return };
            if shared.anew.waits_for.is_some() || shared.anew.is_over() {
                return;
            }
            let before = shared.next_request;
            let (words, leases) = shared.anew.next();
            let stood_still = shared.anew.stood_still;
            let told = words.len() + leases.len();
            self.say_words(now, words);
            for lease in leases {
                self.register_as_it_stands(now, lease, stood_still);
            }
            let Some(shared) = self.shared.as_mut() else { return };
            let words = shared.anew.next_behind(told);
            self.say_words(now, words);
            let Some(shared) = self.shared.as_mut() else { return };
            if shared.reach == Reach::Lost {
                // That was too much.
                return;
            }
            if shared.next_request != before && !shared.anew.is_over() {
                shared.anew.waits_for = Some(shared.last_request());
            }
        }
    }

    /// Says what must not be lost.
    pub(super) fn say_words(&mut self, now: Time, mut words: Vec<Word>) {
        words.sort_by_key(Word::rank);
        for word in words {
            self.submit(now, word.request(now), Then::Nothing);
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
