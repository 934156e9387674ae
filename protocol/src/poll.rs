//! One read of some users over HTTP, for those who cannot hold a connection (rule 16).

use alloc::vec::Vec;

use crate::{Member, ModeChoice, Span, State};

/// What a poll asks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Poll<'a> {
    /// The users.
    pub users: Vec<&'a str>,
    /// What the last answer about the same users gave; empty: tell everything.
    pub mark: &'a str,
    /// The session that the poll keeps alive; empty: none.
    pub session: &'a str,
    /// How soon the next poll comes: the session lives for twice as long. Zero: the server's default.
    pub interval: Span,
    /// Idle or active, if the client wants to say.
    pub idle: Option<bool>,
    /// The user's mode as this client knows it, as in a hello.
    pub mode: Option<ModeChoice>,
    /// The rooms that the session is in, these and no others; none: nothing is said of rooms.
    pub rooms: Option<Vec<&'a str>>,
}

/// The answer to a poll.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Polled<'a> {
    /// Whether it speaks of all users asked about: those that are not listed are offline and were
    /// never seen. Else it lists those that look otherwise than the mark told.
    pub full: bool,
    /// For the next poll of the same users.
    pub mark: &'a str,
    /// The users.
    pub users: Vec<PolledUser<'a>>,
    /// The rooms that the poll named, whole, but for those of which nobody can say who is there.
    pub rooms: Vec<PolledRoom<'a>>,
}

/// A room in the answer to a poll.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PolledRoom<'a> {
    /// The room's id.
    pub room: &'a str,
    /// Whether the user may not be there.
    pub refused: bool,
    /// About how many are there, if these are only some of them.
    pub count: Option<u32>,
    /// Who is there, as far as this user may see.
    pub members: Vec<Member<'a>>,
}

/// A user in the answer to a poll.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PolledUser<'a> {
    /// The user's name.
    pub user: &'a str,
    /// What may be seen.
    pub state: State,
    /// How long ago the user was last seen; only while offline.
    pub seen_ago: Option<Span>,
    /// Whether that is no more than a bound.
    pub coarse: bool,
    /// The user's note; empty if there is none.
    pub note: &'a str,
}
