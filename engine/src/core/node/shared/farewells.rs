//! Who said goodbye, and who hid, while the store was out of reach: told a little later than that it is back.
//!
//! Each node finds within half a second that the store answers, and registers what it holds. Were a goodbye told before, the user
//! would be gone until another node has registered where it went on. Who hid is told of with those who said goodbye, or one
//! could be told from the other (rule 13); until then nothing newer is told of them, and what is said next takes that along.

use greendot_protocol::sabotage::{Fault, on};
use greendot_protocol::{Span, Time};

use super::words::Word;
use super::{Shared, Then};
use crate::core::leases::ConnId;
use crate::core::node::Node;
use crate::store::Request;

/// By then each node has found that the store is back, if it had to be dialled for that, too.
const SAYS_AFTER: Span = Span::from_millis(900);

impl Shared {
    /// Keeps what is to be told later of these words.
    pub(super) fn leave_for_later(&mut self, now: Time, words: &mut Vec<Word>) {
        if on(Fault::GoodbyeAtOnce) {
            return;
        }
        self.hiders.extend(words.iter().filter_map(Word::hider).cloned());
        let hiders = &self.hiders;
        let later = words
            .extract_if(.., |it| it.is_goodbye() || (it.is_choice() && hiders.contains(it.user())));
        self.unsaid.extend(later);
        if self.unsaid.iter().any(Word::may_come_later) {
            self.says_at.get_or_insert(now + SAYS_AFTER);
        }
    }
}

impl Node {
    /// Whether the session's user has hidden, and the store is told of that later.
    pub(super) fn is_of_hider(&self, lease: ConnId) -> bool {
        let Some(shared) = self.shared.as_ref().filter(|it| !it.hiders.is_empty()) else {
            return false;
        };
        let user = self.session_of(lease).and_then(|it| self.directory.user_of(it));
        user.is_some_and(|it| shared.hiders.contains(&**self.directory.name(it)))
    }

    /// Something is about to be told: of one who has hidden it goes behind that.
    pub(super) fn say_before(&mut self, now: Time, request: &Request) {
        let hiders = self.shared.as_ref().map(|it| &it.hiders).filter(|it| !it.is_empty());
        if hiders.is_some_and(|it| request.user().is_some_and(|user| it.contains(user))) {
            self.say_what_waited(now);
        }
    }

    /// Tells what was left for later.
    pub(super) fn say_what_waited(&mut self, now: Time) {
        let Some(shared) = self.shared.as_mut() else { return };
        shared.says_at = None;
        let words = shared.unsaid.extract_if(.., |it| it.may_come_later()).collect();
        let mut leases = shared.leases(true);
        leases.retain(|it| self.is_of_hider(*it));
        if let Some(shared) = self.shared.as_mut() {
            shared.hiders.clear();
        }
        let behind = self.say_before_sessions(now, words);
        for lease in leases {
            self.register(now, lease);
        }
        self.say_behind_sessions(now, behind);
    }

    /// Tells what must not be lost. Returns what has to wait until sessions are registered.
    pub(super) fn say_before_sessions(&mut self, now: Time, mut words: Vec<Word>) -> Vec<Word> {
        words.sort_by_key(Word::rank);
        let behind = words.split_off(words.partition_point(|it| !it.waits_for_sessions()));
        for word in words {
            self.submit(now, word.request(now), Then::Nothing);
        }
        behind
    }

    /// Tells that.
    pub(super) fn say_behind_sessions(&mut self, now: Time, words: Vec<Word>) {
        // Where a session went its node has registered; that it left the store may not know, and have it there as of
        // before, or of an earlier connect.
        for word in words.into_iter().filter(|it| !matches!(it, Word::Room(.., true))) {
            self.submit(now, word.request(now), Then::Nothing);
        }
    }
}
