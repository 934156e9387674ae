//! What the application says of who may see whom: asked in batches, kept for a while.
//!
//! Until it has answered nothing is shown, and an answer that fails, is late or short is none:
//! it is counted, and asked for again. The core never waits for it.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use foldhash::quality::SeedableRandomState;
use greendot_protocol::{Span, Time};

use super::gate::Fineness;
use super::settings::AudienceRule;
use super::watches::WatchId;

/// Pairs in one question.
const BATCH: usize = 1_000;

/// After a failure the first wait before asking again; it doubles up to [`WAIT_MOST`].
const WAIT: Span = Span::from_millis(1_000);
const WAIT_MOST: Span = Span::from_millis(60_000);

/// How long to wait before asking again what has failed so many times.
pub(crate) fn wait_after(failures: u32) -> Span {
    let doubled = 1u64 << failures.saturating_sub(1).min(16);
    WAIT.fraction(doubled, 1).min(WAIT_MOST)
}

/// Who looks, and at whom.
pub(crate) type PairName = (Arc<str>, Arc<str>);

/// A question that waits for its answer.
#[derive(Debug)]
struct Asked {
    pairs: Vec<PairName>,
    until: Time,
}

#[derive(Debug, Default)]
struct Pair {
    /// The answer, and until when it holds.
    known: Option<(Fineness, Time)>,
    /// Since when it has been no less.
    since: Time,
    /// Whether it is about to be asked, or has been.
    asking: bool,
    /// The answer that is under way is of before a change.
    outdated: bool,
    /// Watches that show it.
    watches: Vec<WatchId>,
    /// Reads that wait for it.
    reads: Vec<u64>,
    failures: u32,
    /// When it is to be looked at next.
    due: Option<Time>,
    /// Whether it stands among those that nothing shows.
    rests: bool,
}

/// What has come of a question or of time.
#[derive(Debug, Default)]
pub(crate) struct Settled {
    /// What these watches may show from now on.
    pub(crate) watches: Vec<(WatchId, Fineness)>,
    /// Reads that wait for one pair less.
    pub(crate) reads: Vec<u64>,
}

/// The answers of an application.
#[derive(Debug)]
pub(crate) struct Audience {
    rule: AudienceRule,
    /// By who looks, then by whom it looks at.
    pairs: HashMap<Arc<str>, HashMap<Arc<str>, Pair, SeedableRandomState>, SeedableRandomState>,
    hasher: SeedableRandomState,
    queue: Vec<PairName>,
    asked: BTreeMap<u64, Asked>,
    /// The number of the next question; the one after that has two more.
    next: u64,
    due: BTreeSet<(Time, PairName)>,
    /// Pairs that nothing shows, oldest first, each once; some of them have been taken up again since.
    idle: VecDeque<PairName>,
    failures: u64,
}

impl Audience {
    /// `first` is the number of the first question; each later one has two more.
    pub(crate) fn new(rule: AudienceRule, seed: u64, first: u64) -> Self {
        let hasher = SeedableRandomState::with_seed(seed, foldhash::SharedSeed::global_fixed());
        Self {
            rule,
            pairs: HashMap::with_hasher(hasher.clone()),
            hasher,
            queue: Vec::new(),
            asked: BTreeMap::new(),
            next: first,
            due: BTreeSet::new(),
            idle: VecDeque::new(),
            failures: 0,
        }
    }

    /// Pairs of which something is kept.
    pub(crate) fn len(&self) -> usize {
        self.pairs.values().map(HashMap::len).sum()
    }

    /// How many answers have failed, were late or were missing.
    pub(crate) fn failures(&self) -> u64 {
        self.failures
    }

    pub(crate) fn deadline(&self) -> Time {
        let due = self.due.first().map_or(Time::MAX, |it| it.0);
        // Questions are asked in the order of their numbers, and all may take as long.
        let asked = self.asked.first_key_value().map_or(Time::MAX, |it| it.1.until);
        due.min(asked)
    }

    /// What is known of a pair. If nothing is, it is going to be asked.
    fn look(&mut self, now: Time, viewer: &Arc<str>, user: &Arc<str>) -> Option<Fineness> {
        let hasher = &self.hasher;
        let of_viewer = self
            .pairs
            .entry(Arc::clone(viewer))
            .or_insert_with(|| HashMap::with_hasher(hasher.clone()));
        let pair = of_viewer.entry(Arc::clone(user)).or_default();
        if let Some((known, until)) = pair.known
            && until > now
            && !pair.outdated
        {
            return Some(known);
        }
        if pair.failures > 0 && !pair.asking && pair.due.is_some_and(|at| at > now) {
            // It failed lately and is asked again in its time: nothing is shown meanwhile.
            return Some(Fineness::Nothing);
        }
        if !pair.asking {
            pair.asking = true;
            self.queue.push((Arc::clone(viewer), Arc::clone(user)));
        }
        None
    }

    /// The same for a watch, which is told of each later answer, too; and since when it has been no less.
    pub(crate) fn attach(
        &mut self,
        now: Time,
        viewer: &Arc<str>,
        user: &Arc<str>,
        watch: WatchId,
    ) -> Option<(Fineness, Time)> {
        let known = self.look(now, viewer, user);
        let half = self.rule.lifetime.fraction(1, 2);
        let pair = self.pairs.get_mut(&**viewer)?.get_mut(&**user)?;
        pair.watches.push(watch);
        let since = pair.since;
        if pair.due.is_none()
            && let Some((_, until)) = pair.known
        {
            let at = (until - half).max(now);
            self.schedule((Arc::clone(viewer), Arc::clone(user)), at);
        }
        Some((known?, since))
    }

    /// A watch has ended.
    pub(crate) fn detach(&mut self, viewer: &str, user: &str, watch: WatchId) {
        let Some(pair) = self.pairs.get_mut(viewer).and_then(|it| it.get_mut(user)) else { return };
        let Some(place) = pair.watches.iter().position(|it| *it == watch) else { return };
        pair.watches.remove(place);
        if pair.watches.is_empty() {
            self.rest((viewer.into(), user.into()));
        }
    }

    /// The same for somebody who does not wait.
    pub(crate) fn begin(&mut self, now: Time, viewer: &Arc<str>, user: &Arc<str>) {
        self.look(now, viewer, user);
    }

    /// The same for a read; true if it has to wait for the answer.
    pub(crate) fn await_pair(
        &mut self,
        now: Time,
        viewer: &Arc<str>,
        user: &Arc<str>,
        read: u64,
    ) -> bool {
        if self.look(now, viewer, user).is_some() {
            return false;
        }
        if let Some(pair) = self.pairs.get_mut(&**viewer).and_then(|it| it.get_mut(&**user)) {
            pair.reads.push(read);
        }
        true
    }

    /// What is known of a pair; nothing is to be seen where nothing is known.
    pub(crate) fn known(&self, now: Time, viewer: &str, user: &str) -> Fineness {
        let pair = self.pairs.get(viewer).and_then(|it| it.get(user));
        pair.filter(|it| !it.outdated)
            .and_then(|it| it.known)
            .filter(|it| it.1 > now)
            .map_or(Fineness::Nothing, |it| it.0)
    }

    /// Since when what is known of a pair has been no less.
    pub(crate) fn since(&self, viewer: &str, user: &str) -> Time {
        let pair = self.pairs.get(viewer).and_then(|it| it.get(user));
        pair.map_or(Time::ZERO, |it| it.since)
    }

    /// The questions to be asked now: their numbers and pairs.
    pub(crate) fn questions(&mut self, now: Time) -> Vec<(u64, Vec<PairName>)> {
        let mut questions = Vec::new();
        while !self.queue.is_empty() {
            let pairs: Vec<PairName> = self.queue.drain(..self.queue.len().min(BATCH)).collect();
            let until = now + self.rule.deadline;
            self.asked.insert(self.next, Asked { pairs: pairs.clone(), until });
            questions.push((self.next, pairs));
            self.next += 2;
        }
        questions
    }

    /// The application has answered; what is missing has failed.
    pub(crate) fn answer(
        &mut self,
        now: Time,
        number: u64,
        answers: &[Option<Fineness>],
        settled: &mut Settled,
    ) {
        let Some(asked) = self.asked.remove(&number) else { return };
        for (place, name) in asked.pairs.into_iter().enumerate() {
            let answer = answers.get(place).copied().flatten();
            self.take(now, name, answer, settled);
        }
    }

    fn take(&mut self, now: Time, name: PairName, answer: Option<Fineness>, settled: &mut Settled) {
        let Some(pair) = self.pairs.get_mut(&*name.0).and_then(|it| it.get_mut(&*name.1)) else {
            return;
        };
        pair.asking = false;
        if std::mem::take(&mut pair.outdated) {
            if pair.watches.is_empty() && pair.reads.is_empty() {
                return self.forget(&name);
            }
            pair.asking = true;
            self.queue.push(name);
            return;
        }
        settled.reads.append(&mut pair.reads);
        let watched = !pair.watches.is_empty();
        match answer {
            Some(fineness) => {
                pair.failures = 0;
                let before = pair.known.filter(|it| it.1 > now);
                if before.is_none_or(|it| it.0 < fineness) {
                    pair.since = now;
                }
                pair.known = Some((fineness, now + self.rule.lifetime));
                settled.watches.extend(pair.watches.iter().map(|it| (*it, fineness)));
                if watched {
                    let half = self.rule.lifetime.fraction(1, 2);
                    self.schedule(name, now + half);
                } else {
                    self.rest(name);
                }
            }
            None => {
                self.failures += 1;
                pair.failures = pair.failures.saturating_add(1);
                let mut again = now + wait_after(pair.failures);
                match pair.known {
                    // What was said before holds as long as it was to hold.
                    Some((_, until)) if until > now => again = again.min(until),
                    _ => {
                        pair.known = None;
                        let nothing = Fineness::Nothing;
                        settled.watches.extend(pair.watches.iter().map(|it| (*it, nothing)));
                    }
                }
                self.schedule(name.clone(), again);
                if !watched {
                    self.rest(name);
                }
            }
        }
    }

    /// What was said holds no more. The watches that are to show nothing newer until it is said
    /// anew.
    pub(crate) fn change(&mut self, user: Option<&str>, viewer: Option<&str>) -> Vec<WatchId> {
        let mut names: Vec<PairName> = Vec::new();
        let viewers: Vec<Arc<str>> = match viewer {
            Some(viewer) => {
                self.pairs.get_key_value(viewer).map(|it| Arc::clone(it.0)).into_iter().collect()
            }
            None => self.pairs.keys().cloned().collect(),
        };
        for viewer in viewers {
            let Some(of_viewer) = self.pairs.get(&viewer) else { continue };
            match user {
                Some(user) => {
                    let found = of_viewer.get_key_value(user);
                    names.extend(found.map(|it| (Arc::clone(&viewer), Arc::clone(it.0))));
                }
                None => {
                    names.extend(of_viewer.keys().map(|it| (Arc::clone(&viewer), Arc::clone(it))))
                }
            }
        }
        names.sort_unstable();
        let mut watches = Vec::new();
        for name in names {
            let Some(pair) = self.pair(&name) else {
                continue;
            };
            pair.known = None;
            pair.failures = 0;
            watches.extend_from_slice(&pair.watches);
            if pair.asking {
                pair.outdated = true;
            } else if pair.watches.is_empty() {
                self.forget(&name);
            } else {
                pair.asking = true;
                self.queue.push(name);
            }
        }
        watches
    }

    /// Time has come: answers that are late have failed, and what is about to end is asked again.
    pub(crate) fn timeout(&mut self, now: Time, settled: &mut Settled) {
        while let Some(entry) = self.asked.first_entry() {
            if entry.get().until > now {
                break;
            }
            let number = *entry.key();
            self.answer(now, number, &[], settled);
        }
        while let Some((at, _)) = self.due.first() {
            if *at > now {
                break;
            }
            let Some((_, name)) = self.due.pop_first() else { break };
            let Some(pair) = self.pair(&name) else {
                continue;
            };
            pair.due = None;
            if pair.known.is_some_and(|it| it.1 <= now) {
                pair.known = None;
                let nothing = Fineness::Nothing;
                settled.watches.extend(pair.watches.iter().map(|it| (*it, nothing)));
            }
            if pair.watches.is_empty() {
                if pair.known.is_none() && !pair.asking {
                    self.forget(&name);
                }
            } else if !pair.asking {
                pair.asking = true;
                let ends = pair.known.map(|it| it.1);
                self.queue.push(name.clone());
                if let Some(at) = ends {
                    // The answer may not come in time.
                    self.schedule(name, at);
                }
            }
        }
    }

    fn schedule(&mut self, name: PairName, at: Time) {
        let Some(pair) = self.pair(&name) else {
            return;
        };
        if let Some(before) = pair.due.replace(at) {
            self.due.remove(&(before, name.clone()));
        }
        self.due.insert((at, name));
    }

    /// Nothing shows the pair any more: it is kept while there is room.
    fn rest(&mut self, name: PairName) {
        let Some(pair) = self.pair(&name) else { return };
        if !std::mem::replace(&mut pair.rests, true) {
            self.idle.push_back(name);
        }
        if self.idle.len() > self.rule.kept
            && let Some(oldest) = self.idle.pop_front()
            && let Some(pair) = self.pair(&oldest)
        {
            pair.rests = false;
            if pair.watches.is_empty() && pair.reads.is_empty() && !pair.asking {
                self.forget(&oldest);
            }
        }
    }

    fn pair(&mut self, name: &PairName) -> Option<&mut Pair> {
        self.pairs.get_mut(&*name.0)?.get_mut(&*name.1)
    }

    fn forget(&mut self, name: &PairName) {
        let Some(of_viewer) = self.pairs.get_mut(&*name.0) else { return };
        if let Some(pair) = of_viewer.remove(&*name.1)
            && let Some(at) = pair.due
        {
            self.due.remove(&(at, name.clone()));
        }
        if of_viewer.is_empty() {
            self.pairs.remove(&*name.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::gate::Fineness::{Live, Nothing};

    fn at(secs: u64) -> Time {
        Time::from_millis(secs * 1000)
    }

    fn audience(kept: usize) -> Audience {
        Audience::new(AudienceRule { kept, ..AudienceRule::default() }, 1, 1)
    }

    fn pair(user: usize) -> PairName {
        ("bo".into(), format!("u{user}").into())
    }

    #[test]
    fn what_nobody_watches_is_kept_within_bounds() {
        let mut audience = audience(10);
        for user in 0..1_000 {
            let (viewer, user) = pair(user);
            assert!(audience.await_pair(at(1), &viewer, &user, 7));
            let (number, pairs) = audience.questions(at(1)).pop().expect("it is asked");
            assert_eq!(pairs, [(viewer.clone(), user.clone())]);
            let mut settled = Settled::default();
            audience.answer(at(1), number, &[Some(Live)], &mut settled);
            assert_eq!(settled.reads, [7]);
            assert_eq!(audience.known(at(60), &viewer, &user), Live);
            assert_eq!(audience.known(at(61), &viewer, &user), Nothing);
        }
        assert_eq!(audience.len(), 10);
    }

    #[test]
    fn a_failure_is_asked_again_later_and_later() {
        let mut audience = audience(10);
        let (viewer, user) = pair(1);
        let watch = WatchId::for_test();
        assert_eq!(audience.attach(at(0), &viewer, &user, watch), None);
        let mut asked_at = Vec::new();
        let mut now = at(0);
        while now < at(300) {
            let mut settled = Settled::default();
            audience.timeout(now, &mut settled);
            for (number, _) in audience.questions(now) {
                asked_at.push(now.as_millis() / 1000);
                audience.answer(now, number, &[], &mut settled);
            }
            now = audience.deadline();
        }
        assert_eq!(asked_at, [0, 1, 3, 7, 15, 31, 63, 123, 183, 243]);
        assert_eq!(audience.failures(), 10);
    }
}
