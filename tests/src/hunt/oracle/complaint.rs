//! What an oracle has to say about a world in which a rule was broken.

use std::fmt;

use greendot_protocol::State;

/// A rule that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// Which promise was broken.
    pub kind: Kind,
    /// When, in ms.
    pub at: u64,
    /// What was seen, and what the rules allow.
    pub text: String,
    /// Where it shows, for an expectation that shows it too.
    pub place: Place,
}

/// Where a fault shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// No expectation of the format shows it.
    #[default]
    Nowhere,
    /// A watcher was sent an event that it must not be sent.
    Event {
        /// The watcher.
        watcher: String,
        /// About whom.
        user: String,
    },
    /// A watcher was not sent what it should have been.
    Missing {
        /// The watcher.
        watcher: String,
        /// About whom.
        user: String,
        /// The state that should be shown.
        state: State,
    },
    /// A device shows something wrong.
    View {
        /// The device.
        device: String,
        /// About whom.
        user: String,
        /// What it should show.
        state: State,
    },
}

/// The promises. The shrinker looks for a smaller world that breaks the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each says what its text says")]
pub enum Kind {
    OfflineTooEarly,
    PresentTooLong,
    HiddenShown,
    UnknownWithoutCause,
    WrongState,
    WrongNote,
    ChangeNotTold,
    EventRepeats,
    ToldTooOften,
    VersionNotRising,
    VersionSkips,
    GapInVersions,
    EventBeforeSnapshot,
    SnapshotNotAsked,
    SnapshotMissing,
    AnswerWrong,
    RoomNotAsked,
    RosterWrong,
    CrowdWrong,
    SnapshotLeavesOut,
    WrongEpoch,
    LastSeenWrong,
    LastSeenBack,
    ClosedWithoutCause,
    TokenOutlived,
    NotReplaced,
    NodeNeverDone,
    InvisibleNamed,
    WrongMode,
    OutboxGrows,
    ViewWrong,
    ViewForgotten,
    ViewKept,
    ViewOldNotStale,
    CallbackRepeats,
    CallbackMissing,
    TwoConnections,
    BeatMissing,
    LinkGivenUp,
    LinkStuck,
    StaleAtQuiet,
    StaleNotTold,
    SessionsWrong,
    OwnSessionsWrong,
    Leak,
    Stopped,
    Panic,
}

impl Kind {
    /// The promise, in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::OfflineTooEarly => "nobody is shown offline before the rules allow",
            Self::PresentTooLong => "nobody is shown as there once the session must have ended",
            Self::HiddenShown => "an invisible user is never shown",
            Self::UnknownWithoutCause => "unknown is said only where nobody can say",
            Self::WrongState => "the state follows from sessions and mode",
            Self::WrongNote => "the note is the user's, and only while the user is there",
            Self::ChangeNotTold => "each change is told in time",
            Self::ToldTooOften => "a crowd is told of a user at a bounded rate",
            Self::EventRepeats => "no change, no event",
            Self::VersionNotRising => "versions rise on a connection",
            Self::VersionSkips => "the version rises by 1 with each change",
            Self::GapInVersions => "changes that were hidden leave no gap in versions",
            Self::EventBeforeSnapshot => "a snapshot comes first",
            Self::SnapshotNotAsked => "a watch is answered by just one snapshot",
            Self::RoomNotAsked => "only who has joined a room is told of it",
            Self::RosterWrong => "a roster shows who is there and may be seen, and nobody else",
            Self::CrowdWrong => "a room above its limit tells a count, in time and not too often",
            Self::AnswerWrong => "an answer speaks of all who were asked about and may be seen",
            Self::SnapshotMissing => "each watch is answered",
            Self::SnapshotLeavesOut => "a snapshot leaves out only who was never seen",
            Self::WrongEpoch => "a connection is spoken to in its node's epoch",
            Self::LastSeenWrong => "last seen is when the last frame arrived",
            Self::LastSeenBack => "last seen never goes back",
            Self::ClosedWithoutCause => "no connection is closed without a cause",
            Self::TokenOutlived => "a token that ends takes its connection with it",
            Self::NotReplaced => "a take-over closes the old connection",
            Self::NodeNeverDone => "a node does not go in circles",
            Self::InvisibleNamed => "no frame to others names invisible",
            Self::WrongMode => "a user's own sessions are told the mode as it is",
            Self::OutboxGrows => "at most one entry a user waits for a watcher",
            Self::ViewWrong => "a view shows what the engine said last",
            Self::ViewForgotten => "a view is kept for ttl + grace of being cut off",
            Self::ViewKept => "a view cut off for longer shows unknown",
            Self::ViewOldNotStale => "a view that may be old says so",
            Self::CallbackRepeats => "the app is called only for changes",
            Self::CallbackMissing => "the app is called for each change",
            Self::TwoConnections => "a client has one connection at a time",
            Self::BeatMissing => "a live client is heard at least once a beat",
            Self::LinkGivenUp => "a link that answers is not given up",
            Self::LinkStuck => "a lost link comes back",
            Self::StaleAtQuiet => "once all is well the view is live",
            Self::StaleNotTold => "clients are told within 5 s whether what they see may be old",
            Self::SessionsWrong => "the engine holds the sessions that are there",
            Self::OwnSessionsWrong => "a user's own sessions are told which there are",
            Self::Leak => "nothing is left behind",
            Self::Stopped => "a link stops only for a reason that says stop",
            Self::Panic => "nothing panics",
        }
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, at) = (self.kind, self.at as f64 / 1e3);
        write!(f, "{kind:?} at {at} s: {}: {}", kind.words(), self.text)
    }
}
