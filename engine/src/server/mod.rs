//! The engine on tokio and axum: sockets, the clock, authentication, limits.
//!
//! [`Presence`] is the application's handle: build it, nest its router, ask it things.
//!
//! ```no_run
//! use greendot_engine::server::{AuthError, Identity, Limits, Presence, Token, serve};
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
//!     match serve(listener, app, Limits::default()).await {}
//! }
//! ```
//!
//! Each connection has a task of its own that reads, authenticates and writes; the core is touched
//! in short locked operations that never wait. One task sleeps until the core's next deadline, and writes to those who watch
//! what has changed.
//!
//! # What it costs, and what was tried
//!
//! `cargo xtask bench server` measures it on real sockets beside `ws`, Socket.IO and a bare loop of writes, in one run. By a
//! profile of 1,000 watchers who are told one change (`perf record -e cpu-clock -g`), 81 % of the processor time is the kernel's
//! in one `send` a watcher; on loopback almost half of that is what the receiver's side does with the packet. The bare loop
//! spends 95 % there. So a delivery cannot become twice as cheap as one by `ws`, which spends three quarters of its time in the
//! same call: the floor, with nothing but the calls, is 1.6 to 1.7 times cheaper.
//!
//! | tried | what it gave |
//! | --- | --- |
//! | one task writes to all, in place of waking a thousand | one `send` a delivery and nothing else: no `epoll_ctl`, no `futex` for each |
//! | going on with the next 64 connections for a millisecond before others have their turn, in place of after each 64 | 16 wake-ups of another thread less in each tick of 1,000; 0 to 3 % |
//! | frames made in their place, connections looked up when they are told | an allocation and a count of references less for each; up to 4 %, hardly above the noise |
//! | a runtime of one thread | some 4 % less, and no second core; applications choose |
//! | `send` past tokio, which looks up first whether the socket may be written | nothing that could be measured |
//! | Reno or CUBIC in place of BBR | nothing |
//! | `io_uring` | not tried: it is not to be had in every container, and tokio's is another runtime |
//! | a WebSocket library | 2 KB and more of buffers for each idle connection; so its frames are read and written here |
//! | a task for the open connection apart from the one that admits it, tickets as 16 bytes and kept once less | of 15,000 idle connections each took 2.00 KB resident before and 1.51 after, where `ws` takes 5.8; of 1,500 `ws` takes 11, for its garbage is not collected by then |
//!
//! # More cores
//!
//! One mutex guards the node; it is held for some 100 ns for a heartbeat, and for some 10 µs while frames for 64 connections
//! are made. Where that is not enough, users can be divided among several nodes in one process as they are among processes:
//! a user's node follows from its name, which is known from the hello on, so that a connection holds its node and a heartbeat
//! touches that one alone; where each node has a thread, and its connections with it, there is no lock on its way. What the
//! nodes share, the directory, is behind messages already ([`crate::store`]). Two nodes on two threads take 1.97 times the
//! heartbeats of one (`cargo xtask bench core`, `two_shards_speedup`).

mod alarm;
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
mod serve;
mod socket;
mod transitions;
mod turns;
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
pub use metrics::{BUCKETS, PROBE_SECONDS};
pub use presence::{NotStored, NoteTooLong, OutOfReach, Presence, Session, Status};
pub use serve::serve;
pub use transitions::{Missed, Transitions};

/// A listener for [`axum::serve()`] whose connections send each frame at once (`TCP_NODELAY`): without it a change
/// waits up to 40 ms for the answer to the one before. [`serve()`] does that by itself, and gives up clients that ask for
/// nothing, for whom `axum::serve` waits.
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
