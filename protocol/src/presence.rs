//! The words of presence: state, mode, version, epoch.

/// What others see of a user (rule 5). The discriminants are the wire's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum State {
    /// No session is live or lingering, or the user may not be seen.
    #[default]
    Offline = 0,
    /// At least one session is active.
    Online = 1,
    /// Every session is idle, or the user chose it.
    Away = 2,
    /// In a call, or the user chose it.
    Busy = 3,
    /// Do not disturb: always the user's own choice.
    Dnd = 4,
    /// Nobody can say (rule 12). Not the same as offline.
    Unknown = 5,
}

impl State {
    /// Every state, in wire order.
    pub const ALL: [Self; 6] =
        [Self::Offline, Self::Online, Self::Away, Self::Busy, Self::Dnd, Self::Unknown];

    /// The state with this wire number.
    pub const fn from_wire(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(Self::Offline),
            1 => Some(Self::Online),
            2 => Some(Self::Away),
            3 => Some(Self::Busy),
            4 => Some(Self::Dnd),
            5 => Some(Self::Unknown),
            _ => None,
        }
    }

    /// The state's name, as in RULES.md and in the demo's `data-state`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Offline => "offline",
            Self::Online => "online",
            Self::Away => "away",
            Self::Busy => "busy",
            Self::Dnd => "dnd",
            Self::Unknown => "unknown",
        }
    }
}

/// A user's own choice of how to appear. It belongs to the user and outlives sessions (rule 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Mode {
    /// The state follows from the sessions.
    #[default]
    Auto = 0,
    /// Shown as away while any session is there.
    Away = 1,
    /// Shown as busy while any session is there.
    Busy = 2,
    /// Shown as dnd while any session is there.
    Dnd = 3,
    /// Shown to others as offline.
    Invisible = 4,
}

impl Mode {
    /// Every mode, in wire order.
    pub const ALL: [Self; 5] = [Self::Auto, Self::Away, Self::Busy, Self::Dnd, Self::Invisible];

    /// The mode with this wire number.
    pub const fn from_wire(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(Self::Auto),
            1 => Some(Self::Away),
            2 => Some(Self::Busy),
            3 => Some(Self::Dnd),
            4 => Some(Self::Invisible),
            _ => None,
        }
    }

    /// The mode's name, as in RULES.md.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Away => "away",
            Self::Busy => "busy",
            Self::Dnd => "dnd",
            Self::Invisible => "invisible",
        }
    }
}

/// The number of a user's latest visible change, comparable inside one [`Epoch`] only.
///
/// 0 stands for a user of whom nothing was ever told. At `u32::MAX` it stays there: at a change a
/// second that is 136 years away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u32);

/// The span in which versions can be compared. Opaque: two epochs are the same or they are not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Epoch(pub u32);

/// Counts a user's explicit choices of mode, so that of two repeated choices the newer is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(pub u32);

impl Version {
    /// The version after this one.
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl Revision {
    /// The revision after this one.
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}
