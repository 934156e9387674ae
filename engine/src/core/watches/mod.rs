//! Who looks at whom, and what waits for them.
//!
//! What waits for a watcher is a mark on a watch, never a queue of entries: when its connection
//! can take more, the newest state of each marked user is read and encoded. So at most one entry a
//! user waits (rule 14), and a watcher that reads nothing costs nothing more.
//!
//! The versions that a watcher gets number what *it* was shown (rule 13). Most watches are shown
//! just what the record holds; where one is not, it carries the difference as an offset.

mod loading;
mod subject;
mod transmit;
mod viewer;

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::quality::{FixedState, SeedableRandomState};
use greendot_protocol::{State, Version};

use self::subject::Subject;
pub(crate) use self::viewer::ViewerId;
use self::viewer::{Request, Viewer};
use super::directory::{Change, Record};
use super::gate::{Glimpse, Sight};
use super::slab::{Id, Slab};

/// The watches of a node's connections.
#[derive(Debug)]
pub(crate) struct Watches {
    names: HashMap<Arc<str>, Id, SeedableRandomState>,
    subjects: Slab<Subject>,
    watches: Slab<Watch>,
    viewers: Slab<Viewer>,
    /// Viewers with something marked, waiting for the tick.
    marked: Vec<ViewerId>,
    warming: bool,
    /// The shared store cannot be asked: who is not loaded is shown as unknown.
    blind: bool,
    /// Users whom nobody watches any more.
    forgotten: Vec<Arc<str>>,
}

/// One viewer's interest in one user.
#[derive(Debug)]
struct Watch {
    viewer: ViewerId,
    subject: Id,
    /// Where the subject's list names this watch.
    place: u32,
    /// The client's number for the user.
    number: u32,
    sight: Sight,
    /// The version shown less the record's.
    offset: i64,
    shown: Shown,
    marked: bool,
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

impl Watches {
    pub(crate) fn new(warming: bool, seed: u64) -> Self {
        Self {
            names: HashMap::with_hasher(SeedableRandomState::with_seed(
                seed,
                foldhash::SharedSeed::global_fixed(),
            )),
            subjects: Slab::default(),
            watches: Slab::default(),
            viewers: Slab::default(),
            marked: Vec::new(),
            warming,
            blind: false,
            forgotten: Vec::new(),
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

    pub(crate) fn is_warming(&self) -> bool {
        self.warming
    }

    /// Begins to show `user` to the viewer under `number`. What the viewer sees first is the
    /// snapshot for the request that was opened last. `record` is asked for only if nobody here
    /// watches the user yet; if it gives none, the name is returned: it is to be loaded.
    pub(crate) fn watch(
        &mut self,
        viewer: ViewerId,
        number: u32,
        user: &str,
        sight: Sight,
        record: impl FnOnce() -> Option<Record>,
    ) -> Option<Arc<str>> {
        self.unwatch(viewer, number);
        let mut fresh = None;
        let subject = match self.names.get(user) {
            Some(&id) => id,
            None => {
                let name: Arc<str> = user.into();
                let record = record();
                fresh = record.is_none().then(|| Arc::clone(&name));
                let id = self.subjects.insert(Subject::new(Arc::clone(&name), record));
                self.names.insert(name, id);
                id
            }
        };
        let row = self.subjects.get_mut(subject)?;
        let place = row.watchers.len() as u32;
        let watch = self.watches.insert(Watch {
            viewer,
            subject,
            place,
            number,
            sight,
            offset: 0,
            shown: Shown::NOTHING,
            marked: true,
        });
        row.watchers.push(watch);
        if let Some(viewer) = self.viewers.get_mut(viewer.0) {
            viewer.numbers.insert(number, watch);
            if let Some(Request { watches, .. }) = viewer.requests.last_mut() {
                watches.push(watch);
            }
        }
        fresh
    }

    /// Ends the watch with this number, if there is one.
    pub(crate) fn unwatch(&mut self, viewer: ViewerId, number: u32) {
        let found = self.viewers.get_mut(viewer.0).and_then(|it| it.numbers.remove(&number));
        if let Some(watch) = found {
            self.remove(watch);
        }
    }

    /// What an operation changed is marked for those who may see it.
    pub(crate) fn publish(&mut self, user: &str, record: &Record, change: Change) {
        let Some(&id) = self.names.get(user) else { return };
        let Some(subject) = self.subjects.get_mut(id) else { return };
        subject.record = Some(record.clone());
        for &watch in &subject.watchers {
            let Some(watch_row) = self.watches.get_mut(watch) else { continue };
            let concerned = match watch_row.sight {
                Sight::Public => change.public,
                Sight::Own => change.own,
            };
            if concerned && !watch_row.marked {
                watch_row.marked = true;
                Self::mark(&mut self.viewers, &mut self.marked, watch_row.viewer, watch);
            }
        }
    }

    /// The warm-up is over: users never heard from are offline (rule 12 a).
    pub(crate) fn end_warmup(&mut self) {
        self.warming = false;
        for (id, watch) in self.watches.iter_mut() {
            if watch.shown.state == State::Unknown && !watch.marked {
                watch.marked = true;
                Self::mark(&mut self.viewers, &mut self.marked, watch.viewer, id);
            }
        }
    }

    fn mark(viewers: &mut Slab<Viewer>, marked: &mut Vec<ViewerId>, viewer: ViewerId, watch: Id) {
        let Some(row) = viewers.get_mut(viewer.0) else { return };
        row.dirty.push(watch);
        if !row.marked {
            row.marked = true;
            marked.push(viewer);
        }
    }

    fn remove(&mut self, watch: Id) {
        let Some(gone) = self.watches.remove(watch) else { return };
        let Some(subject) = self.subjects.get_mut(gone.subject) else { return };
        subject.watchers.swap_remove(gone.place as usize);
        if let Some(&moved) = subject.watchers.get(gone.place as usize)
            && let Some(row) = self.watches.get_mut(moved)
        {
            row.place = gone.place;
        }
        if subject.watchers.is_empty()
            && let Some(subject) = self.subjects.remove(gone.subject)
        {
            self.names.remove(&subject.name);
            self.forgotten.push(subject.name);
        }
    }
}
