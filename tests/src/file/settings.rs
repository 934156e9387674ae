//! The `settings` of a file.

use greendot_engine::core::Settings;
use greendot_protocol::Span;

use super::fields::Fields;
use super::json::Json;
use super::{FileError, Kind};

/// Fewer watchers than this a small world has, too.
const SMALL: usize = 16;

/// The periods of a run and the switches of its world.
#[derive(Clone, Debug)]
pub struct FileSettings {
    /// The engine's settings.
    pub engine: Settings,
    /// One way through the network, in ms.
    pub latency: u64,
    /// Whether renewals reach the store as thinly as shipped.
    pub thin: bool,
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
                ..Settings::default()
            },
            latency: if kind == Kind::World { 50 } else { 0 },
            thin: false,
            answers: true,
        }
    }

    /// How often a crowd is told, in ms, where a handful of watchers are one.
    pub(crate) fn crowd_every(&self) -> Option<u64> {
        let small = self.engine.crowd_limit < SMALL;
        small.then(|| self.engine.crowd_every.as_millis())
    }

    pub(super) fn parse(json: &Json, kind: Kind) -> Result<Self, FileError> {
        let mut settings = Self::new(kind);
        let mut fields = Fields::of(json, "`settings`")?;
        settings.periods(&mut fields)?;
        if kind == Kind::Sdk {
            // It has no network and no engine.
            settings.answers = fields.flag("answers")?.unwrap_or(true);
        } else {
            if let Some(ms) = fields.time("latency")? {
                settings.latency = ms;
            }
            settings.thin = fields.flag("thin")?.unwrap_or(false);
            settings.audience(&mut fields)?;
        }
        fields.finish()?;
        settings.engine.check().map_err(|error| FileError {
            line: json.line,
            text: format!("no node starts with these `settings`: {error}"),
        })?;
        Ok(settings)
    }

    /// Who may see, and how many.
    pub(super) fn audience(&mut self, fields: &mut Fields<'_>) -> Result<(), FileError> {
        let engine = &mut self.engine;
        engine.reciprocal = fields.flag("reciprocal")?.unwrap_or(false);
        let many = |it: Option<u64>, or: usize| it.map_or(or, |it| it as usize);
        engine.room_limit = many(fields.whole("room_limit")?, engine.room_limit);
        engine.crowd_limit = many(fields.whole("crowd_limit")?, engine.crowd_limit);
        if let Some(ms) = fields.time("crowd_every")? {
            engine.crowd_every = Span::from_millis(ms);
        }
        Ok(())
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
