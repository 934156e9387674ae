//! A connection that watches.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use foldhash::quality::FixedState;
use greendot_protocol::Version;

use super::Watches;
use crate::core::directory::Outlook;
use crate::core::node::ConnId;
use crate::core::slab::Id;

/// A viewer's place in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ViewerId(pub(super) Id);

#[derive(Debug)]
pub(super) struct Viewer {
    pub(super) conn: ConnId,
    pub(super) onlooker: Id,
    /// The client's numbers. It chose them itself, so crafted ones slow down nobody else.
    pub(super) numbers: HashMap<u32, Id, FixedState>,
    /// The one watch of each user whom it sees under a number: (user, watch), sorted. Most see few, and
    /// nobody more than a frame or two of them.
    subjects: Vec<(Id, Id)>,
    /// The rooms that it looks into, by the client's numbers.
    pub(super) seats: BTreeMap<u32, Id>,
    /// Numbers of rooms of which it is to be told that nobody is there for it any more.
    pub(super) cleared: BTreeSet<u32>,
    /// Watch frames not yet answered.
    pub(super) requests: Vec<Request>,
    /// Everything is to be shown afresh: a new epoch has begun.
    pub(super) afresh: bool,
    /// By users whom it watches no more, and was shown under higher versions than others are: from where the numbering goes on.
    pub(super) floors: BTreeMap<Arc<str>, Version>,
}

/// A watch frame that waits for its snapshot.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) number: u32,
    pub(super) watches: Vec<Id>,
}

impl Viewer {
    fn place_of(&self, subject: Id) -> Result<usize, usize> {
        self.subjects.binary_search_by_key(&subject, |it| it.0)
    }

    /// Sees a user through this watch from now on; returns the one before.
    pub(super) fn see(&mut self, subject: Id, watch: Id) -> Option<Id> {
        match self.place_of(subject) {
            Ok(place) => Some(std::mem::replace(&mut self.subjects[place].1, watch)),
            Err(place) => {
                self.subjects.insert(place, (subject, watch));
                None
            }
        }
    }

    /// The watch through which it sees a user.
    pub(super) fn sees(&self, subject: Id) -> Option<Id> {
        self.place_of(subject).ok().map(|it| self.subjects[it].1)
    }

    /// Sees the user no more.
    pub(super) fn lose(&mut self, subject: Id) {
        if let Ok(place) = self.place_of(subject) {
            self.subjects.remove(place);
        }
    }
}

impl ViewerId {
    /// Its slot in the table.
    pub(crate) fn slot(self) -> u32 {
        self.0.slot
    }
}

impl Watches {
    /// The viewer in this slot, if it is this connection's.
    pub(crate) fn viewer_at(&self, slot: u32, conn: ConnId) -> Option<ViewerId> {
        let id = self.viewers.id_at(slot)?;
        self.viewers.get(id).filter(|it| it.conn == conn).map(|_| ViewerId(id))
    }

    /// A connection of the user `name` begins to look. `outlook` is what stands between it and
    /// others; none: it is to be loaded, if the user is new here, which is said with the viewer.
    pub(crate) fn open(
        &mut self,
        conn: ConnId,
        name: &Arc<str>,
        hides: bool,
        outlook: Option<Arc<Outlook>>,
    ) -> (ViewerId, bool) {
        let (onlooker, fresh) = self.onlookers.enter(name, hides, outlook);
        let viewer = ViewerId(self.viewers.insert(Viewer {
            conn,
            onlooker,
            numbers: HashMap::default(),
            subjects: Vec::new(),
            seats: BTreeMap::new(),
            cleared: BTreeSet::new(),
            requests: Vec::new(),
            afresh: false,
            floors: BTreeMap::new(),
        }));
        self.outboxes.open(viewer, conn);
        if let Some(row) = self.onlookers.get_mut(onlooker) {
            row.viewers.push(viewer);
        }
        (viewer, fresh)
    }

    /// The connection that watches.
    pub(crate) fn conn_of(&self, viewer: ViewerId) -> Option<ConnId> {
        self.viewers.get(viewer.0).map(|it| it.conn)
    }

    /// How many watch frames of the viewer wait for their snapshots.
    pub(crate) fn requests_of(&self, viewer: ViewerId) -> usize {
        self.viewers.get(viewer.0).map_or(0, |it| it.requests.len())
    }

    /// The connection has ended: its watches end with it.
    pub(crate) fn close(&mut self, viewer: ViewerId) {
        let Some(gone) = self.viewers.remove(viewer.0) else { return };
        for watch in gone.numbers.into_values() {
            self.remove(watch);
        }
        for seat in gone.seats.into_values() {
            self.drop_seat(seat);
        }
        self.onlookers.leave(gone.onlooker, viewer);
        if self.viewers.len() == 0 {
            self.outboxes.give_back();
        }
    }

    /// A watch frame begins: the watches that follow are answered together.
    pub(crate) fn begin_request(&mut self, viewer: ViewerId, number: u32) {
        if let Some(row) = self.viewers.get_mut(viewer.0) {
            row.requests.push(Request { number, watches: Vec::new() });
        }
    }

    /// How many users the viewer watches.
    pub(crate) fn watched_by(&self, viewer: ViewerId) -> usize {
        self.viewers.get(viewer.0).map_or(0, |it| it.numbers.len())
    }

    /// Whether this number stands for a user already.
    pub(crate) fn is_taken(&self, viewer: ViewerId, number: u32) -> bool {
        self.viewers.get(viewer.0).is_some_and(|it| it.numbers.contains_key(&number))
    }

    /// Whether the viewer sees this user under some number already.
    pub(crate) fn sees(&self, viewer: ViewerId, user: &str) -> bool {
        let subject = self.names.get(user);
        let row = self.viewers.get(viewer.0);
        subject.zip(row).is_some_and(|(&subject, row)| row.place_of(subject).is_ok())
    }

    /// What waits for the viewer: entries, counted by users.
    pub(crate) fn waiting(&self, viewer: ViewerId) -> usize {
        self.outboxes.len(viewer) + self.requested(viewer)
    }

    /// How many watches it asked for that wait for their snapshots. What else waits for it is no business of a limit: changes
    /// that it may not see are marked, too.
    pub(crate) fn requested(&self, viewer: ViewerId) -> usize {
        let requests = self.viewers.get(viewer.0).map_or(&[][..], |it| &it.requests);
        requests.iter().map(|it| it.watches.len()).sum()
    }

    /// How many watches have been marked so far: watchers, each time one was to be told.
    pub(crate) fn marks(&self) -> u64 {
        self.outboxes.marked()
    }

    /// How often something newer took the place of what a watcher had not been sent yet.
    pub(crate) fn overtaken(&self) -> u64 {
        self.outboxes.overtaken()
    }

    /// Whether anything waits for the tick.
    pub(crate) fn has_marked(&self) -> bool {
        self.outboxes.has_listed()
    }

    /// The tick has come: what was marked may go. Tells the connections concerned.
    pub(crate) fn release(&mut self, tell: impl FnMut(ConnId)) {
        self.outboxes.release(tell);
    }
}
