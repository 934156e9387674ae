//! What an operator looks at, by the `metrics` facade: whoever installs a recorder gets it. Nothing here names a user.
//!
//! Each value stands in [`COUNTERS`], [`GAUGES`] or [`HISTOGRAMS`] with what it means. Counters and gauges are brought up to
//! date once a second and by [`super::Presence::update_metrics`]; without a recorder that costs next to nothing.

use std::time::Duration;

use metrics::{Counter, Gauge, Histogram, Unit};

use crate::core::{Endings, Lag, NodeCounts, NodeTotals};

/// How often they are brought up to date.
pub(super) const EVERY: Duration = Duration::from_secs(1);

/// The bounds that suit each histogram, in seconds: for exporters that want to be told.
pub const BUCKETS: &[(&str, &[f64])] = &[
    (
        BEAT,
        &[
            1e-6, 2.5e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2,
            0.1,
        ],
    ),
    (LAG, &[0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0]),
    (
        PROBE_SECONDS,
        &[
            0.5, 1.0, 2.5, 5.0, 10.0, 10.5, 11.0, 12.5, 15.0, 20.0, 30.0, 45.0, 55.0, 55.5, 56.0,
            60.0, 75.0, 120.0,
        ],
    ),
];

/// How long a true disconnect took to show, by synthetic clients. It is the ready server that has them: `--probe`.
pub const PROBE_SECONDS: &str = "greendot_probe_seconds";

const BEAT: &str = "greendot_beat_seconds";
const LAG: &str = "greendot_expiry_lag_seconds";

/// A value's name, what it means, and where it comes from.
type Told<From, Value> = (&'static str, &'static str, fn(&From) -> Value);

/// Everything that only goes up.
const COUNTERS: &[Told<NodeTotals, u64>] = &[
    ("greendot_connects_total", "Connections that were given a seat", |it| it.connects),
    ("greendot_reconnects_total", "Connects of sessions that were there already", |it| {
        it.reconnects
    }),
    ("greendot_beats_total", "Heartbeats that renewed a lease", |it| it.beats),
    (
        "greendot_beats_refused_total",
        "Heartbeats that renewed nothing: their connection spoke for no session any more",
        |it| it.late_beats,
    ),
    (
        "greendot_late_frames_total",
        "Frames of connections that spoke for no session any more: refused heartbeats among them",
        |it| it.late_frames,
    ),
    (
        "greendot_flaps_total",
        "Users called offline who were there again within a minute of when they were last heard",
        |it| it.flaps,
    ),
    ("greendot_changes_total", "Changes of what others see of users", |it| it.changes),
    ("greendot_marks_total", "Watchers, each time one was to be told of a change", |it| it.marks),
    (
        "greendot_overtaken_total",
        "Entries never sent, for a newer one of the same user took their place in the outbox",
        |it| it.overtaken,
    ),
    ("greendot_entries_total", "Entries in snapshots and events that went out", |it| it.entries),
    ("greendot_entry_frames_total", "Frames with such entries", |it| it.entry_frames),
    ("greendot_store_requests_total", "Requests to the shared store", |it| it.store_requests),
    (
        "greendot_look_failures_total",
        "Answers on who may see whom that failed, came late or were missing",
        |it| it.look_failures,
    ),
    (
        "greendot_join_failures_total",
        "Answers on who may be in which room that failed, came late or were missing",
        |it| it.join_failures,
    ),
];

/// A reason, and where its number comes from.
type Ending = (&'static str, fn(&Endings) -> u64);

/// How sessions end, each under the label `reason`.
const ENDINGS: &[Ending] = &[
    ("bye", |it| it.bye),
    ("closed", |it| it.closed),
    ("expired", |it| it.expired),
    ("replaced", |it| it.replaced),
    ("revoked", |it| it.revoked),
    ("signed_out", |it| it.signed_out),
    ("refused", |it| it.refused),
];

/// What a node holds now.
const GAUGES: &[Told<Now, usize>] = &[
    ("greendot_sessions", "Sessions, live or lingering", |it| it.counts.sessions),
    ("greendot_users", "Users who are there, as others may see", |it| it.users),
    ("greendot_connections", "Open connections", |it| it.counts.conns),
    ("greendot_watches", "Watches", |it| it.counts.watches),
    ("greendot_watched_users", "Users whom somebody watches", |it| it.counts.watched),
    ("greendot_viewers", "Connections that watch", |it| it.counts.viewers),
    ("greendot_ready", "Connections that something waits for", |it| it.ready),
    ("greendot_store_waiting", "Requests that wait for the shared store", |it| it.store_waiting),
    ("greendot_looks_waiting", "Looks that wait for the application's word", |it| it.counts.looks),
    (
        "greendot_joins_waiting",
        "Joins, and stays in rooms, that wait for the application's word",
        |it| it.counts.joins,
    ),
];

/// What the gauges tell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Now {
    pub(super) counts: NodeCounts,
    pub(super) users: usize,
    pub(super) ready: usize,
    pub(super) store_waiting: usize,
}

/// The handles of one engine.
pub(super) struct Metrics {
    counters: Vec<Counter>,
    endings: Vec<Counter>,
    gauges: Vec<Gauge>,
    lag: Histogram,
    told: Lag,
    beat: Histogram,
}

impl Metrics {
    /// Registers with the recorder that is installed, if any is.
    pub(super) fn new() -> Self {
        let counter = |name: &'static str, about: &'static str| {
            metrics::describe_counter!(name, about);
            metrics::counter!(name)
        };
        metrics::describe_counter!(ENDED, "Sessions that ended, and connections taken over");
        metrics::describe_histogram!(
            LAG,
            Unit::Seconds,
            "From a session's deadline to the event that it ended"
        );
        metrics::describe_histogram!(
            BEAT,
            Unit::Seconds,
            "From a heartbeat's arrival to its renewal, the wait for the core included"
        );
        metrics::describe_counter!(MISSED, "Transitions that a slow reader of them missed");
        metrics::describe_counter!(
            DROPPED,
            "Requests to the shared store that found its queue full; the store then counts as out of reach"
        );
        metrics::counter!(DROPPED).absolute(0);
        metrics::describe_counter!(CLOSED, "Connections closed by the server, by the reason told");
        Self {
            counters: COUNTERS.iter().map(|(name, about, _)| counter(name, about)).collect(),
            endings: ENDINGS
                .iter()
                .map(|(reason, _)| metrics::counter!(ENDED, "reason" => *reason))
                .collect(),
            gauges: GAUGES
                .iter()
                .map(|(name, about, _)| {
                    metrics::describe_gauge!(*name, *about);
                    metrics::gauge!(*name)
                })
                .collect(),
            lag: metrics::histogram!(LAG),
            told: Lag::default(),
            beat: metrics::histogram!(BEAT),
        }
    }

    /// Where the time goes that a heartbeat took.
    pub(super) fn beat(&self) -> Histogram {
        self.beat.clone()
    }

    /// Brings everything up to date.
    pub(super) fn update(&mut self, totals: &NodeTotals, now: &Now) {
        for (counter, (_, _, of)) in self.counters.iter().zip(COUNTERS) {
            counter.absolute(of(totals));
        }
        for (counter, (_, of)) in self.endings.iter().zip(ENDINGS) {
            counter.absolute(of(&totals.endings));
        }
        for (gauge, (_, _, of)) in self.gauges.iter().zip(GAUGES) {
            gauge.set(of(now) as f64);
        }
        for (count, mean) in totals.lag.since(&self.told) {
            self.lag.record_many(mean, usize::try_from(count).unwrap_or(usize::MAX));
        }
        self.told = totals.lag;
    }
}

const ENDED: &str = "greendot_endings_total";
const MISSED: &str = "greendot_transitions_missed_total";
const CLOSED: &str = "greendot_closes_total";

const DROPPED: &str = "greendot_store_dropped_total";

/// A request to the shared store found its queue full.
#[cfg(feature = "redis")]
pub(super) fn dropped() {
    metrics::counter!(DROPPED).increment(1);
}

/// A reader of transitions fell behind.
pub(super) fn missed(transitions: u64) {
    metrics::counter!(MISSED).increment(transitions);
}

/// The server closed a connection.
pub(super) fn closed(reason: &'static str) {
    metrics::counter!(CLOSED, "reason" => reason).increment(1);
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}
