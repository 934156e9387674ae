//! Requests that wait for their answers. These come in the order in which was asked.

use std::collections::{VecDeque, vec_deque};

use greendot_protocol::{Span, Time};

use super::Then;
use super::words::Word;

/// A word that the store has not answered for this long may be lost: what comes of it meanwhile may be newer than what it
/// has yet to be told. Far more than an answer takes.
const UNHEARD_AFTER: Span = Span::from_millis(250);

/// A request that waits for its answer.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) number: u64,
    pub(super) asked: Time,
    /// Since when the answer has been due to come: later than it was asked for if the node has stood still since.
    pub(super) since: Time,
    pub(super) then: Then,
    pub(super) word: Option<Word>,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Queue {
    all: VecDeque<Pending>,
    /// Those with a word that stands alone, in the order in which they were asked.
    alone: VecDeque<Alone>,
}

#[derive(Debug)]
struct Alone {
    number: u64,
    asked: Time,
    /// After so long without any answer it is said again.
    patience: Span,
}

impl Queue {
    pub(super) fn push(&mut self, it: Pending) {
        if it.word.as_ref().is_some_and(Word::stands_alone) {
            let (number, asked) = (it.number, it.asked);
            self.alone.push_back(Alone { number, asked, patience: UNHEARD_AFTER });
        }
        self.all.push_back(it);
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn front(&self) -> Option<&Pending> {
        self.all.front()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Pending> {
        self.all.iter()
    }

    pub(super) fn iter_mut(&mut self) -> vec_deque::IterMut<'_, Pending> {
        self.all.iter_mut()
    }

    /// Takes the one of this number, if it still waits, and those that were asked before it: they are not answered any more.
    pub(super) fn take_until(&mut self, number: u64) -> (Vec<Pending>, Option<Pending>) {
        while self.alone.pop_front_if(|it| it.number <= number).is_some() {}
        let at = self.all.partition_point(|it| it.number < number);
        let lost = self.all.drain(..at).collect();
        (lost, self.all.pop_front_if(|it| it.number == number))
    }

    /// Takes all.
    pub(super) fn take(&mut self) -> VecDeque<Pending> {
        std::mem::take(self).all
    }

    /// Whether something that a user chose may not have reached the store.
    pub(super) fn is_unheard(&self, now: Time) -> bool {
        self.alone.front().is_some_and(|it| now.since(it.asked) >= UNHEARD_AFTER)
    }

    /// The same where the store `answered` last then, and has not since: where it only has much to do, what was told first it
    /// hears first.
    pub(super) fn is_lost_on_its_way(&self, now: Time, answered: Time) -> bool {
        let Some(alone) = self.alone.front() else { return false };
        now.since(alone.asked.max(answered)) >= alone.patience
    }

    /// Takes the words that stand alone out of what waits: they are said again, and then for twice as long no more. A store that
    /// stood still for a moment would be told everything over and over.
    pub(super) fn take_alone(&mut self) -> (Vec<Word>, Span) {
        let patience = self.alone.drain(..).map(|it| it.patience).max().unwrap_or(UNHEARD_AFTER);
        let words = self.all.iter_mut().map(|it| &mut it.word);
        (words.filter_map(|it| it.take_if(|it| it.stands_alone())).collect(), patience + patience)
    }

    /// What was asked last is said again only after so long.
    pub(super) fn be_patient(&mut self, patience: Span) {
        let last = self.all.back().map(|it| it.number);
        if let Some(alone) = self.alone.back_mut().filter(|it| Some(it.number) == last) {
            alone.patience = patience;
        }
    }
}
