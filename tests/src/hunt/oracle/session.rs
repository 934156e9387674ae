//! A session, as far as the rules tell: from when it may have ended, by when it must have.

use super::periods::{Pace, Periods};
use super::states::Flags;

/// A time that is known as far as a frame that waited unread leaves it open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct When {
    /// When it arrived.
    pub(super) arrived: u64,
    /// When it was read.
    pub(super) read: u64,
}

impl When {
    pub(super) fn at(now: u64) -> Self {
        Self { arrived: now, read: now }
    }
}

/// A session that is live or lingering, or may be.
#[derive(Clone, Debug)]
pub(super) struct Session {
    pub(super) name: String,
    pub(super) passive: bool,
    pub(super) node: usize,
    /// The connection of its newest generation, while it stands.
    pub(super) conn: Option<usize>,
    /// The last frame or pong.
    pub(super) heard: When,
    /// What it was told to be.
    pub(super) told: Flags,
    /// The last input, if it was told.
    pub(super) input: Option<u64>,
    /// After how long without input it counts as idle; 0: never.
    pub(super) idle_after: u64,
    /// Since when the engine looks for idleness.
    pub(super) looked_for: u64,
    pub(super) leaving: Leaving,
    /// A connect for it has arrived in time and waits unread.
    pub(super) awaited: bool,
}

/// How a session is about to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaving {
    /// It is not.
    No,
    /// It lingers since then (rule 3), with the flag it had.
    Lingers(When, Flags),
    /// Its lease has run out, and `expiry_grace` runs (rule 2).
    Expired(Flags),
}

impl Session {
    /// From when on it may have ended.
    pub(super) fn may_end(&self, periods: &Periods) -> u64 {
        if self.awaited {
            return u64::MAX;
        }
        let lease = self.heard.arrived + periods.ttl;
        match self.leaving {
            Leaving::Lingers(since, _) => lease.min(since.arrived + periods.grace),
            Leaving::No | Leaving::Expired(_) => lease + periods.expiry_grace,
        }
    }

    /// From when on its connection may be closed because it has ended.
    pub(super) fn may_close(&self, periods: &Periods) -> u64 {
        self.may_end(periods).min(self.heard.arrived + periods.ttl)
    }

    /// By when it must have ended.
    pub(super) fn must_end(&self, periods: &Periods, pace: &Pace) -> u64 {
        let lease = self.heard.read + periods.ttl;
        match self.leaving {
            Leaving::Lingers(since, _) => {
                pace.swept(lease.min(since.read + periods.grace), periods)
            }
            Leaving::No | Leaving::Expired(_) if periods.expiry_grace > 0 => {
                let swept = pace.swept(lease, periods);
                let extra = lease.saturating_add(periods.expiry_grace);
                pace.swept(extra.max(swept.min(extra + periods.sweep)), periods)
            }
            _ => pace.swept(lease, periods),
        }
    }

    /// When the person has been away for long enough, if that is looked for.
    fn idle_at(&self) -> Option<u64> {
        let input = self.input.filter(|_| self.idle_after > 0 && self.told.active)?;
        Some(input + self.idle_after)
    }

    /// What its flag may be now.
    pub(super) fn flags(&self, now: u64, periods: &Periods, pace: &Pace) -> Flags {
        match self.leaving {
            Leaving::Lingers(_, frozen) | Leaving::Expired(frozen) => return frozen,
            Leaving::No => {}
        }
        let Some(at) = self.idle_at() else { return self.told };
        let by = pace.swept(at.max(self.looked_for), periods);
        Flags { active: self.told.active && now <= by, idle: self.told.idle || now >= at }
    }

    /// When what is known of it changes next by time alone.
    pub(super) fn next_change(&self, now: u64, periods: &Periods, pace: &Pace) -> u64 {
        let mut next = u64::MAX;
        let mut consider = |at: u64| {
            if at > now {
                next = next.min(at);
            }
        };
        consider(self.may_end(periods));
        consider(self.must_end(periods, pace).saturating_add(1));
        if let (Some(at), Leaving::No) = (self.idle_at(), self.leaving) {
            consider(at);
            consider(pace.swept(at.max(self.looked_for), periods).saturating_add(1));
        }
        next
    }

    /// It lingers from now on, unless it does already.
    pub(super) fn linger(&mut self, since: When, periods: &Periods, pace: &Pace) {
        if self.leaving == Leaving::No {
            let flags = self.flags(since.read, periods, pace);
            self.leaving = Leaving::Lingers(since, flags);
        }
    }
}
