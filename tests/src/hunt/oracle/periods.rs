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
    /// How much longer a change may take to be told of one whom a crowd watches (rule 15): it waits for the round before to
    /// be over, is held for a moment, and then told in a round of its own.
    pub(super) crowds: u64,
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
            crowds: settings
                .crowd_every()
                .map_or(0, |every| 2 * every + every / 10 + every / 100 + SLACK),
        }
    }

    /// After how long without a frame a connection is pinged: then only its page says whether the person is there.
    pub(super) fn silence(&self) -> u64 {
        self.beat * 6 / 5
    }

    /// How late a sweep may be before the node must take it that it has stood still, and read
    /// before it sweeps.
    pub(super) fn standstill(&self) -> u64 {
        (2 * self.sweep).max(1_000) + self.sweep
    }
}
