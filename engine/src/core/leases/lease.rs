//! A row of the table of leases, in two parts: what a sign of life touches, and what it leaves alone.

use greendot_protocol::{Span, Time};

use super::{Due, Idle, Periods};
use crate::core::moment::Moment;

/// What keeps a session alive: 16 bytes, four to a cache line and never across two, since a heartbeat reads and writes these
/// and nothing else.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lease {
    /// When the last frame or pong arrived, in ms, above 16 bits for the number of the last beat and the pings since the last
    /// sign of life: a sign of life is one store.
    pulse: u64,
    /// Counts the connects in this slot: what an earlier one says has no effect (rule 4).
    pub(super) stamp: u32,
    pub(super) flags: u32,
}

/// The rest: 12 bytes. What few sessions have is beside the tables.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    /// While the session lingers: when it ends. Else: when it becomes idle unless there is input.
    pub(super) until: Moment,
    /// The low bits of the tick at which the wheel will bring this lease up; entries for other ticks are void.
    pub(super) armed: u16,
    /// The slot of the connection's viewer among the watches, or [`NOBODY`].
    pub(super) viewer: u32,
}

/// No viewer.
pub(super) const NOBODY: u32 = u32::MAX;

/// There is a session.
pub(super) const LIVE: u32 = 1;
/// Its connection is open.
pub(super) const CONNECTED: u32 = 1 << 1;
/// The wheel will bring it up.
pub(super) const ARMED: u32 = 1 << 2;
/// The client said idle.
pub(super) const IDLE_TOLD: u32 = 1 << 3;
/// Idle by the age of the last input.
pub(super) const IDLE_FOUND: u32 = 1 << 4;
/// Nothing has been heard for a beat, and that has been reported.
pub(super) const SILENT: u32 = 1 << 5;
/// It lingers.
pub(super) const LINGERS: u32 = 1 << 6;
/// The driver has been asked to read what waits on the connection.
pub(super) const READING: u32 = 1 << 7;
/// Pinged since its last frame: whatever answers pings, the page itself says nothing.
pub(super) const MUTE: u32 = 1 << 9;
/// Its device has an `idle_after` of its own.
pub(super) const OWN_IDLE_AFTER: u32 = 1 << 8;
/// The lowest of the bits that say what waits for the connection: see [`super::Waiting`].
pub(super) const WAITING: u32 = 1 << 16;

impl Plan {
    /// Of a slot that no session has had yet.
    pub(super) const VACANT: Self = Self { until: Moment::NEVER, armed: 0, viewer: NOBODY };
}

/// Where the time lies in a pulse.
const HEARD: u32 = 16;
/// The number of the last beat.
const BEAT: u64 = 0xFF00;
/// The pings.
const PINGS: u64 = 0xFF;

impl Lease {
    /// A slot that no session has.
    pub(super) fn vacant(stamp: u32) -> Self {
        Self { pulse: !(BEAT | PINGS), stamp, flags: 0 }
    }

    /// One that has just connected.
    pub(super) fn begin(now: Time, stamp: u32) -> Self {
        let mut row = Self { flags: LIVE | CONNECTED, ..Self::vacant(stamp) };
        row.hear(now);
        row
    }

    /// A sign of life.
    #[inline]
    pub(super) fn hear(&mut self, now: Time) {
        self.pulse = now.as_millis().min(Moment::LAST) << HEARD | self.pulse & BEAT;
    }

    /// When it was heard last.
    pub(super) fn heard(&self) -> Time {
        Time::from_millis(self.pulse >> HEARD)
    }

    pub(super) fn beat(&self) -> u8 {
        (self.pulse >> 8) as u8
    }

    pub(super) fn set_beat(&mut self, number: u8) {
        self.pulse = self.pulse & !BEAT | u64::from(number) << 8;
    }

    fn pings(&self) -> u64 {
        self.pulse & PINGS
    }

    pub(super) fn is(&self, flags: u32) -> bool {
        self.flags & flags == flags
    }

    pub(super) fn set(&mut self, flags: u32, on: bool) {
        self.flags = if on { self.flags | flags } else { self.flags & !flags };
    }

    pub(super) fn idle(&self) -> Idle {
        match self.flags & (IDLE_TOLD | IDLE_FOUND) {
            0 => Idle::No,
            IDLE_FOUND => Idle::Found,
            _ => Idle::Told,
        }
    }

    pub(super) fn set_idle(&mut self, idle: Idle) {
        self.set(IDLE_TOLD, idle == Idle::Told);
        self.set(IDLE_FOUND, idle == Idle::Found);
    }

    pub(super) fn lingers_until(&self, plan: &Plan) -> Option<Time> {
        self.is(LINGERS).then(|| plan.until.time())
    }

    /// The earliest time at which something can be due.
    pub(super) fn next(&self, plan: &Plan, periods: &Periods) -> Time {
        if self.is(LINGERS) {
            return plan.until.time();
        }
        let expires = self.heard() + periods.ttl;
        let idles = self.idle_at(plan, periods);
        expires.min(self.ping_at(periods)).min(idles).min(self.silent_at(periods))
    }

    pub(super) fn due(&self, now: Time, plan: &Plan, periods: &Periods) -> Option<Due> {
        if self.is(LINGERS) {
            return (now >= plan.until.time()).then_some(Due::Lingered);
        }
        if now >= self.heard() + periods.ttl {
            return Some(Due::Expired);
        }
        if self.has_idled(now, plan, periods) {
            return Some(Due::Idle);
        }
        if now >= self.silent_at(periods) {
            return Some(Due::Silent);
        }
        (now >= self.ping_at(periods)).then_some(Due::Ping)
    }

    /// The connection is pinged: not again before it has been silent for as long once more.
    pub(super) fn pinged(&mut self, now: Time, periods: &Periods) {
        self.set(MUTE, true);
        let silent = now.since(self.heard()).as_millis();
        let pings = silent / periods.ping_after.as_millis().max(1);
        self.pulse = self.pulse & !PINGS | pings.min(PINGS);
    }

    fn ping_at(&self, periods: &Periods) -> Time {
        let after = periods.ping_after.as_millis().saturating_mul(self.pings() + 1);
        self.heard() + Span::from_millis(after)
    }

    /// Whether it has become idle, and nobody has noticed yet.
    pub(super) fn has_idled(&self, now: Time, plan: &Plan, periods: &Periods) -> bool {
        now >= self.idle_at(plan, periods)
    }

    /// A page that beats says itself when it is idle, and what its last beat told is old by up to a beat: only of one that
    /// has fallen silent, as a frozen page does, is that age all there is to go by.
    fn idle_at(&self, plan: &Plan, periods: &Periods) -> Time {
        if self.idle() != Idle::No {
            return Time::MAX;
        }
        let until = plan.until.time();
        if self.is(MUTE) {
            return until;
        }
        until.max(self.heard() + periods.ping_after)
    }

    fn silent_at(&self, periods: &Periods) -> Time {
        match periods.silent_after {
            Some(span) if !self.is(SILENT) => self.heard() + span,
            _ => Time::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_small() {
        assert_eq!(size_of::<Lease>(), 16);
        assert_eq!(size_of::<Plan>(), 12);
    }
}
