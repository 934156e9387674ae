//! A session, as far as the rules tell: from when it may have ended, by when it must have.

use super::SLACK;
use super::cluster::Cluster;
use super::states::Flags;
use super::stays::Stay;

/// Batches of renewals go so often, in ms.
pub(super) const BATCH: u64 = 1_000;

/// A time that is known as far as a frame that waited unread leaves it open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct When {
    /// When it arrived.
    pub(super) arrived: u64,
    /// When it was read.
    pub(super) read: u64,
}

/// A session that is live or lingering, or may be.
#[derive(Clone, Debug)]
pub(super) struct Session {
    pub(super) name: String,
    pub(super) passive: bool,
    pub(super) node: usize,
    /// The connection of its newest generation, while it stands.
    pub(super) conn: Option<usize>,
    /// When this generation began.
    pub(super) connected: u64,
    /// The last frame or pong.
    pub(super) heard: When,
    /// The last frame.
    pub(super) spoke: When,
    /// The last frame or pong of which every node knows.
    pub(super) known: u64,
    /// The same, a batch of renewals earlier: that one, and since when it is earlier.
    pub(super) known_before: (u64, u64),
    /// What it was told to be.
    pub(super) told: Flags,
    /// Whether it was found idle when it was about to leave: younger input takes that back.
    pub(super) found_idle: bool,
    /// What it may still be taken for elsewhere.
    pub(super) vague: Flags,
    /// Whether it was heard since its last beat by what says nothing of input.
    pub(super) untold: bool,
    /// The last input, if it was told.
    pub(super) input: Option<u64>,
    /// After how long without input it counts as idle; 0: never.
    pub(super) idle_after: u64,
    /// Since when the engine looks for idleness.
    pub(super) looked_for: u64,
    pub(super) leaving: Leaving,
    /// The rooms that it is in.
    pub(super) stays: Vec<Stay>,
    /// A connect for it has arrived in time and waits unread.
    pub(super) awaited: bool,
    /// Before this not every node knows of it.
    pub(super) certain_from: u64,
    /// Its node knows the mode that a store has lost.
    pub(super) knows_mode: bool,
    /// Its node is gone.
    pub(super) orphan: bool,
    /// It may have been ended elsewhere before its node could tell that it lingers.
    pub(super) maybe_over: bool,
    /// Whether its node could tell anybody that it leaves.
    pub(super) told_leaving: bool,
    /// Since when it lingers as far as the others know: its node may not have been able to take that back.
    pub(super) told_left: Option<u64>,
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
    /// It has ended at its node then, but not every node may know.
    Gone(u64, Flags),
}

impl Session {
    /// From when on it may have ended.
    pub(super) fn may_end(&self, cluster: &Cluster) -> u64 {
        let periods = &cluster.periods;
        let lease = self.heard.arrived + periods.ttl;
        let ends = match self.leaving {
            // The others do not know what waits at a node.
            _ if self.awaited && cluster.nodes.len() == 1 => u64::MAX,
            Leaving::Lingers(since, _) => lease.min(since.arrived + periods.grace),
            Leaving::No | Leaving::Expired(_) => lease + periods.expiry_grace,
            Leaving::Gone(at, _) => at,
        };
        if self.maybe_over && self.leaving != Leaving::No {
            return 0;
        }
        let alone = cluster.nodes.len() == 1;
        if !self.orphan && (alone || cluster.is_settled(self.node)) {
            return ends;
        }
        // The others go by what they heard last, which may be that it leaves, and by its node's lease (rule 10).
        let left = self.told_left.map_or(u64::MAX, |at| at + periods.grace);
        ends.min((self.known + periods.ttl).saturating_sub(cluster.sooner())).min(left)
    }

    /// From when on its connection may be closed because it has ended.
    pub(super) fn may_close(&self, cluster: &Cluster) -> u64 {
        self.may_end(cluster).min(self.heard.arrived + cluster.periods.ttl)
    }

    /// Whether every node must take it to be there.
    pub(super) fn is_certain(&self, now: u64, cluster: &Cluster) -> bool {
        now >= self.certain_from && now < self.may_end(cluster)
    }

    /// By when it must have ended.
    pub(super) fn must_end(&self, cluster: &Cluster) -> u64 {
        let periods = &cluster.periods;
        // Of one that its node covered, the others know when the node showed itself last: within a second.
        let blind = cluster.thin && (self.orphan || !cluster.is_settled(self.node));
        let lease = self.heard.read + periods.ttl + if blind { BATCH } else { 0 };
        let swept = |due| cluster.swept(due, self.node);
        let ends = match self.leaving {
            // Its node has taken the word with it, or keeps it: the lease is all that is left to the
            // others (rule 10).
            Leaving::Lingers(..) | Leaving::Gone(..)
                if !self.told_leaving && (self.orphan || !cluster.is_settled(self.node)) =>
            {
                swept(lease + periods.expiry_grace)
            }
            // It may have been over when its node, having stood still, read that it leaves.
            Leaving::Lingers(since, _) => {
                let read = since.read + 2 * periods.sweep + SLACK;
                swept(lease.min(since.read + periods.grace)).max(read)
            }
            Leaving::Gone(at, _) => swept(at),
            _ => swept(lease + periods.expiry_grace),
        };
        ends.max(cluster.spared_until(self.node, self.orphan))
    }

    /// From when on its node may find it idle, if that is looked for: not by what a beat told while beats come.
    fn idle_at(&self, cluster: &Cluster) -> Option<u64> {
        let input = self.input.filter(|_| self.idle_after > 0 && self.told.active)?;
        Some((input + self.idle_after).max(self.spoke.arrived + cluster.periods.silence()))
    }

    /// By when its node must have found it idle, if time has made it so.
    fn idle_by(&self, at: u64, cluster: &Cluster) -> u64 {
        if self.orphan || !cluster.is_settled(self.node) {
            return u64::MAX;
        }
        let silent = self.spoke.read + cluster.periods.silence();
        cluster.swept(at.max(silent).max(self.looked_for), self.node)
    }

    /// What its flag may be now.
    pub(super) fn flags(&self, now: u64, cluster: &Cluster) -> Flags {
        self.flags_alone(now, cluster).union(self.vague)
    }

    /// The same, for its own node.
    fn flags_alone(&self, now: u64, cluster: &Cluster) -> Flags {
        match (self.leaving, self.idle_at(cluster)) {
            (Leaving::Lingers(_, frozen) | Leaving::Expired(frozen), _) => frozen,
            (Leaving::Gone(_, frozen), _) => frozen,
            (Leaving::No, None) => self.told,
            (Leaving::No, Some(at)) => Flags {
                active: self.told.active && now <= self.idle_by(at, cluster),
                idle: self.told.idle || now >= at,
            },
        }
    }

    /// When what is known of it changes next by time alone.
    pub(super) fn next_change(&self, now: u64, cluster: &Cluster) -> u64 {
        let mut next = u64::MAX;
        let mut consider = |at: u64| {
            if at > now {
                next = next.min(at);
            }
        };
        consider(self.certain_from);
        consider(self.may_end(cluster));
        consider(self.must_end(cluster).saturating_add(1));
        if let (Some(at), Leaving::No) = (self.idle_at(cluster), self.leaving) {
            consider(at);
            consider(self.idle_by(at, cluster).saturating_add(1));
        }
        next
    }

    /// It lingers from now on, unless it does already.
    pub(super) fn linger(&mut self, since: When, cluster: &Cluster) {
        if self.leaving == Leaving::No {
            self.leaving = Leaving::Lingers(since, self.flags(since.read, cluster));
            self.told_leaving = cluster.is_heard(self.node);
            if self.told_leaving {
                self.told_left = Some(since.arrived);
            }
        }
    }

    /// It has another flag; elsewhere it may still have the old one for a while.
    pub(super) fn tell(&mut self, now: u64, flags: Flags, cluster: &Cluster) {
        if !cluster.is_settled(self.node) {
            self.vague = self.flags(now, cluster);
        }
        self.told = flags;
        self.found_idle = false;
    }

    /// A frame: what it was found to be stays so until the frame tells better.
    pub(super) fn speaks(&mut self, when: When, cluster: &Cluster) {
        let found = self.flags_alone(when.read, cluster);
        if found != self.told {
            (self.told, self.found_idle) = (found, true);
        }
        self.spoke = when;
    }

    /// A pong. One that comes soon after a frame answers a ping of before it: its connection is not silent yet. That it
    /// is, and pinged again, the next sweep finds.
    pub(super) fn answers(&mut self, when: When, cluster: &Cluster) {
        self.untold = true;
        if when.read <= cluster.swept(self.spoke.read + cluster.periods.silence(), self.node) {
            self.spoke.read = when.read;
        }
    }

    /// A frame or pong of its newest generation; `known` if every node hears of it.
    pub(super) fn hear(&mut self, when: When, known: bool) {
        self.heard.arrived = self.heard.arrived.max(when.arrived);
        self.heard.read = when.read;
        if known {
            if when.read >= self.known_before.1 + BATCH {
                self.known_before = (self.known, when.read);
            }
            self.known = self.heard.arrived;
        }
    }

    /// Its node can tell nobody anything from now on. Renewals that go in batches (`thin`): what it
    /// heard since its last one is known to nobody.
    pub(super) fn is_parted(&mut self, cluster: &Cluster) {
        self.stays_are_parted();
        if cluster.thin {
            self.known = self.known_before.0;
        }
    }

    /// Its node knows how things stand, and everybody knows what it holds.
    pub(super) fn settle(&mut self, now: u64) {
        self.maybe_over = self.leaving != Leaving::No && !self.told_leaving;
        self.known = self.heard.arrived;
        self.told_leaving = true;
        self.told_left = match self.leaving {
            Leaving::Lingers(since, _) => Some(since.arrived),
            _ => None,
        };
        self.vague = Flags::NONE;
        self.certain_from = self.certain_from.min(now);
        self.stays_are_told();
    }
}
