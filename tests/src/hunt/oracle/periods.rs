//! The periods that the rules speak of, in ms.

use crate::file::FileSettings;

/// Times are compared with so much tolerance: a step of the clock on either side.
pub(super) const SLACK: u64 = 2;

/// The periods in force.
#[derive(Clone, Copy, Debug)]
pub(super) struct Periods {
    pub(super) beat: u64,
    pub(super) ttl: u64,
    pub(super) grace: u64,
    pub(super) expiry_grace: u64,
    pub(super) sweep: u64,
    pub(super) tick: u64,
    pub(super) idle_after: u64,
    pub(super) warmup: u64,
    /// The longest way through the network.
    pub(super) latency: u64,
}

/// What a node's standing still does to what it has to do in time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    pub(super) paused: bool,
    /// When it last went on.
    resumed: Option<u64>,
    paused_at: u64,
}

impl Periods {
    pub(super) fn new(settings: &FileSettings, jitter: u64) -> Self {
        let engine = &settings.engine;
        Self {
            beat: engine.beat.as_millis(),
            ttl: engine.ttl.as_millis(),
            grace: engine.grace.as_millis(),
            expiry_grace: engine.expiry_grace.as_millis(),
            sweep: engine.sweep.as_millis(),
            tick: engine.tick.as_millis(),
            idle_after: engine.idle_after.as_millis(),
            warmup: engine.warmup().as_millis(),
            latency: settings.latency + jitter,
        }
    }

    /// How late a sweep may be before the node must take it that it has stood still, and read
    /// before it sweeps.
    pub(super) fn standstill(&self) -> u64 {
        (2 * self.sweep).max(1_000) + self.sweep
    }
}

impl Pace {
    pub(super) fn pause(&mut self, now: u64) {
        if !self.paused {
            *self = Self { paused: true, paused_at: now, ..*self };
        }
    }

    /// The node goes on. Tells for how long it stood still.
    pub(super) fn resume(&mut self, now: u64) -> u64 {
        if !self.paused {
            return 0;
        }
        *self = Self { paused: false, resumed: Some(now), ..*self };
        now - self.paused_at
    }

    /// By when a sweep has done what was due at `due`.
    pub(super) fn swept(&self, due: u64, periods: &Periods) -> u64 {
        if self.paused {
            return u64::MAX;
        }
        let sweep = periods.sweep;
        // One that has stood still reads for a whole sweep before it ends anything.
        let back = self.resumed.map_or(0, |at| at + 2 * sweep);
        (due + sweep).max(back) + SLACK
    }
}
