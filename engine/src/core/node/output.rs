//! What a node asks of its driver.

use std::sync::Arc;

use greendot_protocol::{CloseCode, Span, State, Version};

use super::ConnId;

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
    /// What others see of a user has changed.
    Transition(Transition),
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
