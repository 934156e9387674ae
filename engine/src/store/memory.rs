//! The shared store in memory.

mod past;
mod requests;
mod seats;
mod sweep;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use foldhash::quality::SeedableRandomState;
use greendot_protocol::{Epoch, Span, Time};

use self::past::Past;
use self::seats::Seat;
use super::messages::{BarReport, NodeId, Notice, OutlookReport, Report, ScreenReport};
use crate::core::Settings;
use crate::core::directory::{Change, Directory, SessionId, UserId};

/// A store to which no node's beat has come for this long has been out of reach for all of them: each beats
/// once a second.
const UNREACHED: Span = Span::from_millis(1_500);

/// When they beat again, nobody is swept for so long: each says first what it has not been able to say.
const HEALS: Span = Span::from_millis(2_500);

/// A node's beat that comes within so long of the one before: none was lost between them.
const ON_TIME: Span = Span::from_millis(1_500);

/// A node renews its lease so often: what it covers may have been heard up to so long after the last renewal.
const RENEWED_EVERY: Span = Span::from_millis(1_000);

/// What is carried out sooner than this after it was asked is carried out at once: by so much nodes may misread the store's clock.
const AT_ONCE: Span = Span::from_millis(50);

/// A room that is too large to name all is told of once in each of these, counted by the clock: were it counted from the last
/// time, one who comes and goes unseen would show in when others are told of.
const ROOM_EVERY: Span = Span::from_millis(1_000);

#[derive(Clone, Copy, Debug, Default)]
struct NodeRow {
    renewed: Time,
    /// When its last beat came.
    beaten: Time,
    /// When it first asked for anything, or its last beat came: what it asks for beside shows no more than that it asks.
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
    /// Nodes that want to hear of a user, and how many watch it at each.
    subscribers: BTreeMap<Arc<str>, BTreeMap<NodeId, u32>>,
    past: Past,
    /// Nodes with connections of a user that look.
    lookers: BTreeMap<Arc<str>, BTreeSet<NodeId>>,
    /// Nodes that want to know of a user's sessions.
    owners: BTreeMap<Arc<str>, BTreeSet<NodeId>>,
    /// Nodes with connections that look into a room.
    rooms: BTreeMap<Arc<str>, RoomRow>,
    /// Rooms of which something is to be told.
    untold: BTreeSet<Arc<str>>,
    /// By how much the request under way is late.
    late: Span,
    notices: VecDeque<(NodeId, u64, Notice)>,
    warm_until: Option<Time>,
    /// Since when it is there.
    begun: Time,
    /// When a beat came again after none had for long.
    reached_again: Option<Time>,
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
            late: Span::ZERO,
            notices: VecDeque::new(),
            warm_until: warming.then(|| now + settings.warmup()),
            begun: now,
            // One that lost what it held was out of reach: the others have to notice.
            reached_again: warming.then_some(now),
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

    /// Whether the session is passive.
    pub fn is_passive(&self, session: SessionId) -> bool {
        self.seats.get(&session).is_some_and(|it| it.passive)
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
        let name = self.directory.shared_name(user);
        Report {
            public: record.public,
            own: record.own,
            note: record.note,
            seen_ago: record.seen.map(|at| now.since(at)),
            heard: record.heard,
            wish: record.wish,
            wishes: record.wishes,
            watchers: self.subscribers.get(&name).into_iter().flat_map(BTreeMap::values).sum(),
            user: name,
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
        let nodes: Vec<NodeId> = self
            .subscribers
            .get(&report.user)
            .into_iter()
            .flat_map(BTreeMap::keys)
            .copied()
            .collect();
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
}
