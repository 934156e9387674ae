//! A state with the version of its latest change.

use greendot_protocol::sabotage::{Fault, on};
use greendot_protocol::{Mode, State, Version};

/// What a group of watchers is shown of a user: others see the public face, the user's own
/// sessions the true one (rule 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Face {
    /// The state.
    pub state: State,
    /// The number of the latest change of (state, note).
    pub version: Version,
}

impl Face {
    /// Whether the user is there in this face's eyes.
    pub fn is_present(&self) -> bool {
        !matches!(self.state, State::Offline | State::Unknown)
    }

    /// Takes a state; true if that is a change.
    pub(super) fn turn(&mut self, state: State) -> bool {
        let changed = self.state != state;
        if changed {
            self.state = state;
            if !on(Fault::VersionStays) {
                self.version = self.version.next();
            }
        }
        changed
    }

    /// Counts a change of the note, which is seen only while the user is there.
    pub(super) fn note_changed(&mut self) -> bool {
        let seen = self.state != State::Offline;
        if seen {
            self.version = self.version.next();
        }
        seen
    }
}

/// What the live and lingering sessions of a user add up to. Passive ones are left out.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) any: bool,
    pub(super) active: bool,
}

impl Tally {
    /// Of one session.
    pub(super) fn of(passive: bool, idle: bool) -> Self {
        Self { any: !passive, active: !passive && (!idle || on(Fault::IdleIgnored)) }
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self { any: self.any | other.any, active: self.active | other.active }
    }

    /// The true state: what the user's own sessions see (rule 5).
    pub(super) fn own(self, mode: Mode) -> State {
        if !self.any {
            return State::Offline;
        }
        match mode {
            Mode::Away => State::Away,
            Mode::Busy => State::Busy,
            Mode::Dnd => State::Dnd,
            Mode::Auto | Mode::Invisible if self.active => State::Online,
            Mode::Auto | Mode::Invisible => State::Away,
        }
    }

    /// What everybody else sees.
    pub(super) fn public(self, mode: Mode) -> State {
        if mode == Mode::Invisible && !on(Fault::HiddenShown) {
            State::Offline
        } else {
            self.own(mode)
        }
    }
}
