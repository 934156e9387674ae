//! The Greendot protocol: frames, versions, limits and close codes.
//!
//! This crate is the contract between the engine and every client. It holds no clock, no
//! randomness and no IO, and runs without the standard library. Frames ([`ClientFrame`],
//! [`ServerFrame`]) are kept apart from their encodings: [`binary`] is the compact one, which pages
//! use; the other is JSON, for people and other languages, in `json` with the feature of that name.
//! `PROTOCOL.md` beside this crate describes both byte by byte.
//!
//! Times on the wire are ages in milliseconds ("how long ago"), never points in time: the two ends
//! share no clock, and a wrong one must do no harm (rules 9 and 11 of `docs/RULES.md`).
#![cfg_attr(not(feature = "typescript"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod binary;
mod close;
mod frame;
#[cfg(feature = "json")]
pub mod json;
mod kind;
pub mod limits;
mod poll;
mod presence;
#[doc(hidden)]
pub mod sabotage;
mod time;
#[cfg(feature = "typescript")]
pub mod typescript;

pub use close::{CloseCode, Retry};
pub use frame::{
    Beat, ClientFrame, Entry, ErrorCode, Hello, Member, ModeChoice, OTHER_ROOMS, OwnSession,
    ServerFrame, WatchItem, Welcome,
};
pub use kind::{ClientKind, ServerKind};
pub use poll::{Poll, Polled, PolledRoom, PolledUser};
pub use presence::{Epoch, Mode, Revision, State, Version};
pub use time::{Span, Time};

/// WebSocket subprotocol of version 1 in the compact binary encoding.
pub const SUBPROTOCOL_BINARY: &str = "greendot.v1.bin";

/// WebSocket subprotocol of version 1 in JSON.
pub const SUBPROTOCOL_JSON: &str = "greendot.v1.json";
