//! The application is asked who a token's user is.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use greendot_protocol::limits::TOKEN_BYTES;
use greendot_protocol::{CloseCode, Span};
use tracing::warn;

use super::auth::{AuthError, Headers, Identity, Token};
use super::presence::Shared;
use crate::clock::timeout;

/// Why a token is good for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    BadToken,
    NotAllowed,
    /// Nobody could say.
    NotChecked,
}

impl Refused {
    /// What a connection that has nothing but this token is closed with.
    pub(super) fn code(self) -> CloseCode {
        match self {
            Self::BadToken => CloseCode::BadToken,
            Self::NotAllowed => CloseCode::NotAllowed,
            Self::NotChecked => CloseCode::CheckFailed,
        }
    }

    /// What the client of a connection that stands is told.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::BadToken => "the fresh token was not believed; the old one stays in force",
            Self::NotAllowed => {
                "the fresh token's user is not allowed in; the old one stays in force"
            }
            Self::NotChecked => "the fresh token could not be checked; the old one stays in force",
        }
    }
}

/// Asks the application, for as long as it may take and whatever becomes of it.
pub(super) async fn check(
    shared: &Shared,
    token: Token,
    headers: Headers,
) -> Result<Identity, Refused> {
    // Where a cookie says it all there is no token.
    let missing = token.as_str().is_empty() && headers.is_none();
    if missing || token.as_str().len() > TOKEN_BYTES {
        return Err(Refused::BadToken);
    }
    // The closure is called inside the guarded future: it may panic as well as what it returns.
    let checked = async { shared.authenticator.check(token, headers).await };
    let guarded = AssertUnwindSafe(checked).catch_unwind();
    match timeout(shared.limits.auth_timeout, guarded).await {
        Some(Ok(Ok(identity))) => Ok(identity),
        Some(Ok(Err(AuthError::BadToken))) => Err(Refused::BadToken),
        Some(Ok(Err(AuthError::NotAllowed))) => Err(Refused::NotAllowed),
        Some(Ok(Err(AuthError::CheckFailed(reason)))) => {
            warn!(%reason, "a token could not be checked; its client will try again");
            Err(Refused::NotChecked)
        }
        Some(Err(_panic)) => {
            warn!("the check of a token panicked; its client will try again");
            Err(Refused::NotChecked)
        }
        None => {
            let limit = shared.limits.auth_timeout;
            warn!(?limit, "the check of a token took too long; its client will try again");
            Err(Refused::NotChecked)
        }
    }
}

/// How long the identity's token lasts, if it ends.
pub(super) fn lasts(identity: &Identity) -> Option<Span> {
    let millis = |left: std::time::Duration| u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
    identity.time_left().map(|left| Span::from_millis(millis(left)))
}
