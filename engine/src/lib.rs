//! The presence engine of Greendot.
//!
//! [`core`] is pure: leases, derived state, versions and watches as a state machine with inputs
//! and `now` going in and outputs coming out. It has no clock, no randomness, no task and no
//! socket, so the very code that ships is what the simulator plays on a virtual clock.
//! [`server`] drives it with tokio and axum.
//!
//! The rules it keeps are in `docs/RULES.md`; rule numbers in this crate's docs refer to them.

#[cfg(any(feature = "server", feature = "redis"))]
mod clock;
pub mod core;
#[cfg(feature = "server")]
pub mod server;
pub mod store;

pub use greendot_protocol as protocol;
