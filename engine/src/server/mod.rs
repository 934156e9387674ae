//! The engine on tokio and axum: sockets, the clock, authentication, limits.
//!
//! [`Presence`] is the application's handle: build it, nest its router, ask it things.
//!
//! ```no_run
//! use greendot_engine::server::{AuthError, Identity, Presence, Token};
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let presence = Presence::builder(|token: Token| async move {
//!         // Look the token up in your sessions, check a signature, ask another service.
//!         token.as_str().strip_prefix("secret-of-").map(Identity::new).ok_or(AuthError::BadToken)
//!     })
//!     .build()?;
//!     let app = axum::Router::new().nest("/presence", presence.router());
//!     let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
//!     axum::serve(greendot_engine::server::no_delay(listener), app).await?;
//!     Ok(())
//! }
//! ```
//!
//! Each connection has a task of its own that reads, authenticates and writes; the core is touched
//! in short locked operations that never wait. One task sleeps until the core's next deadline.

mod audience;
mod auth;
mod beacon;
mod builder;
mod check;
mod connection;
mod driver;
mod encoding;
mod fanout;
mod handshake;
mod hello;
mod hex;
#[cfg(any(feature = "jwt", feature = "callback"))]
mod http;
#[cfg(feature = "jwt")]
mod jwt;
mod limits;
mod line;
mod meter;
mod metrics;
mod origin;
mod poll;
mod presence;
mod socket;
mod transitions;
mod upgrade;
mod websocket;
mod wire;

// What an application needs of the other modules, so that it imports from one.
pub use crate::core::{
    AudienceCounts, AudienceRule, Fineness, LastSeen, Name, NodeCounts, Settings, SettingsError,
    Start, Transition,
};
pub use greendot_protocol::{Mode, Span, State};

pub use crate::store::NodeId;
#[cfg(feature = "redis")]
pub use crate::store::redis::RedisStore;
pub use audience::{Audience, Contacts, ContactsExcept, Everyone, Nobody, Pair, RoomMembers};
#[cfg(feature = "callback")]
pub use audience::{CallbackError, HttpAudience};
pub use auth::{AuthError, Authenticate, DevAuth, Identity, Token, WithHeaders};
#[cfg(feature = "redis")]
pub use builder::OpenError;
pub use builder::{BuildError, Builder};
#[cfg(feature = "jwt")]
pub use jwt::{JwtAuth, KeysError};
pub use limits::Limits;
pub use metrics::BUCKETS;
pub use presence::{Location, NoteTooLong, OutOfReach, Presence, Session, Status};
pub use transitions::{Missed, Transitions};

/// A listener whose connections send each frame at once (`TCP_NODELAY`): without it a change
/// waits up to 40 ms for the answer to the one before.
pub fn no_delay(
    listener: tokio::net::TcpListener,
) -> impl axum::serve::Listener<Io = tokio::net::TcpStream, Addr = std::net::SocketAddr> {
    use axum::serve::ListenerExt;
    listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY could not be set");
        }
    })
}
