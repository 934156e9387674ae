//! A node among others: the directory's part is asked of the shared store (rule 10).
//!
//! The node keeps its own sessions as before; what they add up to is decided in the store, whose
//! word comes back as replies and notices. While the store is out of reach nothing is decided:
//! sessions stay, watchers keep what they saw and are told that it may be old (rule 12 b). When it
//! is back, the node first registers what it holds, and then refreshes its watchers.

mod anew;
mod catch_up;
mod choices;
mod clock;
mod farewells;
mod pending;
mod reach;
mod refresh;
mod replies;
mod seats;
mod skipped;
mod waiting;
mod words;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use foldhash::quality::FixedState;
use greendot_protocol::{Epoch, Span, Time};

use self::anew::Anew;
use self::choices::Choices;
use self::clock::StoreClock;
use self::pending::{Pending, Queue};
use self::refresh::Refresh;
use self::skipped::Skipped;
use self::waiting::Words;
use self::words::Word;
use crate::core::Settings;
use crate::core::leases::ConnId;
use crate::core::node::reads::Look;
use crate::core::node::room_polls::RoomsLook;
use crate::core::node::{Node, Output};
use crate::store::{NodeId, Request, SessionName, Silent};

/// How often a node shows the store that it is there.
const BEAT: Span = Span::from_millis(1_000);

/// How often it asks a store that is out of reach whether it is back: all nodes find that within this time.
const LOST_BEAT: Span = Span::from_millis(500);

/// A store that answers nothing for this long is out of reach. With a beat a second, clients are
/// told within 5 s (rule 12 b).
const LOST_AFTER: Span = Span::from_millis(3_000);

/// After the store has lost what it held, the other nodes get this long to register what they
/// hold, before this one shows its watchers how users stand: the others notice within
/// [`LOST_AFTER`] and a beat.
const REFRESH_AFTER: Span = Span::from_millis(2_000);

/// What is to be seen again then waits this long before the store is asked: by then each node has said what had happened.
const OPENS_AFTER: Span = Span::from_millis(1_900);

/// Sessions that ended while the store was out of reach are ended there only after this: one may
/// have gone on at another node, which registers it meanwhile.
const ENDS_AFTER: Span = Span::from_millis(5_000);

/// Requests that may wait for answers: far more than a healthy store lets wait. Beyond, the store
/// counts as out of reach.
const PENDING: usize = 1 << 17;

/// What a request's reply is for.
#[derive(Clone, Debug)]
pub(in crate::core::node) enum Then {
    /// A session has connected or has been registered.
    Connected(ConnId),
    /// These users' records are wanted.
    Loaded(Vec<Arc<str>>),
    /// The same, for those who watch them by name.
    Watched(Vec<Arc<str>>),
    /// A connection has joined a room under this number, and wants to know who is there.
    Joined { conn: ConnId, number: u32 },
    /// Then it wants these users' records.
    Seated { conn: ConnId, number: u32, users: Vec<Arc<str>> },
    /// A beat has been taken.
    Beaten,
    /// What stands between these users and others is wanted.
    Looked,
    /// How users stand whom viewers are to see again, behind the answer to this question.
    Opening { turn: u64, users: Vec<Arc<str>> },
    /// Who is in rooms is wanted.
    LookedInto,
    /// Who is in a poll's rooms is wanted.
    RoomsRead(RoomsLook),
    /// An [`Node::ask`].
    Asked(Look),
    /// A [`Node::locate`].
    Located { ask: u64, user: Arc<str> },
    /// A [`Node::show`].
    Shown { ask: u64, user: Arc<str> },
    /// A [`Node::confirm`].
    Stored(u64),
    /// A [`Node::list`].
    Listed { ask: u64, viewer: Arc<str> },
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
    /// It has left all rooms that this connect has not joined.
    left_others: bool,
}

/// What a node needs to work with a shared store.
#[derive(Debug)]
pub(in crate::core::node) struct Shared {
    id: NodeId,
    pub(super) thin: bool,
    epoch: Option<Epoch>,
    clock: StoreClock,
    /// Whether rounded times go by the store's clock already.
    has_grid: bool,
    seats: HashMap<ConnId, Seat, FixedState>,
    by_number: HashMap<u64, ConnId, FixedState>,
    next_seat: u64,
    next_request: u64,
    pending: Queue,
    choices: Choices,
    beat_at: Time,
    /// When the oldest question was asked whose answer was given up. It may still come.
    given_up: Option<Time>,
    /// When the store last answered.
    answered: Time,
    /// The number of the last notice that came.
    noticed: u64,
    /// How many notices the store had sent at the last beat but one: by now they have come, or
    /// are lost.
    told: u64,
    reach: Reach,
    anew: Anew,
    refresh: Refresh,
    /// When it is asked how those stand whom viewers are to see again.
    opens_at: Option<Time>,
    /// What stands between viewers and others may have changed while the store was out of reach, or by a word that it has not
    /// answered: until that is known, nothing newer of anybody is shown (rule 13).
    blinded: bool,
    skipped: Skipped,
    /// What was said while the store was out of reach, or was lost on the way.
    unsaid: Words,
    /// When the store is told who left and who hid while it was out of reach; and the latter: see [`farewells`].
    says_at: Option<Time>,
    hiders: HashSet<Arc<str>, FixedState>,
    /// When sessions that ended meanwhile, or end before that, are ended in the store.
    ends_at: Option<Time>,
    /// No session of this node expires before: nobody could renew for a while.
    spared_until: Time,
    /// It has stood still, and what waits on its connections is being read: see [`catch_up`].
    catches_up: bool,
    silent: BTreeSet<ConnId>,
    heard: Vec<ConnId>,
    /// Sessions that the store has ended, and that end here once what waits on their connections is read (rule 1).
    over: BTreeSet<ConnId>,
}

impl Shared {
    pub(in crate::core::node) fn new(id: NodeId, thin: bool, now: Time) -> Self {
        Self {
            id,
            thin,
            epoch: None,
            clock: StoreClock::default(),
            has_grid: false,
            seats: HashMap::default(),
            by_number: HashMap::default(),
            next_seat: 0,
            next_request: 0,
            pending: Queue::default(),
            choices: Choices::default(),
            beat_at: now,
            given_up: None,
            answered: now,
            noticed: 0,
            told: 0,
            reach: Reach::Good,
            anew: Anew::default(),
            refresh: Refresh::default(),
            opens_at: None,
            blinded: false,
            skipped: Skipped::default(),
            unsaid: Words::default(),
            says_at: None,
            hiders: HashSet::default(),
            ends_at: None,
            spared_until: Time::ZERO,
            catches_up: false,
            silent: BTreeSet::new(),
            heard: Vec::new(),
            over: BTreeSet::new(),
        }
    }

    pub(in crate::core::node) fn epoch(&self) -> Epoch {
        self.epoch.unwrap_or_default()
    }

    /// The number of the next request.
    fn take_number(&mut self) -> u64 {
        let number = self.next_request;
        self.next_request += 1;
        number
    }

    /// The number of the next connect.
    fn take_seat(&mut self) -> u64 {
        let number = self.next_seat;
        self.next_seat += 1;
        number
    }

    /// Requests that wait for their answers.
    pub(in crate::core::node) fn waiting(&self) -> usize {
        self.pending.len()
    }

    pub(in crate::core::node) fn is_lost(&self) -> bool {
        self.reach == Reach::Lost
    }

    pub(in crate::core::node) fn is_stale(&self) -> bool {
        self.reach != Reach::Good
    }

    /// Whether the store has told of the session, and with it how its user wants to appear.
    pub(in crate::core::node) fn has_told_of(&self, lease: ConnId) -> bool {
        self.seats.get(&lease).is_some_and(|it| it.generation.is_some())
    }

    /// Whether the user has said that it hides from the viewer, and the store has not heard of it.
    pub(in crate::core::node) fn hides(&self, user: &str, viewer: &str) -> bool {
        let mut words = self.unsaid.by(user).chain(self.anew.words_by(user));
        words.any(|it| matches!(it, Word::Block(_, from, true, _) if **from == *viewer))
    }

    /// Whether nodes have yet to register with the store what they hold.
    pub(in crate::core::node) fn awaits_nodes(&self) -> bool {
        matches!(self.reach, Reach::Back(Some(_)))
    }

    /// The leases of the sessions that the store is told of, in the order in which they came; `as_known`: before the others those
    /// of which it has not answered yet that they are here.
    fn leases(&self, as_known: bool) -> Vec<ConnId> {
        let place = |seat: &Seat| (as_known && seat.generation.is_some(), seat.number);
        let mut leases: Vec<((bool, u64), ConnId)> =
            self.seats.iter().map(|(lease, seat)| (place(seat), *lease)).collect();
        leases.sort_unstable_by_key(|it| it.0);
        leases.into_iter().map(|it| it.1).collect()
    }

    /// Whether the refresh asks anew what was asked with this number, or has asked since.
    fn refreshes(&self, number: u64) -> bool {
        self.awaits_nodes() || self.refresh.asks_after(number)
    }

    /// Whether the store has yet to be told something of the user that was said here.
    fn has_unsaid(&self, user: &str) -> bool {
        self.unsaid.by(user).chain(self.anew.words_by(user)).next().is_some()
    }

    /// Whether something that a user chose may not have reached the store.
    fn is_unheard(&self, now: Time) -> bool {
        self.pending.is_unheard(now)
    }

    /// Whether all is known anew that may have changed while the store was out of reach.
    fn is_known_anew(&self) -> bool {
        self.reach == Reach::Good && !self.blinded
    }

    /// Whether nothing that is known here is older than what the store has said, where it had sent so many notices by then.
    fn is_fresh(&self, told: u64) -> bool {
        self.is_known_anew() && self.skipped.is_empty() && told <= self.noticed
    }

    /// Whether leases may end sessions now.
    pub(in crate::core::node) fn may_expire(&self, now: Time) -> bool {
        self.reach != Reach::Lost && now >= self.spared_until
    }

    pub(in crate::core::node) fn deadline(&self) -> Time {
        let registered = self.anew.is_over();
        let refresh = match self.reach {
            Reach::Back(Some(at)) if registered => at,
            _ => Time::MAX,
        };
        let opens = self.opens_at.filter(|_| self.is_known_anew());
        let words = self.ends_at.into_iter().chain(self.says_at).filter(|_| registered);
        let words = words.chain(opens).min();
        self.beat_at.min(refresh).min(words.unwrap_or(Time::MAX))
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
        node.watches.begin_counting();
        node.watches.open_behind_answers();
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

    /// Asks the store. While it is out of reach, questions are not asked: they are when it is back. What it is told goes out
    /// all the same, for it may be that only its answers are lost, and what must not be lost is kept, too.
    pub(in crate::core::node) fn submit(&mut self, now: Time, request: Request, then: Then) {
        if self.shared.is_none() {
            return;
        }
        let is_beat = matches!(request, Request::Beat { .. });
        let word = Word::of(now, &request);
        if !is_beat {
            self.say_unheard(now, word.as_ref());
            self.say_before(now, &request, word.as_ref());
        }
        let Some(shared) = self.shared.as_mut() else { return };
        if shared.reach == Reach::Lost && !is_beat {
            let mut said = Vec::new();
            if let Some(word) = word {
                // Should the store be back, it must not hear this one before those.
                let before = shared.unsaid.by(word.user()).filter(|it| it.goes_before(&word));
                said.extend(before.cloned().map(|it| it.request(now)));
                shared.unsaid.keep(word);
            }
            said.extend(Some(request).filter(Request::tells));
            for request in said {
                let Some(shared) = self.shared.as_mut() else { return };
                let number = shared.take_number();
                self.say(Output::Store { number, request: Box::new(request) });
            }
            return;
        }
        let number = shared.take_number();
        self.totals.store_requests += 1;
        if let Some(word) = &word {
            shared.choices.asked(number, word);
        }
        shared.pending.push(Pending { number, asked: now, since: now, then, word });
        if shared.pending.len() > PENDING && !is_beat {
            self.lose_store(now);
            return;
        }
        self.say(Output::Store { number, request: Box::new(request) });
    }

    pub(in crate::core::node) fn session_name(&self, lease: ConnId) -> Option<SessionName> {
        let session = self.session_of(lease)?;
        let user = self.directory.user_of(session)?;
        Some(SessionName {
            user: self.directory.shared_name(user),
            session: self.directory.session_name(session)?.into(),
        })
    }

    pub(super) fn silent_of(&self, now: Time, lease: ConnId) -> Option<Silent> {
        // Asked first: without a shared store there is none, and no name to be made.
        let seat = self.seat_number(lease)?;
        Some(Silent {
            name: self.session_name(lease)?,
            seat,
            heard_ago: now.since(self.leases.get(lease)?.heard),
        })
    }
}
