//! One look at users, without a watch: asked by the application, or polled (rule 16).
//!
//! A look may need the application's word on who may see whom, and the shared store's on how the
//! users stand. It waits for both, in this order, and is answered through the gate.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::quality::FixedState;
use greendot_protocol::sabotage::{Fault, on};
use greendot_protocol::{Epoch, Mode, Span, State, Time, Version};

use super::asking::{Asking, Purpose};
use super::output::{Answer, Mark};
use super::room_polls::RoomsLook;
use super::shared::{Shared, Then};
use super::{HeldSession, Node, Output};
use crate::core::directory::{Face, Outlook, Record};
use crate::core::gate::{Fineness, Glimpse, Sight};
use crate::store::{NodeId, OutlookReport, Place, Report, Request};

/// Looks that may wait for the application at a time; one more is answered with what is known.
const WAITING: usize = 4_096;

/// The answer to a poll's rooms waits so long for the application, whoever is there: whether there is somebody about whom to ask is
/// nothing that the time of an answer may tell. Who has not been spoken of by then is told in a later poll.
const PATIENCE: Span = Span::from_millis(250);

/// Users in one answer to [`Node::list`].
const LISTED: usize = 1_000;

/// What is wanted.
#[derive(Clone, Debug)]
pub(in crate::core::node) struct Look {
    /// The number that the application gave it.
    pub(in crate::core::node) ask: u64,
    pub(in crate::core::node) viewer: Arc<str>,
    pub(in crate::core::node) users: Vec<Arc<str>>,
    /// Only what changed since.
    since: Option<Mark>,
    /// They are looked at as members of these rooms.
    rooms: Option<Box<RoomsLook>>,
}

impl Look {
    /// A look at the members of a poll's rooms.
    pub(super) fn at_rooms(
        ask: u64,
        viewer: Arc<str>,
        users: Vec<Arc<str>>,
        rooms: RoomsLook,
    ) -> Self {
        Self { ask, viewer, users, since: None, rooms: Some(Box::new(rooms)) }
    }
}

/// A look that waits for the application's answers about so many pairs.
#[derive(Debug)]
struct Waiting {
    left: usize,
    what: What,
}

#[derive(Debug)]
enum What {
    /// Then the users are read.
    Look(Look),
    /// These were read already.
    List { ask: u64, viewer: Arc<str>, outlook: Arc<Outlook>, hides: bool, records: Vec<Found> },
}

type Found = (Arc<str>, Record);

/// The looks that wait.
#[derive(Debug, Default)]
pub(super) struct Reads {
    waiting: BTreeMap<u64, Waiting>,
    /// Looks at the members of a poll's rooms, and when they are answered.
    patient: BTreeMap<(Time, u64), Look>,
    /// Polls' rooms to which the application is asked for the right.
    rooms: BTreeMap<u64, RoomsLook>,
    next: u64,
}

impl Reads {
    pub(super) fn len(&self) -> usize {
        self.waiting.len() + self.patient.len() + self.rooms.len()
    }

    pub(super) fn deadline(&self) -> Time {
        self.patient.first_key_value().map_or(Time::MAX, |it| it.0.0)
    }

    pub(super) fn keep_rooms(&mut self, look: RoomsLook) -> u64 {
        self.next += 1;
        self.rooms.insert(self.next, look);
        self.next
    }

    pub(super) fn rooms(&mut self, number: u64) -> Option<&mut RoomsLook> {
        self.rooms.get_mut(&number)
    }

    pub(super) fn take_rooms(&mut self, number: u64) -> Option<RoomsLook> {
        self.rooms.remove(&number)
    }
}

impl Node {
    /// One look at some users, as `viewer` may see them; [`Output::Answer`] brings it under the
    /// number `ask`. With a mark of an earlier answer about the same users, only what changed since
    /// is told, or everything again if that cannot be said.
    pub fn ask(&mut self, now: Time, ask: u64, viewer: &str, users: &[&str], since: Option<Mark>) {
        // The same name twice is one question.
        let mut seen = BTreeSet::<&str>::new();
        let names: Vec<Arc<str>> =
            users.iter().filter(|it| seen.insert(it)).map(|&it| it.into()).collect();
        let look = Look { ask, viewer: viewer.into(), users: names, since, rooms: None };
        self.begin_look(now, look);
    }

    pub(super) fn begin_look(&mut self, now: Time, look: Look) {
        if look.rooms.is_some()
            && let Some(audience) = self.audience.as_mut()
        {
            audience.begin_members(now, &look.viewer, &look.users);
            self.ask_audience(now);
            self.reads.next += 1;
            self.reads.patient.insert((now + PATIENCE, self.reads.next), look);
            return;
        }
        let pairs = look.users.clone();
        let viewer = Arc::clone(&look.viewer);
        if let Some(look) = self.wait_for_audience(now, &viewer, &pairs, What::Look(look)) {
            self.go_on(now, look);
        }
    }

    /// The application has had its time to say which members may be seen.
    pub(super) fn reads_timeout(&mut self, now: Time) {
        while let Some(entry) = self.reads.patient.first_entry()
            && entry.key().0 <= now
        {
            let look = entry.remove();
            self.go_on(now, What::Look(look));
        }
    }

    /// Who is present among those that the viewer may see; [`Output::List`] brings it under the
    /// number `ask`.
    pub fn list(&mut self, now: Time, ask: u64, viewer: &str) {
        let viewer: Arc<str> = viewer.into();
        if self.shared.as_ref().is_some_and(|it| !it.is_lost()) {
            let request = Request::List { viewer: Arc::clone(&viewer), at_most: LISTED };
            return self.submit(now, request, Then::Listed { ask, viewer });
        }
        let outlook = Arc::clone(self.directory.outlook(&viewer));
        let hides = self.hides(&viewer);
        let records = match &self.shared {
            // Nobody can say who is there.
            Some(_) => Vec::new(),
            None => self
                .directory
                .present(LISTED)
                .into_iter()
                .map(|it| (self.directory.shared_name(it), self.directory.record(it)))
                .collect(),
        };
        self.listed(now, ask, viewer, outlook, hides, records);
    }

    /// Where a user's sessions are, for those who deliver something to them; [`Output::Located`] brings it under the
    /// number `ask`. Not for other users' eyes: it tells of the invisible.
    pub fn locate(&mut self, now: Time, ask: u64, user: &str) {
        let places = match &self.shared {
            Some(shared) if !shared.is_lost() && !shared.awaits_nodes() => {
                let user: Arc<str> = user.into();
                let request = Request::Locate { user: Arc::clone(&user) };
                return self.submit(now, request, Then::Located { ask, user });
            }
            Some(_) => None,
            None => Some(self.sessions(user).into_iter().map(|it| place(now, it)).collect()),
        };
        self.located(ask, places);
    }

    /// How everybody may see a user, over all nodes; [`Output::Shown`] brings it under the number `ask`. While the shared
    /// store is out of reach it is told as far as this node knows, and is unknown beyond that (rule 12 b).
    pub fn show(&mut self, now: Time, ask: u64, user: &str) {
        let user: Arc<str> = user.into();
        match &self.shared {
            Some(shared) if !shared.is_lost() => {
                let (viewer, users) = (Arc::clone(&user), vec![Arc::clone(&user)]);
                self.submit(now, Request::Read { viewer, users }, Then::Shown { ask, user });
            }
            Some(_) => self.show_blind(now, ask, &user),
            None => {
                let answer = self.read_public(now, &user, |it| Answer::new(now, &user, &it));
                self.shown(ask, answer);
            }
        }
    }

    /// The store has said how the user stands; nothing of one never heard of.
    pub(super) fn show_report(
        &mut self,
        now: Time,
        said: Time,
        ask: u64,
        user: &Arc<str>,
        report: Option<&Report>,
    ) {
        let record = report.map(|it| Record::of(said, it)).unwrap_or_default();
        let glimpse = Glimpse::of(&record, Sight::PUBLIC, self.watches.light(now));
        self.shown(ask, Answer::new(now, user, &glimpse));
    }

    /// The store cannot be asked.
    pub(super) fn show_blind(&mut self, now: Time, ask: u64, user: &Arc<str>) {
        let held = self.held_here(user, user);
        let known = self.watches.record(user, false).or(held.as_ref());
        let light = self.watches.light(now);
        let glimpse =
            known.map_or_else(Glimpse::unknown, |it| Glimpse::of(it, Sight::PUBLIC, light));
        self.shown(ask, Answer::new(now, user, &glimpse));
    }

    fn shown(&mut self, ask: u64, answer: Answer) {
        self.say(Output::Shown { ask, answer: Box::new(answer) });
    }

    pub(super) fn located(&mut self, ask: u64, places: Option<Vec<Place>>) {
        self.say(Output::Located { ask, places });
    }

    fn listed(
        &mut self,
        now: Time,
        ask: u64,
        viewer: Arc<str>,
        outlook: Arc<Outlook>,
        hides: bool,
        records: Vec<Found>,
    ) {
        let pairs: Vec<Arc<str>> = records.iter().map(|it| Arc::clone(&it.0)).collect();
        let what = What::List { ask, viewer: Arc::clone(&viewer), outlook, hides, records };
        if let Some(what) = self.wait_for_audience(now, &viewer, &pairs, what) {
            self.go_on(now, what);
        }
    }

    /// Keeps what needs answers that are not known yet; gives back what need not wait.
    fn wait_for_audience(
        &mut self,
        now: Time,
        viewer: &Arc<str>,
        users: &[Arc<str>],
        what: What,
    ) -> Option<What> {
        let Some(audience) = self.audience.as_mut() else { return Some(what) };
        if self.reads.waiting.len() >= WAITING {
            return Some(what);
        }
        self.reads.next += 1;
        let read = self.reads.next;
        let others = users.iter().filter(|it| *it != viewer);
        let left = others.filter(|it| audience.await_pair(now, viewer, it, read)).count();
        if left == 0 {
            return Some(what);
        }
        self.reads.waiting.insert(read, Waiting { left, what });
        self.ask_audience(now);
        None
    }

    /// One answer less is waited for.
    pub(super) fn read_goes_on(&mut self, now: Time, read: u64) {
        let Some(waiting) = self.reads.waiting.get_mut(&read) else { return };
        waiting.left -= 1;
        if waiting.left == 0
            && let Some(waiting) = self.reads.waiting.remove(&read)
        {
            self.go_on(now, waiting.what);
        }
    }

    fn go_on(&mut self, now: Time, what: What) {
        match what {
            What::Look(look) => {
                if self.shared.as_ref().is_some_and(|it| !it.is_lost()) {
                    let (viewer, users) = (Arc::clone(&look.viewer), look.users.clone());
                    self.submit(now, Request::Read { viewer, users }, Then::Asked(look));
                } else {
                    self.answer_look(now, now, &look, &[], None);
                }
            }
            What::List { ask, viewer, outlook, hides, records } => {
                let light = self.watches.light(now);
                let mut users: Vec<Arc<str>> = records
                    .iter()
                    .filter(|(user, record)| {
                        let sight = self.sight(now, Purpose::Name, &viewer, user, &outlook, hides);
                        Glimpse::of(record, sight, light).is_present()
                    })
                    .map(|it| Arc::clone(&it.0))
                    .collect();
                users.sort_unstable();
                let more = records.len() >= LISTED;
                self.say(Output::List { ask, users, more });
            }
        }
    }

    /// How a viewer that does not watch looks at a user.
    fn sight(
        &self,
        now: Time,
        purpose: Purpose,
        viewer: &str,
        user: &str,
        outlook: &Outlook,
        hides: bool,
    ) -> Sight {
        if viewer == user {
            return Sight::OWN;
        }
        if on(Fault::BlockIgnoredInReads) {
            return Sight::PUBLIC;
        }
        let allowed =
            if hides { Fineness::Nothing } else { self.allowed(now, purpose, viewer, user) };
        Sight::PUBLIC.allowed(allowed).through(outlook.bars.get(user))
    }

    /// The store has answered a look at `said`, or cannot: then users are as far as this node
    /// knows them.
    pub(super) fn answer_look(
        &mut self,
        now: Time,
        said: Time,
        look: &Look,
        reports: &[Report],
        outlook: Option<&OutlookReport>,
    ) {
        let light = self.watches.light(now);
        let lost = self.shared.as_ref().is_some_and(Shared::is_lost);
        let purpose = if look.rooms.is_some() { Purpose::Room } else { Purpose::Name };
        let by_name: BTreeMap<&str, &Report> = reports.iter().map(|it| (&*it.user, it)).collect();
        let answers: Vec<Answer> = match outlook.filter(|_| !lost) {
            Some(report) => {
                let outlook = Outlook::of(said, report);
                let hides = self.settings.reciprocal && report.hides;
                let unheard = Record::default();
                look.users
                    .iter()
                    .map(|user| {
                        let sight = self.sight(now, purpose, &look.viewer, user, &outlook, hides);
                        let record = by_name.get(&**user).map(|it| Record::of(said, it));
                        let record = record.as_ref().unwrap_or(&unheard);
                        Answer::new(now, user, &Glimpse::of(record, sight, light))
                    })
                    .collect()
            }
            None => look
                .users
                .iter()
                .map(|user| {
                    self.read_for(now, purpose, &look.viewer, user, |it| {
                        Answer::new(now, user, &it)
                    })
                })
                .collect(),
        };
        self.give(look, answers);
    }

    /// Answers with everything, or with what changed since the mark.
    fn give(&mut self, look: &Look, mut users: Vec<Answer>) {
        if let Some(rooms) = &look.rooms {
            return self.tell_polled(rooms, &users);
        }
        let mark = Mark::of(self.epoch(), &users);
        let full = match &look.since {
            Some(since) if since.is_of(&mark) => {
                let mut changed = since.changed(&mark);
                if on(Fault::PollSaysNothing) {
                    changed.fill(false);
                }
                let mut at = 0;
                users.retain(|_| {
                    at += 1;
                    changed[at - 1]
                });
                false
            }
            _ => true,
        };
        self.say(Output::Answer { ask: look.ask, full, mark, users });
    }

    pub(super) fn answer_list(
        &mut self,
        now: Time,
        said: Time,
        ask: u64,
        viewer: Arc<str>,
        reports: &[Report],
        outlook: Option<&OutlookReport>,
    ) {
        let records =
            reports.iter().map(|it| (Arc::clone(&it.user), Record::of(said, it))).collect();
        let hides = self.settings.reciprocal && outlook.is_some_and(|it| it.hides);
        let outlook = Arc::new(outlook.map_or_else(Outlook::default, |it| Outlook::of(said, it)));
        self.listed(now, ask, viewer, outlook, hides, records);
    }

    /// One look at a user, as `viewer` may see it and as far as this node knows: with a shared
    /// store, users whom nobody here watches and who have no session here are unknown, and all are to a viewer that
    /// does not watch here. What the application has not said shows nothing.
    pub fn read<R>(
        &self,
        now: Time,
        viewer: &str,
        user: &str,
        with: impl FnOnce(Glimpse<'_>) -> R,
    ) -> R {
        self.read_for(now, Purpose::Name, viewer, user, with)
    }

    fn read_for<R>(
        &self,
        now: Time,
        purpose: Purpose,
        viewer: &str,
        user: &str,
        with: impl FnOnce(Glimpse<'_>) -> R,
    ) -> R {
        let light = self.watches.light(now);
        if self.shared.is_some() {
            let since = |it: &Asking| it.since(purpose, viewer, user);
            let since = self.audience.as_ref().filter(|_| viewer != user).map(since);
            if since.is_some_and(|it| self.watches.opens_later(it)) {
                // What is known here is of before the viewer might see it.
                return with(Glimpse::unknown());
            }
            let hides = self.hides(viewer) || self.watches.hides(viewer);
            let outlook = self.watches.outlook(viewer);
            let sight = outlook.map(|it| self.sight(now, purpose, viewer, user, &it, hides));
            let held = self.held_here(viewer, user);
            // Whoever does not see the user must not be told that this node knows it.
            let held = held.as_ref().filter(|_| sight.is_some_and(Sight::is_clear));
            let known = self.watches.record(user, viewer == user).or(held);
            let glimpse = match (known, sight) {
                (Some(record), Some(sight)) => Glimpse::of(record, sight, light),
                _ => Glimpse::unknown(),
            };
            return with(glimpse);
        }
        let (outlook, hides) = (self.directory.outlook(viewer), self.hides(viewer));
        let sight = self.sight(now, purpose, viewer, user, outlook, hides);
        match self.directory.find(user) {
            Some(id) => with(Glimpse::of(&self.directory.record(id), sight, light)),
            None => with(Glimpse::of_nobody(light)),
        }
    }

    /// A user who has sessions here, as far as they tell, while the store cannot be asked (rule 12 b). The number is 0: what
    /// the store says of it is newer. Only of whom the store has told how it wants to appear; and that all sessions here
    /// are idle says nothing of those elsewhere.
    fn held_here(&self, viewer: &str, user: &str) -> Option<Record> {
        let shared = self.shared.as_ref().filter(|it| it.is_lost() && !it.hides(user, viewer))?;
        let id = self.directory.find(user)?;
        let views = self.directory.views(id);
        let mut counting = views.iter().filter(|it| !it.passive).peekable();
        counting.peek()?;
        let state = match self.directory.mode(id).0 {
            Mode::Auto => counting.any(|it| !it.idle).then_some(State::Online),
            Mode::Away => Some(State::Away),
            Mode::Busy => Some(State::Busy),
            Mode::Dnd => Some(State::Dnd),
            Mode::Invisible => None,
        };
        let face = Face { state: state?, version: Version(0) };
        let known = self.leases_of(id).into_iter().any(|it| shared.has_told_of(it));
        known.then(|| Record { public: face, own: face, ..Record::default() })
    }

    /// One look at a user, as everybody may see it.
    pub fn read_public<R>(&self, now: Time, user: &str, with: impl FnOnce(Glimpse<'_>) -> R) -> R {
        let light = self.watches.light(now);
        match self.directory.find(user) {
            Some(id) => with(Glimpse::of(&self.directory.record(id), Sight::PUBLIC, light)),
            None => with(Glimpse::of_nobody(light)),
        }
    }
}

/// A session of a node that works alone.
fn place(now: Time, HeldSession { view, deadline, .. }: HeldSession) -> Place {
    Place {
        node: NodeId::default(),
        session: view.session,
        generation: view.generation,
        lingering: view.lingering,
        idle: view.idle,
        passive: view.passive,
        ends_in: deadline.since(now),
    }
}

impl Mark {
    /// What was told of these users.
    fn of(epoch: Epoch, users: &[Answer]) -> Self {
        let digest = |it: &Answer| {
            let told = (&it.user, it.state as u8, it.version.0, &it.note, it.seen_ago.is_some());
            FixedState::default().hash_one((epoch.0, told)) as u32
        };
        Self { epoch: epoch.0, digests: users.iter().map(digest).collect() }
    }

    /// Whether it can be of the same users as another, in the same epoch.
    fn is_of(&self, other: &Self) -> bool {
        self.epoch == other.epoch && self.digests.len() == other.digests.len()
    }

    /// Which of the users are told of otherwise now.
    fn changed(&self, now: &Self) -> Vec<bool> {
        self.digests.iter().zip(&now.digests).map(|(before, now)| before != now).collect()
    }
}
