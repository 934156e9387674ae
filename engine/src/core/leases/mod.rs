//! This node's sessions: what keeps each alive, and when to look at it next.
//!
//! A connect is given a handle: its session's slot in the directory, and a stamp that counts the slot's connects. A sign of
//! life is then one bounds check, one look at the stamp and one store of the time; the wheel is not touched (it re-arms
//! lazily). What is said about an earlier connect finds another stamp. The leases know no user and no state.

#[cfg(test)]
mod laws;
mod lease;
mod waiting;

use std::collections::HashMap;

use foldhash::quality::FixedState;
use greendot_protocol::sabotage::{Fault, on};
use greendot_protocol::{Span, Time};

use self::lease::{
    CONNECTED, LINGERS, LIVE, Lease, MUTE, NOBODY, OWN_IDLE_AFTER, Plan, Pulse, READING, Row,
    SILENT, UNTOLD, begin,
};
pub(crate) use self::waiting::Waiting;
use super::moment::Moment;
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

/// What a sign of life met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touch {
    /// The connection speaks for no session any more: it has no effect.
    Nobody,
    /// The lease is renewed, and that is all.
    Alive,
    /// The lease is renewed.
    Noted {
        /// How long the session had been silent, if that was reported.
        silence: Option<Span>,
        /// Whether it lingers.
        lingers: bool,
    },
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

    /// Whether the session of this connect is idle, and who said so.
    pub(crate) fn idle(&self, conn: ConnId) -> Option<Idle> {
        self.plan(conn).map(Plan::idle)
    }

    /// Whether this connection is open and speaks for its session.
    pub(crate) fn is_connected(&self, conn: ConnId) -> bool {
        self.plan(conn).is_some_and(|it| it.is(CONNECTED))
    }

    /// After how long without input the session counts as idle; zero: never.
    pub(crate) fn idle_after(&self, conn: ConnId) -> Span {
        match self.plan(conn) {
            Some(plan) if plan.is(OWN_IDLE_AFTER) => {
                self.idle_after.get(&conn.slot()).copied().unwrap_or(self.periods.idle_after)
            }
            _ => self.periods.idle_after,
        }
    }

    /// A session connects, for the first time or anew: then nothing before it counts any more. This waits for it at once.
    pub(crate) fn connect(
        &mut self,
        now: Time,
        slot: u32,
        device: Device,
        waiting: Waiting,
    ) -> ConnId {
        while self.pulses.len() < slot as usize {
            self.put(self.pulses.len(), Pulse::VACANT, Plan::vacant(self.newest));
        }
        self.vacate(slot);
        let before = self.plans.get(slot as usize).map_or(self.newest, |it| it.stamp);
        let own = if device.idle_after.is_some() { OWN_IDLE_AFTER } else { 0 };
        let flags = device.idle.flag() | waiting.bits() | own;
        let (pulse, mut plan) = begin(now.since(self.origin), before, flags);
        let after = device.idle_after.unwrap_or(self.periods.idle_after);
        if let Some(input) = device.input.filter(|_| after != Span::ZERO) {
            plan.until = Moment::at(input + after);
        }
        if let Some(span) = device.idle_after {
            self.idle_after.insert(slot, span);
        }
        let tick = self.due(Lease::new(self.origin, pulse, &plan));
        plan.arm(self.wheel.arm(tick, slot));
        self.newest = self.newest.max(plan.stamp);
        self.live += 1;
        self.connected += 1;
        let conn = ConnId(Id { slot, stamp: plan.stamp });
        self.put(slot as usize, pulse, plan);
        conn
    }

    /// Puts a lease where it belongs: into a slot there is, or into the next one. Put into its caller: a plan that goes by
    /// memory is written in pieces and read in words, which waits for everything stored before.
    #[inline(always)]
    fn put(&mut self, slot: usize, pulse: Pulse, plan: Plan) {
        if slot < self.pulses.len() {
            self.pulses[slot] = pulse;
            self.plans[slot] = plan;
            return;
        }
        if self.pulses.len() == self.pulses.capacity() {
            // By an eighth: by doubling, half of it would be empty.
            self.pulses.reserve_exact((self.pulses.len() / 8).max(64));
        }
        self.pulses.push(pulse);
        self.plans.push(plan);
    }

    /// The session has ended. The connection is none of its own any more.
    pub(crate) fn remove(&mut self, conn: ConnId) {
        if self.row(conn).is_none() {
            return;
        }
        self.vacate(conn.slot());
        if self.live == 0 {
            // When everybody has gone the room goes back.
            self.pulses.clear();
            self.plans.clear();
        }
    }

    /// Gives some of the room back that nobody needs any more.
    pub(crate) fn give_back(&mut self) {
        self.plans.give_back();
        let (len, room) = (self.pulses.len(), self.pulses.capacity());
        if room - len > len / 8 + AT_A_TIME {
            self.pulses.shrink_to(room - AT_A_TIME);
        } else if len == 0 {
            self.pulses = Vec::new();
        }
    }

    fn vacate(&mut self, slot: u32) {
        let flags = self.plans.get(slot as usize).map_or(0, Plan::flags);
        if flags & LIVE == 0 {
            return;
        }
        self.row_at(slot).vacate();
        self.live -= 1;
        self.connected -= usize::from(flags & CONNECTED != 0);
        if flags & OWN_IDLE_AFTER != 0 {
            self.idle_after.remove(&slot);
        }
        if flags & READING != 0 {
            self.forget_reading(slot);
        }
    }

    /// The connection has ended, or speaks for its session no more; the session is still there. What waited for the
    /// connection, and the slot of its viewer among the watches, if it was open until now.
    pub(crate) fn disconnect(&mut self, conn: ConnId) -> Option<(Waiting, Option<u32>)> {
        let mut row = self.open(conn)?;
        let waiting = Waiting::of(row.plan);
        let viewer = std::mem::replace(&mut row.plan.viewer, NOBODY);
        let was_read = row.plan.is(READING);
        row.set(CONNECTED | READING, false);
        self.connected -= 1;
        if was_read {
            self.forget_reading(conn.slot());
        }
        Some((waiting, (viewer != NOBODY).then_some(viewer)))
    }

    /// A pong has arrived on an open connection: it says nothing to one that lingers.
    pub(crate) fn pong(&mut self, now: Time, conn: ConnId) -> Touch {
        match self.plan(conn) {
            Some(plan) if !plan.is(LINGERS) => {
                self.says_nothing_of_input(conn);
                self.note(now, conn, 0)
            }
            _ => Touch::Nobody,
        }
    }

    /// A frame has arrived on an open connection.
    #[inline]
    pub(crate) fn touch(&mut self, now: Time, conn: ConnId) -> Touch {
        if self.renew(now, conn) { Touch::Alive } else { self.note(now, conn, MUTE) }
    }

    /// What nearly every sign of life comes to: false if there is more to it, and nothing was done.
    #[inline]
    pub(crate) fn renew(&mut self, now: Time, conn: ConnId) -> bool {
        let slot = conn.0.slot as usize;
        let Some(pulse) = self.pulses.get_mut(slot).filter(|it| it.is_plain(conn.0.stamp)) else {
            return false;
        };
        // Time does not run back: no need to look whether it is before the origin.
        let at = now.as_millis().wrapping_sub(self.origin.as_millis());
        *pulse = Pulse::plain(Span::from_millis(at), conn.0.stamp);
        true
    }

    /// A sign of life, after which some flags no longer hold.
    #[cold]
    fn note(&mut self, now: Time, conn: ConnId, over: u32) -> Touch {
        let Some(heard) = self.heard(conn) else { return Touch::Nobody };
        let at = now.since(self.origin);
        let Some(mut row) = self.open(conn) else { return Touch::Nobody };
        row.set(over, false);
        let silence = row.plan.is(SILENT).then(|| now.since(heard));
        row.hear(at);
        if !row.plan.is(SILENT) && !row.plan.is(LINGERS) {
            return Touch::Alive;
        }
        row.set(SILENT, false);
        let lingers = row.plan.is(LINGERS);
        if silence.is_some() {
            // Its next silence may be due before anything that it was armed for.
            self.arm(conn);
        }
        Touch::Noted { silence, lingers }
    }

    /// The person touched the device at `at`. Whether that is later than was known.
    pub(crate) fn input(&mut self, conn: ConnId, at: Time) -> bool {
        let after = self.idle_after(conn);
        if after == Span::ZERO || self.plan(conn).is_none_or(|it| it.is(LINGERS)) {
            return false;
        }
        let idle_at = at + after;
        let plan = &mut self.plans[conn.slot() as usize];
        if plan.until == Moment::NEVER {
            plan.until = Moment::at(idle_at);
            // It may be sooner than what the wheel knows; later it only ever moves on.
            self.arm(conn);
        } else if plan.until.time() < idle_at {
            plan.until = Moment::at(idle_at);
        } else {
            return false;
        }
        true
    }

    /// It has been heard, and not by a beat: what its next one tells of input may be from before this.
    pub(crate) fn says_nothing_of_input(&mut self, conn: ConnId) {
        if let Some(plan) = self.open_plan(conn) {
            plan.wait(UNTOLD);
        }
    }

    /// The session has become idle by the age of its last input. What it tells later of input before its last beat is no
    /// news: it told then what there was. The clock of a device that sleeps stands still, and makes old input look younger.
    pub(crate) fn find_idle(&mut self, conn: ConnId) {
        let Some(lease) = self.row(conn) else { return };
        if !lease.plan.is(UNTOLD) {
            let heard = lease.heard;
            self.input(conn, heard);
        }
    }

    pub(crate) fn set_idle(&mut self, conn: ConnId, idle: Idle) {
        if let Some(mut row) = self.row_mut(conn) {
            row.set_idle(idle);
        }
        self.arm(conn);
    }

    /// The session lingers until then, unless it lingers already.
    pub(crate) fn linger(&mut self, conn: ConnId, until: Time) {
        let Some(mut row) = self.row_mut(conn) else { return };
        if !row.plan.is(LINGERS) {
            row.set(LINGERS, true);
            row.plan.until = Moment::at(until);
        }
        self.arm(conn);
    }

    /// A lingering session lives on; true if it lingered. Its last input has to be told anew.
    pub(crate) fn revive(&mut self, conn: ConnId) -> bool {
        let Some(mut row) = self.row_mut(conn).filter(|it| it.plan.is(LINGERS)) else {
            return false;
        };
        row.set(LINGERS, false);
        row.plan.until = Moment::NEVER;
        self.arm(conn);
        true
    }

    /// Since when the driver has been asked to read what waits on the connection, and whether it has.
    pub(crate) fn reading(&self, conn: ConnId) -> Option<(Time, bool)> {
        self.plan(conn).filter(|it| it.is(READING))?;
        self.reading.get(&conn.slot()).copied()
    }

    /// Marks that the driver is asked to read what waits on the connection.
    pub(crate) fn begin_reading(&mut self, now: Time, conn: ConnId) {
        let Some(mut row) = self.row_mut(conn) else { return };
        row.set(READING, true);
        self.forget_reading(conn.slot());
        self.reading.insert(conn.slot(), (now, false));
        self.unread += 1;
    }

    /// The driver has read; true if it had been asked to.
    pub(crate) fn has_read(&mut self, conn: ConnId) -> bool {
        let asked = self.reading(conn).and_then(|_| self.reading.get_mut(&conn.slot()));
        let Some((_, read)) = asked else { return false };
        self.unread -= usize::from(!std::mem::replace(read, true));
        true
    }

    /// Whether the driver has yet to read what it was asked to.
    pub(crate) fn has_unread(&self) -> bool {
        self.unread > 0
    }

    fn forget_reading(&mut self, slot: u32) {
        let asked = self.reading.remove(&slot);
        self.unread -= usize::from(asked.is_some_and(|(_, read)| !read));
    }

    /// Nothing needs to be read first any more.
    pub(crate) fn end_reading(&mut self, conn: ConnId) {
        if !self.plan(conn).is_some_and(|it| it.is(READING)) {
            return;
        }
        self.row_at(conn.slot()).set(READING, false);
        self.forget_reading(conn.slot());
    }

    /// From now on silence of this length is reported, once until the session is heard again.
    pub(crate) fn report_silence_after(&mut self, span: Span) {
        self.periods.silent_after = Some(span);
    }

    /// Those whose silence is to be reported by now, and has not been. Every lease is looked at.
    pub(crate) fn silent(&self, now: Time) -> Vec<ConnId> {
        let is_silent = |conn: &ConnId| {
            let row = self.row(*conn).filter(|it| !it.plan.is(LINGERS));
            row.is_some_and(|it| it.silent_at(&self.periods) <= now)
        };
        self.live().filter(is_silent).collect()
    }

    /// Its silence has been reported.
    pub(crate) fn reported_silent(&mut self, conn: ConnId) {
        if let Some(mut row) = self.row_mut(conn) {
            row.set(SILENT, true);
        }
    }

    /// What was reported is forgotten, and when each was heard has been told: silence that begins
    /// later will be reported.
    pub(crate) fn report_anew(&mut self, now: Time, conn: ConnId) {
        let after = self.periods.silent_after;
        let Some(heard) = self.heard(conn) else { return };
        if let Some(mut row) = self.row_mut(conn) {
            let silence = now.since(heard);
            row.set(SILENT, after.is_some_and(|it| silence > it));
        }
        self.arm(conn);
    }

    /// Whether the person has not touched the device for long enough, and nobody has noticed yet.
    pub(crate) fn has_idled(&self, now: Time, conn: ConnId) -> bool {
        self.row(conn).is_some_and(|it| it.has_idled(now, &self.periods))
    }

    /// The tick at which something can be due for a lease at the earliest. Rounded up: a session ends at the first sweep at or
    /// after its deadline.
    #[inline]
    fn due(&self, lease: Lease<'_>) -> u64 {
        let due = lease.next(&self.periods).since(self.origin).as_millis();
        due.div_ceil(self.periods.sweep.as_millis())
    }

    /// Makes sure that the lease comes up in time. Called whenever something may be due sooner than before.
    pub(crate) fn arm(&mut self, conn: ConnId) {
        let reached = self.wheel.reached();
        let Some(lease) = self.row(conn) else { return };
        let tick = self.due(lease);
        if let Some(armed) = lease.plan.armed() {
            // Both lie within the wheel's reach, so their low bits tell which is sooner.
            let ahead = armed.wrapping_sub(reached as u16) as i16;
            if tick.wrapping_sub(reached) as i64 >= i64::from(ahead) {
                return;
            }
        }
        let at = self.wheel.arm(tick, conn.slot());
        self.plans[conn.slot() as usize].arm(at);
    }

    /// The tick whose time has come at `now`.
    pub(crate) fn tick_at(&self, now: Time) -> u64 {
        now.since(self.origin).as_millis() / self.periods.sweep.as_millis()
    }

    /// When a tick's time comes.
    pub(crate) fn time_of(&self, tick: u64) -> Time {
        self.origin + Span::from_millis(tick.saturating_mul(self.periods.sweep.as_millis()))
    }

    /// Reads the rows that are about to be needed. They lie anywhere in memory: read one behind the other and nothing else done
    /// in between, many of them come in side by side.
    fn look_ahead(&self, most: usize) -> u32 {
        let slots = self.wheel.upcoming(most).iter().map(|&it| it as usize);
        let row = |slot: usize| {
            let (pulse, plan) = (self.pulses.get(slot)?, self.plans.get(slot)?);
            // Of both ends of a row, whichever of its parts lie there.
            Some(
                pulse.low() ^ plan.viewer ^ plan.stamp ^ plan.flags() ^ u32::from(plan.until.low()),
            )
        };
        slots.filter_map(row).fold(0, |it, row| it ^ row)
    }

    /// Looks at up to so many leases and takes those for which something is due. The caller acts on each and then calls
    /// [`Self::arm`]. False if there was none left to look at.
    pub(crate) fn pop(&mut self, now: Time, most: usize, into: &mut Vec<(ConnId, Due)>) -> bool {
        let tick = self.tick_at(now);
        let (periods, origin) = (self.periods, self.origin);
        std::hint::black_box(self.look_ahead(most));
        for looked in 0..most {
            let Some((at, slot)) = self.wheel.pop(tick) else { return looked > 0 };
            let Some(plan) = self.plans.get_mut(slot as usize).filter(|it| it.is_armed(at)) else {
                continue;
            };
            plan.disarm();
            let conn = ConnId(Id { slot, stamp: plan.stamp });
            let lease = Lease::new(origin, self.pulses[slot as usize], plan);
            let (silent, due) = (lease.falls_silent(now, &periods), lease.due(now, &periods));
            if silent {
                self.row_at(slot).set(SILENT, true);
                into.push((conn, Due::Silent));
            }
            match due {
                None if silent => {}
                None => self.arm(conn),
                Some(due) => {
                    if due == Due::Ping {
                        self.row_at(slot).pinged(now.since(origin), &periods);
                    }
                    into.push((conn, due));
                }
            }
        }
        true
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

/// Pulses whose room is given back at a time: 1 MB.
const AT_A_TIME: usize = 1 << 17;
