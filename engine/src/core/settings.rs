//! The periods of an engine, refused at start where they cannot work (rule 17).

use std::fmt;

use greendot_protocol::{Span, Time};

/// The periods an engine works with. [`Settings::default`] holds the shipped ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How often a client shows a sign of life. Default 15 s.
    pub beat: Span,
    /// How long a lease lasts after the last sign of life. Default 55 s: three beats and 10 s of
    /// slack. Exactly three beats would flap some 25 times as often.
    pub ttl: Span,
    /// How long a session lingers after its connection ended. Default 10 s.
    pub grace: Span,
    /// An extra wait after a lease has run out (rule 2). Default 0: `ttl` is the tolerance already.
    pub expiry_grace: Span,
    /// How often due deadlines are looked for. Default 250 ms.
    pub sweep: Span,
    /// How long changes are gathered before they are sent: they go out at the ticks of the clock, answers between them
    /// ([`Self::answers_at`]). Default 20 ms; 0: sent at once.
    pub tick: Span,
    /// After how long without input a device counts as idle, unless its client says otherwise.
    /// Default 10 min; 0: never.
    pub idle_after: Span,
    /// How long a node that starts with an empty store says `unknown` of users it has not heard
    /// from (rule 12 a). Default `ttl + grace`. A warm-up shorter than [`CLIENTS_RETURN`] calls
    /// people offline who are still on their way back: see [`Settings::doubt`].
    pub warmup: Option<Span>,
    /// Whether who hides from everybody sees nobody (rule 13). Default: no.
    pub reciprocal: bool,
    /// Up to how many members, of those whom a viewer may see, a room tells it who is in it; above, it tells
    /// a count and a sample. Default 50.
    pub room_limit: usize,
    /// Above how many watchers, over all nodes, a user is told about at a bounded rate (rule 15).
    /// Default 5,000.
    pub crowd_limit: usize,
    /// That rate: once in this time. Default 10 s.
    pub crowd_every: Span,
    /// Above how many watchers, over all nodes, others are told no more of a user than whether it
    /// was there within the hour. Default: never.
    pub afar_limit: Option<usize>,
    /// Whether and how the application is asked who may see whom. Default: it is not; everybody
    /// sees everybody who does not hide.
    pub audience: Option<AudienceRule>,
    /// Whether the application is asked who may join a room. Default: it is not; everybody may.
    pub asks_rooms: bool,
}

/// How the application is asked who may see whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AudienceRule {
    /// How long an answer holds; it is asked for again at half of that. Default 60 s.
    pub lifetime: Span,
    /// How long an answer may take; then it counts as failed. Default 3 s.
    pub deadline: Span,
    /// How many answers are kept beyond those about users who are watched. Default 100,000.
    pub kept: usize,
}

impl Default for AudienceRule {
    fn default() -> Self {
        Self { lifetime: Span::from_secs(60), deadline: Span::from_secs(3), kept: 100_000 }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            beat: Span::from_secs(15),
            ttl: Span::from_secs(55),
            grace: Span::from_secs(10),
            expiry_grace: Span::ZERO,
            sweep: Span::from_millis(250),
            tick: Span::from_millis(20),
            idle_after: Span::from_secs(600),
            warmup: None,
            reciprocal: false,
            room_limit: 50,
            crowd_limit: 5_000,
            crowd_every: Span::from_secs(10),
            afar_limit: None,
            audience: None,
            asks_rooms: false,
        }
    }
}

/// The longest that clients take to come back to a node that answers again: the longest pause
/// between two dials (30 s), and a dial (10 s).
pub const CLIENTS_RETURN: Span = Span::from_secs(40);

/// Slack that `ttl` must leave beyond two beats and a sweep: one lost beat and a slow network.
const TTL_SLACK: Span = Span::from_secs(5);

/// The largest room that may tell who is in it.
const ROOM_LIMIT_MOST: usize = 1_000;

impl Settings {
    /// The warm-up in force.
    pub fn warmup(&self) -> Span {
        self.warmup.unwrap_or(self.ttl + self.grace)
    }

    /// Up to how many members of a room are named to the nodes: more than to a viewer, who may not see all of them and is told by
    /// name up to [`Self::room_limit`] that it may see.
    pub fn roster_limit(&self) -> usize {
        2 * self.room_limit
    }

    /// When watchers are told of what happens now: at the next tick of the clock, whoever else is told something then. Were it a
    /// tick after the first change, one who knows when somebody did something could see whether anybody else did just before.
    pub fn tells_at(&self, now: Time) -> Time {
        now.next_turn(self.tick)
    }

    /// When whoever asks something now, or has been waited for until now, is answered: by the clock, so that the time of an answer
    /// tells nothing of the work for it. Three quarters of a tick behind a tick, when others have been told, and a quarter of a tick
    /// from now at the soonest, when the work is over. So it takes three quarters of a tick on the average, and 1 1/4 at most. A part of the
    /// present ms is over already: of less than two there may be next to nothing left.
    pub fn answers_at(&self, now: Time) -> Time {
        if self.tick == Span::ZERO {
            return now;
        }
        let (tick, place) = (self.tick.as_millis(), self.tick.fraction(3, 4).as_millis());
        let least = self.tick.fraction(1, 4).max(Span::from_millis(2)).min(self.tick);
        let soonest = (now + least).as_millis();
        Time::from_millis(soonest.saturating_sub(place).div_ceil(tick) * tick + place)
    }

    /// What works but is hardly meant, in one line for a log.
    pub fn doubt(&self) -> Option<String> {
        let warmup = self.warmup();
        if warmup >= CLIENTS_RETURN {
            return None;
        }
        let whence = if self.warmup.is_some() { "" } else { " (ttl + grace)" };
        Some(format!(
            "warmup is {} ms{whence}, and clients may take {} ms to come back after a restart (30 s \
             between two dials, and a dial): until then people who are there are shown offline; set \
             warmup to {} s or more",
            warmup.as_millis(),
            CLIENTS_RETURN.as_millis(),
            CLIENTS_RETURN.as_secs() + 5
        ))
    }

    /// Checks that the settings can work together.
    ///
    /// # Errors
    ///
    /// Names the settings that contradict each other and what would do.
    pub fn check(&self) -> Result<(), SettingsError> {
        let refuse =
            |names: &'static [&'static str], text: String| Err(SettingsError { names, text });
        let ms = Span::as_millis;
        if self.beat < Span::from_millis(100) {
            return refuse(&["beat"], format!("beat is {} ms; at least 100 ms", ms(self.beat)));
        }
        if self.sweep == Span::ZERO {
            return refuse(&["sweep"], "sweep is 0; at least 1 ms".into());
        }
        let least = self.beat + self.beat + self.sweep + TTL_SLACK;
        if self.ttl < least {
            return refuse(
                &["ttl", "beat"],
                format!(
                    "ttl is {} ms; with beat {} ms and sweep {} ms it must be at least \
                     2 × beat + sweep + 5 s = {} ms: raise ttl or lower beat",
                    ms(self.ttl),
                    ms(self.beat),
                    ms(self.sweep),
                    ms(least)
                ),
            );
        }
        if self.grace < self.sweep {
            return refuse(
                &["grace", "sweep"],
                format!(
                    "grace is {} ms and shorter than sweep, {} ms: raise grace or lower sweep",
                    ms(self.grace),
                    ms(self.sweep)
                ),
            );
        }
        if self.grace > self.ttl {
            return refuse(
                &["grace", "ttl"],
                format!(
                    "grace is {} ms and longer than ttl, {} ms: a dropped session would outlive \
                     a silent one; lower grace or raise ttl",
                    ms(self.grace),
                    ms(self.ttl)
                ),
            );
        }
        if self.expiry_grace != Span::ZERO && self.expiry_grace < self.sweep {
            return refuse(
                &["expiry_grace", "sweep"],
                format!(
                    "expiry_grace is {} ms and shorter than sweep, {} ms: set it to 0 or raise it",
                    ms(self.expiry_grace),
                    ms(self.sweep)
                ),
            );
        }
        if self.tick > self.beat {
            return refuse(
                &["tick", "beat"],
                format!(
                    "tick is {} ms and longer than beat, {} ms: changes would come later than \
                     signs of life; lower tick",
                    ms(self.tick),
                    ms(self.beat)
                ),
            );
        }
        if self.idle_after != Span::ZERO && self.idle_after < Span::from_secs(1) {
            return refuse(
                &["idle_after"],
                format!("idle_after is {} ms; at least 1 s, or 0 for never", ms(self.idle_after)),
            );
        }
        if self.crowd_every < self.tick || self.crowd_every == Span::ZERO {
            return refuse(
                &["crowd_every", "tick"],
                format!(
                    "crowd_every is {} ms and tick {} ms: a crowd cannot be told more often than \
                     others; raise crowd_every",
                    ms(self.crowd_every),
                    ms(self.tick)
                ),
            );
        }
        if self.afar_limit.is_some_and(|it| it < self.crowd_limit) {
            return refuse(
                &["afar_limit", "crowd_limit"],
                format!(
                    "afar_limit is {} and below crowd_limit, {}: raise afar_limit",
                    self.afar_limit.unwrap_or_default(),
                    self.crowd_limit
                ),
            );
        }
        if self.room_limit > ROOM_LIMIT_MOST {
            return refuse(
                &["room_limit"],
                format!(
                    "room_limit is {}; at most {ROOM_LIMIT_MOST}: each member of a room is told of \
                     each other",
                    self.room_limit
                ),
            );
        }
        if let Some(rule) = self.audience
            && (rule.lifetime < rule.deadline + rule.deadline || rule.deadline == Span::ZERO)
        {
            return refuse(
                &["audience.lifetime", "audience.deadline"],
                format!(
                    "audience.lifetime is {} ms and audience.deadline {} ms: an answer that is \
                     asked for at half its lifetime must come before that is over; raise the lifetime \
                     to twice the deadline, or more than 0",
                    ms(rule.lifetime),
                    ms(rule.deadline)
                ),
            );
        }
        if self.ttl > Span::from_secs(24 * 3600) {
            return refuse(&["ttl"], format!("ttl is {} ms; at most a day", ms(self.ttl)));
        }
        Ok(())
    }
}

/// Settings that cannot work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError {
    /// The settings that contradict each other.
    pub names: &'static [&'static str],
    text: String,
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for SettingsError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_settings_work() {
        assert_eq!(Settings::default().check(), Ok(()));
    }

    #[test]
    fn others_are_told_at_ticks_and_answers_go_between_them() {
        let settings = Settings::default();
        for now in 0..1_000 {
            let (told, answered) = (
                settings.tells_at(Time::from_millis(now)),
                settings.answers_at(Time::from_millis(now)),
            );
            assert!(told.as_millis() % 20 == 0 && (1..=20).contains(&(told.as_millis() - now)));
            let waits = answered.as_millis() - now;
            assert!(answered.as_millis() % 20 == 15 && (5..25).contains(&waits), "{now}: {waits}");
        }
        let at_once = Settings { tick: Span::ZERO, ..settings };
        let now = Time::from_millis(7);
        assert_eq!((at_once.tells_at(now), at_once.answers_at(now)), (now, now));
        let short = Settings { tick: Span::from_millis(1), ..settings };
        assert!(short.answers_at(now) <= now + Span::from_millis(1));
        let quick = Settings { tick: Span::from_millis(4), ..settings };
        let answered = [8, 9, 10, 11].map(|it| quick.answers_at(Time::from_millis(it)).as_millis());
        assert_eq!(answered, [11, 11, 15, 15]);
    }

    #[test]
    fn a_warmup_shorter_than_the_way_back_is_doubted_and_names_both() {
        assert_eq!(Settings::default().doubt(), None);
        let short = Settings {
            beat: Span::from_secs(3),
            ttl: Span::from_secs(12),
            grace: Span::from_secs(3),
            ..Settings::default()
        };
        let doubt = short.doubt().unwrap();
        assert!(doubt.contains("15000 ms (ttl + grace)") && doubt.contains("40000 ms"), "{doubt}");
        assert_eq!(Settings { warmup: Some(CLIENTS_RETURN), ..short }.doubt(), None);
    }

    #[test]
    fn a_ttl_too_short_for_the_beat_is_refused_and_names_both() {
        let settings =
            Settings { beat: Span::from_secs(30), ttl: Span::from_secs(30), ..Settings::default() };
        let error = settings.check().unwrap_err();
        assert_eq!(error.names, ["ttl", "beat"]);
        assert!(error.to_string().contains("65250 ms"), "{error}");
    }

    #[test]
    fn a_grace_shorter_than_the_sweep_is_refused_and_names_both() {
        let settings = Settings { grace: Span::from_millis(100), ..Settings::default() };
        assert_eq!(settings.check().unwrap_err().names, ["grace", "sweep"]);
    }
}
