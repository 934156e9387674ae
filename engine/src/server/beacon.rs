//! The beacon of a page that goes away: `closing` over HTTP, where the socket may be dead.
//!
//! Each connection is given a ticket in its welcome; whoever shows it says `closing` in that
//! connection's name. It is random, it is good once, and it ends with the connection. The answer
//! is the same whatever became of it: nothing is to be learned here.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::StatusCode;

use super::hex;
use super::presence::Shared;
use crate::clock::timeout;

/// A ticket: 128 random bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Ticket([u8; BYTES]);

const BYTES: usize = 16;

/// What is shown of it: hexadecimal digits.
const LENGTH: usize = 2 * BYTES;

impl Ticket {
    /// One that nobody has had, and nobody can guess.
    #[expect(clippy::disallowed_methods, reason = "the driver is where randomness comes from")]
    pub(super) fn draw() -> Result<Self, getrandom::Error> {
        let mut random = [0; BYTES];
        getrandom::fill(&mut random)?;
        Ok(Self(random))
    }

    /// The ticket that somebody shows, if it has the form of one.
    fn shown(text: &[u8]) -> Option<Self> {
        let bytes = hex::read(std::str::from_utf8(text).ok()?)?;
        bytes.try_into().ok().map(Self)
    }

    /// As it is shown.
    pub(super) fn text(&self) -> String {
        hex::write(&self.0)
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
