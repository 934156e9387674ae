//! Who is this? The application says it of each token.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderMap;
use thiserror::Error;

/// What a client hands in to say who it is. It never shows itself in a log.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    pub(super) fn new(token: &str) -> Self {
        Self(token.into())
    }

    /// The token's text. Do not log it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({} bytes)", self.0.len())
    }
}

/// A user, as known by a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    user: String,
    valid_for: Option<Duration>,
}

impl Identity {
    /// This user, for as long as the connection lasts. Names of 1 to 128 bytes work; others are
    /// refused as a bad token.
    pub fn new(user: impl Into<String>) -> Self {
        Self { user: user.into(), valid_for: None }
    }

    /// The token ends after this time: the connection is then closed with `token_expired`, and the
    /// client comes back with a fresh one.
    #[must_use]
    pub fn valid_for(mut self, time: Duration) -> Self {
        self.valid_for = Some(time);
        self
    }

    /// The user's name.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// How long the token is good, if it ends.
    pub fn time_left(&self) -> Option<Duration> {
        self.valid_for
    }
}

/// Why a token opened no connection.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AuthError {
    /// The token is malformed, forged or out of date. The client stops and tells its app
    /// (`bad_token`).
    #[error("the token is not believed")]
    BadToken,
    /// The token is good, but this user may not have presence. The client stops and tells its app
    /// (`not_allowed`).
    #[error("this user is not allowed in")]
    NotAllowed,
    /// Nobody could say: the directory is down, the key server did not answer. Not the client's
    /// fault; it tries again by itself (`check_failed`).
    #[error("the token could not be checked: {0}")]
    CheckFailed(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl AuthError {
    /// The check itself failed; `reason` goes to the log.
    pub fn check_failed(reason: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::CheckFailed(reason.into())
    }
}

/// Checks tokens. An async closure from [`Token`] does:
///
/// ```
/// use greendot_engine::server::{AuthError, Identity, Token};
///
/// let check = async |token: Token| {
///     match token.as_str().strip_prefix("secret-of-") {
///         Some(user) => Ok(Identity::new(user)),
///         None => Err(AuthError::BadToken),
///     }
/// };
/// # fn takes(_: impl greendot_engine::server::Authenticate) {}
/// # takes(check);
/// ```
///
/// It may take its time: each connection waits for its own check and for nobody else's. A check
/// that takes longer than [`Limits::auth_timeout`](super::Limits::auth_timeout) counts as failed.
pub trait Authenticate: Send + Sync + 'static {
    /// Says who the token's user is.
    fn authenticate(
        &self,
        token: Token,
    ) -> impl Future<Output = Result<Identity, AuthError>> + Send;

    /// Whether it looks at the request's headers, cookies above all: then
    /// [`Self::authenticate_with`] is asked, the token may be empty, and
    /// [`Builder::allow_origins`](super::Builder::allow_origins) must say which pages may connect.
    /// [`WithHeaders`] makes such a one of a closure.
    fn wants_headers(&self) -> bool {
        false
    }

    /// Says who the user is by the token and the headers that the connection began with; those
    /// are the same when a fresh token is handed in on it.
    fn authenticate_with(
        &self,
        token: Token,
        headers: Arc<HeaderMap>,
    ) -> impl Future<Output = Result<Identity, AuthError>> + Send {
        let _ = headers;
        self.authenticate(token)
    }
}

/// Checks cookies, or other headers, by an async closure from [`Token`] and headers. A page then
/// gives an empty token.
///
/// ```
/// use std::sync::Arc;
///
/// use axum::http::HeaderMap;
/// use greendot_engine::server::{AuthError, Identity, Token, WithHeaders};
///
/// let check = WithHeaders(async |_: Token, headers: Arc<HeaderMap>| {
///     let cookies = headers.get("cookie").and_then(|it| it.to_str().ok()).unwrap_or_default();
///     // Look the session up in your store.
///     match cookies.strip_prefix("session=of-") {
///         Some(user) => Ok(Identity::new(user)),
///         None => Err(AuthError::BadToken),
///     }
/// });
/// # fn takes(_: impl greendot_engine::server::Authenticate) {}
/// # takes(check);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct WithHeaders<F>(pub F);

impl<F, R> Authenticate for WithHeaders<F>
where
    F: Fn(Token, Arc<HeaderMap>) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Identity, AuthError>> + Send,
{
    fn authenticate(
        &self,
        token: Token,
    ) -> impl Future<Output = Result<Identity, AuthError>> + Send {
        self.0(token, Arc::default())
    }

    fn wants_headers(&self) -> bool {
        true
    }

    fn authenticate_with(
        &self,
        token: Token,
        headers: Arc<HeaderMap>,
    ) -> impl Future<Output = Result<Identity, AuthError>> + Send {
        self.0(token, headers)
    }
}

impl<F, R> Authenticate for F
where
    F: Fn(Token) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Identity, AuthError>> + Send,
{
    fn authenticate(
        &self,
        token: Token,
    ) -> impl Future<Output = Result<Identity, AuthError>> + Send {
        self(token)
    }
}

/// Believes everybody: the token *is* the user's name. For a developer's own machine only.
#[derive(Clone, Copy, Debug, Default)]
pub struct DevAuth;

impl Authenticate for DevAuth {
    async fn authenticate(&self, token: Token) -> Result<Identity, AuthError> {
        Ok(Identity::new(token.as_str()))
    }
}

/// [`Authenticate`] with its type forgotten, so that [`Presence`](super::Presence) carries none.
pub(super) trait AnyAuthenticate: Send + Sync {
    fn check(
        &self,
        token: Token,
        headers: Headers,
    ) -> Pin<Box<dyn Future<Output = Checked> + Send + '_>>;

    fn looks_at_headers(&self) -> bool;
}

/// The headers that a connection began with; none if nobody looks at them.
pub(super) type Headers = Option<Arc<HeaderMap>>;

/// What came of a check.
pub(super) type Checked = Result<Identity, AuthError>;

impl<A: Authenticate> AnyAuthenticate for A {
    fn check(
        &self,
        token: Token,
        headers: Headers,
    ) -> Pin<Box<dyn Future<Output = Checked> + Send + '_>> {
        match headers {
            Some(headers) => Box::pin(self.authenticate_with(token, headers)),
            None => Box::pin(self.authenticate(token)),
        }
    }

    fn looks_at_headers(&self) -> bool {
        self.wants_headers()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_does_not_show_in_a_log() {
        assert_eq!(format!("{:?}", Token::new("hunter2")), "Token(7 bytes)");
    }
}
