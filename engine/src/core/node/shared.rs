//! A node among others: the directory's part is asked of the shared store (rule 10).
//!
//! The node keeps its own sessions as before; what they add up to is decided in the store, whose
//! word comes back as replies and notices. While the store is out of reach nothing is decided:
//! sessions stay, watchers keep what they saw and are told that it may be old (rule 12 b). When it
//! is back, the node first registers what it holds, and then refreshes its watchers.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use foldhash::quality::FixedState;
use greendot_protocol::{CloseCode, Epoch, Mode, ModeChoice, Revision, Span, Time};

use super::{Ending, Node, Output, Transition};
use crate::core::Settings;
use crate::core::leases::LeaseId;
use crate::store::{HeldBy, NodeId, Notice, Register, Reply, Report, Request, SessionName, Silent};

/// How often a node shows the store that it is there.
const BEAT: Span = Span::from_millis(1_000);

/// A store that answers nothing for this long is out of reach. With a beat a second, clients are
/// told within 5 s (rule 12 b).
const LOST_AFTER: Span = Span::from_millis(3_000);

/// After the store has lost what it held, the other nodes get this long to register what they
/// hold, before this one shows its watchers how users stand: the others notice within
/// [`LOST_AFTER`] and a beat.
const REFRESH_AFTER: Span = Span::from_millis(2_000);

/// Sessions that ended while the store was out of reach are ended there only after this: one may
/// have gone on at another node, which registers it meanwhile.
const ENDS_AFTER: Span = Span::from_millis(5_000);

/// Requests that may wait for answers: far more than a healthy store lets wait. Beyond, the store
/// counts as out of reach.
const PENDING: usize = 1 << 17;

/// What a request's reply is for.
#[derive(Clone, Debug)]
pub(super) enum Then {
    /// A session has connected or has been registered.
    Connected(LeaseId),
    /// These users' records are wanted.
    Loaded(Vec<Arc<str>>),
    /// An [`Node::ask`].
    Asked { ask: u64, viewer: Arc<str>, users: Vec<Arc<str>> },
    /// The reply says all there is to do.
    Nothing,
}

/// Whether the store can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    Good,
    /// Nothing has been heard of it for too long.
    Lost,
    /// It answers again; watchers are refreshed at the time named, or their refresh is under way.
    Back(Option<Time>),
}

/// How the store knows one of this node's sessions.
#[derive(Clone, Copy, Debug)]
struct Seat {
    number: u64,
    connected: Time,
    /// The store's generation, once it has told it.
    generation: Option<u64>,
    /// Idle or active, if its connect said so.
    idle_said: Option<bool>,
}

/// What a node needs to work with a shared store.
#[derive(Debug)]
pub(super) struct Shared {
    id: NodeId,
    pub(super) thin: bool,
    epoch: Option<Epoch>,
    seats: HashMap<LeaseId, Seat, FixedState>,
    by_number: HashMap<u64, LeaseId, FixedState>,
    next_seat: u64,
    next_request: u64,
    pending: VecDeque<(u64, Time, Then)>,
    beat_at: Time,
    /// When the store last answered.
    answered: Time,
    reach: Reach,
    /// Choices made while the store was out of reach: the latest of each user.
    modes: Vec<(Arc<str>, Mode)>,
    notes: Vec<(Arc<str>, Arc<str>)>,
    revoked: Vec<(Arc<str>, bool)>,
    /// Sessions that ended meanwhile.
    ended: Vec<(SessionName, u64, Time)>,
    ends_at: Option<Time>,
    /// No session of this node expires before: nobody could renew for a while.
    spared_until: Time,
    silent: Vec<LeaseId>,
    heard: Vec<LeaseId>,
}

impl Shared {
    pub(super) fn new(id: NodeId, thin: bool, now: Time) -> Self {
        Self {
            id,
            thin,
            epoch: None,
            seats: HashMap::default(),
            by_number: HashMap::default(),
            next_seat: 0,
            next_request: 0,
            pending: VecDeque::new(),
            beat_at: now,
            answered: now,
            reach: Reach::Good,
            modes: Vec::new(),
            notes: Vec::new(),
            revoked: Vec::new(),
            ended: Vec::new(),
            ends_at: None,
            spared_until: Time::ZERO,
            silent: Vec::new(),
            heard: Vec::new(),
        }
    }

    pub(super) fn epoch(&self) -> Epoch {
        self.epoch.unwrap_or_default()
    }

    pub(super) fn is_lost(&self) -> bool {
        self.reach == Reach::Lost
    }

    pub(super) fn is_stale(&self) -> bool {
        self.reach != Reach::Good
    }

    /// Whether leases may end sessions now.
    pub(super) fn may_expire(&self, now: Time) -> bool {
        self.reach != Reach::Lost && now >= self.spared_until
    }

    pub(super) fn deadline(&self) -> Time {
        let refresh = match self.reach {
            Reach::Back(Some(at)) => at,
            _ => Time::MAX,
        };
        self.beat_at.min(refresh).min(self.ends_at.unwrap_or(Time::MAX))
    }
}

/// Puts the latest word on a user in place of an earlier one.
fn latest<T>(list: &mut Vec<(Arc<str>, T)>, user: &Arc<str>, word: T) {
    match list.iter_mut().find(|it| it.0 == *user) {
        Some(it) => it.1 = word,
        None => list.push((Arc::clone(user), word)),
    }
}

impl Node {
    /// A node that shares its users with others through a store. `id` must be new at each start.
    ///
    /// # Errors
    ///
    /// If the settings cannot work together.
    pub fn with_store(
        settings: Settings,
        now: Time,
        id: NodeId,
        thin: bool,
        seed: u64,
    ) -> Result<Self, crate::core::SettingsError> {
        let mut node = Self::new(settings, now, Epoch(0), 0, seed, super::Start::Fresh)?;
        node.shared = Some(Shared::new(id, thin, now));
        if thin {
            node.leases.report_silence_after(node.settings.beat);
        }
        Ok(node)
    }

    /// Which run of which node this is; none for a node that works alone.
    pub fn id(&self) -> Option<NodeId> {
        self.shared.as_ref().map(|it| it.id)
    }

    /// Whether the store cannot be reached, or watchers have not been refreshed since.
    pub fn is_stale(&self) -> bool {
        self.shared.as_ref().is_some_and(Shared::is_stale)
    }

    /// The store's answer to the request of this number.
    pub fn handle_reply(&mut self, now: Time, number: u64, reply: &Reply) {
        let Some(shared) = self.shared.as_mut() else { return };
        let mut then = Then::Nothing;
        // Requests are carried out in order: what was asked before and not answered is lost.
        while let Some((first, _, _)) = shared.pending.front() {
            if *first > number {
                break;
            }
            let (first, _, its) = shared.pending.pop_front().expect("seen above");
            if first == number {
                then = its;
            }
        }
        shared.answered = now;
        let was_lost = shared.reach == Reach::Lost;
        let lost_data = shared.epoch.is_some_and(|it| it != reply.epoch);
        shared.epoch = Some(reply.epoch);
        self.set_warming(now, reply.warming);
        for report in &reply.turned {
            self.outputs.push_back(Output::Transition(Transition {
                user: Arc::clone(&report.user),
                state: report.public.state,
                version: report.public.version,
                note: Arc::clone(&report.note),
            }));
        }
        if was_lost || lost_data {
            self.come_back(now, lost_data);
        }
        self.apply(now, reply.epoch, &reply.reports);
        match then {
            Then::Nothing => {}
            Then::Connected(lease) => self.connected(now, lease, reply.held),
            Then::Loaded(users) => self.loaded(now, &users),
            Then::Asked { ask, viewer, users } => {
                self.answer_ask(now, ask, &viewer, &users, &reply.reports);
            }
        }
    }

    /// The store tells something unasked.
    pub fn handle_notice(&mut self, now: Time, notice: &Notice) {
        match notice {
            Notice::Changed { epoch, report } => {
                self.apply(now, *epoch, std::slice::from_ref(report));
            }
            Notice::Replaced { seat } => self.lose_seat(now, *seat, CloseCode::Replaced),
            Notice::Revoked { seat } => self.lose_seat(now, *seat, CloseCode::Revoked),
            Notice::Ended { seat } => {
                let Some(lease) = self.seat(*seat) else { return };
                let Some(row) = self.leases.get(lease) else { return };
                if row.conn.is_some() && self.leases.deadline(row) > now {
                    // It has been heard here since: the store did not know. It goes on.
                    self.register(now, lease);
                } else {
                    self.lose_seat(now, *seat, CloseCode::Ended);
                }
            }
            Notice::Mode { seat, mode, revision } => {
                if let Some(lease) = self.seat(*seat) {
                    self.adopt_mode(lease, *mode, *revision);
                }
            }
        }
    }

    fn seat(&self, number: u64) -> Option<LeaseId> {
        self.shared.as_ref()?.by_number.get(&number).copied()
    }

    /// The store has given the session to another, or to nobody: it ends here without a word.
    fn lose_seat(&mut self, now: Time, number: u64, code: CloseCode) {
        if let Some(lease) = self.seat(number) {
            self.forget_seat(lease);
            self.end(now, lease, Ending::Code(code));
        }
    }

    fn adopt_mode(&mut self, lease: LeaseId, mode: Mode, revision: Revision) {
        let Some(session) = self.leases.get(lease).map(|it| it.session) else { return };
        let Some(user) = self.directory.user_of(session) else { return };
        if self.directory.adopt_mode(user, mode, revision) {
            self.tell_mode(user, None);
        }
    }

    /// Asks the store, unless it is out of reach: then what is to be made up for is kept aside by
    /// the callers, and the rest is superseded when the store is back.
    pub(super) fn submit(&mut self, now: Time, request: Request, then: Then) {
        let Some(shared) = self.shared.as_mut() else { return };
        let is_beat = matches!(request, Request::Beat { .. });
        if shared.reach == Reach::Lost && !is_beat {
            return;
        }
        let number = shared.next_request;
        shared.next_request += 1;
        shared.pending.push_back((number, now, then));
        if shared.pending.len() > PENDING && !is_beat {
            self.lose_store(now);
            return;
        }
        self.outputs.push_back(Output::Store { number, request });
    }

    pub(super) fn store_timeout(&mut self, now: Time) {
        let Some(shared) = self.shared.as_mut() else { return };
        let waits = shared.pending.front().is_some_and(|it| now.since(it.1) >= LOST_AFTER);
        if waits && shared.reach != Reach::Lost {
            self.lose_store(now);
        }
        let Some(shared) = self.shared.as_mut() else { return };
        if shared.reach == Reach::Lost {
            shared.pending.clear();
        }
        if shared.beat_at <= now {
            shared.beat_at = now + BEAT;
            self.send_beat(now);
        }
        let Some(shared) = self.shared.as_mut() else { return };
        if let Reach::Back(Some(at)) = shared.reach
            && at <= now
        {
            shared.reach = Reach::Back(None);
            self.refresh(now);
        }
        let Some(shared) = self.shared.as_mut() else { return };
        if shared.ends_at.is_some_and(|at| at <= now) && shared.reach != Reach::Lost {
            shared.ends_at = None;
            for (name, seat, heard) in std::mem::take(&mut shared.ended) {
                let heard_ago = now.since(heard);
                self.submit(now, Request::End(Silent { name, seat, heard_ago }), Then::Nothing);
            }
        }
    }

    fn send_beat(&mut self, now: Time) {
        let Some(shared) = self.shared.as_mut() else { return };
        let away = match shared.reach {
            Reach::Lost => now.since(shared.answered),
            _ => Span::ZERO,
        };
        let silent = std::mem::take(&mut shared.silent);
        let heard = std::mem::take(&mut shared.heard);
        let silent = silent.into_iter().filter_map(|it| self.silent_of(now, it)).collect();
        let heard = heard
            .into_iter()
            .filter_map(|it| self.silent_of(now, it))
            .map(|it| (it.name, it.seat))
            .collect();
        self.submit(now, Request::Beat { away, silent, heard }, Then::Nothing);
    }

    fn lose_store(&mut self, now: Time) {
        let Some(shared) = self.shared.as_mut() else { return };
        shared.reach = Reach::Lost;
        let waiting: Vec<Then> = shared.pending.drain(..).map(|it| it.2).collect();
        self.watches.set_blind(true);
        self.tell_stale();
        for then in waiting {
            match then {
                // The connection must not wait for the store: it is welcome.
                Then::Connected(lease) => self.welcome(lease),
                Then::Asked { ask, viewer, users } => {
                    self.answer_ask(now, ask, &viewer, &users, &[]);
                }
                Then::Loaded(_) | Then::Nothing => {}
            }
        }
        for conn in self.watches.waiting_conns() {
            self.wake(conn);
        }
    }

    /// The store answers again, perhaps without what it held.
    fn come_back(&mut self, now: Time, lost_data: bool) {
        let Some(shared) = self.shared.as_mut() else { return };
        let was_lost = shared.reach == Reach::Lost;
        shared.reach = Reach::Back(Some(if lost_data { now + REFRESH_AFTER } else { now }));
        shared.spared_until = now + self.settings.ttl;
        if was_lost && !shared.ended.is_empty() {
            shared.ends_at = Some(now + ENDS_AFTER);
        }
        let modes = std::mem::take(&mut shared.modes);
        let notes = std::mem::take(&mut shared.notes);
        let revoked = std::mem::take(&mut shared.revoked);
        let mut leases: Vec<(u64, LeaseId)> =
            shared.seats.iter().map(|(lease, seat)| (seat.number, *lease)).collect();
        leases.sort_unstable_by_key(|it| it.0);
        for (user, revoked) in revoked {
            self.submit(now, Request::Revoke { user, revoked }, Then::Nothing);
        }
        // Who hid meanwhile is hidden before anything is registered.
        for (user, mode) in modes {
            self.submit(now, Request::SetMode { user, mode }, Then::Nothing);
        }
        for (user, note) in notes {
            self.submit(now, Request::SetNote { user, note }, Then::Nothing);
        }
        for (_, lease) in leases {
            self.register(now, lease);
            self.leases.report_anew(lease);
        }
        if lost_data {
            self.watches.begin_epoch();
        }
        self.tell_stale();
    }

    /// Users whom nobody here watched until now: asks how they stand, and to be told from now on.
    pub(super) fn load(&mut self, now: Time, users: Vec<Arc<str>>) {
        self.submit(now, Request::Subscribe { users: users.clone() }, Then::Loaded(users));
    }

    /// Users whom nobody here watches any more.
    pub(super) fn unload(&mut self, now: Time) {
        let users = self.watches.take_forgotten();
        if self.shared.is_some() && !users.is_empty() {
            self.submit(now, Request::Unsubscribe { users }, Then::Nothing);
        }
    }

    /// Asks how all watched users stand.
    fn refresh(&mut self, now: Time) {
        let users = self.watches.subjects();
        self.load(now, users);
    }

    fn loaded(&mut self, now: Time, users: &[Arc<str>]) {
        for user in users {
            self.watches.load_if_absent(user);
        }
        let refreshed = self.shared.as_ref().is_some_and(|it| it.reach == Reach::Back(None));
        if refreshed && !self.watches.is_loading() {
            if let Some(shared) = self.shared.as_mut() {
                shared.reach = Reach::Good;
            }
            self.watches.set_blind(false);
            self.tell_stale();
        }
        for conn in self.watches.waiting_conns() {
            self.wake(conn);
        }
        self.schedule_flush(now);
    }

    fn apply(&mut self, now: Time, epoch: Epoch, reports: &[Report]) {
        if self.shared.as_ref().is_none_or(|it| it.epoch != Some(epoch)) {
            // From an epoch that is over, or that this node has not entered.
            return;
        }
        for report in reports {
            self.watches.take(now, report);
        }
        self.schedule_flush(now);
    }

    fn set_warming(&mut self, now: Time, warming: Span) {
        if warming != Span::ZERO {
            self.warm_until = Some(now + warming);
            self.watches.begin_warmup();
        }
    }

    fn tell_stale(&mut self) {
        for conn in self.conn_ids() {
            if let Some(row) = self.conns.get_mut(conn.0) {
                row.waiting.stale = true;
            }
            self.wake(conn);
        }
    }

    // What the other rooms of the node report.

    /// A session has connected here.
    pub(super) fn seat_connects(
        &mut self,
        now: Time,
        lease: LeaseId,
        idle_said: Option<bool>,
        mode: Option<ModeChoice>,
    ) {
        let Some(shared) = self.shared.as_mut() else { return };
        let number = shared.next_seat;
        shared.next_seat += 1;
        shared.by_number.insert(number, lease);
        let seat = Seat { number, connected: now, generation: None, idle_said };
        shared.seats.insert(lease, seat);
        if shared.reach == Reach::Lost {
            self.welcome(lease);
            return;
        }
        self.register_with(now, lease, mode);
    }

    fn register(&mut self, now: Time, lease: LeaseId) {
        let Some(session) = self.leases.get(lease).map(|it| it.session) else { return };
        let mode = self.directory.user_of(session).map(|user| {
            let (mode, revision) = self.directory.mode(user);
            ModeChoice { mode, revision, fresh: false }
        });
        self.register_with(now, lease, mode);
    }

    fn register_with(&mut self, now: Time, lease: LeaseId, mode: Option<ModeChoice>) {
        let Some(name) = self.session_name(lease) else { return };
        let Some(row) = self.leases.get(lease) else { return };
        let Some(view) = self.directory.view(row.session) else { return };
        let Some(shared) = self.shared.as_ref() else { return };
        let Some(seat) = shared.seats.get(&lease) else { return };
        let register = Register {
            name,
            seat: seat.number,
            connected_ago: now.since(seat.connected),
            heard_ago: now.since(row.heard),
            generation: seat.generation,
            passive: view.passive,
            idle: match seat.generation {
                None => seat.idle_said,
                Some(_) => Some(view.idle),
            },
            lingers_for: row.lingers_until.map(|at| at.since(now)),
            mode,
        };
        self.submit(now, Request::Connect(register), Then::Connected(lease));
    }

    fn connected(&mut self, now: Time, lease: LeaseId, held: HeldBy) {
        match held {
            HeldBy::You { generation, mode, revision } => {
                let Some(shared) = self.shared.as_mut() else { return };
                let Some(seat) = shared.seats.get_mut(&lease) else { return };
                seat.generation = Some(generation);
                if let Some(session) = self.leases.get(lease).map(|it| it.session) {
                    self.directory.set_generation(session, generation);
                }
                let conn = self.leases.get(lease).and_then(|it| it.conn);
                if let Some(row) = conn.and_then(|it| self.conns.get_mut(it.0)) {
                    row.generation = generation;
                }
                self.adopt_mode(lease, mode, revision);
                self.welcome(lease);
            }
            HeldBy::Another => self.lose_lease(now, lease, CloseCode::Replaced),
            HeldBy::Revoked => self.lose_lease(now, lease, CloseCode::Revoked),
            HeldBy::Full => self.lose_lease(now, lease, CloseCode::Full),
            HeldBy::Nobody => {}
        }
    }

    fn lose_lease(&mut self, now: Time, lease: LeaseId, code: CloseCode) {
        self.forget_seat(lease);
        self.end(now, lease, Ending::Code(code));
    }

    /// The connection of a lease may have its welcome, if it has had none.
    fn welcome(&mut self, lease: LeaseId) {
        let Some(conn) = self.leases.get(lease).and_then(|it| it.conn) else { return };
        if let Some(row) = self.conns.get_mut(conn.0)
            && !row.waiting.welcomed
        {
            row.waiting.welcomed = true;
            row.waiting.welcome = true;
            self.wake(conn);
        }
    }

    /// The session's lease is gone, and with it what the store is told under its number.
    pub(super) fn forget_seat(&mut self, lease: LeaseId) {
        if let Some(shared) = self.shared.as_mut()
            && let Some(seat) = shared.seats.remove(&lease)
        {
            shared.by_number.remove(&seat.number);
        }
    }

    pub(super) fn seat_ends(&mut self, now: Time, lease: LeaseId, name: SessionName, heard: Time) {
        let Some(shared) = self.shared.as_mut() else { return };
        let Some(seat) = shared.seats.get(&lease).copied() else { return };
        if shared.reach == Reach::Lost {
            // Of a session that the store never knew there is nothing to end.
            if seat.generation.is_some() {
                shared.ended.push((name, seat.number, heard));
            }
            return;
        }
        let heard_ago = now.since(heard);
        let request = Request::End(Silent { name, seat: seat.number, heard_ago });
        self.submit(now, request, Then::Nothing);
    }

    pub(super) fn seat_lingers(&mut self, now: Time, lease: LeaseId) {
        let Some(name) = self.session_name(lease) else { return };
        let Some(until) = self.leases.get(lease).and_then(|it| it.lingers_until) else { return };
        let Some(seat) = self.seat_number(lease) else { return };
        let request = Request::Linger { name, seat, lasts: until.since(now) };
        self.submit(now, request, Then::Nothing);
    }

    pub(super) fn seat_revives(&mut self, now: Time, lease: LeaseId) {
        if let Some(silent) = self.silent_of(now, lease) {
            self.submit(now, Request::Revive(silent), Then::Nothing);
        }
    }

    /// A sign of life has been taken.
    pub(super) fn seat_heard(&mut self, now: Time, lease: LeaseId, was_silent: bool) {
        let Some(shared) = self.shared.as_mut() else { return };
        if shared.thin {
            if was_silent {
                shared.heard.push(lease);
            }
        } else if let Some(silent) = self.silent_of(now, lease) {
            self.submit(now, Request::Renew(silent), Then::Nothing);
        }
    }

    /// Nothing has been heard of a session for a beat: it gets a deadline of its own.
    pub(super) fn seat_is_silent(&mut self, lease: LeaseId) {
        if let Some(shared) = self.shared.as_mut() {
            shared.silent.push(lease);
        }
    }

    pub(super) fn seat_idles(&mut self, now: Time, lease: LeaseId, idle: bool) {
        let Some(name) = self.session_name(lease) else { return };
        if let Some(seat) = self.seat_number(lease) {
            self.submit(now, Request::SetIdle { name, seat, idle }, Then::Nothing);
        }
    }

    pub(super) fn share_mode(&mut self, now: Time, user: &Arc<str>, mode: Mode) {
        let Some(shared) = self.shared.as_mut() else { return };
        if shared.reach == Reach::Lost {
            latest(&mut shared.modes, user, mode);
        }
        self.submit(now, Request::SetMode { user: Arc::clone(user), mode }, Then::Nothing);
    }

    pub(super) fn share_note(&mut self, now: Time, user: &Arc<str>, note: Arc<str>) {
        let Some(shared) = self.shared.as_mut() else { return };
        if shared.reach == Reach::Lost {
            latest(&mut shared.notes, user, Arc::clone(&note));
        }
        self.submit(now, Request::SetNote { user: Arc::clone(user), note }, Then::Nothing);
    }

    pub(super) fn share_revoke(&mut self, now: Time, user: &Arc<str>, revoked: bool) {
        let Some(shared) = self.shared.as_mut() else { return };
        if shared.reach == Reach::Lost {
            latest(&mut shared.revoked, user, revoked);
        }
        self.submit(now, Request::Revoke { user: Arc::clone(user), revoked }, Then::Nothing);
    }

    fn seat_number(&self, lease: LeaseId) -> Option<u64> {
        self.shared.as_ref()?.seats.get(&lease).map(|it| it.number)
    }

    pub(super) fn session_name(&self, lease: LeaseId) -> Option<SessionName> {
        let session = self.leases.get(lease)?.session;
        let user = self.directory.user_of(session)?;
        Some(SessionName {
            user: Arc::clone(self.directory.name(user)),
            session: self.directory.session_name(session)?.into(),
        })
    }

    fn silent_of(&self, now: Time, lease: LeaseId) -> Option<Silent> {
        Some(Silent {
            name: self.session_name(lease)?,
            seat: self.seat_number(lease)?,
            heard_ago: now.since(self.leases.get(lease)?.heard),
        })
    }
}
