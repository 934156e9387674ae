//! This node's sessions: what keeps each alive, and when to look at it next.
//!
//! A connect is given a handle: its session's slot in the directory, and a stamp that counts the slot's connects. A sign of
//! life is then one bounds check, one look at the stamp and one store of the time; the wheel is not touched (it re-arms
//! lazily). What is said about an earlier connect finds another stamp. The leases know no user and no state.

mod due;
mod idle;
#[cfg(test)]
mod laws;
mod lease;
mod reading;
mod silence;
mod term;
mod touch;
mod waiting;

use std::collections::HashMap;

use foldhash::quality::FixedState;
use greendot_protocol::sabotage::{Fault, on};
use greendot_protocol::{Span, Time};

use self::lease::{CONNECTED, LIVE, Lease, Plan, Pulse, Row};
pub(crate) use self::touch::Touch;
pub(crate) use self::waiting::Waiting;
use super::slab::Id;
use super::table::Table;
use super::wheel::Wheel;

/// The handle of a connect: of its connection while that is open, and of the session's lease as long as no later connect
/// takes it. One that is over is reached by no handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnId(Id);

/// Whether a session is idle, and who said so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Idle {
    /// Active.
    No,
    /// The client said idle: only the client takes it back.
    Told,
    /// Found here, by the age of the last input: younger input takes it back.
    Found,
}

/// What is due for a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// Nothing has been heard for a beat, and that is to be reported.
    Silent,
    /// The connection has been silent for more than a beat.
    Ping,
    /// The person has not touched the device for long enough.
    Idle,
    /// The lease has run out.
    Expired,
    /// The session has lingered long enough.
    Lingered,
}

/// The periods that leases go by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Periods {
    pub(crate) ttl: Span,
    /// Silence after which a connection is pinged: 1.2 beats.
    pub(crate) ping_after: Span,
    pub(crate) sweep: Span,
    /// After how long without input a device counts as idle, unless it says otherwise; zero: never.
    pub(crate) idle_after: Span,
    /// Silence that is to be reported; none: none is.
    pub(crate) silent_after: Option<Span>,
}

/// What a device says of itself when it connects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Device {
    /// When the person last touched it, if told.
    pub(crate) input: Option<Time>,
    /// After how long without input it counts as idle; zero: never; none: the setting.
    pub(crate) idle_after: Option<Span>,
    pub(crate) idle: Idle,
}

/// How a session stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    /// When the last frame or pong arrived.
    pub(crate) heard: Time,
    /// When the lease runs out.
    pub(crate) deadline: Time,
    /// Whether its connection is open.
    pub(crate) connected: bool,
    pub(crate) idle: Idle,
    /// While it lingers: when it ends.
    pub(crate) lingers_until: Option<Time>,
}

impl Standing {
    /// When the session ends.
    pub(crate) fn ends_at(&self) -> Time {
        self.lingers_until.unwrap_or(self.deadline)
    }
}

/// The table of leases and the wheel that brings them up.
#[derive(Debug)]
pub(crate) struct Leases {
    /// By the slots of the directory's sessions.
    ///
    /// In one piece, unlike other tables: how many heartbeats wait side by side for their pulses is decided by how few
    /// instructions lie in between.
    pulses: Vec<Pulse>,
    /// By the same.
    plans: Table<Plan>,
    wheel: Wheel<u32>,
    /// The highest stamp given. A slot that was given back begins anew above it, or a word about an earlier connect might be
    /// believed.
    newest: u32,
    /// When tick 0 was.
    origin: Time,
    periods: Periods,
    /// By slot: an `idle_after` that is not the setting.
    idle_after: HashMap<u32, Span, FixedState>,
    /// By slot: since when the driver has been asked to read what waits on the connection, and whether it has.
    reading: HashMap<u32, (Time, bool), FixedState>,
    /// How many of those have not been read.
    unread: usize,
    live: usize,
    connected: usize,
}

impl ConnId {
    /// One that stands for a connection where none is needed.
    #[cfg(test)]
    pub(crate) fn for_test(slot: u32) -> Self {
        Self(Id { slot, stamp: 0 })
    }

    /// The slot of the session, in the directory too.
    pub(crate) fn slot(self) -> u32 {
        self.0.slot
    }
}

impl Leases {
    pub(crate) fn new(now: Time, periods: Periods) -> Self {
        Self {
            pulses: Vec::new(),
            plans: Table::default(),
            wheel: Wheel::new(),
            newest: 0,
            origin: now,
            periods,
            idle_after: HashMap::default(),
            reading: HashMap::default(),
            unread: 0,
            live: 0,
            connected: 0,
        }
    }

    /// Sessions.
    pub(crate) fn len(&self) -> usize {
        self.live
    }

    /// Open connections.
    pub(crate) fn connected(&self) -> usize {
        self.connected
    }

    /// The open connections, by slot.
    pub(crate) fn conns(&self) -> impl Iterator<Item = ConnId> {
        self.those(CONNECTED)
    }

    /// The latest connects of all sessions, open or not.
    pub(crate) fn live(&self) -> impl Iterator<Item = ConnId> {
        self.those(LIVE)
    }

    fn those(&self, flag: u32) -> impl Iterator<Item = ConnId> {
        let rows = self.plans.iter().zip(0..).filter(move |(plan, _)| plan.is(flag));
        rows.map(|(plan, slot)| ConnId(Id { slot, stamp: plan.stamp }))
    }

    /// The latest connect of the session in this slot.
    pub(crate) fn at(&self, slot: u32) -> Option<ConnId> {
        let plan = self.plans.get(slot as usize).filter(|it| it.is(LIVE))?;
        Some(ConnId(Id { slot, stamp: plan.stamp }))
    }

    /// How the session of this connect stands.
    pub(crate) fn get(&self, conn: ConnId) -> Option<Standing> {
        let Lease { heard, plan, .. } = self.row(conn)?;
        Some(Standing {
            heard,
            deadline: heard + self.periods.ttl,
            connected: plan.is(CONNECTED),
            idle: plan.idle(),
            lingers_until: plan.lingers_until(),
        })
    }

    /// When the session of this connect was heard last.
    pub(crate) fn heard(&self, conn: ConnId) -> Option<Time> {
        self.row(conn).map(|it| it.heard)
    }

    /// Whether this connection is open and speaks for its session.
    pub(crate) fn is_connected(&self, conn: ConnId) -> bool {
        self.plan(conn).is_some_and(|it| it.is(CONNECTED))
    }

    fn plan(&self, conn: ConnId) -> Option<&Plan> {
        self.plans.get(conn.0.slot as usize).filter(|it| is_of(it, conn))
    }

    fn row(&self, conn: ConnId) -> Option<Lease<'_>> {
        let plan = self.plan(conn)?;
        Some(Lease::new(self.origin, self.pulses[conn.0.slot as usize], plan))
    }

    fn plan_mut(&mut self, conn: ConnId) -> Option<&mut Plan> {
        self.plans.get_mut(conn.0.slot as usize).filter(|it| is_of(it, conn))
    }

    fn row_mut(&mut self, conn: ConnId) -> Option<Row<'_>> {
        self.plan(conn)?;
        Some(self.row_at(conn.slot()))
    }

    /// The row of an open connection.
    fn open(&mut self, conn: ConnId) -> Option<Row<'_>> {
        self.plan(conn)?.is(CONNECTED).then(|| self.row_at(conn.slot()))
    }

    fn row_at(&mut self, slot: u32) -> Row<'_> {
        let slot = slot as usize;
        Row::new(&mut self.pulses[slot], &mut self.plans[slot])
    }
}

/// Whether this is the lease of a session, taken by that very connect.
fn is_of(plan: &Plan, conn: ConnId) -> bool {
    plan.is(LIVE) && (plan.stamp == conn.0.stamp || on(Fault::GenerationUnchecked))
}
