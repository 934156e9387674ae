//! The `settings` of a file.

use greendot_engine::core::Settings;
use greendot_protocol::Span;

use super::fields::Fields;
use super::json::Json;
use super::{FileError, Kind};

/// The periods of a run and the switches of its world.
#[derive(Clone, Debug)]
pub struct FileSettings {
    /// The engine's settings.
    pub engine: Settings,
    /// One way through the network, in ms.
    pub latency: u64,
    /// Whether renewals reach the store as thinly as shipped.
    pub thin: bool,
    /// Whether who hides from everybody sees nobody.
    pub reciprocal: bool,
    /// Above how many members a room tells counts.
    pub room_limit: Option<u64>,
    /// Above how many watchers a user is told about at a bounded rate.
    pub crowd_limit: Option<u64>,
    /// That rate: once in so many ms.
    pub crowd_every: Option<u64>,
    /// Kind `sdk`: whether the client's beats are answered.
    pub answers: bool,
}

impl FileSettings {
    /// What the format says where a file is silent.
    pub(crate) fn new(kind: Kind) -> Self {
        Self {
            engine: Settings {
                beat: Span::from_secs(10),
                ttl: Span::from_secs(30),
                grace: Span::from_secs(5),
                expiry_grace: Span::ZERO,
                sweep: Span::from_secs(1),
                tick: Span::ZERO,
                idle_after: Span::from_secs(600),
                warmup: None,
            },
            latency: if kind == Kind::World { 50 } else { 0 },
            thin: false,
            reciprocal: false,
            room_limit: None,
            crowd_limit: None,
            crowd_every: None,
            answers: true,
        }
    }

    pub(super) fn parse(json: &Json, kind: Kind) -> Result<Self, FileError> {
        let mut settings = Self::new(kind);
        let mut fields = Fields::of(json, "`settings`")?;
        settings.periods(&mut fields)?;
        if let Some(ms) = fields.time("latency")? {
            settings.latency = ms;
        }
        settings.thin = fields.flag("thin")?.unwrap_or(false);
        settings.reciprocal = fields.flag("reciprocal")?.unwrap_or(false);
        settings.room_limit = fields.whole("room_limit")?;
        settings.crowd_limit = fields.whole("crowd_limit")?;
        settings.crowd_every = fields.time("crowd_every")?;
        if kind == Kind::Sdk {
            settings.answers = fields.flag("answers")?.unwrap_or(true);
        }
        fields.finish()?;
        Ok(settings)
    }

    /// The engine's own periods, as in `refused_start` too.
    pub(super) fn periods(&mut self, fields: &mut Fields<'_>) -> Result<(), FileError> {
        let engine = &mut self.engine;
        for (key, place) in [
            ("beat", &mut engine.beat),
            ("ttl", &mut engine.ttl),
            ("grace", &mut engine.grace),
            ("expiry_grace", &mut engine.expiry_grace),
            ("sweep", &mut engine.sweep),
            ("tick", &mut engine.tick),
            ("idle_after", &mut engine.idle_after),
        ] {
            if let Some(ms) = fields.time(key)? {
                *place = Span::from_millis(ms);
            }
        }
        if let Some(ms) = fields.time("warmup")? {
            engine.warmup = Some(Span::from_millis(ms));
        }
        Ok(())
    }
}
