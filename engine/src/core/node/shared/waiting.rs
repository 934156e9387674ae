//! Words that wait to be said.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use foldhash::quality::FixedState;

use super::words::Word;

/// Words in the order in which they came. In an outage very many do: what one user's are is found without a look at all others.
#[derive(Debug, Default)]
pub(super) struct Words {
    came: BTreeMap<u64, Word>,
    /// By user: the numbers of its words, in order.
    by_user: HashMap<Arc<str>, Vec<u64>, FixedState>,
    next: u64,
}

impl Words {
    /// These, of which none overrules another.
    pub(super) fn of(words: impl IntoIterator<Item = Word>) -> Self {
        let mut it = Self::default();
        words.into_iter().for_each(|word| it.push(word));
        it
    }

    pub(super) fn is_empty(&self) -> bool {
        self.came.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Word> {
        self.came.values()
    }

    /// What the user said, in order.
    pub(super) fn by(&self, user: &str) -> impl Iterator<Item = &Word> {
        let numbers = self.by_user.get(user).map_or(&[] as &[u64], Vec::as_slice);
        numbers.iter().map(|it| &self.came[it])
    }

    /// One that overrules none of these.
    fn push(&mut self, word: Word) {
        let number = self.next;
        self.next += 1;
        self.by_user.entry(Arc::clone(word.user())).or_default().push(number);
        self.came.insert(number, word);
    }

    /// Keeps a word in place of those that it overrules.
    pub(super) fn keep(&mut self, word: Word) {
        self.drop_overruled(&word);
        self.push(word);
    }

    /// Drops those that this word overrules.
    pub(super) fn drop_overruled(&mut self, word: &Word) {
        if let Some(numbers) = self.by_user.get_mut(word.user()) {
            let came = &mut self.came;
            numbers.retain(|it| {
                let overruled = came.get(it).is_some_and(|it| word.overrules(it));
                if overruled {
                    came.remove(it);
                }
                !overruled
            });
            if numbers.is_empty() {
                self.by_user.remove(word.user());
            }
        }
    }

    /// Takes those of which this holds, in order.
    pub(super) fn take_if(&mut self, holds: impl Fn(&Word) -> bool) -> Vec<Word> {
        let (taken, rest) = std::mem::take(self).into_iter().partition(holds);
        *self = Self::of(rest);
        taken
    }

    /// Takes what the user said, in order.
    pub(super) fn take_by(&mut self, user: &str) -> Vec<Word> {
        let numbers = self.by_user.remove(user).unwrap_or_default();
        numbers.iter().filter_map(|it| self.came.remove(it)).collect()
    }

    /// Takes so many of those that came first, or some more: all of whom they are by.
    pub(super) fn take_first(&mut self, most: usize) -> Vec<Word> {
        let mut taken = Vec::new();
        while taken.len() < most
            && let Some((_, first)) = self.came.first_key_value()
        {
            let user = Arc::clone(first.user());
            taken.extend(self.take_by(&user));
        }
        taken
    }
}

impl IntoIterator for Words {
    type Item = Word;
    type IntoIter = std::collections::btree_map::IntoValues<u64, Word>;

    fn into_iter(self) -> Self::IntoIter {
        self.came.into_values()
    }
}
