//! The gate: what a viewer may see of a user.
//!
//! A [`Glimpse`] can be made here only, and everything that tells of a user is built from one.
//! So no path leads round the check (rule 13).

use greendot_protocol::sabotage::{Fault, on};
use greendot_protocol::{Entry, Span, State, Time, Version};

use super::directory::{Bar, Record, Screen};

/// How much of a user an application lets a viewer see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fineness {
    /// Nothing: the user looks like one who is offline and was never seen.
    Nothing,
    /// When the user was there last, by the day, and never that it is there now.
    LastSeen,
    /// All that others may see.
    #[default]
    Live,
}

/// How exactly a user lets others see when it was there last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LastSeen {
    /// To the moment.
    #[default]
    Exact,
    /// To the moment, but not before [`DELAY`] has passed.
    Delayed,
    /// Rounded down to five minutes.
    Rounded,
    /// In words: recently, this week; older than that: not at all.
    Words,
    /// Not at all.
    Never,
}

/// What [`LastSeen::Delayed`] waits for.
pub const DELAY: Span = Span::from_secs(15 * 60);

/// What [`LastSeen::Rounded`] rounds to.
const ROUNDED: Span = Span::from_secs(5 * 60);

/// In words nothing turns more often than this: whoever asks again and again learns the quarter
/// of a day, and no more.
const QUARTER: Span = Span::from_secs(6 * 3600);

/// "Recently" goes back as far as this, and is told as this age.
pub const RECENTLY: Span = Span::from_secs(3 * 24 * 3600);

/// "This week" goes back as far as this, and is told as this age.
pub const THIS_WEEK: Span = Span::from_secs(7 * 24 * 3600);

/// By what a glimpse is taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Light {
    /// The time.
    pub(crate) now: Time,
    /// The epoch is so young that nobody can say of users not heard from whether they are there
    /// (rule 12 a).
    pub(crate) warming: bool,
    /// Where rounded times begin. It is the same moment on every node, or two of them would tell
    /// together what neither tells alone.
    pub(crate) grid: Time,
}

/// How one viewer looks at one user.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sight {
    own: bool,
    fineness: Fineness,
    screen: Option<Screen>,
    /// By how much the viewer's numbering is behind the record's.
    behind: i64,
}

impl Sight {
    /// The viewer is the user: it sees everything.
    pub(crate) const OWN: Self =
        Self { own: true, fineness: Fineness::Live, screen: None, behind: 0 };

    /// Another viewer, of whom nothing is said.
    pub(crate) const PUBLIC: Self = Self { own: false, ..Self::OWN };

    /// As the application lets it.
    pub(crate) const fn allowed(self, fineness: Fineness) -> Self {
        Self { fineness, ..self }
    }

    /// With what the engine keeps of the two.
    pub(crate) fn through(self, bar: Option<&Bar>) -> Self {
        match bar {
            Some(bar) if !self.own => {
                let behind = if on(Fault::BlockLeavesGap) { 0 } else { bar.behind };
                Self { screen: bar.screen, behind, ..self }
            }
            _ => self,
        }
    }

    /// Whether nothing stands between the two.
    pub(crate) fn is_clear(self) -> bool {
        self.screen.is_none() && self.fineness == Fineness::Live
    }

    /// The viewer lost sight of the user while it looked, and sees this since.
    pub(crate) fn shut(self, screen: Screen) -> Self {
        if self.own {
            self
        } else {
            Self { screen: Some(screen), fineness: Fineness::Live, ..self }
        }
    }
}

/// What a viewer may see of a user.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Glimpse<'a> {
    state: State,
    version: Version,
    seen: Option<Seen>,
    note: &'a str,
}

/// What may be told of when a user was last seen.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Seen {
    At(Time),
    /// Within this time after it.
    After(Time),
    /// Within this time, in words.
    Within(Span),
}

impl<'a> Glimpse<'a> {
    /// Looks at a record through the gate.
    pub(crate) fn of(record: &'a Record, sight: Sight, light: Light) -> Self {
        let (face, behind) =
            if sight.own { (record.own, 0) } else { (record.public, sight.behind) };
        let wish = if sight.own { LastSeen::Exact } else { record.wish };
        if sight.fineness == Fineness::Nothing {
            return Self::of_nobody(light);
        }
        if let Some(screen) = sight.screen {
            return Self::gone(screen.version, screen.seen, screen.heard, wish, light);
        }
        if sight.fineness == Fineness::LastSeen {
            // While the user is there, it is now; in words, that says no more than "recently".
            let seen = if face.is_present() { Some(light.now) } else { record.seen };
            let wish = if wish == LastSeen::Never { wish } else { LastSeen::Words };
            return Self::gone(Version(0), seen, record.heard, wish, light);
        }
        let version = shifted(face.version, behind);
        if face.state != State::Offline {
            let (state, note) = (face.state, &*record.note);
            return Self { state, version, seen: None, note };
        }
        Self::gone(version, record.seen, record.heard, wish, light)
    }

    /// Looks at one of whom a crowd is told no more than whether it was there within the hour
    /// (rule 15).
    pub(crate) fn of_afar(record: &'a Record, sight: Sight, light: Light) -> Self {
        let near = Self::of(record, sight, light);
        if sight.own || near.state == State::Unknown {
            return near;
        }
        let lately = near.seen_ago(light.now).is_some_and(|it| it < HOUR);
        if near.state == State::Offline && !lately {
            return near;
        }
        Self { state: State::Online, seen: None, note: "", ..near }
    }

    /// One who is not there.
    fn gone(
        version: Version,
        seen: Option<Time>,
        heard: bool,
        wish: LastSeen,
        light: Light,
    ) -> Self {
        if light.warming && !heard {
            return Self::unknown();
        }
        let seen = seen.and_then(|at| told(at, wish, light));
        Self { state: State::Offline, version, seen, note: "" }
    }

    /// What there is to see of a user never heard of.
    pub(crate) fn of_nobody(light: Light) -> Self {
        if light.warming {
            Self::unknown()
        } else {
            Self { state: State::Offline, ..Self::unknown() }
        }
    }

    /// Nobody can say.
    pub(crate) const fn unknown() -> Self {
        Self { state: State::Unknown, version: Version(0), seen: None, note: "" }
    }

    /// What the viewer is shown from now on if it loses sight of the user now: what it would see
    /// if the user said bye (rule 13).
    pub(crate) fn closing(&self, now: Time) -> Screen {
        if self.is_present() {
            return Screen { version: self.version.next(), seen: Some(now), heard: true };
        }
        let heard = self.state != State::Unknown;
        Screen { version: self.version, seen: self.seen(), heard }
    }

    /// Whether the user is there, as far as may be seen.
    pub fn is_present(&self) -> bool {
        !matches!(self.state, State::Offline | State::Unknown)
    }

    /// The state.
    pub fn state(&self) -> State {
        self.state
    }

    /// The number of the latest change that may be seen.
    pub fn version(&self) -> Version {
        self.version
    }

    /// When the user was last seen, if that is told as a time; only while offline.
    pub fn seen(&self) -> Option<Time> {
        match self.seen? {
            Seen::At(at) | Seen::After(at) => Some(at),
            Seen::Within(_) => None,
        }
    }

    /// How long ago the user was last seen; only while offline.
    pub fn seen_ago(&self, now: Time) -> Option<Span> {
        Some(match self.seen? {
            Seen::At(at) | Seen::After(at) => now.since(at),
            Seen::Within(span) => span,
        })
    }

    /// Whether [`Self::seen_ago`] is no more than a bound: the user was seen since, and more is not
    /// to be told.
    pub fn is_coarse(&self) -> bool {
        matches!(self.seen, Some(Seen::After(_) | Seen::Within(_)))
    }

    /// The user's note; empty if there is none.
    pub fn note(&self) -> &'a str {
        self.note
    }

    /// Whether there is nothing to say: offline, and never seen.
    pub(crate) fn is_blank(&self) -> bool {
        self.state == State::Offline && self.version == Version(0) && self.seen.is_none()
    }

    /// The entry for a watcher that knows the user under `number`, with the version that it is
    /// shown (see [`super::watches`]).
    pub(crate) fn entry(&self, now: Time, number: u32, version: Version) -> Entry<'a> {
        Entry {
            number,
            state: self.state,
            version,
            seen_ago: self.seen_ago(now),
            coarse: self.is_coarse(),
            note: self.note,
        }
    }
}

/// How long after it was there a user still counts as active for a crowd.
pub(crate) const HOUR: Span = Span::from_secs(3600);

/// A version in the numbering of a viewer that is behind by so many.
fn shifted(version: Version, behind: i64) -> Version {
    let number = i64::from(version.0) - behind;
    Version(u32::try_from(number.max(0)).unwrap_or(u32::MAX))
}

/// What is told of when a user was last seen.
///
/// What is rounded is the time, never its age: the moment at which a rounded age turns would give
/// the time away.
fn told(at: Time, wish: LastSeen, light: Light) -> Option<Seen> {
    match wish {
        LastSeen::Exact => Some(Seen::At(at)),
        LastSeen::Delayed => (light.now >= at + DELAY).then_some(Seen::At(at)),
        LastSeen::Rounded => Some(Seen::After(rounded(at, ROUNDED, light.grid))),
        LastSeen::Words => {
            let since = light.now.since(rounded(at, QUARTER, light.grid));
            let word = [RECENTLY, THIS_WEEK].into_iter().find(|it| since < *it);
            word.map(Seen::Within)
        }
        LastSeen::Never => None,
    }
}

fn rounded(at: Time, to: Span, grid: Time) -> Time {
    let to = to.as_millis();
    // Where the grid lies matters only up to a whole step, so that it may begin after `at`.
    let phase = grid.as_millis() % to;
    let steps = (at.as_millis() + to - phase) / to;
    Time::from_millis((steps * to + phase).saturating_sub(to))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Time {
        Time::from_millis(secs * 1000)
    }

    fn light(now: u64) -> Light {
        Light { now: at(now), warming: false, grid: at(7) }
    }

    fn told_of(seen: u64, now: u64, wish: LastSeen) -> Option<u64> {
        let seen = told(at(seen), wish, light(now));
        Glimpse { seen, ..Glimpse::unknown() }.seen_ago(at(now)).map(Span::as_secs)
    }

    #[test]
    fn a_rounded_time_does_not_turn_while_time_goes_by() {
        for later in 0..2_000 {
            assert_eq!(told_of(1_000, 1_000 + later, LastSeen::Rounded), Some(93 + later));
        }
        // The step begins at 907: two users seen within it cannot be told apart.
        assert_eq!(told_of(907, 3_000, LastSeen::Rounded), Some(2_093));
        assert_eq!(told_of(1_206, 3_000, LastSeen::Rounded), Some(2_093));
        assert_eq!(told_of(1_207, 3_000, LastSeen::Rounded), Some(1_793));
    }

    #[test]
    fn words_turn_at_the_quarters_of_a_day_alone() {
        let day = 24 * 3600;
        let (one, other) = (10 * day + 100, 10 * day + 5 * 3600);
        for hours in 6..24 * 9 {
            let now = 10 * day + hours * 3600;
            let told = told_of(one, now, LastSeen::Words);
            assert_eq!(told, told_of(other, now, LastSeen::Words), "after {hours} h");
        }
        assert_eq!(told_of(one, one + day, LastSeen::Words), Some(RECENTLY.as_secs()));
        assert_eq!(told_of(one, one + 5 * day, LastSeen::Words), Some(THIS_WEEK.as_secs()));
        assert_eq!(told_of(one, one + 8 * day, LastSeen::Words), None);
    }

    #[test]
    fn a_delayed_time_waits_and_a_private_one_never_comes() {
        assert_eq!(told_of(1_000, 1_899, LastSeen::Delayed), None);
        assert_eq!(told_of(1_000, 1_900, LastSeen::Delayed), Some(900));
        assert_eq!(told_of(1_000, 9_999_999, LastSeen::Never), None);
    }
}
