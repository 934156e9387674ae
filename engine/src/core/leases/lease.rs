//! A row of the tables of leases, in three parts: what a sign of life is weighed against, what it writes, and what it leaves
//! alone.

use greendot_protocol::{Span, Time};

use super::{Due, Idle, Periods};
use crate::core::moment::Moment;

/// What a sign of life is weighed against, in 4 bytes, sixteen to a cache line: the stamp of its connect, and a bit that is set
/// if more is to be done than to note the time. So a heartbeat reads a word, compares it with the one in its handle, and writes
/// another in a table beside: it waits for nothing but the first, and many of those wait side by side.
///
/// The stamp counts the connects in this slot: what an earlier one says has no effect (rule 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key(u32);

/// More is to be done.
const WEIGH: u32 = 1 << 31;

/// When the last frame or pong arrived, in ms, above 16 bits for the pings since then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pulse(u64);

/// The rest: 16 bytes. What few sessions have is beside the tables.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    /// While the session lingers: when it ends. Else: when it becomes idle unless there is input.
    pub(super) until: Moment,
    /// The low bits of the tick at which the wheel will bring this lease up; entries for other ticks are void.
    armed: u16,
    /// The slot of the connection's viewer among the watches, or [`NOBODY`].
    pub(super) viewer: u32,
    /// And above them the number of the last beat.
    flags: u32,
}

/// A session's lease, to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lease<'a> {
    pub(super) pulse: Pulse,
    pub(super) plan: &'a Plan,
}

/// A session's lease, to be written.
#[derive(Debug)]
pub(super) struct Row<'a> {
    pub(super) key: &'a mut Key,
    pub(super) pulse: &'a mut Pulse,
    pub(super) plan: &'a mut Plan,
}

/// No viewer.
pub(super) const NOBODY: u32 = u32::MAX;

/// There is a session.
pub(super) const LIVE: u32 = 1;
/// Its connection is open.
pub(super) const CONNECTED: u32 = 1 << 1;
/// The wheel will bring it up.
const ARMED: u32 = 1 << 2;
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
pub(super) const WAITING: u32 = 1 << 10;
/// Where the number of the last beat begins.
const BEAT: u32 = 24;
/// What makes a sign of life a matter of its time alone: these flags, and none of the others.
const PLAIN: u32 = LIVE | CONNECTED;
const NOT_PLAIN: u32 = SILENT | LINGERS | MUTE;

impl Idle {
    /// How it stands in a lease.
    pub(super) fn flag(self) -> u32 {
        match self {
            Self::No => 0,
            Self::Told => IDLE_TOLD,
            Self::Found => IDLE_FOUND,
        }
    }
}

/// Where the time lies in a pulse.
const HEARD: u32 = 16;
/// The pings.
const PINGS: u64 = 0xFFFF;

impl Key {
    /// Of a slot that no session has.
    pub(super) fn vacant(stamp: u32) -> Self {
        Self(stamp | WEIGH)
    }

    pub(super) fn stamp(self) -> u32 {
        self.0 & !WEIGH
    }

    /// Whether a sign of life from the connect with this stamp is to be noted, and that is all.
    #[inline]
    pub(super) fn is_plain(self, stamp: u32) -> bool {
        self.0 == stamp
    }
}

impl Pulse {
    /// A sign of life.
    #[inline]
    pub(super) fn at(now: Time) -> Self {
        Self(now.as_millis().min(Moment::LAST) << HEARD)
    }

    /// When it was heard last.
    pub(super) fn heard(self) -> Time {
        Time::from_millis(self.0 >> HEARD)
    }

    /// Some of it, for those who only want it to be read.
    pub(super) fn low(self) -> u32 {
        self.0 as u32
    }

    fn pings(self) -> u64 {
        self.0 & PINGS
    }
}

impl Plan {
    /// Of a slot that no session has had yet.
    pub(super) const VACANT: Self =
        Self { until: Moment::NEVER, armed: 0, viewer: NOBODY, flags: 0 };

    pub(super) fn is(&self, flags: u32) -> bool {
        self.flags & flags == flags
    }

    pub(super) fn flags(&self) -> u32 {
        self.flags
    }

    /// The tick at which the wheel will bring it up, in its low bits; none if it will not.
    pub(super) fn armed(&self) -> Option<u16> {
        self.is(ARMED).then_some(self.armed)
    }

    /// Whether the wheel is to bring it up at this tick.
    pub(super) fn is_armed(&self, tick: u64) -> bool {
        self.is(LIVE | ARMED) && self.armed == tick as u16
    }

    /// The wheel will bring it up at this tick.
    pub(super) fn arm(&mut self, tick: u64) {
        self.armed = tick as u16;
        self.flags |= ARMED;
    }

    pub(super) fn disarm(&mut self) {
        self.flags &= !ARMED;
    }

    /// Takes flags of what waits: no sign of life is weighed by them.
    pub(super) fn wait(&mut self, flags: u32) {
        debug_assert!(flags & (WAITING - 1) == 0, "they have a part in what is plain");
        self.flags |= flags;
    }

    /// These wait no more.
    pub(super) fn take(&mut self, flags: u32) {
        debug_assert!(flags & (WAITING - 1) == 0, "they have a part in what is plain");
        self.flags &= !flags;
    }

    pub(super) fn set_beat(&mut self, number: u8) {
        self.flags = self.flags << 8 >> 8 | u32::from(number) << BEAT;
    }

    pub(super) fn beat(&self) -> u8 {
        (self.flags >> BEAT) as u8
    }

    pub(super) fn idle(&self) -> Idle {
        match self.flags & (IDLE_TOLD | IDLE_FOUND) {
            0 => Idle::No,
            IDLE_FOUND => Idle::Found,
            _ => Idle::Told,
        }
    }

    pub(super) fn lingers_until(&self) -> Option<Time> {
        self.is(LINGERS).then(|| self.until.time())
    }
}

impl Row<'_> {
    /// One that has just connected.
    pub(super) fn begin(&mut self, now: Time, flags: u32) {
        *self.pulse = Pulse::at(now);
        *self.plan = Plan::VACANT;
        self.key.0 = self.key.0.wrapping_add(1) & !WEIGH;
        self.put(PLAIN | flags);
    }

    /// The session has gone.
    pub(super) fn vacate(&mut self) {
        *self.plan = Plan::VACANT;
        self.put(0);
    }

    pub(super) fn set(&mut self, flags: u32, on: bool) {
        let before = self.plan.flags;
        self.put(if on { before | flags } else { before & !flags });
    }

    /// The one place where flags are written by which a sign of life is weighed: what is plain follows from them.
    fn put(&mut self, flags: u32) {
        self.plan.flags = flags;
        let plain = flags & (PLAIN | NOT_PLAIN) == PLAIN;
        self.key.0 = self.key.0 & !WEIGH | if plain { 0 } else { WEIGH };
    }

    pub(super) fn set_idle(&mut self, idle: Idle) {
        self.plan.flags = self.plan.flags & !(IDLE_TOLD | IDLE_FOUND) | idle.flag();
    }

    /// The connection is pinged: not again before it has been silent for as long once more.
    pub(super) fn pinged(&mut self, now: Time, periods: &Periods) {
        self.set(MUTE, true);
        let silent = now.since(self.pulse.heard()).as_millis();
        let pings = silent / periods.ping_after.as_millis().max(1);
        self.pulse.0 = self.pulse.0 & !PINGS | pings.min(PINGS);
    }
}

impl Lease<'_> {
    /// The earliest time at which something can be due.
    pub(super) fn next(self, periods: &Periods) -> Time {
        if self.plan.is(LINGERS) {
            return self.plan.until.time();
        }
        let expires = self.pulse.heard() + periods.ttl;
        let idles = self.idle_at(periods);
        expires.min(self.ping_at(periods)).min(idles).min(self.silent_at(periods))
    }

    pub(super) fn due(self, now: Time, periods: &Periods) -> Option<Due> {
        if self.plan.is(LINGERS) {
            return (now >= self.plan.until.time()).then_some(Due::Lingered);
        }
        if now >= self.pulse.heard() + periods.ttl {
            return Some(Due::Expired);
        }
        if self.has_idled(now, periods) {
            return Some(Due::Idle);
        }
        if now >= self.silent_at(periods) {
            return Some(Due::Silent);
        }
        (now >= self.ping_at(periods)).then_some(Due::Ping)
    }

    fn ping_at(self, periods: &Periods) -> Time {
        let after = periods.ping_after.as_millis().saturating_mul(self.pulse.pings() + 1);
        self.pulse.heard() + Span::from_millis(after)
    }

    /// Whether it has become idle, and nobody has noticed yet.
    pub(super) fn has_idled(self, now: Time, periods: &Periods) -> bool {
        now >= self.idle_at(periods)
    }

    /// A page that beats says itself when it is idle, and what its last beat told is old by up to a beat: only of one that
    /// has fallen silent, as a frozen page does, is that age all there is to go by.
    fn idle_at(self, periods: &Periods) -> Time {
        if self.plan.idle() != Idle::No {
            return Time::MAX;
        }
        let until = self.plan.until.time();
        if self.plan.is(MUTE) {
            return until;
        }
        until.max(self.pulse.heard() + periods.ping_after)
    }

    fn silent_at(self, periods: &Periods) -> Time {
        match periods.silent_after {
            Some(span) if !self.plan.is(SILENT) => self.pulse.heard() + span,
            _ => Time::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_small() {
        assert_eq!((size_of::<Key>(), size_of::<Pulse>(), size_of::<Plan>()), (4, 8, 16));
    }
}
