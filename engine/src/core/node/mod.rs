//! One node: the parts put together.
//!
//! # Driving it
//!
//! Four groups of calls. *Edges*, named `handle_*`: a connection's hello, frames, pongs and end,
//! and time. *Application*: [`Node::set_mode`], [`Node::revoke`], [`Node::read`] and the like.
//! *Output*: after any of these, drain [`Node::poll_output`]; then, for each connection that an
//! [`Output::Ready`] named, call [`Node::transmit`] when its socket can take more. *Time*: call
//! [`Node::handle_timeout`] no later than [`Node::deadline`]. `now` never runs back.

mod app;
mod asking;
mod audience;
mod connections;
mod frames;
mod inspect;
mod output;
mod own;
mod polls;
mod reads;
mod rights;
mod room_polls;
mod rooms;
mod shared;
mod sweep;
mod tokens;
mod totals;
mod transmit;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use foldhash::quality::FixedState;
use greendot_protocol::{Epoch, ErrorCode, Span, Time};

pub use self::app::Refusal;
use self::asking::Asking;
pub use self::connections::{Connect, SelfReport};
pub use self::inspect::{AudienceCounts, HeldSession, NodeCounts};
pub use self::output::{Answer, Ending, Mark, Output, Transition};
use self::own::Owners;
use self::reads::Reads;
use self::rights::Rights;
pub use self::room_polls::{RoomAnswer, Who};
use self::shared::Shared;
use self::tokens::Tokens;
pub use self::totals::{Endings, FLAP, Lag, NodeTotals};
use super::directory::{Change, Directory, Face, SessionId, UserId};
pub use super::leases::ConnId;
use super::leases::{Leases, Periods, Standing};
use super::watches::{CrowdRule, Watches};
use super::{Settings, SettingsError};

/// What a node may assume of the time before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// There was nothing before: users not heard from are offline.
    Fresh,
    /// Somebody may have been there: users not heard from are unknown until the warm-up is over
    /// (rule 12 a).
    AfterLoss,
}

/// The engine of one node.
#[derive(Debug)]
pub struct Node {
    settings: Settings,
    directory: Directory,
    leases: Leases,
    watches: Watches,
    /// What the application says of who may see whom; none: it is not asked.
    audience: Option<Asking>,
    reads: Reads,
    rights: Rights,
    owners: Owners,
    tokens: Tokens,
    /// Errors that wait for connections; few have any.
    errors: HashMap<ConnId, VecDeque<(ErrorCode, u32, String)>, FixedState>,
    totals: NodeTotals,
    outputs: VecDeque<Output>,
    /// Transitions behind those, without notes: apart, because they can be very many at once, and are small. A name that is
    /// copied here, or a note that may be there, would wait for the rows that were written just before.
    turns: VecDeque<Turn>,
    /// Connections for which something waits and whose driver is to be told: apart, because they can be very many at once,
    /// and are small.
    ready: VecDeque<ConnId>,
    /// Room for the sessions that end together, kept so that none is made for each.
    due: Vec<(ConnId, SessionId, Standing)>,
    /// The next sweep.
    sweep_at: Time,
    /// The first sweep after the node has last stood still: until then not all is read that waited.
    still_until: Time,
    /// When what is marked may go; set while anything is.
    flush_at: Option<Time>,
    /// When the warm-up ends; none if it has.
    warm_until: Option<Time>,
    /// What it takes to work with a shared store; none for a node that works alone.
    shared: Option<Shared>,
}

/// What others see of a user who has no note has changed to this.
#[derive(Debug)]
struct Turn {
    user: UserId,
    face: Face,
}

impl Node {
    /// A node with nothing in its memory. `generation` must be higher than any that this node's
    /// predecessors gave: a wall clock will do. `seed` keys the hashes.
    ///
    /// # Errors
    ///
    /// If the settings cannot work together.
    pub fn new(
        settings: Settings,
        now: Time,
        epoch: Epoch,
        generation: u64,
        seed: u64,
        start: Start,
    ) -> Result<Self, SettingsError> {
        settings.check()?;
        let warming = start == Start::AfterLoss && settings.warmup() != Span::ZERO;
        let periods = Periods {
            ttl: settings.ttl,
            ping_after: settings.beat.fraction(6, 5),
            sweep: settings.sweep,
            idle_after: settings.idle_after,
            silent_after: None,
        };
        Ok(Self {
            directory: Directory::new(epoch, generation, seed),
            leases: Leases::new(now, periods),
            watches: Watches::new(
                warming,
                settings.audience.is_some(),
                seed,
                CrowdRule {
                    limit: settings.crowd_limit,
                    every: settings.crowd_every,
                    throng: settings.afar_limit.unwrap_or(usize::MAX),
                },
                settings.room_limit,
            ),
            audience: settings.audience.map(|rule| Asking::new(rule, seed)),
            reads: Reads::default(),
            rights: Rights::default(),
            owners: Owners::default(),
            tokens: Tokens::default(),
            errors: HashMap::default(),
            totals: NodeTotals::default(),
            outputs: VecDeque::new(),
            turns: VecDeque::new(),
            ready: VecDeque::new(),
            due: Vec::new(),
            sweep_at: now + settings.sweep,
            still_until: Time::ZERO,
            flush_at: None,
            warm_until: warming.then(|| now + settings.warmup()),
            shared: None,
            settings,
        })
    }

    /// The settings in force.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The epoch of this node's versions.
    pub fn epoch(&self) -> Epoch {
        self.shared.as_ref().map_or_else(|| self.directory.epoch(), Shared::epoch)
    }

    /// The next output, if any waits.
    #[inline]
    pub fn poll_output(&mut self) -> Option<Output> {
        if !self.outputs.is_empty() {
            return self.outputs.pop_front();
        }
        match self.turns.pop_front() {
            None => self.ready.pop_front().map(Output::Ready),
            turn => turn.map(|it| Output::Transition(self.transition(it, None))),
        }
    }

    /// The driver is told this, after all that has happened so far.
    fn say(&mut self, output: Output) {
        while let Some(turn) = self.turns.pop_front() {
            let turn = Output::Transition(self.transition(turn, None));
            self.outputs.push_back(turn);
        }
        self.outputs.push_back(output);
    }

    #[inline]
    fn transition(&self, turn: Turn, note: Option<Arc<str>>) -> Transition {
        let Turn { user, face: Face { state, version } } = turn;
        Transition { user: self.directory.name(user).clone(), state, version, note }
    }

    /// When [`Self::handle_timeout`] has something to do.
    pub fn deadline(&self) -> Time {
        let token = self.tokens.deadline();
        let store = self.shared.as_ref().map_or(Time::MAX, Shared::deadline);
        let audience = self.audience.as_ref().map_or(Time::MAX, Asking::deadline);
        let crowds = self.watches.crowd_deadline().min(self.watches.room_deadline());
        let rights = self.rights.deadline().min(self.reads.deadline());
        let flush = self.flush_at.unwrap_or(Time::MAX);
        self.sweep_at.min(flush).min(token).min(store).min(audience).min(crowds).min(rights)
    }

    /// Time has come: sweeps, flushes and ends tokens, as far as they are due.
    pub fn handle_timeout(&mut self, now: Time) {
        self.end_tokens(now);
        self.sweep(now);
        self.store_timeout(now);
        self.audience_timeout(now);
        self.turn_rounds(now);
        self.rooms_timeout(now);
        self.rights_timeout(now);
        self.reads_timeout(now);
        if self.flush_at.is_some_and(|at| at <= now) {
            self.flush(now);
        }
    }

    /// Tells watchers and the application what an operation changed.
    fn publish(&mut self, now: Time, user: UserId, change: Change) {
        self.tell_rooms(now);
        self.tell_own_sessions();
        if !change.any() || self.shared.is_some() {
            // With a shared store it is the store that decides, and says so.
            return;
        }
        if self.watches.subject_count() > 0
            && let Some(subject) = self.watches.subject(self.directory.name(user))
        {
            self.watches.publish(now, subject, self.directory.record(user), change);
            self.schedule_flush(now);
        }
        if change.public {
            self.totals.changes += 1;
            let turn = Turn { user, face: self.directory.public(user) };
            match self.directory.note(user) {
                None => self.turns.push_back(turn),
                note => self.say(Output::Transition(self.transition(turn, note))),
            }
        }
    }

    /// Tells the parts of crowds that are due.
    fn turn_rounds(&mut self, now: Time) {
        if self.watches.crowd_deadline() <= now {
            self.schedule_flush(now);
        }
    }

    fn schedule_flush(&mut self, now: Time) {
        self.watches.turn_rounds(now);
        if !self.watches.has_marked() {
            return;
        }
        if self.settings.tick.as_millis() == 0 {
            self.flush(now);
        } else if self.flush_at.is_none() {
            self.flush_at = Some(self.settings.tells_at(now));
        }
    }
}
