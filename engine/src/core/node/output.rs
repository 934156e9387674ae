//! What a node asks of its driver.

use std::sync::Arc;

use greendot_protocol::{CloseCode, Span, State, Time, Version};

use super::ConnId;
use crate::core::Glimpse;
use crate::store::Request;

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
    /// [`super::Node::handle_read`]: its session's lease has run out, but what arrived in time and
    /// was not read yet still counts (rule 1).
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
        /// How the users stand, in the order of the ask.
        users: Vec<Answer>,
    },
    /// Ask this of the shared store, in order; hand the reply to [`super::Node::handle_reply`].
    Store {
        /// The request's number.
        number: u64,
        /// The request.
        request: Request,
    },
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
    pub user: Arc<str>,
    /// The state that others see now.
    pub state: State,
    /// The number of this change.
    pub version: Version,
    /// The user's note, as seen with the state; empty if there is none.
    pub note: Arc<str>,
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
    /// When the user was last seen; only while offline.
    pub seen: Option<Time>,
    /// The user's note; empty if there is none.
    pub note: Box<str>,
}

impl Answer {
    pub(super) fn new(user: &Arc<str>, glimpse: &Glimpse<'_>) -> Self {
        Self {
            user: Arc::clone(user),
            state: glimpse.state(),
            version: glimpse.version(),
            seen: glimpse.seen(),
            note: glimpse.note().into(),
        }
    }
}
