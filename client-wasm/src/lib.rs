//! The presence client: a link that heals itself, and an honest view of the users watched.
//!
//! [`core`] is a pure state machine: inputs and `now` go in, outputs come out. It reads no clock,
//! draws no randomness and touches no socket, so that the very code that ships is played on a
//! virtual clock by the simulator. `browser` is the only code that knows a browser: sockets,
//! timers and the JavaScript face.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod core;
pub mod face;
