//! The beacon of a page that goes away: `closing` over HTTP, where the socket may be dead.
//!
//! Each connection is given a ticket in its welcome; whoever shows it says `closing` in that
//! connection's name. It is random, it is good once, and it ends with the connection. The answer
//! is the same whatever became of it: nothing is to be learned here.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::StatusCode;

use super::hex::digits;
use super::presence::Shared;
use crate::clock::timeout;

/// A ticket: 128 random bits, in hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Ticket([u8; LENGTH]);

const LENGTH: usize = 32;

impl Ticket {
    /// One that nobody has had, and nobody can guess.
    #[expect(clippy::disallowed_methods, reason = "the driver is where randomness comes from")]
    pub(super) fn draw() -> Result<Self, getrandom::Error> {
        let mut random = [0; LENGTH / 2];
        getrandom::fill(&mut random)?;
        let mut text = [0; LENGTH];
        for (two, byte) in text.chunks_exact_mut(2).zip(random) {
            two.copy_from_slice(&digits(byte));
        }
        Ok(Self(text))
    }

    /// The ticket that somebody shows, if it has the form of one.
    fn shown(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    pub(super) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl std::fmt::Debug for Ticket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ticket(…)")
    }
}

/// Takes a beacon: a POST whose body is a ticket and nothing else. Browsers send it without asking
/// first (`text/plain`), from other origins too; the ticket alone is the right to it.
pub(super) async fn closing(State(shared): State<Arc<Shared>>, body: Body) -> StatusCode {
    let read = timeout(shared.limits.hello_timeout, to_bytes(body, LENGTH)).await;
    if let Some(Ok(bytes)) = read
        && let Some(ticket) = Ticket::shown(&bytes)
    {
        shared.driver.closing(&ticket);
    }
    StatusCode::NO_CONTENT
}
