//! The periods of a random world: plain ones, and odd ones that the engine takes.

use greendot_engine::core::Settings;
use greendot_protocol::Span;

use crate::file::{FileSettings, Kind};
use crate::world::rng::Rng;

/// Now and then a few watchers are a crowd.
pub(super) fn crowds(rng: &mut Rng, settings: &mut FileSettings) {
    if rng.one_in(4) {
        let engine = &mut settings.engine;
        engine.crowd_limit = 1 + rng.below(3);
        let every = [1_000, 3_000, 10_000][rng.below(3)].max(engine.tick.as_millis());
        engine.crowd_every = Span::from_millis(every);
    }
}

pub(super) fn settings(rng: &mut Rng, kind: Kind) -> FileSettings {
    let mut settings = FileSettings::new(kind);
    settings.latency = match (kind, rng.below(6)) {
        (Kind::Engine, 0..=3) => 0,
        (_, 0..=3) => 50,
        (_, 4) => 300,
        _ => 1_000,
    };
    if rng.one_in(3) {
        // As the format has them.
        return settings;
    }
    let beat = [2_000, 5_000, 10_000, 15_000][rng.below(4)];
    let sweep = [100, 250, 1_000, 1_000, 2_000][rng.below(5)];
    let least = 2 * beat + sweep + 5_000;
    let ttl = least + [0, 0, 1, 4_999, 10_000][rng.below(5)];
    let grace = match rng.below(5) {
        0 => sweep,
        1 => sweep + 1,
        2 => ttl,
        _ => [2_000, 5_000][rng.below(2)].max(sweep),
    };
    let expiry_grace = if rng.one_in(4) { [sweep, 5_000.max(sweep), ttl][rng.below(3)] } else { 0 };
    let tick = [0, 0, 20, 500, 1_000][rng.below(5)].min(beat);
    let idle_after = [600_000, 600_000, 0, 1_000, 7_000, 20_000][rng.below(6)];
    let warmup = rng.one_in(3).then(|| Span::from_millis([0, 1_000, 20_000][rng.below(3)]));
    settings.engine = Settings {
        beat: Span::from_millis(beat),
        ttl: Span::from_millis(ttl),
        grace: Span::from_millis(grace),
        expiry_grace: Span::from_millis(expiry_grace),
        sweep: Span::from_millis(sweep),
        tick: Span::from_millis(tick),
        idle_after: Span::from_millis(idle_after),
        warmup,
        ..settings.engine
    };
    settings
}
