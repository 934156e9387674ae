//! Users with very many watchers: each of these is told at most once in an interval (rule 15).
//!
//! A change is held for a while, and then begins a round: over the rest of the interval the watchers are gone
//! through once, a part at a time, and each is told the newest state, if that is not what it was
//! shown last. What has changed back by then costs nothing. A change during a round is followed by
//! another round in the same order, an interval after this one began. So no watcher hears more often than once an interval, however
//! few they are, and none later than an interval after a change with none shortly before it.
//!
//! Watchers count over all nodes. Each node counts its own, and tells the shared store, once a second, of users for whom that
//! number has changed by a thirty-second of the limit; the sum comes with each report of the user, so that it is known
//! whenever there is something to tell. It is short of the truth by less than that step a node.

use std::sync::Arc;

use greendot_protocol::{Span, Time};

use super::Watches;
use super::subject::Subject;
use crate::core::gate::HOUR;
use crate::core::slab::Id;

/// The interval has so many steps, and each part of a crowd is told in one of them: with the default interval, ten a second.
const STEPS: u64 = 100;

/// A change is held for this part of the interval: what reverses within it is told to nobody.
const HOLD: u64 = 10;

/// When a user's watchers are a crowd.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CrowdRule {
    /// Above so many watchers.
    pub(crate) limit: usize,
    /// How often they are told at most.
    pub(crate) every: Span,
    /// Above so many they are told only whether the user was there within the hour.
    pub(crate) throng: usize,
}

/// The shared store is told how many watch a user at this node when that has changed by this part of the limit.
const COUNTED: usize = 32;

/// A round of telling.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    began: Time,
    /// The soonest that it may begin: the round before is over then.
    earliest: Time,
    /// By how many it is paced; none: it has not begun.
    many: Option<usize>,
    /// Those before this place are still to be told. It moves down: who begins to watch comes behind the others, and has seen the newest.
    left: usize,
    /// When the next part is due.
    pub(super) next: Time,
    /// Something has changed since it began.
    again: bool,
}

impl Round {
    /// One leaves its place. If it was still to be told, the last of those who are is to take it.
    pub(super) fn take_from_untold(&mut self, place: usize) -> Option<usize> {
        if self.many.is_none() || place >= self.left {
            return None;
        }
        self.left -= 1;
        Some(self.left)
    }
}

impl Watches {
    /// The user may have other watchers now than the shared store was told of.
    pub(super) fn recount(&mut self, id: Id) {
        let Some(counted) = self.counted.as_mut() else { return };
        let step = (self.crowds.limit / COUNTED).max(1);
        let changed = |it: &&mut Subject| it.watchers.len().abs_diff(it.counted as usize) >= step;
        let Some(subject) = self.subjects.get_mut(id).filter(changed) else { return };
        subject.counted = subject.watchers.len() as u32;
        counted.insert(Arc::clone(&subject.name), subject.counted);
    }

    /// How many watch each of these users here: what the shared store is to be told.
    pub(crate) fn take_counted(&mut self) -> Vec<(Arc<str>, u32)> {
        self.counted.as_mut().map_or(Vec::new(), |it| std::mem::take(it).into_iter().collect())
    }

    /// From now on it is noted of whom the shared store is to be told.
    pub(crate) fn begin_counting(&mut self) {
        self.counted.get_or_insert_default();
    }

    /// The shared store is told anew of whom this node wants to hear.
    pub(crate) fn count_anew(&mut self) {
        self.take_counted();
        for id in self.subjects.iter().map(|it| it.0).collect::<Vec<_>>() {
            if let Some(subject) = self.subjects.get_mut(id) {
                subject.counted = 0;
            }
            self.recount(id);
        }
    }

    /// When the next part of a crowd is due.
    pub(crate) fn crowd_deadline(&self) -> Time {
        self.rounds.first().map_or(Time::MAX, |it| it.0)
    }

    pub(super) fn tell_crowd(&mut self, now: Time, id: Id) {
        let Some(subject) = self.subjects.get_mut(id) else { return };
        if let Some(round) = subject.round.as_mut() {
            round.again = true;
            let at = now + self.crowds.every.fraction(1, HOLD);
            if round.began > at && round.began > round.earliest {
                // It only waited for the hour to pass.
                self.rounds.remove(&(round.next, id));
                let at = at.max(round.earliest);
                (round.began, round.next) = (at, at);
                self.rounds.insert((at, id));
            }
            return;
        }
        self.begin_round(now + self.crowds.every.fraction(1, HOLD), now, id);
    }

    fn begin_round(&mut self, at: Time, earliest: Time, id: Id) {
        let Some(subject) = self.subjects.get_mut(id) else { return };
        let round = Round { began: at, earliest, many: None, left: 0, next: at, again: false };
        subject.round = Some(round);
        self.rounds.insert((at, id));
    }

    /// Tells the parts of crowds that are due.
    pub(crate) fn turn_rounds(&mut self, now: Time) {
        while let Some(&(at, id)) = self.rounds.first() {
            if at > now {
                return;
            }
            self.rounds.pop_first();
            self.turn_round(now, id);
        }
    }

    fn turn_round(&mut self, now: Time, id: Id) {
        let every = self.crowds.every.as_millis().max(1);
        let Some(subject) = self.subjects.get_mut(id) else { return };
        let Some(round) = subject.round.as_mut() else { return };
        let many = *round.many.get_or_insert_with(|| {
            round.left = subject.watchers.len();
            round.again = false;
            // As many as last time, or those that are left would be told sooner than an interval after it.
            let (before, paced) = subject.paced;
            let soon = round.began < before + self.crowds.every + self.crowds.every;
            let many = if soon { round.left.max(paced) } else { round.left };
            subject.paced = (round.began, many);
            many
        });
        let passed = now.since(round.began).as_millis() + every / STEPS;
        // The first part goes at once, the last one when the interval since the change is nearly over.
        let spread = every - every / HOLD;
        let told = (many as u64).saturating_mul(passed).div_ceil(spread) as usize;
        let from = many.saturating_sub(told).min(round.left);
        let part = from.min(subject.watchers.len())..round.left.min(subject.watchers.len());
        round.left = from;
        let over = from == 0 && now >= round.began + self.crowds.every;
        let part = subject.watchers[part].to_vec();
        let (began, again) = (round.began, round.again);
        if over {
            subject.round = None;
        } else {
            // When all are told the interval is not over yet, and the next round must not begin before that.
            round.next = if from == 0 {
                round.began + self.crowds.every
            } else {
                now + Span::from_millis((every / STEPS).max(1))
            };
            self.rounds.insert((round.next, id));
        }
        for watch in part {
            let Some(row) = self.watches.get(watch) else { continue };
            let differs = self.scene(now).glimpse(row).is_some_and(|it| row.shown.differs(&it));
            // Where it was hidden, the numbering still goes on from what was shown.
            if differs || row.renumber {
                self.outboxes.mark(watch);
            }
        }
        if over && again {
            let at = now.max(began + self.crowds.every);
            self.begin_round(at, at, id);
        } else if over {
            self.await_hour(now, began + self.crowds.every, id);
        }
    }

    /// One that is shown from afar looks gone an hour after it went.
    fn await_hour(&mut self, now: Time, earliest: Time, id: Id) {
        let Some(subject) = self.subjects.get(id) else { return };
        if subject.many() <= self.crowds.throng {
            return;
        }
        let seen = subject.record.as_ref().filter(|it| !it.public.is_present());
        let at = seen.and_then(|it| it.seen).map(|it| it + HOUR);
        if let Some(at) = at.filter(|at| *at > now) {
            self.begin_round(at.max(earliest), earliest, id);
        }
    }
}
