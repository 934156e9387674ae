//! What is opened to a viewer waits until it is known how the user stands (rule 13).
//!
//! With a shared store, what a node knows of a user may be of a time when the viewer was not to see it: a notice may be lost, or
//! the store may have been out of reach. Were it shown as soon as the viewer may see the user, it would be shown what was over by
//! then. So the store is asked once more, and what opens does so behind its answer; while the store is out of reach, behind the
//! refresh that follows. What closes never waits.

use std::collections::BTreeMap;
use std::sync::Arc;

use greendot_protocol::Time;
use greendot_protocol::sabotage::{Fault, on};

use super::{Shown, ViewerId, Watch, Watches};
use crate::core::directory::Outlook;
use crate::core::gate::Fineness;
use crate::core::slab::Id;

/// What waits, each for the answer to a question of this number or a later one.
#[derive(Debug, Default)]
pub(super) struct Openings {
    /// Whether anything has to wait: there is a shared store.
    waits: bool,
    /// The last question.
    turn: u64,
    /// Since when nothing newer is known of anybody, while the store is out of reach.
    stale_since: Option<Time>,
    /// What stands between these viewers and others: less than what they look through.
    outlooks: BTreeMap<Id, (u64, Arc<Outlook>)>,
    /// Viewers who do not hide from everybody any more.
    showing: BTreeMap<Id, u64>,
    /// What the application lets these watches see.
    grants: BTreeMap<Id, (u64, Fineness)>,
    /// Users about whom the store is to be asked, by a question of this number or a later one.
    users: BTreeMap<Arc<str>, u64>,
}

impl Openings {
    /// The outlook of a viewer that waits.
    pub(super) fn outlook(&self, onlooker: Id) -> Option<&Arc<Outlook>> {
        self.outlooks.get(&onlooker).map(|it| &it.1)
    }

    /// Nothing that was said of an epoch that is over opens anything.
    pub(super) fn begin_epoch(&mut self) {
        self.outlooks.clear();
    }

    /// The number of the next question.
    fn next(&self) -> u64 {
        self.turn + 1
    }

    fn ask_about(&mut self, users: impl IntoIterator<Item = Arc<str>>) {
        let turn = self.next();
        self.users.extend(users.into_iter().map(|it| (it, turn)));
    }

    pub(super) fn forget_watch(&mut self, watch: Id) {
        if !self.grants.is_empty() {
            self.grants.remove(&watch);
        }
    }
}

impl Watches {
    /// There is a shared store: what is known of users may be old.
    pub(crate) fn open_behind_answers(&mut self) {
        self.openings.waits = !on(Fault::OpenedAtOnce);
    }

    /// Nothing newer is known of anybody since then.
    pub(super) fn set_stale(&mut self, since: Option<Time>) {
        self.openings.stale_since = since;
    }

    /// Whether what was first allowed at `said` is to wait for the store, which is out of reach.
    pub(crate) fn opens_later(&self, said: Time) -> bool {
        self.openings.waits && self.openings.stale_since.is_some_and(|at| said > at)
    }

    /// The users about whom the store is to be asked before what waits may open, and the number of that question. `again`:
    /// those about whom it has been asked, too.
    pub(crate) fn take_unasked(&mut self, again: bool) -> Option<(u64, Vec<Arc<str>>)> {
        let turn = self.openings.next();
        let mut users = Vec::new();
        for (user, asked) in &mut self.openings.users {
            if again || *asked == turn {
                *asked = turn;
                users.push(Arc::clone(user));
            }
        }
        if users.is_empty() {
            return None;
        }
        self.openings.turn = turn;
        Some((turn, users))
    }

    /// What a viewer looks through, now that this stands between it and others: what is new in it and opens anything waits.
    /// None: it looks at nobody yet. `fresh`: nothing that is known of users is older.
    pub(super) fn hold_outlook(
        &mut self,
        onlooker: Id,
        outlook: &Arc<Outlook>,
        fresh: bool,
    ) -> Option<Arc<Outlook>> {
        self.openings.outlooks.remove(&onlooker);
        let before = self.onlookers.get(onlooker)?.outlook.clone();
        let Some(before) = before.filter(|_| self.openings.waits) else {
            let users = self.users_seen_by(onlooker, |_| true);
            if fresh || !self.openings.waits || users.is_empty() {
                return Some(Arc::clone(outlook));
            }
            self.wait(onlooker, outlook, users);
            return None;
        };
        let is_shut = |of: &Outlook, user| of.bars.get(user).is_some_and(|it| it.screen.is_some());
        let shut = before.bars.iter().filter(|it| it.1.screen.is_some());
        let opened: Vec<_> = shut.filter(|it| !is_shut(outlook, it.0)).collect();
        if opened.is_empty() {
            return Some(Arc::clone(outlook));
        }
        let mut held = Outlook::clone(outlook);
        held.bars.extend(opened.iter().map(|&(user, bar)| (Arc::clone(user), *bar)));
        let users = opened.into_iter().map(|it| Arc::clone(it.0)).collect();
        self.wait(onlooker, outlook, users);
        Some(Arc::new(held))
    }

    fn wait(&mut self, onlooker: Id, outlook: &Arc<Outlook>, users: Vec<Arc<str>>) {
        self.openings.ask_about(users);
        let waiting = (self.openings.next(), Arc::clone(outlook));
        self.openings.outlooks.insert(onlooker, waiting);
    }

    /// The viewer hides from everybody no more: whether that it sees others again has to wait.
    pub(super) fn hold_showing(&mut self, onlooker: Id) -> bool {
        if !self.openings.waits {
            return false;
        }
        // Who has been shown nothing yet is new here, and the store has been asked about whom it looks at.
        let users = self.users_seen_by(onlooker, |it| it.shown != Shown::NOTHING);
        if users.is_empty() {
            return false;
        }
        self.openings.ask_about(users);
        self.openings.showing.insert(onlooker, self.openings.next());
        true
    }

    /// It hides again.
    pub(super) fn forget_showing(&mut self, onlooker: Id) {
        self.openings.showing.remove(&onlooker);
    }

    /// Whether a watch's viewer has to wait for seeing more of its user; `said`: when it was first allowed to.
    pub(super) fn hold_grant(&mut self, watch: Id, grant: Fineness, said: Time) -> bool {
        self.openings.forget_watch(watch);
        let later = self.opens_later(said);
        let Some(row) = self.watches.get_mut(watch) else { return false };
        let seen = row.shown != Shown::NOTHING;
        // What is seen for the first time is new here, if the store can be asked at all.
        row.awaits = self.openings.waits && grant > row.grant && (seen || later);
        if !row.awaits {
            return false;
        }
        let user = self.subjects.get(row.subject).map(|it| Arc::clone(&it.name));
        self.openings.ask_about(user);
        self.openings.grants.insert(watch, (self.openings.next(), grant));
        true
    }

    /// The question of this number has been answered; none: all is known anew. What has waited for that is seen from now on.
    pub(crate) fn open_waiting(&mut self, now: Time, turn: Option<u64>) {
        let turn = turn.unwrap_or(u64::MAX);
        let waiting = &mut self.openings;
        waiting.users.retain(|_, it| *it > turn);
        let outlooks = waiting.outlooks.extract_if(.., |_, it| it.0 <= turn).collect::<Vec<_>>();
        let showing = waiting.showing.extract_if(.., |_, it| *it <= turn).collect::<Vec<_>>();
        let grants = waiting.grants.extract_if(.., |_, it| it.0 <= turn).collect::<Vec<_>>();
        for (id, (_, outlook)) in outlooks {
            self.look_through(now, id, outlook);
        }
        for (id, _) in showing {
            self.show_others(now, id);
        }
        for (id, (_, grant)) in grants {
            self.let_see(now, id, grant);
        }
    }

    /// The same of those alone who have seen nobody so far: other nodes may still have something to say.
    pub(crate) fn open_first(&mut self, now: Time, turn: Option<u64>) {
        let turn = turn.unwrap_or(u64::MAX);
        let onlookers = &self.onlookers;
        let blind = |id: &Id| onlookers.get(*id).is_none_or(|it| it.outlook.is_none());
        let waiting = &mut self.openings.outlooks;
        let first = waiting.extract_if(.., |id, it| it.0 <= turn && blind(id)).collect::<Vec<_>>();
        for (id, (_, outlook)) in first {
            self.look_through(now, id, outlook);
        }
    }

    /// Whether a viewer has yet to see anybody, though the store has said what stands between it and others.
    pub(super) fn is_held_back(&self, viewer: ViewerId) -> bool {
        let onlooker = self.viewers.get(viewer.0).map(|it| it.onlooker);
        let waits = onlooker.filter(|it| self.openings.outlook(*it).is_some());
        waits.and_then(|it| self.onlookers.get(it)).is_some_and(|it| it.outlook.is_none())
    }

    /// The others whom a viewer looks at by such watches.
    fn users_seen_by(&self, onlooker: Id, such: impl Fn(&Watch) -> bool) -> Vec<Arc<str>> {
        let other = |watch: Id| self.watches.get(watch).filter(|it| !it.own && such(it));
        let watches = self.watches_of(onlooker).into_iter().filter_map(other);
        let users = watches.filter_map(|it| self.subjects.get(it.subject));
        users.map(|it| Arc::clone(&it.name)).collect()
    }
}
