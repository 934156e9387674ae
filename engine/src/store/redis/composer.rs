//! One store out of many partitions: what a node sees of them.
//!
//! Each partition has an epoch, a clock and a count of notices of its own. The node is shown one of
//! each. All that stands between a viewer and a user is kept where the user is, and so is the user's
//! place in a room: a script sees the change and whom it is to be told in one piece, and no order
//! has to be kept between partitions. What is put together here is only added up.

mod notices;
mod rosters;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use greendot_protocol::{Epoch, Span, Time};

use self::rosters::{Room, roster};
use super::keys::{Keys, fnv};
use super::part::{Part, PartOutlook, PartRoster};
use crate::store::{BarReport, HeldBy, OutlookReport, Reply, Report, Request};

/// What a node knows of one partition.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    epoch: Epoch,
    /// The number of the last notice that came.
    seen: u64,
    /// Notices sent, as far as answers tell.
    said: u64,
    /// The same at the last beat: those have come by the next, or are lost.
    said_before: u64,
    /// When users not heard from are no longer unknown, on this node's clock.
    warm_until: Time,
    /// When something is due there, on this node's clock.
    due: Option<Time>,
}

/// Puts parts together.
#[derive(Debug)]
pub(super) struct Composer {
    keys: Keys,
    shares: Vec<Share>,
    room_limit: usize,
    /// Notices that came, and those known to be lost.
    told: u64,
    /// When the store last spoke, on this node's clock, and what its own was.
    spoke: (Time, Time),
    /// By the viewers that connections of this node look as: their outlooks, by partition.
    outlooks: HashMap<Arc<str>, BTreeMap<usize, Dated<PartOutlook>>>,
    /// By the rooms that this node looks into.
    rooms: HashMap<Arc<str>, Room>,
    /// Changes that no request of the node's asked for; they go with the next answer.
    turned: Vec<Report>,
    words: VecDeque<Box<str>>,
}

/// With when it was said, by its partition's clock.
type Dated<T> = (Time, T);

impl Composer {
    pub(super) fn new(keys: Keys, room_limit: usize) -> Self {
        Self {
            shares: vec![Share::default(); keys.count()],
            keys,
            room_limit,
            // None would mean that it is not known.
            told: 1,
            spoke: (Time::ZERO, Time::ZERO),
            outlooks: HashMap::new(),
            rooms: HashMap::new(),
            turned: Vec::new(),
            words: VecDeque::new(),
        }
    }

    /// A partition has been opened. Notices are counted from here.
    pub(super) fn opened(&mut self, now: Time, partition: usize, part: &Part) {
        self.note(now, partition, part);
        let share = &mut self.shares[partition];
        share.said_before = share.said;
    }

    /// Partitions in which something is due by now.
    pub(super) fn take_due(&mut self, now: Time) -> Vec<usize> {
        let due = |(place, it): (usize, &mut Share)| {
            let is_due = it.due.is_some_and(|at| at <= now);
            // Until the sweep is answered, none is asked for again.
            it.due = it.due.filter(|_| !is_due);
            is_due.then_some(place)
        };
        self.shares.iter_mut().enumerate().filter_map(due).collect()
    }

    /// The time now by the store's clock, as far as it is known.
    fn store_time(&self, now: Time) -> Time {
        self.spoke.1 + now.since(self.spoke.0)
    }

    fn epoch(&self) -> Epoch {
        let epochs: Vec<u8> = self.shares.iter().flat_map(|it| it.epoch.0.to_le_bytes()).collect();
        Epoch(fnv(&epochs) as u32)
    }

    /// Takes what every answer tells of its partition.
    fn note(&mut self, now: Time, partition: usize, part: &Part) {
        let share = &mut self.shares[partition];
        if share.epoch != part.epoch {
            share.epoch = part.epoch;
            // The counts are others too; the node asks for everything anew.
            (share.seen, share.said, share.said_before) = (part.told, part.told, part.told);
            for parts in self.outlooks.values_mut() {
                parts.remove(&partition);
            }
            for room in self.rooms.values_mut() {
                room.parts.remove(&partition);
            }
        }
        let share = &mut self.shares[partition];
        share.said = share.said.max(part.told);
        share.warm_until = if part.warming == Span::ZERO { Time::ZERO } else { now + part.warming };
        if let Some(due) = part.due {
            share.due = Some(now + due);
        }
        self.spoke = (now, part.at);
    }

    /// A sweep that nobody waits for has been answered.
    pub(super) fn swept(&mut self, now: Time, partition: usize, part: Part) {
        self.note(now, partition, &part);
        self.turned.extend(part.turned);
    }

    /// The answer to a request, from those of its calls in their order.
    pub(super) fn compose(
        &mut self,
        now: Time,
        request: &Request,
        parts: Vec<(usize, Part)>,
    ) -> Reply {
        for (partition, part) in &parts {
            self.note(now, *partition, part);
        }
        if matches!(request, Request::Beat { .. }) {
            for share in &mut self.shares {
                // They would have come by now.
                self.told += share.said_before.saturating_sub(share.seen);
                share.seen = share.seen.max(share.said_before);
                share.said_before = share.said;
            }
        }
        if let Request::Linger { name, lasts, .. } = request {
            let share = &mut self.shares[self.keys.partition_of(&name.user)];
            let due = now + *lasts;
            share.due = Some(share.due.map_or(due, |it| it.min(due)));
        }
        let at = parts.iter().map(|it| it.1.at).max().unwrap_or_else(|| self.store_time(now));
        let mut reply = Reply {
            epoch: self.epoch(),
            at,
            told: self.told
                + self.shares.iter().map(|it| it.said.saturating_sub(it.seen)).sum::<u64>(),
            warming: self
                .shares
                .iter()
                .map(|it| it.warm_until.since(now))
                .max()
                .unwrap_or_default(),
            held: HeldBy::Nobody,
            reports: Vec::new(),
            outlooks: Vec::new(),
            rooms: Vec::new(),
            turned: std::mem::take(&mut self.turned),
            places: Vec::new(),
        };
        let mut outlooks: BTreeMap<Arc<str>, BTreeMap<usize, Dated<PartOutlook>>> = BTreeMap::new();
        let mut rosters: BTreeMap<Arc<str>, BTreeMap<usize, PartRoster>> = BTreeMap::new();
        for (partition, part) in parts {
            let later = at.since(part.at);
            if part.held != HeldBy::Nobody {
                reply.held = part.held;
            }
            reply.reports.extend(part.reports.into_iter().map(|it| aged(it, later)));
            reply.turned.extend(part.turned.into_iter().map(|it| aged(it, later)));
            reply.places.extend(part.places);
            for it in part.outlooks {
                outlooks
                    .entry(Arc::clone(&it.viewer))
                    .or_default()
                    .insert(partition, (part.at, it));
            }
            for it in part.rosters {
                rosters.entry(Arc::clone(&it.room)).or_default().insert(partition, it);
            }
        }
        if let Request::List { at_most, .. } = request {
            reply.reports.truncate(*at_most);
        }
        for (viewer, parts) in outlooks {
            let looks = matches!(request, Request::Look { .. });
            let outlook = match self.outlooks.get_mut(&viewer).filter(|_| looks) {
                Some(held) => {
                    for (partition, part) in parts {
                        take_newer(held, partition, part, |it| it.1.number);
                    }
                    self.outlook(at, &viewer, &self.outlooks[&viewer])
                }
                None => self.outlook(at, &viewer, &parts),
            };
            reply.outlooks.push(outlook);
        }
        for (name, mut parts) in rosters {
            if let Some(room) = self.rooms.get_mut(&name) {
                for (partition, part) in parts {
                    take_newer(&mut room.parts, partition, part, |it| it.number);
                }
                parts = room.parts.clone();
            }
            reply.rooms.push(roster(self.room_limit, &name, &parts));
        }
        reply
    }

    /// Something is about to be asked. What is said of viewers and rooms is kept from now on, or
    /// no more: a notice may overtake the answer, and be newer.
    pub(super) fn begin(&mut self, request: &Request) {
        match request {
            Request::Look { viewers } => {
                for it in viewers {
                    self.outlooks.entry(Arc::clone(it)).or_default();
                }
            }
            Request::LookAway { viewers } => {
                for it in viewers {
                    self.outlooks.remove(it);
                }
            }
            Request::HearNothing => {
                self.outlooks.clear();
                self.rooms.clear();
            }
            Request::LookInto { rooms } => {
                for it in rooms {
                    self.rooms.entry(Arc::clone(it)).or_default();
                }
            }
            Request::LookOut { rooms } => {
                for it in rooms {
                    self.rooms.remove(it);
                }
            }
            _ => {}
        }
    }

    fn outlook(
        &self,
        at: Time,
        viewer: &Arc<str>,
        parts: &BTreeMap<usize, Dated<PartOutlook>>,
    ) -> OutlookReport {
        let home = self.keys.partition_of(viewer);
        let mut bars: Vec<BarReport> = parts
            .values()
            .flat_map(|(said, it)| it.bars.iter().map(|bar| aged_bar(bar, at.since(*said))))
            .collect();
        bars.sort_unstable_by(|one, other| one.user.cmp(&other.user));
        OutlookReport {
            viewer: Arc::clone(viewer),
            number: parts.values().map(|it| it.1.number).sum(),
            hides: parts.get(&home).is_some_and(|it| it.1.hides),
            bars,
        }
    }
}

fn take_newer<T>(held: &mut BTreeMap<usize, T>, partition: usize, part: T, number: fn(&T) -> u64) {
    if held.get(&partition).is_none_or(|it| number(it) <= number(&part)) {
        held.insert(partition, part);
    }
}

fn aged(report: Report, later: Span) -> Report {
    Report { seen_ago: report.seen_ago.map(|it| it + later), ..report }
}

fn aged_bar(bar: &BarReport, later: Span) -> BarReport {
    let mut bar = bar.clone();
    if let Some(screen) = bar.screen.as_mut() {
        screen.seen_ago = screen.seen_ago.map(|it| it + later);
    }
    bar
}
