//! With a shared store: what is known of users comes from there, and may be out of reach.

use std::sync::Arc;

use greendot_protocol::Time;

use super::{IDLE, Shown, Watches};
use crate::core::directory::{Change, Outlook, Record, Screen};
use crate::core::node::ConnId;
use crate::store::Report;

impl Watches {
    /// The users watched here.
    pub(crate) fn subjects(&self) -> Vec<Arc<str>> {
        self.subjects.iter().map(|(_, it)| Arc::clone(&it.name)).collect()
    }

    /// What is known of a user watched here by name, by others or by itself. That others know it, as a member of a room or
    /// because it looks at itself, tells that it is there.
    pub(crate) fn record(&self, user: &str, itself: bool) -> Option<&Record> {
        let subject = self.subjects.get(*self.names.get(user)?)?;
        let known = if itself { !subject.own.is_empty() } else { subject.is_open() };
        subject.record.as_ref().filter(|_| known)
    }

    /// The store has answered about a user who is watched by name.
    pub(crate) fn open_subject(&mut self, user: &str) {
        let Some(subject) = self.names.get(user).and_then(|it| self.subjects.get_mut(*it)) else {
            return;
        };
        if std::mem::take(&mut subject.asked) {
            // Whoever was shown that it is unknown is concerned.
            for &watch in &subject.watchers {
                self.outboxes.mark(watch);
            }
        }
    }

    /// Users whom nobody has watched any more since the last call.
    pub(crate) fn take_forgotten(&mut self) -> Vec<Arc<str>> {
        let mut forgotten = std::mem::take(&mut self.forgotten);
        // Somebody may have come back to one of them.
        forgotten.retain(|it| !self.names.contains_key(it));
        forgotten
    }

    /// The store tells of these from now on: of those whom nobody here watches it need not.
    pub(crate) fn forget_unwatched(&mut self, users: Vec<Arc<str>>) {
        self.forgotten.extend(users.into_iter().filter(|it| !self.names.contains_key(it)));
    }

    /// Users of whom no connection has looked any more since the last call.
    pub(crate) fn take_forgotten_onlookers(&mut self) -> Vec<Arc<str>> {
        let mut forgotten = std::mem::take(&mut self.onlookers.forgotten);
        forgotten.retain(|it| self.onlookers.find(it).is_none());
        forgotten
    }

    /// What stands between a viewer and others, if it is known here.
    pub(crate) fn outlook(&self, viewer: &str) -> Option<Arc<Outlook>> {
        self.onlookers.get(self.onlookers.find(viewer)?)?.outlook.clone()
    }

    /// The users whose connections look.
    pub(crate) fn onlookers(&self) -> Vec<Arc<str>> {
        self.onlookers.iter().map(|it| Arc::clone(&it.name)).collect()
    }

    /// Who is known to hide from whom: (user, viewer).
    pub(crate) fn blocks(&self) -> Vec<(Arc<str>, Arc<str>)> {
        let mut blocks = Vec::new();
        for onlooker in self.onlookers.iter() {
            let bars = onlooker.outlook.iter().flat_map(|it| &it.bars);
            let shut = bars.filter(|(_, bar)| bar.screen.is_some());
            blocks.extend(shut.map(|(user, _)| (Arc::clone(user), Arc::clone(&onlooker.name))));
        }
        blocks.sort_unstable();
        blocks
    }

    /// The store cannot be asked, and has said nothing since then; none: it can be.
    pub(crate) fn set_blind(&mut self, since: Option<Time>) {
        self.blind = since.is_some();
        self.set_stale(since);
        self.onlookers.keeps = if self.blind { IDLE } else { 0 };
    }

    /// The store can be asked again: whom nobody has come back to is forgotten.
    pub(crate) fn forget_idle(&mut self) {
        for id in std::mem::take(&mut self.idle) {
            if let Some(subject) = self.subjects.get_mut(id) {
                subject.kept = false;
            }
            self.forget(id);
        }
        self.onlookers.forget_idle();
    }

    /// A new epoch: nothing that is known is known any more, and every viewer is to be shown
    /// everything afresh.
    pub(crate) fn begin_epoch(&mut self) {
        for (_, subject) in self.subjects.iter_mut() {
            subject.record = None;
        }
        for onlooker in self.onlookers.iter_mut() {
            onlooker.outlook = None;
        }
        for (_, watch) in self.watches.iter_mut() {
            if watch.shown == Shown::NOTHING {
                watch.offset = 0;
            }
            if let Some(screen) = watch.shut.as_mut() {
                // Of an epoch that is over nothing is told.
                **screen = Screen::default();
            }
        }
        for (_, viewer) in self.viewers.iter_mut() {
            viewer.afresh = true;
            viewer.floors.clear();
        }
        self.openings.begin_epoch();
        self.begin_room_epoch();
    }

    pub(crate) fn begin_warmup(&mut self) {
        self.warming = true;
    }

    /// The store was asked about a user and said nothing: never heard of.
    pub(crate) fn load_if_absent(&mut self, now: Time, user: &str) {
        let Some(id) = self.subject(user) else { return };
        if self.subjects.get(id.0).is_some_and(|it| it.record.is_none()) {
            // Whoever was shown that it is unknown is concerned.
            self.publish(now, id, Record::default(), Change { public: true, own: true });
        }
    }

    /// What the store said of a user at `said`, unless something newer is known.
    pub(crate) fn take(&mut self, now: Time, said: Time, report: &Report) {
        let Some(id) = self.subject(&report.user) else { return };
        let Some(known) = self.subjects.get_mut(id.0) else { return };
        known.elsewhere = report.watchers.saturating_sub(known.counted);
        let record = Record::of(said, report);
        let change = match &known.record {
            // Last seen is found out later than the change now and then: that is no change that anybody
            // is told of, but it counts from the next look on.
            Some(known) if record.changes() == known.changes() && record.seen > known.seen => {
                Change::default()
            }
            Some(known) if record.changes() <= known.changes() => return,
            Some(known) => {
                Change { public: record.public != known.public, own: record.own != known.own }
            }
            // Whoever was shown that it is unknown is concerned.
            None => Change { public: true, own: true },
        };
        self.publish(now, id, record, change);
    }

    /// Connections whose viewers wait for a snapshot.
    pub(crate) fn waiting_conns(&self) -> Vec<ConnId> {
        self.viewers
            .iter()
            .filter(|(_, it)| {
                it.afresh || !it.requests.is_empty() || self.waits_for_room(&it.seats)
            })
            .map(|(_, it)| it.conn)
            .collect()
    }
}
