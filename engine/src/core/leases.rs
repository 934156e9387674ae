//! This node's sessions: what keeps each alive, and when to look at it next.
//!
//! A sign of life is one store into the lease; the wheel is not touched (it re-arms lazily). The
//! leases know no user and no state.

use greendot_protocol::{Span, Time};

use super::directory::SessionId;
use super::node::ConnId;
use super::slab::{Id, Slab};
use super::wheel::Wheel;

/// A lease's place in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LeaseId(pub(super) Id);

/// What keeps a session alive.
#[derive(Debug)]
pub(crate) struct Lease {
    pub(crate) session: SessionId,
    /// The connection, while the session has one.
    pub(crate) conn: Option<ConnId>,
    /// When the last frame or pong arrived.
    pub(crate) heard: Time,
    /// When the person last touched the device, as far as the client told.
    pub(crate) input: Option<Time>,
    /// After how long without input the session counts as idle; zero: never.
    pub(crate) idle_after: Span,
    pub(crate) idle: Idle,
    /// Set while the session lingers: when it ends.
    pub(crate) lingers_until: Option<Time>,
    /// Since when the driver has been asked to read what waits on the connection.
    pub(crate) reading_since: Option<Time>,
    /// Set once nothing has been heard for a beat, if that is to be reported.
    silent: bool,
    /// When the connection was last pinged.
    pinged: Time,
    /// The tick at which the wheel will bring this lease up; entries for other ticks are void.
    armed: u64,
}

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
    /// Silence that is to be reported; none: none is.
    pub(crate) silent_after: Option<Span>,
}

/// The table of leases and the wheel that brings them up.
#[derive(Debug)]
pub(crate) struct Leases {
    table: Slab<Lease>,
    wheel: Wheel<Id>,
    /// When tick 0 was.
    origin: Time,
    periods: Periods,
}

impl Leases {
    pub(crate) fn new(now: Time, periods: Periods) -> Self {
        Self { table: Slab::default(), wheel: Wheel::new(), origin: now, periods }
    }

    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    pub(crate) fn get(&self, id: LeaseId) -> Option<&Lease> {
        self.table.get(id.0)
    }

    pub(crate) fn get_mut(&mut self, id: LeaseId) -> Option<&mut Lease> {
        self.table.get_mut(id.0)
    }

    pub(crate) fn insert(
        &mut self,
        now: Time,
        session: SessionId,
        conn: ConnId,
        idle_after: Span,
    ) -> LeaseId {
        let id = LeaseId(self.table.insert(Lease {
            session,
            conn: Some(conn),
            heard: now,
            input: None,
            idle_after,
            idle: Idle::No,
            lingers_until: None,
            reading_since: None,
            silent: false,
            pinged: now,
            armed: 0,
        }));
        self.arm(id);
        id
    }

    pub(crate) fn remove(&mut self, id: LeaseId) -> Option<Lease> {
        self.table.remove(id.0)
    }

    /// When the lease runs out.
    pub(crate) fn deadline(&self, lease: &Lease) -> Time {
        lease.heard + self.periods.ttl
    }

    /// A sign of life. Tells how long the session had been silent, if that was reported.
    pub(crate) fn touch(&mut self, now: Time, id: LeaseId) -> Option<Span> {
        let lease = self.table.get_mut(id.0)?;
        let before = std::mem::replace(&mut lease.heard, now);
        let was_silent = std::mem::take(&mut lease.silent);
        if was_silent {
            // Its next silence may be due before anything that it was armed for.
            self.arm(id);
        }
        was_silent.then(|| now.since(before))
    }

    /// From now on silence of this length is reported, once until the session is heard again.
    pub(crate) fn report_silence_after(&mut self, span: Span) {
        self.periods.silent_after = Some(span);
    }

    /// What was reported is forgotten, and when each was heard has been told: silence that begins
    /// later will be reported.
    pub(crate) fn report_anew(&mut self, now: Time, id: LeaseId) {
        let after = self.periods.silent_after;
        if let Some(lease) = self.table.get_mut(id.0) {
            lease.silent = after.is_some_and(|it| now.since(lease.heard) > it);
        }
        self.arm(id);
    }

    /// Makes sure that the lease comes up in time. Called whenever something may be due sooner
    /// than before.
    pub(crate) fn arm(&mut self, id: LeaseId) {
        let (periods, origin) = (self.periods, self.origin);
        let Some(lease) = self.table.get_mut(id.0) else { return };
        // Rounded up: a session ends at the first sweep at or after its deadline.
        let due = lease.next(&periods).since(origin).as_millis();
        let tick = due.div_ceil(periods.sweep.as_millis());
        if lease.armed == 0 || tick < lease.armed {
            lease.armed = self.wheel.arm(tick, id.0);
        }
    }

    /// The tick whose time has come at `now`.
    pub(crate) fn tick_at(&self, now: Time) -> u64 {
        now.since(self.origin).as_millis() / self.periods.sweep.as_millis()
    }

    /// When a tick's time comes.
    pub(crate) fn time_of(&self, tick: u64) -> Time {
        self.origin + Span::from_millis(tick.saturating_mul(self.periods.sweep.as_millis()))
    }

    /// Takes one lease that is to be looked at, with what is due for it if anything is; the inner
    /// `None` was a look for nothing. The caller acts on it and then calls [`Self::arm`].
    pub(crate) fn pop(&mut self, now: Time) -> Option<(LeaseId, Option<Due>)> {
        let tick = self.tick_at(now);
        loop {
            let (at, id) = self.wheel.pop(tick)?;
            let Some(lease) = self.table.get_mut(id).filter(|it| it.armed == at) else { continue };
            lease.armed = 0;
            let due = lease.due(now, &self.periods);
            match due {
                Some(Due::Ping) => lease.pinged = now,
                Some(Due::Silent) => lease.silent = true,
                _ => {}
            }
            return Some((LeaseId(id), due));
        }
    }
}

impl Lease {
    /// The earliest time at which something can be due.
    fn next(&self, periods: &Periods) -> Time {
        let expires = self.heard + periods.ttl;
        if let Some(until) = self.lingers_until {
            return until;
        }
        let ping = self.heard.max(self.pinged) + periods.ping_after;
        let mut next = expires.min(ping);
        if let Some(idle) = self.idle_at() {
            next = next.min(idle);
        }
        next.min(self.silent_at(periods))
    }

    fn due(&self, now: Time, periods: &Periods) -> Option<Due> {
        if let Some(until) = self.lingers_until {
            return (now >= until).then_some(Due::Lingered);
        }
        if now >= self.heard + periods.ttl {
            return Some(Due::Expired);
        }
        if self.has_idled(now) {
            return Some(Due::Idle);
        }
        if now >= self.silent_at(periods) {
            return Some(Due::Silent);
        }
        (now >= self.heard.max(self.pinged) + periods.ping_after).then_some(Due::Ping)
    }

    fn silent_at(&self, periods: &Periods) -> Time {
        match periods.silent_after {
            Some(span) if !self.silent => self.heard + span,
            _ => Time::MAX,
        }
    }

    /// Whether the person has not touched the device for long enough, and nobody has noticed yet.
    pub(crate) fn has_idled(&self, now: Time) -> bool {
        self.idle_at().is_some_and(|at| now >= at)
    }

    fn idle_at(&self) -> Option<Time> {
        let input = self.input.filter(|_| self.idle == Idle::No)?;
        (self.idle_after != Span::ZERO).then(|| input + self.idle_after)
    }
}
