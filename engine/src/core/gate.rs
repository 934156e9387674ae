//! The gate: what a viewer may see of a user.
//!
//! A [`Glimpse`] can be made here only, and everything that tells of a user is built from one.
//! So no path leads round the check (rule 13).

use greendot_protocol::{Entry, Span, State, Time, Version};

use super::directory::Record;

/// How much a viewer may see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Sight {
    /// What the public may see.
    #[default]
    Public,
    /// Everything: the viewer is the user.
    Own,
}

/// What a viewer may see of a user.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Glimpse<'a> {
    state: State,
    version: Version,
    seen: Option<Time>,
    note: &'a str,
}

impl<'a> Glimpse<'a> {
    /// Looks at a record through the gate. `warming`: the epoch is so young that nobody can say
    /// of users not heard from whether they are there (rule 12 a).
    pub(crate) fn of(record: &'a Record, sight: Sight, warming: bool) -> Self {
        let face = match sight {
            Sight::Public => record.public,
            Sight::Own => record.own,
        };
        if face.state != State::Offline {
            return Self {
                state: face.state,
                version: face.version,
                seen: None,
                note: &record.note,
            };
        }
        if warming && !record.heard {
            return Self::unknown();
        }
        Self { state: State::Offline, version: face.version, seen: record.seen, note: "" }
    }

    /// What there is to see of a user never heard of.
    pub(crate) fn of_nobody(warming: bool) -> Self {
        if warming { Self::unknown() } else { Self { state: State::Offline, ..Self::unknown() } }
    }

    /// Nobody can say.
    pub(crate) const fn unknown() -> Self {
        Self { state: State::Unknown, version: Version(0), seen: None, note: "" }
    }

    /// The state.
    pub fn state(&self) -> State {
        self.state
    }

    /// The number of the latest change that may be seen.
    pub fn version(&self) -> Version {
        self.version
    }

    /// When the user was last seen; only while offline.
    pub fn seen(&self) -> Option<Time> {
        self.seen
    }

    /// The user's note; empty if there is none.
    pub fn note(&self) -> &'a str {
        self.note
    }

    /// Whether there is nothing to say: offline, and never seen.
    pub(crate) fn is_blank(&self) -> bool {
        self.state == State::Offline && self.version == Version(0) && self.seen.is_none()
    }

    /// The entry for a watcher that knows the user under `number`, with versions moved by
    /// `offset` (see [`super::watches`]).
    pub(crate) fn entry(&self, now: Time, number: u32, version: Version) -> Entry<'a> {
        Entry {
            number,
            state: self.state,
            version,
            seen_ago: self.seen.map(|at| Span::from_millis(now.since(at).as_millis())),
            note: self.note,
        }
    }
}
