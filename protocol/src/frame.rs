//! The frames, apart from how they are encoded.
//!
//! Frames borrow their texts from the buffer they were read from, so that reading costs no copy.

use alloc::vec::Vec;

use crate::{CloseCode, Epoch, Mode, Revision, Span, State, Version};

/// In [`ClientFrame::Leave`]: all rooms that this connection has not joined, unless it has joined one by this number.
pub const OTHER_ROOMS: u32 = 0;

/// What a client says.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ClientFrame<'a> {
    /// The first frame of a connection: who I am.
    Hello(Hello<'a>),
    /// I am still here; the server answers with the same number.
    Beat(Beat),
    /// Show me these users, each under a number of my choice. Answered by one snapshot.
    Watch {
        /// Comes back in the snapshot; 1 or more.
        request: u32,
        /// The users. A number in use already moves to the new user.
        users: Vec<WatchItem<'a>>,
    },
    /// These numbers are no longer of interest. Unknown ones are passed over.
    Unwatch {
        /// Numbers from earlier watches.
        numbers: Vec<u32>,
    },
    /// My user's own choice of how to appear.
    Mode(Mode),
    /// My user's note; empty takes it away.
    Note(&'a str),
    /// The person has not touched this device for a while.
    Idle,
    /// The person is back at this device.
    Active,
    /// The page goes away and may come back: the session lingers.
    Closing,
    /// A clean goodbye: the session ends at once.
    Bye,
    /// A fresh token, before the one that the connection rests on ends. Answered by how long it
    /// lasts, or by an error: then the old one stays in force.
    Token(&'a str),
    /// My session goes into a room, and I want to be told who is there. Joining a room again is no
    /// error: it is told anew, under the number given last.
    Join {
        /// The number that will stand for the room on this connection.
        number: u32,
        /// The room's id.
        room: &'a str,
    },
    /// My session leaves a room. A number that stands for none is passed over, but for [`OTHER_ROOMS`].
    Leave {
        /// The room's number.
        number: u32,
    },
    /// Tell me my user's own sessions from now on, or no more.
    Own(bool),
    /// Another session of my user is to end; one that is not there is passed over.
    End {
        /// The session's id.
        session: &'a str,
    },
}

/// The first frame of a connection.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hello<'a> {
    /// The session's id, a claim inside the user's own names.
    pub session: &'a str,
    /// What the application checks; says who the user is.
    pub token: &'a str,
    /// A passive session (push wake-up, bot, viewer) does not count for the user's state.
    pub passive: bool,
    /// Idle or active, if the client wants to say; else what was known of the session goes on.
    pub idle: Option<bool>,
    /// Age of the last input in seconds, at most [`crate::limits::INPUT_AGE_SECS`].
    pub input_age_secs: Option<u32>,
    /// After how many seconds without input this device counts as idle; 0: never. None: the
    /// server's own setting.
    pub idle_after_secs: Option<u32>,
    /// The user's mode as this client knows it, or as it was chosen while the link was down.
    pub mode: Option<ModeChoice>,
    /// What the person may call this device, for a list of the user's own sessions; may be empty.
    pub device: &'a str,
}

/// A user's mode, with what is needed to weigh it against another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModeChoice {
    /// The mode.
    pub mode: Mode,
    /// The number of the choice, as the server told it last.
    pub revision: Revision,
    /// Whether this is a new choice, not yet told, or a repetition of one that the server may
    /// have lost (rule 5).
    pub fresh: bool,
}

/// A heartbeat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beat {
    /// Comes back in the answer: an answer that waited through a sleep proves nothing.
    pub number: u8,
    /// Age of the last input in seconds, at most [`crate::limits::INPUT_AGE_SECS`]; None: not told.
    pub input_age_secs: Option<u32>,
}

/// One user to watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchItem<'a> {
    /// The number that will stand for the user on this connection.
    pub number: u32,
    /// The user's name.
    pub user: &'a str,
}

/// What a server says.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ServerFrame<'a> {
    /// The answer to a hello.
    Welcome(Welcome<'a>),
    /// The answer to a beat: its number.
    BeatAnswer(u8),
    /// The state of watched users, whole. Those of the answered watch that are not listed are
    /// offline and were never seen.
    Snapshot {
        /// The epoch of its versions.
        epoch: Epoch,
        /// The watch it answers; 0: it answers none and speaks of every user watched on this
        /// connection (a new epoch began).
        request: u32,
        /// The users.
        entries: Vec<Entry<'a>>,
    },
    /// Changes of watched users.
    Events {
        /// The epoch of its versions.
        epoch: Epoch,
        /// The users, each at most once.
        entries: Vec<Entry<'a>>,
    },
    /// The user's own mode, as it is now.
    Mode {
        /// The mode.
        mode: Mode,
        /// The number of the choice.
        revision: Revision,
    },
    /// Something the client asked for was not done. The connection goes on.
    Error {
        /// What was wrong.
        code: ErrorCode,
        /// The watch request, watch number, room number or 0 that it is about.
        about: u32,
        /// For people: the culprit and the next step.
        text: &'a str,
    },
    /// From now on the node's word may be old (true), or is good again (false) (rule 12 b).
    Stale(bool),
    /// Said before the connection is closed, where a number alone would not do.
    Close {
        /// The code that the connection will be closed with.
        code: CloseCode,
        /// Come back no sooner than after this time; zero: as the client likes.
        retry_after: Span,
    },
    /// The fresh token was taken.
    Token {
        /// How long it lasts; zero: it does not end.
        lasts: Span,
    },
    /// Who is in a room, whole: as far as this client may see, each user once.
    Room {
        /// The client's number for the room.
        number: u32,
        /// The members.
        members: Vec<Member<'a>>,
    },
    /// What changed in a room.
    RoomEvents {
        /// The client's number for the room.
        number: u32,
        /// The members who came or look otherwise; those who are offline are there no more.
        members: Vec<Member<'a>>,
    },
    /// How many are in a room that is too large to name all.
    Crowd {
        /// The client's number for the room.
        number: u32,
        /// About how many users.
        count: u32,
        /// Some of them, the same ones as long as they are there.
        sample: Vec<Member<'a>>,
    },
    /// The sessions of the client's own user, whole.
    Sessions(Vec<OwnSession<'a>>),
}

/// A user in a room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Member<'a> {
    /// The user's name.
    pub user: &'a str,
    /// What this client may see.
    pub state: State,
}

/// A session of the client's own user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnSession<'a> {
    /// The session's id.
    pub session: &'a str,
    /// What the person may call the device; may be empty.
    pub device: &'a str,
    /// Whether the person has not touched the device for a while.
    pub idle: bool,
    /// Whether its connection has ended and it still counts.
    pub lingering: bool,
    /// Whether it does not count for the user's state.
    pub passive: bool,
    /// Whether it is the client's own.
    pub this: bool,
    /// How long ago it began.
    pub since_ago: Span,
}

/// The answer to a hello.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Welcome<'a> {
    /// How often the client shows a sign of life.
    pub beat: Span,
    /// How long a lease lasts after the last sign of life.
    pub ttl: Span,
    /// How long a session lingers after its connection ended.
    pub grace: Span,
    /// After how long without input a device counts as idle; zero: never.
    pub idle_after: Span,
    /// The session's id, as taken.
    pub session: &'a str,
    /// The epoch that the node is in.
    pub epoch: Epoch,
    /// The user's mode.
    pub mode: Mode,
    /// The number of the choice of mode.
    pub revision: Revision,
    /// The right to say `closing` for this session and generation by a beacon; may be empty.
    pub ticket: &'a str,
    /// Whether the node's word may be old (rule 12 b).
    pub stale: bool,
    /// How long the token lasts from now on; zero: it does not end. Before that the client hands in
    /// a fresh one.
    pub token: Span,
}

/// One user in a snapshot or in events.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Entry<'a> {
    /// The client's number for the user.
    pub number: u32,
    /// What this watcher may see.
    pub state: State,
    /// The number of the change, as this watcher was shown them.
    pub version: Version,
    /// How long ago the user was last seen; only while offline.
    pub seen_ago: Option<Span>,
    /// Whether that is no more than a bound: the user was seen since, and more is not to be told.
    pub coarse: bool,
    /// The user's note; empty if there is none. Never while offline.
    pub note: &'a str,
}

/// What was wrong with a request that left the connection open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum ErrorCode {
    /// A user's name is empty or longer than the limit.
    BadUser = 1,
    /// More users than the limit would be watched.
    TooManyWatches = 2,
    /// The note is longer than the limit.
    NoteTooLong = 3,
    /// The request number is 0, which stands for "no request".
    BadRequest = 4,
    /// A room's id is empty or longer than the limit.
    BadRoom = 5,
    /// The session is in as many rooms as it may be.
    TooManyRooms = 6,
    /// The application does not let this user into the room.
    NotAllowed = 7,
    /// A fresh token was not taken; the old one stays in force.
    TokenRefused = 8,
    /// An error of a newer server, unknown to this version.
    Other = 255,
}

impl ErrorCode {
    /// Every code.
    pub const ALL: [Self; 9] = [
        Self::BadUser,
        Self::TooManyWatches,
        Self::NoteTooLong,
        Self::BadRequest,
        Self::BadRoom,
        Self::TooManyRooms,
        Self::NotAllowed,
        Self::TokenRefused,
        Self::Other,
    ];

    /// The code with this wire number; unknown ones are [`ErrorCode::Other`].
    pub const fn from_wire(byte: u8) -> Self {
        match byte {
            1 => Self::BadUser,
            2 => Self::TooManyWatches,
            3 => Self::NoteTooLong,
            4 => Self::BadRequest,
            5 => Self::BadRoom,
            6 => Self::TooManyRooms,
            7 => Self::NotAllowed,
            8 => Self::TokenRefused,
            _ => Self::Other,
        }
    }

    /// Its name, as in the docs and the npm package.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BadUser => "bad_user",
            Self::TooManyWatches => "too_many_watches",
            Self::NoteTooLong => "note_too_long",
            Self::BadRequest => "bad_request",
            Self::BadRoom => "bad_room",
            Self::TooManyRooms => "too_many_rooms",
            Self::NotAllowed => "not_allowed",
            Self::TokenRefused => "token_refused",
            Self::Other => "other",
        }
    }
}
