//! The Greendot protocol: frames, versions, limits and close codes.
//!
//! This crate is the contract between the engine and every client. It holds no clock, no
//! randomness and no IO, and runs without the standard library. Frames ([`ClientFrame`],
//! [`ServerFrame`]) are kept apart from their encodings; [`binary`] is the compact one.
//!
//! Times on the wire are ages in milliseconds ("how long ago"), never points in time: the two ends
//! share no clock, and a wrong one must do no harm (rules 9 and 11 of `docs/RULES.md`).
#![no_std]

extern crate alloc;

pub mod binary;
mod close;
mod frame;
pub mod limits;
mod presence;
mod time;

pub use close::{CloseCode, Retry};
pub use frame::{
    Beat, ClientFrame, Entry, ErrorCode, Hello, ModeChoice, ServerFrame, WatchItem, Welcome,
};
pub use presence::{Epoch, Mode, Revision, State, Version};
pub use time::{Span, Time};

/// WebSocket subprotocol of version 1 in the compact binary encoding.
pub const SUBPROTOCOL_BINARY: &str = "greendot.v1.bin";
