//! Nodes and the shared store, from outside: who can work, and since when.

use super::periods::{Periods, SLACK};

/// How long nodes may take to settle once they are back, in ms: to notice (a store that answers
/// nothing for 3 s is out of reach, a node shows itself once a second), to register what they hold,
/// and to refresh their watchers. The rules say "seconds".
pub(super) const SETTLES: u64 = 8_000;

/// How long nodes that reach the store again may take to register what they hold, in ms.
const REGISTERS: u64 = 2_500;

/// The nodes and, if they have one, their store.
#[derive(Clone, Debug)]
pub(super) struct Cluster {
    pub(super) periods: Periods,
    /// Whether the nodes share a store; else there is one node, with its users in its own memory.
    pub(super) shares: bool,
    /// Whether renewals reach the store as thinly as shipped.
    pub(super) thin: bool,
    /// The store has stood still, and carried out late what was asked of it.
    pub(super) stood_still: bool,
    /// The store answers nothing.
    pub(super) down: bool,
    pub(super) nodes: Vec<Node>,
    /// Since when some node has been able to sweep; none while none can.
    working_since: Option<u64>,
    /// When the store was last reached again after nobody could.
    reached_again: Option<u64>,
    /// While users not heard from are unknown: when that may be over (rule 12 a).
    pub(super) warm_until: Option<u64>,
}

/// A node.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    pub(super) up: bool,
    pub(super) paused: bool,
    pub(super) cut: bool,
    pub(super) held_until: u64,
    /// When what was held before comes.
    comes_at: u64,
    paused_at: u64,
    reaches: bool,
    was_heard: bool,
    /// Whether it has ever had word from the store that came at once.
    pub(super) has_heard: bool,
    /// Since when it has been able to work; none while it cannot.
    working_since: Option<u64>,
    /// Since when it may not know how things stand; none once it must.
    pub(super) blurred_since: Option<u64>,
    /// Whether it has to settle for nothing but the store's loss: then it can ask all the same.
    only_wiped: bool,
    /// From when on it has what it takes to settle.
    calm_from: u64,
    /// When it was last cut off from the store and is no more.
    reached_again: Option<u64>,
    /// Since when it runs and reaches no store.
    pub(super) blind_since: Option<u64>,
}

impl Node {
    /// Whether what is said to it reaches it at once.
    pub(super) fn is_up_to_date(&self) -> bool {
        self.reaches && !self.paused
    }
}

impl Cluster {
    pub(super) fn new(periods: Periods, shares: bool, thin: bool, nodes: usize) -> Self {
        let node = Node {
            up: true,
            reaches: true,
            was_heard: true,
            working_since: Some(0),
            ..Node::default()
        };
        Self {
            periods,
            shares,
            stood_still: false,
            thin,
            down: false,
            nodes: vec![node; nodes],
            working_since: Some(0),
            reached_again: None,
            warm_until: None,
        }
    }

    /// The node stands still, or goes on; tells for how long it stood still.
    pub(super) fn pause(&mut self, now: u64, node: usize, paused: bool) -> u64 {
        let row = &mut self.nodes[node];
        let was = std::mem::replace(&mut row.paused, paused && row.up);
        if paused && !was {
            row.paused_at = now;
        }
        if was && !paused { now - row.paused_at } else { 0 }
    }

    /// What the store says to a node waits until then.
    pub(super) fn hold(&mut self, node: usize, until: u64) {
        let row = &mut self.nodes[node];
        row.comes_at = row.comes_at.max(row.held_until);
        row.held_until = until;
    }

    /// The node is gone; what it could not tell is lost. One that was out of reach may have asked for
    /// time before.
    pub(super) fn kill(&mut self, now: u64, node: usize) {
        let row = &mut self.nodes[node];
        if row.up && !row.reaches {
            row.reached_again = Some(now);
        }
        (row.up, row.paused, row.cut, row.held_until, row.has_heard) =
            (false, false, false, 0, false);
    }

    /// The store has lost what it held: every node has to settle anew.
    pub(super) fn wipe(&mut self, now: u64) {
        self.warm_until = Some(now + self.periods.warmup);
        // One that was restarted counts as one that was out of reach (rule 10).
        self.reached_again = Some(now);
        for row in self.nodes.iter_mut().filter(|it| it.up && self.shares) {
            row.only_wiped |= row.blurred_since.is_none();
            row.blurred_since.get_or_insert(now);
            row.calm_from = now;
        }
    }

    /// Brings what follows from the nodes' states up to date. Called at each change, and whenever
    /// time may have made one. Tells which nodes have settled by it, and which can tell the others
    /// nothing from now on.
    pub(super) fn settle(&mut self, now: u64) -> (Vec<usize>, Vec<usize>) {
        let (mut settled, mut parted) = (Vec::new(), Vec::new());
        for (index, row) in self.nodes.iter_mut().enumerate() {
            let reaches = !self.shares || !(self.down || row.cut || now < row.held_until);
            let runs = row.up && !row.paused;
            if std::mem::replace(&mut row.was_heard, reaches && runs) && !(reaches && runs) {
                parted.push(index);
            }
            if !runs && row.blurred_since.is_some() {
                // It was not back for long enough to tell anybody.
                row.reaches = false;
            }
            // One that stands still learns only when it goes on that the store is back.
            if reaches && runs && !row.reaches {
                row.reached_again = Some(now);
            }
            row.reaches = reaches && (runs || row.reaches);
            row.has_heard |= row.working_since.is_some_and(|it| now > it);
            // What was held comes all the same.
            let came = [row.comes_at, row.held_until].into_iter().filter(|&it| it <= now).max();
            let came = came.unwrap_or(0);
            row.blind_since = (runs && !reaches).then(|| row.blind_since.unwrap_or(now).max(came));
            if !(runs && reaches) {
                row.working_since = None;
            } else if row.working_since.is_none() {
                // Never the run's beginning: what stands from there on never had to settle.
                row.working_since = Some(now.max(1));
                row.calm_from = now;
            }
            if !row.up || !self.shares {
                row.blurred_since = None;
            } else if row.working_since.is_none() || row.working_since == Some(now.max(1)) {
                row.blurred_since.get_or_insert(now);
                row.only_wiped = false;
            } else if row.blurred_since.is_some() && now >= row.calm_from + SETTLES {
                (row.blurred_since, row.only_wiped) = (None, false);
                settled.push(index);
            }
        }
        let works = self.nodes.iter().filter_map(|it| it.working_since).min();
        match (self.working_since, works) {
            (None, Some(_)) => {
                self.working_since = Some(now.max(1));
                self.reached_again = Some(now);
            }
            // Where those that worked until now are gone, the others are only just back.
            (_, works) => self.working_since = works,
        }
        (settled, parted)
    }

    /// When time alone changes something next.
    pub(super) fn next_change(&self, now: u64) -> u64 {
        let mut next = u64::MAX;
        let mut consider = |at: u64| {
            if at > now {
                next = next.min(at);
            }
        };
        for row in &self.nodes {
            consider(row.held_until);
            consider(row.comes_at);
            if row.blurred_since.is_some() && row.working_since.is_some() {
                consider(row.calm_from + SETTLES);
            }
        }
        if let Some(may) = self.warm_until {
            consider(may);
            for node in 0..self.nodes.len() {
                consider(self.swept(may, node).saturating_add(1));
            }
        }
        next
    }

    /// Whether a node knows how things stand, and what happens at it is known to all.
    pub(super) fn is_settled(&self, node: usize) -> bool {
        let row = &self.nodes[node];
        row.up && !row.paused && row.blurred_since.is_none()
    }

    /// Since when a node's knowledge may be old: news takes a turn at least.
    pub(super) fn behind_since(&self, now: u64, node: usize) -> u64 {
        self.nodes[node].blurred_since.unwrap_or(now)
    }

    /// Since when a node has been able to work.
    pub(super) fn works_since(&self, node: usize) -> Option<u64> {
        self.nodes[node].working_since
    }

    /// Whether the store hears at once what happens at a node.
    pub(super) fn is_heard(&self, node: usize) -> bool {
        self.is_settled(node) || (self.nodes[node].only_wiped && !self.nodes[node].paused)
    }

    /// By when a sweep has done what was due at `due` for a session of this node.
    pub(super) fn swept(&self, due: u64, node: usize) -> u64 {
        let since = if self.shares { self.working_since } else { self.nodes[node].working_since };
        let Some(since) = since else { return u64::MAX };
        // One that has stood still reads for a whole sweep before it ends anything; where all have, or
        // none reached the store, they register what they hold first (rule 10).
        let registers = if self.shares { REGISTERS } else { 0 };
        let back = if since == 0 { 0 } else { since + registers + 2 * self.periods.sweep };
        (due.saturating_add(self.periods.sweep)).max(back).saturating_add(SLACK)
    }

    /// Until when nobody of a node need be swept because the store was out of reach (rule 10);
    /// `u64::MAX` while it is. An orphan's node is gone, and may be back without it.
    pub(super) fn spared_until(&self, node: usize, orphan: bool) -> u64 {
        if !self.shares {
            return 0;
        }
        let row = &self.nodes[node];
        if row.up && !row.reaches && !orphan {
            return u64::MAX;
        }
        let extra = self.periods.ttl + 2 * self.periods.sweep + SETTLES;
        row.reached_again.max(self.reached_again).map_or(0, |at| at + extra)
    }

    /// When a node's warm-up may be over, and by when it must be; none if it is.
    pub(super) fn warmth(&self, now: u64, node: usize) -> Option<(u64, u64)> {
        let may = self.warm_until?;
        if !self.is_settled(node) {
            // It goes by what it knows, until it knows of the loss (rule 12 b).
            return Some((now, u64::MAX));
        }
        let must = self.swept(may, node);
        (now <= must).then_some((may, must))
    }

    /// How much sooner than its lease says a session of a node may end that no other hears of (rule 10).
    pub(super) fn sooner(&self) -> u64 {
        self.periods.beat
    }

    /// How much earlier than the last frame a session that its node covers is known to have been heard: a beat, and what
    /// its node's sign of life, and its own silence, may be old.
    pub(super) fn silence_before(&self) -> u64 {
        self.periods.beat + 1_000 + self.periods.sweep
    }
}
