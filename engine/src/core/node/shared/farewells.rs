//! Who said goodbye, and who hid, while the store was out of reach: told a little later than that it is back.
//!
//! Each node finds within half a second that the store answers, and registers what it holds. Were a goodbye told before, the user
//! would be gone until another node has registered where it went on. Who hid is told of with those who said goodbye, or one
//! could be told from the other (rule 13); until then nothing newer is told of them, and what is said next takes that along.

use greendot_protocol::sabotage::{Fault, on};
use greendot_protocol::{Span, Time};

use super::anew::Anew;
use super::words::Word;
use super::{Reach, Shared};
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
        let waits = |it: &Word| it.is_goodbye() || (it.is_choice() && hiders.contains(it.user()));
        for word in words.extract_if(.., |it| waits(it)) {
            self.unsaid.keep(word);
        }
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

    /// Something is about to be told, with this word in it if there is one: of one who has hidden it goes behind that, and what
    /// a user said behind what it had said before.
    pub(super) fn say_before(&mut self, now: Time, request: &Request, word: Option<&Word>) {
        let hiders = self.shared.as_ref().map(|it| &it.hiders).filter(|it| !it.is_empty());
        if hiders.is_some_and(|it| request.user().is_some_and(|user| it.contains(user))) {
            self.say_what_waited(now);
        }
        let Some(shared) = self.shared.as_mut().filter(|it| !it.anew.is_over()) else { return };
        if let Some(word) = word {
            shared.anew.overruled_by(word);
        }
        let user = word.map(|it| &**it.user()).or(request.user());
        let words = user.map(|it| shared.anew.take_first_by(it)).unwrap_or_default();
        self.say_words(now, words);
    }

    /// Tells what was left for later.
    pub(super) fn say_what_waited(&mut self, now: Time) {
        let Some(shared) = self.shared.as_mut() else { return };
        shared.says_at = None;
        let words = shared.unsaid.take_if(Word::may_come_later);
        let mut leases = shared.leases(true);
        leases.retain(|it| self.is_of_hider(*it));
        let Some(shared) = self.shared.as_mut() else { return };
        shared.hiders.clear();
        let under_way = std::mem::take(&mut shared.anew);
        self.tell_anew(now, Anew::new(words, leases, false));
        let Some(shared) = self.shared.as_mut() else { return };
        shared.anew.take_over(under_way);
        if shared.reach == Reach::Lost {
            shared.stop_registering();
        }
    }
}
