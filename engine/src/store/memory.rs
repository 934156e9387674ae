//! The shared store in memory.

mod past;
mod sweep;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use foldhash::quality::SeedableRandomState;
use greendot_protocol::sabotage::{Fault, on};
use greendot_protocol::{Epoch, Span, Time};

use self::past::Past;
use super::Store;
use super::messages::{
    BarReport, Claim, Departed, HeldBy, NodeId, Notice, OutlookReport, Register, Reply, Report,
    Request, ScreenReport, SessionName,
};
use crate::core::Settings;
use crate::core::directory::{Change, Directory, Joining, SessionId, UserId};

/// A store that no node has asked for this long has been out of reach for all of them: each asks
/// once a second.
const UNREACHED: Span = Span::from_millis(2_500);

/// A node's beat that comes within so long of the one before: none was lost between them.
const ON_TIME: Span = Span::from_millis(1_500);

/// A node renews its lease so often: what it covers may have been heard up to so long after the last renewal.
const RENEWED_EVERY: Span = Span::from_millis(1_000);

/// A room that is too large to name all is told of once in each of these, counted by the clock: were it counted from the last
/// time, one who comes and goes unseen would show in when others are told of.
const ROOM_EVERY: Span = Span::from_millis(1_000);

/// Sessions that one user may have at a time.
const SESSIONS_OF_A_USER: usize = 256;

/// What keeps a session alive in the store.
#[derive(Clone, Copy, Debug)]
struct Seat {
    claim: Claim,
    connected: Time,
    heard: Time,
    passive: bool,
    lingers_until: Option<Time>,
    /// Covered by its node's lease; it has no deadline of its own.
    covered: bool,
}

impl Seat {
    /// Whether it is of a later connect than a claim that is told so long after its connect.
    fn is_later_than(&self, claim: Claim, connected: Time, ago: Span) -> bool {
        if on(Fault::EarlierClaimWins) {
            return false;
        }
        if self.claim.node == claim.node {
            return self.claim.seat > claim.seat;
        }
        // Where two are of one moment, the one that was told late does not unseat the other.
        self.connected > connected || (self.connected == connected && ago != Span::ZERO)
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct NodeRow {
    renewed: Time,
    /// When its last beat came.
    beaten: Time,
    /// When it last asked for anything.
    asked: Time,
    /// Its sessions are not swept before: it was cut off, and could not renew them.
    spared_until: Time,
    /// Notices sent to it.
    told: u64,
}

/// A room that nodes look into.
#[derive(Debug, Default)]
struct RoomRow {
    nodes: BTreeSet<NodeId>,
    /// When they were told of it last.
    told: Time,
}

/// How much the store holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Sessions.
    pub sessions: usize,
    /// Users, viewers and rooms to whom a node is subscribed.
    pub subscribed: usize,
    /// Rooms that anybody is in.
    pub rooms: usize,
}

/// The shared store in memory.
#[derive(Debug)]
pub struct MemoryStore {
    settings: Settings,
    thin: bool,
    directory: Directory,
    seats: HashMap<SessionId, Seat, SeedableRandomState>,
    /// Sessions with a deadline of their own, soonest first.
    due: BTreeSet<(Time, SessionId)>,
    /// Sessions that their node covers.
    covered: BTreeMap<NodeId, BTreeSet<SessionId>>,
    nodes: BTreeMap<NodeId, NodeRow>,
    subscribers: BTreeMap<Arc<str>, BTreeSet<NodeId>>,
    past: Past,
    /// Nodes with connections of a user that look.
    lookers: BTreeMap<Arc<str>, BTreeSet<NodeId>>,
    /// Nodes that want to know of a user's sessions.
    owners: BTreeMap<Arc<str>, BTreeSet<NodeId>>,
    /// Nodes with connections that look into a room.
    rooms: BTreeMap<Arc<str>, RoomRow>,
    /// Rooms of which something is to be told.
    untold: BTreeSet<Arc<str>>,
    notices: VecDeque<(NodeId, u64, Notice)>,
    warm_until: Option<Time>,
    /// When any node last asked for anything.
    reached: Time,
    /// When a node asked again after none had for long.
    asked_again: Option<Time>,
    /// Nobody is swept before.
    spared_until: Time,
    journal: Option<Journal>,
}

/// What was done about whom, for those who look into a run.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    /// Requests that wrote about a user: (when, user).
    pub writes: Vec<(Time, Arc<str>)>,
    /// Changes published, each once for the whole cluster: (when, user).
    pub published: Vec<(Time, Arc<str>)>,
}

impl MemoryStore {
    /// An empty store. `warming`: it has lost what it held, so that users not heard from are
    /// unknown for a while. `thin`: nodes cover their sessions, in place of renewing each.
    pub fn new(
        settings: Settings,
        thin: bool,
        now: Time,
        epoch: Epoch,
        seed: u64,
        warming: bool,
    ) -> Self {
        let hasher = SeedableRandomState::with_seed(seed, foldhash::SharedSeed::global_fixed());
        Self {
            directory: Directory::new(epoch, now.as_millis(), seed),
            seats: HashMap::with_hasher(hasher.clone()),
            past: Past::new(hasher),
            due: BTreeSet::new(),
            covered: BTreeMap::new(),
            nodes: BTreeMap::new(),
            subscribers: BTreeMap::new(),
            lookers: BTreeMap::new(),
            owners: BTreeMap::new(),
            rooms: BTreeMap::new(),
            untold: BTreeSet::new(),
            notices: VecDeque::new(),
            warm_until: warming.then(|| now + settings.warmup()),
            // One that lost what it held was out of reach: the others have to notice.
            reached: if warming { Time::ZERO } else { now },
            asked_again: None,
            spared_until: Time::ZERO,
            journal: None,
            settings,
            thin,
        }
    }

    /// The users and sessions it holds.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// How much it holds.
    pub fn counts(&self) -> Counts {
        Counts {
            sessions: self.directory.session_count(),
            subscribed: self.subscribers.len()
                + self.lookers.len()
                + self.owners.len()
                + self.rooms.len(),
            rooms: self.directory.room_count(),
        }
    }

    /// Keeps a journal from now on. It grows with every change.
    pub fn keep_journal(&mut self) {
        self.journal.get_or_insert_default();
    }

    /// The journal, if one is kept.
    pub fn journal(&self) -> Option<&Journal> {
        self.journal.as_ref()
    }

    /// The node that holds a session.
    pub fn holder(&self, session: SessionId) -> Option<NodeId> {
        self.seats.get(&session).map(|it| it.claim.node)
    }

    /// When the session was last heard, as far as the store knows.
    pub fn heard(&self, session: SessionId) -> Option<Time> {
        self.seats.get(&session).map(|it| self.heard_of(it))
    }

    /// The effective deadline of a session: its own, or what its node's lease gives it.
    pub fn deadline(&self, session: SessionId) -> Option<Time> {
        self.seats.get(&session).map(|it| self.deadline_of(it))
    }

    fn deadline_of(&self, seat: &Seat) -> Time {
        if let Some(until) = seat.lingers_until {
            return until;
        }
        // The extra wait is for nodes that cannot see to it themselves any more (rule 2).
        let ends = self.settings.ttl + self.settings.expiry_grace;
        if seat.covered {
            self.renewed(seat) + RENEWED_EVERY + ends - self.settings.beat
        } else {
            seat.heard + ends
        }
    }

    fn renewed(&self, seat: &Seat) -> Time {
        self.nodes.get(&seat.claim.node).map_or(seat.heard, |it| it.renewed.max(seat.heard))
    }

    /// Each covered session was heard within so long before its node's lease was renewed: silence of
    /// a beat is noticed by the next sweep.
    fn covers(&self) -> Span {
        self.settings.beat + self.settings.sweep
    }

    /// Never later than it was: of a covered session it is only known that it was heard shortly
    /// before its node's last renewal.
    fn heard_of(&self, seat: &Seat) -> Time {
        if seat.covered { seat.heard.max(self.renewed(seat) - self.covers()) } else { seat.heard }
    }

    fn wrote(&mut self, now: Time, user: &Arc<str>) {
        if let Some(journal) = self.journal.as_mut() {
            journal.writes.push((now, Arc::clone(user)));
        }
    }

    fn report(&self, now: Time, user: UserId) -> Report {
        let record = self.directory.record(user);
        Report {
            user: self.directory.shared_name(user),
            public: record.public,
            own: record.own,
            note: record.note,
            seen_ago: record.seen.map(|at| now.since(at)),
            heard: record.heard,
            wish: record.wish,
            wishes: record.wishes,
        }
    }

    fn outlook(&self, now: Time, viewer: &Arc<str>) -> OutlookReport {
        let outlook = self.directory.outlook(viewer);
        let mut bars: Vec<BarReport> = outlook
            .bars
            .iter()
            .map(|(user, bar)| BarReport {
                user: Arc::clone(user),
                behind: bar.behind,
                screen: bar.screen.map(|it| ScreenReport {
                    version: it.version,
                    seen_ago: it.seen.map(|at| now.since(at)),
                    heard: it.heard,
                }),
            })
            .collect();
        bars.sort_unstable_by(|one, other| one.user.cmp(&other.user));
        OutlookReport {
            viewer: Arc::clone(viewer),
            number: self.directory.outlook_number(viewer),
            hides: self.directory.hides(viewer),
            bars,
        }
    }

    /// Tells every node with connections of the viewer that look.
    fn tell_outlook(&mut self, now: Time, viewer: &Arc<str>) {
        let outlook = self.outlook(now, viewer);
        let epoch = self.directory.epoch();
        for node in self.lookers.get(viewer).into_iter().flatten().copied().collect::<Vec<_>>() {
            self.tell(node, Notice::Outlook { epoch, at: now, outlook: outlook.clone() });
        }
    }

    /// Tells every node that subscribed to the user, once for the whole cluster.
    fn publish(&mut self, now: Time, user: UserId, change: Change, turned: &mut Vec<Report>) {
        if !change.any() {
            return;
        }
        let report = self.spread(now, user);
        if let Some(journal) = self.journal.as_mut().filter(|_| change.public) {
            journal.published.push((now, Arc::clone(&report.user)));
        }
        if change.public {
            turned.push(report);
        }
    }

    /// Tells every node that subscribed to the user how it stands.
    fn spread(&mut self, now: Time, user: UserId) -> Report {
        let report = self.report(now, user);
        let epoch = self.directory.epoch();
        let nodes: Vec<NodeId> =
            self.subscribers.get(&report.user).into_iter().flatten().copied().collect();
        for node in nodes {
            self.tell(node, Notice::Changed { epoch, at: now, report: report.clone() });
        }
        report
    }

    /// Sends a notice to a run of a node, unless it is long gone.
    fn tell(&mut self, node: NodeId, notice: Notice) {
        if let Some(row) = self.nodes.get_mut(&node) {
            row.told += 1;
            self.notices.push_back((node, row.told, notice));
        }
    }

    /// The session, if this connect of this node speaks for it.
    fn claimed(&self, node: NodeId, name: &SessionName, seat: u64) -> Option<SessionId> {
        let user = self.directory.find(&name.user)?;
        let session = self.directory.session(user, &name.session)?;
        let row = self.seats.get(&session)?;
        (row.claim == Claim { node, seat }).then_some(session)
    }

    fn index(&mut self, session: SessionId) {
        let Some(&seat) = self.seats.get(&session) else { return };
        if seat.covered && seat.lingers_until.is_none() {
            self.covered.entry(seat.claim.node).or_default().insert(session);
        } else {
            self.due.insert((self.deadline_of(&seat), session));
        }
    }

    fn unindex(&mut self, session: SessionId) {
        let Some(seat) = self.seats.get(&session) else { return };
        self.due.remove(&(self.deadline_of(seat), session));
        if let Some(of_node) = self.covered.get_mut(&seat.claim.node) {
            of_node.remove(&session);
            if of_node.is_empty() {
                self.covered.remove(&seat.claim.node);
            }
        }
    }

    /// The session has ended. A node that has not heard of it may still tell of an earlier connect.
    fn vacate(&mut self, now: Time, session: SessionId) {
        self.unindex(session);
        let (Some(seat), Some(user)) =
            (self.seats.remove(&session), self.directory.user_of(session))
        else {
            return;
        };
        let user = self.directory.shared_name(user);
        if let Some(name) = self.directory.session_name(session) {
            let name = SessionName { user, session: name.into() };
            self.past.ended(now, name, seat.connected);
        }
    }

    /// Changes a seat and keeps the indices right.
    fn reseat(&mut self, session: SessionId, change: impl FnOnce(&mut Seat)) {
        self.unindex(session);
        if let Some(seat) = self.seats.get_mut(&session) {
            change(seat);
        }
        self.index(session);
    }

    fn connect(
        &mut self,
        now: Time,
        node: NodeId,
        register: &Register,
        turned: &mut Vec<Report>,
    ) -> HeldBy {
        let name = &register.name;
        if self.directory.is_revoked(&name.user) {
            return HeldBy::Revoked;
        }
        let claim = Claim { node, seat: register.seat };
        let connected = now - register.connected_ago;
        let user = self.directory.find(&name.user);
        let present = user.and_then(|it| self.directory.session(it, &name.session));
        let before = present.and_then(|it| self.seats.get(&it).copied());
        let later = match &before {
            Some(seat) => seat.is_later_than(claim, connected, register.connected_ago),
            None => self.past.has_ended_since(name, connected),
        };
        if later {
            return HeldBy::Another;
        }
        let ends = self.settings.ttl + self.settings.expiry_grace;
        // While the store is warming up it cannot know: it may have lost the session, and then nobody has ended it.
        if before.is_none() && register.heard_ago >= ends && self.warm_until.is_none() {
            return HeldBy::Over;
        }
        if present.is_none()
            && user.is_some_and(|it| self.directory.views(it).len() >= SESSIONS_OF_A_USER)
        {
            return HeldBy::Full;
        }
        if let Some(session) = present {
            self.unindex(session);
        }
        // A session of before an outage goes on in its generation.
        let same = before.is_none_or(|it| it.claim == claim);
        let joined = self.directory.connect(
            now,
            &Joining {
                user: &name.user,
                session: &name.session,
                passive: register.passive,
                idle: register.idle,
                mode: register.mode,
                device: &register.device,
                generation: register.generation.filter(|_| same),
            },
        );
        if register.mode.is_some_and(|it| it.fresh) {
            self.past.chose(&name.user, connected, node);
        }
        let session = joined.session;
        if register.lingers_for.is_some() {
            self.directory.linger(session);
        }
        for room in &register.rooms {
            self.directory.join(session, room);
        }
        self.seats.insert(
            session,
            Seat {
                claim,
                connected,
                heard: now - register.heard_ago,
                passive: register.passive,
                lingers_until: register.lingers_for.map(|it| now + it),
                covered: self.thin
                    && register.lingers_for.is_none()
                    && register.heard_ago <= self.settings.beat,
            },
        );
        self.index(session);
        if let Some(old) = before.filter(|it| it.claim != claim && !on(Fault::ReplacedUntold)) {
            let notice = Notice::Replaced { seat: old.claim.seat };
            self.tell(old.claim.node, notice);
        }
        self.wrote(now, &name.user);
        self.publish(now, joined.user, joined.change, turned);
        if joined.mode_changed {
            self.tell_mode(joined.user);
        }
        let idle = self.directory.view(session).is_some_and(|it| it.idle);
        let (mode, revision) = (joined.mode, joined.revision);
        HeldBy::You { generation: joined.generation, mode, revision, idle }
    }

    fn tell_sessions(&mut self, now: Time, user: &Arc<str>, nodes: &[NodeId]) {
        if nodes.is_empty() {
            return;
        }
        let views = self.directory.find(user).map_or_else(Vec::new, |it| self.directory.views(it));
        let sessions: Vec<_> =
            views.into_iter().map(|it| (it.clone(), now.since(it.since))).collect();
        for &node in nodes {
            let (user, sessions) = (Arc::clone(user), sessions.clone());
            self.tell(node, Notice::Sessions { at: now, user, sessions });
        }
    }

    /// Tells the nodes that look into rooms who is there now; of a crowd, once in a while.
    fn tell_rooms(&mut self, now: Time) {
        self.untold.extend(self.directory.take_touched_rooms());
        let limit = self.settings.roster_limit();
        for room in std::mem::take(&mut self.untold) {
            let Some(row) = self.rooms.get_mut(&room) else { continue };
            let roster = self.directory.roster(&room, limit);
            let turn = |at: Time| at.as_millis() / ROOM_EVERY.as_millis();
            if roster.count > limit && turn(row.told) == turn(now) {
                self.untold.insert(room);
                continue;
            }
            row.told = now;
            let (epoch, nodes) = (self.directory.epoch(), row.nodes.clone());
            for node in nodes {
                self.tell(node, Notice::Room { epoch, roster: roster.clone() });
            }
        }
    }

    fn tell_mode(&mut self, user: UserId) {
        let (mode, revision) = self.directory.mode(user);
        for session in self.directory.ids_of(user).collect::<Vec<_>>() {
            if let Some(seat) = self.seats.get(&session) {
                let notice = Notice::Mode { seat: seat.claim.seat, mode, revision };
                self.tell(seat.claim.node, notice);
            }
        }
    }

    fn end(&mut self, now: Time, session: SessionId, heard: Time, turned: &mut Vec<Report>) {
        self.vacate(now, session);
        let Some(user) = self.directory.user_of(session) else { return };
        let name = self.directory.shared_name(user);
        self.wrote(now, &name);
        let change = self.directory.end(session, heard);
        self.publish(now, user, change, turned);
    }

    /// A session has ended at a node. What is held of an earlier connect ends with it (rule 4).
    fn depart(&mut self, now: Time, node: NodeId, it: &Departed, turned: &mut Vec<Report>) {
        let name = &it.name;
        let (heard, connected) = (now - it.heard_ago, now - it.connected_ago);
        let claim = Claim { node, seat: it.seat };
        let user = self.directory.find(&name.user);
        let session = user.and_then(|it| self.directory.session(it, &name.session));
        match session.and_then(|session| Some((session, *self.seats.get(&session)?))) {
            Some((session, seat)) if !seat.is_later_than(claim, connected, it.connected_ago) => {
                if seat.claim.node != node && !on(Fault::ReplacedUntold) {
                    self.tell(seat.claim.node, Notice::Replaced { seat: seat.claim.seat });
                }
                self.end(now, session, heard, turned);
            }
            Some(_) => {}
            None if self.past.has_ended_since(name, connected) => {}
            None => self.past.ended(now, name.clone(), connected),
        }
        // It was there, whatever was known of it here.
        // A revoked account's connects are refused, and what they said is of nobody.
        let refused = self.directory.is_revoked(&name.user)
            && self.past.was_revoked_by(&name.user, connected);
        if !it.passive && !refused {
            let (user, later) = self.directory.hear(&name.user, heard);
            if later && !self.directory.record(user).public.is_present() {
                // No change that anybody is told of: it counts from the next look on.
                self.wrote(now, &name.user);
                self.spread(now, user);
            }
        }
    }

    /// `ago`: none for a block of before this epoch.
    fn set_block(
        &mut self,
        now: Time,
        node: NodeId,
        (user, viewer): (&Arc<str>, &Arc<str>),
        blocked: bool,
        ago: Option<Span>,
    ) {
        let counts = match ago {
            Some(ago) => self.past.is_latest(now, user, node, ago, |it| it.block(viewer)),
            None => self.past.is_silent_on(user, viewer),
        };
        if !counts {
            return;
        }
        self.wrote(now, user);
        let changed = match ago {
            // Who hid was there last when it chose to.
            Some(ago) => self.directory.set_block(now - ago, user, viewer, blocked),
            None => self.directory.restore_block(user, viewer),
        };
        if changed.is_some() {
            self.tell_outlook(now, viewer);
        }
    }

    fn revoke(&mut self, now: Time, user: &str, revoked: bool, turned: &mut Vec<Report>) {
        if !revoked {
            return self.directory.reinstate(user);
        }
        let id = self.directory.revoke(user);
        let mut ended = Vec::new();
        for session in self.directory.ids_of(id).collect::<Vec<_>>() {
            let Some(&seat) = self.seats.get(&session) else { continue };
            let notice = Notice::Revoked { seat: seat.claim.seat };
            self.tell(seat.claim.node, notice);
            ended.push((session, self.heard_of(&seat)));
            self.vacate(now, session);
        }
        let change = self.directory.end_all(id, &ended);
        self.publish(now, id, change, turned);
    }
}

impl Store for MemoryStore {
    fn handle(&mut self, now: Time, node: NodeId, request: &Request) -> Reply {
        let mut turned = Vec::new();
        let mut reports = Vec::new();
        let mut outlooks = Vec::new();
        let mut rooms = Vec::new();
        let mut held = HeldBy::Nobody;
        if now.since(self.reached) >= UNREACHED {
            // Out of reach, or all of them stood still: that shows when they have spoken.
            self.asked_again = Some(now);
        }
        self.reached = now;
        if let Request::Beat { away, .. } = request
            && *away != Span::ZERO
            && self.was_unreached(now)
            && !on(Fault::NobodySpared)
        {
            // No node could renew anything meanwhile: nobody is swept for one ttl (rule 10).
            self.spared_until = now + self.settings.ttl;
        }
        // Counted from a time: one whose row was dropped for its silence sees the count jump.
        let row = self
            .nodes
            .entry(node)
            .or_insert(NodeRow { told: now.as_millis(), ..NodeRow::default() });
        row.asked = now;
        if self.warm_until.is_some_and(|at| at <= now) {
            self.warm_until = None;
        }
        match request {
            Request::Connect(register) => held = self.connect(now, node, register, &mut turned),
            Request::Renew(it) => match self.claimed(node, &it.name, it.seat) {
                Some(session) => {
                    self.wrote(now, &it.name.user);
                    self.reseat(session, |seat| seat.heard = seat.heard.max(now - it.heard_ago));
                }
                None => held = HeldBy::Another,
            },
            Request::Linger { name, seat, heard_ago, lasts } => {
                if let Some(session) = self.claimed(node, name, *seat) {
                    self.wrote(now, &name.user);
                    self.directory.linger(session);
                    self.reseat(session, |seat| {
                        seat.lingers_until = Some(now + *lasts);
                        // Its node's signs of life are none of its own any more.
                        seat.covered = false;
                        seat.heard = seat.heard.max(now - *heard_ago);
                    });
                }
            }
            Request::Revive(it) => {
                if let Some(session) = self.claimed(node, &it.name, it.seat) {
                    self.wrote(now, &it.name.user);
                    self.directory.revive(session);
                    let thin = self.thin;
                    self.reseat(session, |seat| {
                        seat.lingers_until = None;
                        seat.covered = thin;
                        seat.heard = seat.heard.max(now - it.heard_ago);
                    });
                }
            }
            Request::SetIdle { name, seat, idle } => {
                if let Some(session) = self.claimed(node, name, *seat) {
                    self.wrote(now, &name.user);
                    let change = self.directory.set_idle(session, *idle);
                    if let Some(user) = self.directory.user_of(session) {
                        self.publish(now, user, change, &mut turned);
                    }
                }
            }
            Request::End(it) => self.depart(now, node, it, &mut turned),
            Request::SetMode { user, mode, ago } => {
                if self.past.is_latest(now, user, node, *ago, |it| &mut it.mode) {
                    self.wrote(now, user);
                    // Who hid was there last when it chose to.
                    let (id, change) = self.directory.set_mode(now - *ago, user, *mode);
                    if let Some(change) = change {
                        self.publish(now, id, change, &mut turned);
                        self.tell_mode(id);
                    }
                }
            }
            Request::SetNote { user, note, ago } => {
                if self.past.is_latest(now, user, node, *ago, |it| &mut it.note) {
                    self.wrote(now, user);
                    let (id, change) = self.directory.set_note(user, note);
                    self.publish(now, id, change, &mut turned);
                }
            }
            Request::Revoke { user, revoked, ago } => {
                if self.past.is_latest(now, user, node, *ago, |it| &mut it.revoked) {
                    self.wrote(now, user);
                    self.revoke(now, user, *revoked, &mut turned);
                }
            }
            Request::SetLastSeen { user, wish, ago } => {
                if self.past.is_latest(now, user, node, *ago, |it| &mut it.wish) {
                    self.wrote(now, user);
                    let (id, new) = self.directory.set_last_seen(user, *wish);
                    if new {
                        // No change that anybody is told of: it counts from the next look on.
                        self.spread(now, id);
                    }
                }
            }
            Request::SetBlock { user, viewer, blocked, ago } => {
                self.set_block(now, node, (user, viewer), *blocked, *ago);
            }
            Request::AudienceChanged { user, viewer } => {
                for node in self.nodes.keys().copied().collect::<Vec<_>>() {
                    let (user, viewer) = (user.clone(), viewer.clone());
                    self.tell(node, Notice::AudienceChanged { user, viewer });
                }
            }
            Request::HearNothing => self.forget_interest(node),
            Request::Look { viewers } => {
                for viewer in viewers {
                    self.lookers.entry(Arc::clone(viewer)).or_default().insert(node);
                    outlooks.push(self.outlook(now, viewer));
                }
            }
            Request::LookAway { viewers } => leave(&mut self.lookers, node, viewers),
            Request::Subscribe { users } => {
                for user in users {
                    self.subscribers.entry(Arc::clone(user)).or_default().insert(node);
                }
                reports = self.read(now, users);
            }
            Request::Unsubscribe { users } => leave(&mut self.subscribers, node, users),
            Request::Read { viewer, users } => {
                reports = self.read(now, users);
                outlooks.push(self.outlook(now, viewer));
            }
            Request::List { viewer, at_most } => {
                let present = self.directory.present(*at_most);
                reports = present.into_iter().map(|it| self.report(now, it)).collect();
                outlooks.push(self.outlook(now, viewer));
            }
            Request::Join { name, seat, room } => {
                if let Some(session) = self.claimed(node, name, *seat) {
                    self.directory.join(session, room);
                }
            }
            Request::Leave { name, seat, room } => {
                if let Some(session) = self.claimed(node, name, *seat) {
                    self.directory.leave(session, room);
                }
            }
            Request::LookInto { rooms: names } => {
                for room in names {
                    self.rooms.entry(Arc::clone(room)).or_default().nodes.insert(node);
                    rooms.push(self.directory.roster(room, self.settings.roster_limit()));
                }
            }
            Request::LookOut { rooms } => {
                for room in rooms {
                    let Some(row) = self.rooms.get_mut(room) else { continue };
                    row.nodes.remove(&node);
                    if row.nodes.is_empty() {
                        self.rooms.remove(room);
                    }
                }
            }
            Request::Own { users } => {
                self.directory.follow_sessions(true);
                for user in users {
                    self.owners.entry(Arc::clone(user)).or_default().insert(node);
                    self.tell_sessions(now, user, &[node]);
                }
            }
            Request::Disown { users } => {
                leave(&mut self.owners, node, users);
                self.directory.follow_sessions(!self.owners.is_empty());
            }
            Request::SignOut(name) => {
                let user = self.directory.find(&name.user);
                let session = user.and_then(|it| self.directory.session(it, &name.session));
                if let Some((session, seat)) =
                    session.and_then(|it| Some((it, *self.seats.get(&it)?)))
                {
                    let heard = self.heard_of(&seat);
                    self.tell(seat.claim.node, Notice::SignedOut { seat: seat.claim.seat });
                    self.end(now, session, heard, &mut turned);
                }
            }
            Request::Beat { away, silent, heard } => self.beat(now, node, *away, silent, heard),
            Request::Sweep => self.sweep(now, &mut turned),
        }
        self.tell_rooms(now);
        for user in self.directory.take_followed() {
            let name = self.directory.shared_name(user);
            let nodes = self.owners.get(&name).into_iter().flatten().copied().collect::<Vec<_>>();
            self.tell_sessions(now, &name, &nodes);
        }
        Reply {
            epoch: self.directory.epoch(),
            at: now,
            told: self.nodes.get(&node).map_or(0, |it| it.told),
            warming: self.warm_until.map_or(Span::ZERO, |at| at.since(now)),
            held,
            reports,
            outlooks,
            rooms,
            turned,
        }
    }

    fn poll_notice(&mut self) -> Option<(NodeId, u64, Notice)> {
        self.notices.pop_front()
    }
}

/// The node wants to hear of these no more.
fn leave(interested: &mut BTreeMap<Arc<str>, BTreeSet<NodeId>>, node: NodeId, names: &[Arc<str>]) {
    for name in names {
        if let Some(nodes) = interested.get_mut(name) {
            nodes.remove(&node);
            if nodes.is_empty() {
                interested.remove(name);
            }
        }
    }
}

impl MemoryStore {
    /// How users stand; those never heard of are left out.
    fn read(&self, now: Time, users: &[Arc<str>]) -> Vec<Report> {
        users
            .iter()
            .filter_map(|user| self.directory.find(user))
            .map(|id| self.report(now, id))
            .collect()
    }

    /// Whether the session is passive.
    pub fn is_passive(&self, session: SessionId) -> bool {
        self.seats.get(&session).is_some_and(|it| it.passive)
    }
}
