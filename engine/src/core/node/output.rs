//! What a node asks of its driver.

use std::sync::Arc;

use greendot_protocol::{CloseCode, Span, State, Time, Version};

use super::{ConnId, RoomAnswer};
use crate::core::{Glimpse, Name};
use crate::store::{Place, Request};

/// What the driver is to do.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Output {
    /// Something waits for this connection: call [`super::Node::transmit`] when it can take more.
    /// Said once until then.
    Ready(ConnId),
    /// Ping this connection: it has been silent for more than a beat.
    Ping(ConnId),
    /// Feed every frame that has arrived on this connection, then call
    /// [`super::Node::handle_read`]: its session's lease or its token has run out, but what arrived
    /// in time and was not read yet still counts (rules 1 and 18).
    ReadFirst(ConnId),
    /// Close this connection, after what waits for it has been sent if the client reads it soon.
    Close {
        /// The connection; nothing it says has any effect from now on. Report its end with
        /// [`super::Node::handle_drop`].
        conn: ConnId,
        /// Why.
        code: Ending,
        /// Come back no sooner than this; zero: as the client likes.
        retry_after: Span,
    },
    /// What others see of a user has changed. With a shared store, said by the one node whose
    /// request changed it.
    Transition(Transition),
    /// The answer to [`super::Node::ask`].
    Answer {
        /// The number that the ask was given.
        ask: u64,
        /// Whether it speaks of all users asked about; else of those that changed since the mark.
        full: bool,
        /// To be handed in with the next ask about the same users.
        mark: Mark,
        /// How the users stand, in the order of the ask; a name that stood there twice is told of
        /// once.
        users: Vec<Answer>,
    },
    /// The answer to [`super::Node::ask_rooms`].
    Rooms {
        /// The number that the ask was given.
        ask: u64,
        /// Who is in each of the rooms, in the order of the ask; those of which nobody can say that now are left out.
        rooms: Vec<RoomAnswer>,
    },
    /// The answer to [`super::Node::list`].
    List {
        /// The number that the ask was given.
        ask: u64,
        /// Who is present, by name.
        users: Vec<Arc<str>>,
        /// Whether there may be more.
        more: bool,
    },
    /// The answer to [`super::Node::locate`].
    Located {
        /// The number that the ask was given.
        ask: u64,
        /// Where the user's sessions are; none if nobody can say now.
        places: Option<Vec<Place>>,
    },
    /// The answer to [`super::Node::show`].
    Shown {
        /// The number that the ask was given.
        ask: u64,
        /// How everybody may see the user; unknown if nobody can say now.
        answer: Box<Answer>,
    },
    /// The answer to [`super::Node::confirm`].
    Stored {
        /// The number that the ask was given.
        ask: u64,
        /// Whether the store has it.
        stored: bool,
    },
    /// May this user join this room? Answer with [`super::Node::handle_may_join`].
    MayJoin {
        /// The question's number.
        ask: u64,
        /// The user.
        user: Arc<str>,
        /// The room's id.
        room: Arc<str>,
    },
    /// What may each of these viewers see of the user beside it? Answer with
    /// [`super::Node::handle_audience`].
    Audience {
        /// The question's number.
        number: u64,
        /// (viewer, user)
        pairs: Vec<(Arc<str>, Arc<str>)>,
    },
    /// Ask this of the shared store, in order; hand the reply to [`super::Node::handle_reply`].
    Store {
        /// The request's number.
        number: u64,
        /// The request.
        request: Box<Request>,
    },
}

/// What a poll was told: it tells the engine at the next poll what has changed since. The engine
/// keeps nothing for it, and any node can read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    pub(super) epoch: u32,
    /// One a user, in the order of the ask.
    pub(super) digests: Vec<u32>,
}

impl Mark {
    /// The mark as it goes to the one who polls. It holds nothing that the answer did not tell.
    pub fn to_bytes(&self) -> Vec<u8> {
        let words = std::iter::once(&self.epoch).chain(&self.digests);
        words.flat_map(|it| it.to_le_bytes()).collect()
    }

    /// Reads what [`Self::to_bytes`] wrote; none if it is something else.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut words = bytes.chunks_exact(4).map(|it| it.try_into().map(u32::from_le_bytes).ok());
        let epoch = words.next()??;
        let digests = words.collect::<Option<_>>()?;
        bytes.len().is_multiple_of(4).then_some(Self { epoch, digests })
    }
}

/// How the engine ends a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The client said goodbye: an ordinary close.
    Bye,
    /// With this code.
    Code(CloseCode),
}

/// A change of what others see of a user: for push notifications, logs and the like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The user.
    pub user: Name,
    /// The state that others see now.
    pub state: State,
    /// The number of this change.
    pub version: Version,
    /// The user's note, as seen with the state, if there is one.
    pub note: Option<Arc<str>>,
}

/// What the one who asked may see of a user.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The user.
    pub user: Arc<str>,
    /// The state.
    pub state: State,
    /// The number of the latest change that may be seen.
    pub version: Version,
    /// When the user was last seen, if that is told as a time; only while offline.
    pub seen: Option<Time>,
    /// How long ago the user was last seen; only while offline.
    pub seen_ago: Option<Span>,
    /// Whether that is no more than a bound: the user was seen since.
    pub coarse: bool,
    /// The user's note; empty if there is none.
    pub note: Box<str>,
}

impl Answer {
    pub(super) fn new(now: Time, user: &Arc<str>, glimpse: &Glimpse<'_>) -> Self {
        Self {
            user: Arc::clone(user),
            state: glimpse.state(),
            version: glimpse.version(),
            seen: glimpse.seen(),
            seen_ago: glimpse.seen_ago(now),
            coarse: glimpse.is_coarse(),
            note: glimpse.note().into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_is_small() {
        assert!(size_of::<Output>() <= 72, "{}", size_of::<Output>());
    }
}
