//! Small sets: the states that a user may be in, the flags that a session may have.

use greendot_protocol::State;

/// A set of states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct States(u8);

impl States {
    pub(super) const ALL: Self = Self(0b11_1111);

    pub(super) const fn only(state: State) -> Self {
        Self(1 << state as u8)
    }

    pub(super) const fn with(self, state: State) -> Self {
        Self(self.0 | 1 << state as u8)
    }

    pub(super) const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn without(self, state: State) -> Self {
        Self(self.0 & !(1 << state as u8))
    }

    pub(super) const fn has(self, state: State) -> bool {
        self.0 & (1 << state as u8) != 0
    }

    /// Whether nobody can be shown in it as being there.
    pub(super) const fn is_absent(self) -> bool {
        self.0 & !Self::only(State::Offline).with(State::Unknown).0 == 0
    }

    /// The state, if there is just one.
    pub(super) fn single(self) -> Option<State> {
        State::ALL.into_iter().find(|&it| self == Self::only(it))
    }

    pub(super) fn words(self) -> String {
        let names: Vec<&str> =
            State::ALL.into_iter().filter(|&it| self.has(it)).map(State::name).collect();
        names.join(" or ")
    }
}

/// What a session's flag may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flags {
    pub(super) active: bool,
    pub(super) idle: bool,
}

impl Flags {
    pub(super) const NONE: Self = Self { active: false, idle: false };
    pub(super) const ACTIVE: Self = Self { active: true, idle: false };
    pub(super) const IDLE: Self = Self { active: false, idle: true };
    pub(super) const EITHER: Self = Self { active: true, idle: true };

    pub(super) const fn union(self, other: Self) -> Self {
        Self { active: self.active || other.active, idle: self.idle || other.idle }
    }
}
