//! Who looks at whom, and what waits for them.
//!
//! What waits for a watcher is a mark on a watch, never a queue of entries: when its connection
//! can take more, the newest state of each marked user is read and encoded. So at most one entry a
//! user waits (rule 14), and a watcher that reads nothing costs nothing more.
//!
//! The versions that a watcher gets number what *it* was shown (rule 13). Most watches are shown
//! just what the record holds; where one is not, it carries the difference as an offset.

mod crowd;
mod loading;
mod onlooker;
mod openings;
mod outbox;
mod past;
mod rooms;
mod sight;
mod subject;
mod transmit;
mod viewer;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use foldhash::quality::{FixedState, SeedableRandomState};
use greendot_protocol::sabotage::{Fault, on};
use greendot_protocol::{State, Time, Version};

pub(crate) use self::crowd::CrowdRule;
use self::onlooker::Onlookers;
use self::openings::Openings;
use self::outbox::Outboxes;
use self::rooms::Rooms;
pub(crate) use self::rooms::{RoomWork, SAMPLE, rounded};
use self::sight::{Pause, Scene};
use self::subject::Subject;
pub(crate) use self::viewer::ViewerId;
use self::viewer::{Request, Viewer};
use super::directory::{Change, Record, Screen};
use super::gate::{Fineness, Glimpse, Light};
use super::slab::{Id, Slab};

/// Watches that are looked at in one step when the warm-up is over: about a millisecond.
const COOLED: u32 = 100_000;

/// Users, and viewers, of whom nobody wants to know and that are kept while the store cannot be asked. More are forgotten:
/// an outage that lasts must not fill the memory.
const IDLE: usize = 1 << 16;

/// A watch's place in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct WatchId(Id);

/// The place of a user whom somebody here watches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SubjectId(Id);

#[cfg(test)]
impl WatchId {
    /// One that stands for a watch where none is needed.
    pub(crate) fn for_test() -> Self {
        Self(Id { slot: 0, stamp: 0 })
    }
}

/// The watches of a node's connections.
#[derive(Debug)]
pub(crate) struct Watches {
    names: HashMap<Arc<str>, Id, SeedableRandomState>,
    subjects: Slab<Subject>,
    watches: Slab<Watch>,
    viewers: Slab<Viewer>,
    onlookers: Onlookers,
    rooms: Rooms,
    outboxes: Outboxes,
    /// Slots of watches taken from an outbox: the room for them is kept.
    taken: Vec<u32>,
    warming: bool,
    /// Watches before this slot have been looked at since the warm-up was over.
    cooled: u32,
    /// Where rounded times begin.
    grid: Time,
    /// The shared store cannot be asked: who is not loaded is shown as unknown.
    blind: bool,
    openings: Openings,
    crowds: CrowdRule,
    /// When the next part of a crowd is to be told, by user.
    rounds: BTreeSet<(Time, Id)>,
    /// Users of whom the shared store is to be told how many watch them here, if there is one.
    counted: Option<BTreeMap<Arc<str>, u32>>,
    /// Users whom nobody watches any more.
    forgotten: Vec<Arc<str>>,
    /// Users of whom nobody wanted to know for a moment, at least, while the store could not be asked.
    idle: Vec<Id>,
    /// Whether it is noted which watches end.
    audited: bool,
    /// Watches that have ended: who looked, at whom.
    ended: Vec<(Arc<str>, Arc<str>, WatchId)>,
}

/// One viewer's interest in one user.
#[derive(Debug)]
struct Watch {
    viewer: ViewerId,
    onlooker: Id,
    subject: Id,
    /// Where the subject's list names this watch.
    place: u32,
    under: Under,
    /// The viewer is the user.
    own: bool,
    /// What the application lets the viewer see.
    grant: Fineness,
    /// The application is being asked: nothing newer is shown until it answers.
    pause: Option<Box<Pause>>,
    /// It is to show more as soon as it is known how the user stands.
    awaits: bool,
    /// The viewer lost sight of the user on this connection, for a reason that nothing else
    /// remembers, and sees this since.
    shut: Option<Box<Screen>>,
    /// The viewer has regained sight: the numbering goes on from what it was shown last.
    renumber: bool,
    /// The version shown less the one that the gate gives; before anything is shown, the least version that may be.
    offset: i64,
    shown: Shown,
}

/// Where what a watch shows belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Under {
    /// To the user that the client knows under this number.
    Number(u32),
    /// To a room into which the client looks.
    Seat(Id),
}

/// What a watcher was shown last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shown {
    state: State,
    note: u64,
    version: Version,
}

impl Shown {
    const NOTHING: Self = Self { state: State::Unknown, note: 0, version: Version(0) };

    fn of(glimpse: &Glimpse<'_>, version: Version) -> Self {
        Self { state: glimpse.state(), note: note_hash(glimpse.note()), version }
    }

    /// Whether the glimpse would show the watcher anything new.
    fn differs(&self, glimpse: &Glimpse<'_>) -> bool {
        self.state != glimpse.state() || self.note != note_hash(glimpse.note())
    }
}

/// Stands for a note that was shown. A user who finds two notes with one hash can only keep a
/// change of the own note from being told.
fn note_hash(note: &str) -> u64 {
    use std::hash::BuildHasher;
    if note.is_empty() { 0 } else { FixedState::default().hash_one(note) }
}

/// What came of a watch.
#[derive(Debug)]
pub(crate) struct Begun {
    pub(crate) watch: WatchId,
    /// The user's name, if it is to be loaded.
    pub(crate) load: Option<Arc<str>>,
}

impl Watches {
    pub(crate) fn new(
        warming: bool,
        audited: bool,
        seed: u64,
        crowds: CrowdRule,
        room_limit: usize,
    ) -> Self {
        Self {
            names: HashMap::with_hasher(SeedableRandomState::with_seed(
                seed,
                foldhash::SharedSeed::global_fixed(),
            )),
            subjects: Slab::default(),
            watches: Slab::default(),
            viewers: Slab::default(),
            onlookers: Onlookers::new(seed),
            rooms: Rooms::new(room_limit, seed),
            outboxes: Outboxes::default(),
            taken: Vec::new(),
            warming,
            cooled: u32::MAX,
            grid: Time::ZERO,
            blind: false,
            openings: Openings::default(),
            crowds,
            rounds: BTreeSet::new(),
            counted: None,
            forgotten: Vec::new(),
            idle: Vec::new(),
            audited,
            ended: Vec::new(),
        }
    }

    pub(crate) fn watch_count(&self) -> usize {
        self.watches.len()
    }

    pub(crate) fn subject_count(&self) -> usize {
        self.subjects.len()
    }

    pub(crate) fn viewer_count(&self) -> usize {
        self.viewers.len()
    }

    pub(crate) fn onlooker_count(&self) -> usize {
        self.onlookers.len()
    }

    /// By what the gate looks now.
    pub(crate) fn light(&self, now: Time) -> Light {
        Light { now, warming: self.warming && !on(Fault::WarmupLeftOut), grid: self.grid }
    }

    /// From where rounded times count.
    pub(crate) fn set_grid(&mut self, grid: Time) {
        self.grid = grid;
    }

    fn scene(&self, now: Time) -> Scene<'_> {
        Scene {
            subjects: &self.subjects,
            onlookers: &self.onlookers,
            light: self.light(now),
            blind: self.blind,
            throng: self.crowds.throng,
        }
    }

    /// Begins to show `user` to the viewer under `number`. What the viewer sees first is the
    /// snapshot for the request that was opened last. If it sees the user already, this watch takes
    /// that one's place: a change is told once to a connection. `grant` is what the application lets it see,
    /// if it has said so. `record` is asked for only if nobody here watches the user yet; if it
    /// gives none, it is to be loaded.
    pub(crate) fn watch(
        &mut self,
        viewer: ViewerId,
        number: u32,
        user: &str,
        grant: Option<Fineness>,
        record: impl FnOnce() -> Option<Record>,
    ) -> Option<Begun> {
        let past = self.past_of(viewer, user);
        self.unwatch(viewer, number);
        let onlooker = self.viewers.get(viewer.0)?.onlooker;
        let hides = self.onlookers.get(onlooker).is_some_and(|it| it.hides);
        let may_see = !hides && grant.is_some_and(|it| it != Fineness::Nothing);
        let own = *self.onlookers.name(onlooker) == *user;
        let (subject, load) = self.find_or_load(user, !own, record);
        let watch = self.insert(Watch {
            viewer,
            onlooker,
            subject,
            place: 0,
            under: Under::Number(number),
            own,
            grant: grant.unwrap_or(Fineness::Nothing),
            pause: (grant.is_none() && !own).then(Box::default),
            awaits: false,
            shut: past.shut.filter(|_| !may_see),
            renumber: false,
            offset: past.floor.map_or(0, |it| i64::from(it.0)),
            shown: Shown::NOTHING,
        });
        self.outboxes.begin(watch, viewer, true);
        let row = self.viewers.get_mut(viewer.0)?;
        row.numbers.insert(number, watch);
        if let Some(Request { watches, .. }) = row.requests.last_mut() {
            watches.push(watch);
        }
        if let Some(before) = row.see(subject, watch) {
            if let Some(Under::Number(before)) = self.watches.get(before).map(|it| it.under) {
                row.numbers.remove(&before);
            }
            self.remove(before);
        }
        Some(Begun { watch: WatchId(watch), load })
    }

    /// Puts a watch where its user finds it.
    fn insert(&mut self, watch: Watch) -> Id {
        let (subject_id, own, under) = (watch.subject, watch.own, watch.under);
        let id = self.watches.insert(watch);
        if let Some(subject) = self.subjects.get_mut(subject_id) {
            let watchers = subject.list(own, under);
            watchers.push(id);
            let place = watchers.len() as u32 - 1;
            if let Some(row) = self.watches.get_mut(id) {
                row.place = place;
            }
        }
        self.recount(subject_id);
        id
    }

    fn find_or_load(
        &mut self,
        user: &str,
        by_name: bool,
        record: impl FnOnce() -> Option<Record>,
    ) -> (Id, Option<Arc<str>>) {
        if let Some(&id) = self.names.get(user) {
            let asks = |it: &&mut Subject| {
                by_name && it.watchers.is_empty() && !it.kept && record().is_none()
            };
            let Some(subject) = self.subjects.get_mut(id).filter(asks) else { return (id, None) };
            subject.asked = true;
            return (id, Some(Arc::clone(&subject.name)));
        }
        let name: Arc<str> = user.into();
        let record = record();
        let load = record.is_none().then(|| Arc::clone(&name));
        let asked = by_name && load.is_some();
        let subject = Subject { asked, ..Subject::new(Arc::clone(&name), record) };
        let id = self.subjects.insert(subject);
        self.names.insert(name, id);
        (id, load)
    }

    /// Ends the watch with this number, if there is one.
    pub(crate) fn unwatch(&mut self, viewer: ViewerId, number: u32) {
        let Some(row) = self.viewers.get_mut(viewer.0) else { return };
        let Some(watch) = row.numbers.remove(&number) else { return };
        if let Some(gone) = self.watches.get(watch) {
            row.lose(gone.subject);
        }
        self.keep_numbering(viewer, watch);
        self.remove(watch);
    }

    /// The user, if anybody here watches it.
    pub(crate) fn subject(&self, user: &str) -> Option<SubjectId> {
        self.names.get(user).copied().map(SubjectId)
    }

    /// What an operation changed is marked for those who may see it.
    pub(crate) fn publish(
        &mut self,
        now: Time,
        SubjectId(id): SubjectId,
        record: Record,
        change: Change,
    ) {
        let Some(subject) = self.subjects.get_mut(id) else { return };
        subject.record = Some(record);
        if change.public {
            self.tell_watchers(now, id);
            self.tell_seats(now, id);
        }
        if change.own {
            self.tell_own(id);
        }
    }

    fn tell_own(&mut self, subject: Id) {
        let Some(subject) = self.subjects.get(subject) else { return };
        for &watch in &subject.own {
            self.outboxes.mark(watch);
        }
    }

    /// Watches that have ended since the last call: who looked, at whom.
    pub(crate) fn take_ended(&mut self) -> Vec<(Arc<str>, Arc<str>, WatchId)> {
        std::mem::take(&mut self.ended)
    }

    /// Marks every watcher of a user who is not the user itself, a crowd part by part.
    fn tell_watchers(&mut self, now: Time, id: Id) {
        let Some(subject) = self.subjects.get(id) else { return };
        if subject.many() > self.crowds.limit && !on(Fault::WatchersAtOnce) {
            return self.tell_crowd(now, id);
        }
        for &watch in &subject.watchers {
            self.outboxes.mark(watch);
        }
    }

    /// What a watch shows has changed, not by the user's doing: it is told as if it were.
    fn touch(&mut self, now: Time, watch: Id) {
        let Some(row) = self.watches.get(watch) else { return };
        if matches!(row.under, Under::Seat(_)) {
            return self.touch_member(now, watch, false);
        }
        let subject = self.subjects.get(row.subject);
        if !row.own && subject.is_some_and(|it| it.many() > self.crowds.limit) {
            return self.tell_crowd(now, row.subject);
        }
        self.outboxes.mark(watch);
    }

    /// The warm-up is over: users never heard from are offline (rule 12 a).
    pub(crate) fn end_warmup(&mut self) {
        self.warming = false;
        self.cooled = 0;
    }

    /// Whether there is something left to do for that.
    pub(crate) fn is_cooling(&self) -> bool {
        self.cooled != u32::MAX
    }

    /// Marks those who were shown such a user as unknown, so many of them; false if all are.
    pub(crate) fn cool_down(&mut self) -> bool {
        let end = self.watches.slots().min(self.cooled.saturating_add(COOLED));
        for id in (self.cooled..end).filter_map(|it| self.watches.id_at(it)) {
            if self.watches.get(id).is_some_and(|it| it.shown.state == State::Unknown) {
                self.outboxes.mark(id);
            }
        }
        let more = end < self.watches.slots();
        self.cooled = if more { end } else { u32::MAX };
        more
    }

    fn remove(&mut self, watch: Id) {
        let Some(gone) = self.watches.remove(watch) else { return };
        self.outboxes.unmark(watch);
        self.openings.forget_watch(watch);
        let Some(subject) = self.subjects.get_mut(gone.subject) else { return };
        if self.audited
            && !gone.own
            && let Some(onlooker) = self.onlookers.get(gone.onlooker)
        {
            let ended = (Arc::clone(&onlooker.name), Arc::clone(&subject.name), WatchId(watch));
            self.ended.push(ended);
        }
        let was_open = subject.is_open() && subject.record.is_some();
        for (moved, place) in subject.take_out(gone.own, gone.under, gone.place as usize) {
            if let Some(row) = self.watches.get_mut(moved) {
                row.place = place as u32;
            }
        }
        subject.asked &= !subject.watchers.is_empty();
        subject.kept |= self.blind && was_open && self.idle.len() < IDLE;
        self.recount(gone.subject);
        self.forget_if_idle(gone.subject);
    }

    /// A user of whom nobody here wants to know any more. While the store cannot be asked, what is known of it is kept
    /// for whoever comes back to it (rule 12 b).
    fn forget_if_idle(&mut self, id: Id) {
        if self.blind && self.idle.len() < IDLE {
            self.idle.push(id);
        } else {
            self.forget(id);
        }
    }

    fn forget(&mut self, id: Id) {
        if self.subjects.get(id).is_some_and(Subject::is_idle)
            && let Some(subject) = self.subjects.remove(id)
        {
            if let Some(round) = subject.round {
                self.rounds.remove(&(round.next, id));
            }
            self.names.remove(&subject.name);
            if let Some(counted) = self.counted.as_mut() {
                counted.remove(&subject.name);
            }
            self.forgotten.push(subject.name);
        }
    }
}
