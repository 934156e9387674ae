//! A row of the tables of leases, in two parts: what a sign of life touches, and what it leaves alone.

use greendot_protocol::{Span, Time};

use super::{Due, Idle, Periods};
use crate::core::moment::Moment;

/// What a sign of life is weighed against and what it writes, in one word, eight to a cache line: when the last frame or pong
/// arrived, in ms since the table's origin (40 bits: 34 years), and below it the stamp of the connect if there is nothing else to
/// be done than to note the time. So a heartbeat reads a word, compares its lower part with the one in its handle, and writes it
/// again with another time: it waits for one line of memory, and for many of them side by side.
///
/// Where more is to be done the lower part is [`WEIGH`], which is no connect's stamp, and the number of pings since then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pulse(u64);

/// Where the time begins.
const HEARD: u32 = 24;
/// What lies below it.
const MARK: u64 = (1 << HEARD) - 1;
/// More is to be done.
const WEIGH: u64 = 1 << 23;
/// The pings.
const PINGS: u64 = 0xFFFF;

/// The rest: 20 bytes. What few sessions have is beside the tables.
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
    /// Counts the connects in this slot: what an earlier one says has no effect (rule 4).
    pub(super) stamp: u32,
}

/// A session's lease, to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lease<'a> {
    /// When the last frame or pong arrived.
    pub(super) heard: Time,
    pulse: Pulse,
    pub(super) plan: &'a Plan,
}

/// A session's lease, to be written.
#[derive(Debug)]
pub(super) struct Row<'a> {
    pulse: &'a mut Pulse,
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
/// It has been heard since its last beat, by what says nothing of input.
pub(super) const UNTOLD: u32 = WAITING << 9;
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

impl Pulse {
    /// Of a slot that no session has had yet.
    pub(super) const VACANT: Self = Self(WEIGH);

    /// One that was heard at `at`, counted from the table's origin, where that is all there is to it.
    #[inline]
    pub(super) fn plain(at: Span, stamp: u32) -> Self {
        Self(at.as_millis() << HEARD | u64::from(stamp))
    }

    /// Whether a sign of life from the connect with this stamp is to be noted, and that is all.
    #[inline]
    pub(super) fn is_plain(self, stamp: u32) -> bool {
        self.0 & MARK == u64::from(stamp)
    }

    /// When it was heard last, counted from the table's origin.
    pub(super) fn heard(self) -> Span {
        Span::from_millis(self.0 >> HEARD)
    }

    /// Some of it, for those who only want it to be read.
    pub(super) fn low(self) -> u32 {
        self.0 as u32
    }

    fn pings(self) -> u64 {
        if self.0 & WEIGH == 0 { 0 } else { self.0 & PINGS }
    }
}

/// A lease that begins at `at` from the table's origin, with the connect after the one with this stamp.
#[inline]
pub(super) fn begin(at: Span, before: u32, flags: u32) -> (Pulse, Plan) {
    let (mut pulse, mut plan) = (Pulse::VACANT, Plan::vacant(stamp_after(before)));
    let mut row = Row::new(&mut pulse, &mut plan);
    row.plan.flags = PLAIN | flags;
    row.hear(at);
    (pulse, plan)
}

/// The stamp of the connect after that with this one. Those that look like a pulse's [`WEIGH`] are passed over; the higher ones
/// fit into no pulse, so that each sign of life is weighed: in a slot that eight million sessions have had.
fn stamp_after(stamp: u32) -> u32 {
    match stamp.wrapping_add(1) {
        next if WEIGH <= u64::from(next) && u64::from(next) <= MARK => MARK as u32 + 1,
        next => next,
    }
}

impl Plan {
    /// Of a slot that no session has, where the latest connect had this stamp.
    pub(super) const fn vacant(stamp: u32) -> Self {
        Self { until: Moment::NEVER, armed: 0, viewer: NOBODY, flags: 0, stamp }
    }

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

impl<'a> Row<'a> {
    pub(super) fn new(pulse: &'a mut Pulse, plan: &'a mut Plan) -> Self {
        Self { pulse, plan }
    }

    /// The session has gone.
    pub(super) fn vacate(&mut self) {
        *self.plan = Plan::vacant(self.plan.stamp);
        self.put(0);
    }

    /// A sign of life, at `at` from the table's origin.
    pub(super) fn hear(&mut self, at: Span) {
        self.pulse.0 = at.as_millis() << HEARD | WEIGH;
        self.put(self.plan.flags);
    }

    pub(super) fn set(&mut self, flags: u32, on: bool) {
        let before = self.plan.flags;
        self.put(if on { before | flags } else { before & !flags });
    }

    /// The one place where flags are written by which a sign of life is weighed: what is plain follows from them.
    fn put(&mut self, flags: u32) {
        self.plan.flags = flags;
        let stamp = u64::from(self.plan.stamp);
        if flags & (PLAIN | NOT_PLAIN) == PLAIN && stamp < WEIGH {
            self.pulse.0 = self.pulse.0 & !MARK | stamp;
        } else if self.pulse.0 & WEIGH == 0 {
            self.pulse.0 = self.pulse.0 & !MARK | WEIGH;
        }
    }

    pub(super) fn set_idle(&mut self, idle: Idle) {
        self.plan.flags = self.plan.flags & !(IDLE_TOLD | IDLE_FOUND) | idle.flag();
    }

    /// The connection is pinged at `at` from the table's origin: not again before it has been silent for as long once more.
    pub(super) fn pinged(&mut self, at: Span, periods: &Periods) {
        self.set(MUTE, true);
        let silent = (at - self.pulse.heard()).as_millis();
        let pings = silent / periods.ping_after.as_millis().max(1);
        self.pulse.0 = self.pulse.0 & !PINGS | pings.min(PINGS);
    }
}

impl<'a> Lease<'a> {
    pub(super) fn new(origin: Time, pulse: Pulse, plan: &'a Plan) -> Self {
        Self { heard: origin + pulse.heard(), pulse, plan }
    }

    /// The earliest time at which something can be due.
    pub(super) fn next(self, periods: &Periods) -> Time {
        if self.plan.is(LINGERS) {
            return self.plan.until.time();
        }
        let expires = self.heard + periods.ttl;
        let idles = self.idle_at(periods);
        expires.min(self.ping_at(periods)).min(idles).min(self.silent_at(periods))
    }

    pub(super) fn due(self, now: Time, periods: &Periods) -> Option<Due> {
        if self.plan.is(LINGERS) {
            return (now >= self.plan.until.time()).then_some(Due::Lingered);
        }
        if now >= self.heard + periods.ttl {
            return Some(Due::Expired);
        }
        if self.has_idled(now, periods) {
            return Some(Due::Idle);
        }
        (now >= self.ping_at(periods)).then_some(Due::Ping)
    }

    /// Whether its silence is to be reported, whatever else is due: its node covers it until then, and it must not seem to
    /// have been heard for that.
    pub(super) fn falls_silent(self, now: Time, periods: &Periods) -> bool {
        let ended = self.plan.is(LINGERS) || now >= self.heard + periods.ttl;
        !ended && now >= self.silent_at(periods)
    }

    fn ping_at(self, periods: &Periods) -> Time {
        let after = periods.ping_after.as_millis().saturating_mul(self.pulse.pings() + 1);
        self.heard + Span::from_millis(after)
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
        until.max(self.heard + periods.ping_after)
    }

    /// When its silence is to be reported, if that has not been done.
    pub(super) fn silent_at(self, periods: &Periods) -> Time {
        match periods.silent_after {
            Some(span) if !self.plan.is(SILENT) => self.heard + span,
            _ => Time::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_small() {
        assert_eq!((size_of::<Pulse>(), size_of::<Plan>()), (8, 20));
    }

    #[test]
    fn no_connect_is_taken_for_another_however_many_there_were() {
        let first = [0, WEIGH as u32 - 2, MARK as u32, u32::MAX - 1];
        for before in first {
            let mut stamps = vec![before];
            for turn in 0..4 {
                let (mut pulse, mut plan) = begin(Span::from_secs(7), stamps[turn], 0);
                let stamp = plan.stamp;
                assert!(!stamps.contains(&stamp) && stamps.iter().all(|it| !pulse.is_plain(*it)));
                assert_eq!(pulse.is_plain(stamp), u64::from(stamp) < WEIGH);
                let mut row = Row::new(&mut pulse, &mut plan);
                row.set(MUTE, true);
                assert!(!pulse.is_plain(stamp));
                assert_eq!(pulse.heard(), Span::from_secs(7));
                stamps.push(stamp);
            }
        }
    }
}
