//! R played by a real Redis, beside its twin: what the two say must be the same.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use greendot_engine::core::directory::Roster;
use greendot_engine::store::redis::PlayedRedis;
use greendot_engine::store::{
    HeldBy, NodeId, Notice, OutlookReport, Reply, Report, Request, Store,
};
use greendot_protocol::{Epoch, Span, Time};

use crate::file::FileSettings;

/// Where Redis is, for the worlds of this process.
static URL: OnceLock<String> = OnceLock::new();

/// Partitions of a played store: few, so that users share them, and more than one.
const PARTITIONS: u16 = 3;

/// From now on, worlds of this process whose nodes share a store have it in the Redis there.
///
/// # Errors
///
/// If another was named before.
pub fn use_redis(url: String) -> Result<(), String> {
    URL.set(url)
}

/// Whether worlds of this process are played with Redis.
pub(super) fn is_used() -> bool {
    URL.get().is_some()
}

/// A store in Redis that is empty at `now`, if one is to be used.
///
/// # Panics
///
/// If Redis cannot be reached.
pub(super) fn open(settings: &FileSettings, now: Time) -> Option<PlayedRedis> {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    let run = RUNS.fetch_add(1, Ordering::Relaxed);
    let prefix = format!("played.{}.{run}", std::process::id());
    let (url, engine, thin) = (URL.get()?, settings.engine, settings.thin);
    let store = PlayedRedis::open(url, &prefix, PARTITIONS, engine, thin, now);
    Some(store.unwrap_or_else(|error| panic!("{error}")))
}

/// What was said to nodes in answer to one request.
pub(super) type Said = (Reply, Vec<(NodeId, u64, Notice)>);

/// Everything that a store says to one request.
pub(super) fn ask(
    store: &mut impl Store,
    now: Time,
    late: Span,
    node: NodeId,
    request: &Request,
) -> Said {
    let reply = store.handle_late(now, late, node, request);
    let mut notices = Vec::new();
    while let Some(notice) = store.poll_notice() {
        notices.push(notice);
    }
    (reply, notices)
}

/// Holds Redis to the twin.
///
/// # Panics
///
/// If the two say something else.
pub(super) fn compare(
    request: &Request,
    limit: usize,
    heeds: &dyn Fn(NodeId) -> bool,
    twin: &Said,
    played: &Said,
) {
    let one = told(request, limit, heeds, twin);
    let other = told(request, limit, heeds, played);
    assert!(one == other, "to {request:?}\nthe twin says  {one:#?}\nand Redis says {other:#?}");
}

/// What counts of what was said: not the numbers, which only have to rise, nor the order where none
/// is promised.
fn told(
    request: &Request,
    limit: usize,
    heeds: &dyn Fn(NodeId) -> bool,
    (reply, notices): &Said,
) -> Vec<String> {
    let mut all = vec![format!("held {:?}", without_number(reply.held))];
    let mut reports = of_all(&reply.reports);
    if let Request::List { at_most, .. } = request
        && reports.len() >= *at_most
    {
        // Any so many will do.
        reports.clear();
    }
    all.extend(reports);
    let asked = match request {
        Request::Read { users, .. } => Some(users),
        _ => None,
    };
    all.extend(sorted(reply.outlooks.iter().map(|it| {
        let mut it = OutlookReport { number: 0, ..it.clone() };
        it.bars.retain(|bar| asked.is_none_or(|users| users.contains(&bar.user)));
        format!("{it:?}")
    })));
    all.extend(sorted(reply.rooms.iter().map(|it| roster(it, limit))));
    all.extend(of_all(&reply.turned).into_iter().map(|it| format!("turned {it}")));
    // A room whose members are in several partitions may be told of by each; the last word counts. A crowd is told of once a
    // second, and when in it depends on who has been told what: the oracle sees to that.
    let is_last = |place: usize, node: NodeId, it: &Notice| match it {
        Notice::Room { roster, .. } if roster.count > limit => false,
        Notice::Room { roster, .. } => !notices[place + 1..].iter().any(|later| {
            later.0 == node
                && matches!(&later.2, Notice::Room { roster: it, .. } if it.room == roster.room)
        }),
        _ => true,
    };
    let notices = notices
        .iter()
        .enumerate()
        .filter(|(place, it)| is_last(*place, it.0, &it.2))
        .map(|it| it.1)
        .filter(|it| it.2 != Notice::Nothing && heeds(it.0));
    all.extend(sorted(notices.map(|it| format!("{:?} {}", it.0, notice(&it.2, limit)))));
    all
}

fn sorted(lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut lines: Vec<_> = lines.collect();
    lines.sort();
    lines
}

fn of_all(reports: &[Report]) -> Vec<String> {
    sorted(reports.iter().map(|it| format!("{it:?}")))
}

fn without_number(held: HeldBy) -> HeldBy {
    match held {
        HeldBy::You { mode, revision, idle, .. } => {
            HeldBy::You { generation: 0, mode, revision, idle }
        }
        other => other,
    }
}

fn roster(roster: &Roster, limit: usize) -> String {
    let mut it = Roster { number: 0, ..roster.clone() };
    it.members.sort();
    if it.count > limit {
        // Any few will do.
        it.members.clear();
    }
    format!("{it:?}")
}

fn notice(notice: &Notice, limit: usize) -> String {
    let epoch = Epoch(0);
    match notice.clone() {
        Notice::Changed { at, report, .. } => {
            format!("{:?}", Notice::Changed { epoch, at, report })
        }
        Notice::Outlook { at, outlook, .. } => {
            // Of a viewer that hides, only its own partition knows.
            let outlook = OutlookReport { number: 0, hides: false, ..outlook };
            format!("{:?}", Notice::Outlook { epoch, at, outlook })
        }
        Notice::Room { roster: it, .. } => format!("room {}", roster(&it, limit)),
        Notice::Sessions { at, user, mut sessions } => {
            sessions.sort_by(|one, other| one.0.session.cmp(&other.0.session));
            for it in &mut sessions {
                (it.0.since, it.0.generation) = (Time::ZERO, 0);
            }
            format!("{:?}", Notice::Sessions { at, user, sessions })
        }
        other => format!("{other:?}"),
    }
}
