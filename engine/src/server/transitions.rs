//! The changes of users' states as a stream for the application.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::{Stream, StreamExt, stream};
use thiserror::Error;
use tokio::sync::broadcast::{self, error::RecvError};

use super::metrics;
use crate::core::Transition;

/// Transitions, in the order in which they happened. A stream; it ends with the engine.
pub struct Transitions(Pin<Box<dyn Stream<Item = Result<Transition, Missed>> + Send>>);

/// The reader fell behind, and transitions were dropped. What comes next is the oldest still kept;
/// [`Presence::state`](super::Presence::state) tells what a user's state is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{0} transitions were missed: read faster, or enlarge the builder's transitions_buffer")]
pub struct Missed(pub u64);

impl Transitions {
    pub(super) fn new(receiver: broadcast::Receiver<Transition>) -> Self {
        Self(Box::pin(stream::unfold(receiver, |mut receiver| async move {
            match receiver.recv().await {
                Ok(transition) => Some((Ok(transition), receiver)),
                Err(RecvError::Lagged(missed)) => {
                    metrics::missed(missed);
                    Some((Err(Missed(missed)), receiver))
                }
                Err(RecvError::Closed) => None,
            }
        })))
    }

    /// The next transition; `None` if the engine has stopped.
    ///
    /// # Errors
    ///
    /// If transitions were missed. The next call goes on after them.
    pub async fn next(&mut self) -> Option<Result<Transition, Missed>> {
        self.0.next().await
    }
}

impl Stream for Transitions {
    type Item = Result<Transition, Missed>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(cx)
    }
}

impl fmt::Debug for Transitions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Transitions")
    }
}
