//! What the store answers.

use greendot_protocol::{Epoch, Mode, Revision, Span, Time};

use super::claim::NodeId;
use super::report::{OutlookReport, Report};
use crate::core::directory::Roster;

/// What the store answers. Every answer names the epoch: another one than before means that the
/// store has lost what it held.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The epoch of all versions in it.
    pub epoch: Epoch,
    /// When it was said, by the store's clock; ages in it count from there.
    pub at: Time,
    /// For how long users not heard from are still unknown (rule 12 a).
    pub warming: Span,
    /// Rises by 1 with each notice to this run of the node, which sees from it whether one was lost
    /// on the way. It never starts at the same number twice: a run that the store has forgotten in
    /// a long silence sees that, too.
    pub told: u64,
    /// The answer.
    pub held: HeldBy,
    /// The users of whom it speaks.
    pub reports: Vec<Report>,
    /// What stands between the viewers of whom it speaks and others.
    pub outlooks: Vec<OutlookReport>,
    /// Who is in the rooms of which it speaks.
    pub rooms: Vec<Roster>,
    /// The users whose public face this request turned.
    pub turned: Vec<Report>,
    /// Where the sessions are of the user that was to be located.
    pub places: Vec<Place>,
}

/// Where a session is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The run of a node that holds it.
    pub node: NodeId,
    /// The session's id.
    pub session: Box<str>,
    /// Tells the connects of one id apart; a later one is higher.
    pub generation: u64,
    /// Whether its connection has ended and it still counts.
    pub lingering: bool,
    /// Whether it is idle.
    pub idle: bool,
    /// Whether it is passive.
    pub passive: bool,
    /// When it ends if nothing more is heard of it: by its own deadline, or by its node's lease, which has it end no sooner
    /// than it may (rule 10).
    pub ends_in: Span,
}

/// What a request about a session found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldBy {
    /// The request was not about one session.
    Nobody,
    /// The node that asked holds it.
    You {
        /// The session's generation.
        generation: u64,
        /// The user's mode.
        mode: Mode,
        /// The number of the choice of mode.
        revision: Revision,
        /// Whether it is idle: the flag carries over from where it connected before (rule 4).
        idle: bool,
    },
    /// A later connect holds it.
    Another,
    /// It is over: its lease ran out while its node could not reach the store, and the store has ended it.
    Over,
    /// It may not be held: the account is revoked.
    Revoked,
    /// It may not be held: the user has too many sessions.
    Full,
}
