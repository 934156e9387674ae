//! The same frames in JSON: for people, for other languages, for a look at what goes on.
//!
//! A frame is an object whose `type` names its kind; states, modes and codes go by name, times in
//! whole milliseconds under names that end in `_ms`. What a newer peer adds is passed over: objects
//! of an unknown `type` decode to `None`, unknown fields are ignored. An optional field may be
//! absent or null.
//!
//! JSON texts may hold escapes, so a frame can't always borrow from the message as it came:
//! decoding gives a [`ClientText`] or [`ServerText`], and the frame borrows from that.
//!
//! Built with the feature `json` only, which pages never need.

pub(crate) mod client;
pub(crate) mod poll;
pub(crate) mod read;
pub(crate) mod secs;
pub(crate) mod server;

pub use client::ClientText;
pub use poll::{PollText, decode_poll, encode_poll_refused, encode_polled};
pub use server::ServerText;

pub(crate) use client::Client;
pub(crate) use server::Server;

use alloc::vec::Vec;
use core::fmt;

use serde::Serialize;

use crate::{ClientFrame, ServerFrame};

/// Appends the frame to `out`.
pub fn encode_client(frame: &ClientFrame<'_>, out: &mut Vec<u8>) {
    write(&Client::of(frame), out);
}

/// Appends the frame to `out`.
pub fn encode_server(frame: &ServerFrame<'_>, out: &mut Vec<u8>) {
    write(&Server::of(frame), out);
}

/// Reads one frame; `None` if its kind is unknown here and the frame is to be passed over.
///
/// # Errors
///
/// If the bytes are no frame.
pub fn decode_client(bytes: &[u8]) -> Result<Option<ClientText<'_>>, DecodeError> {
    ClientText::read(bytes)
}

/// Reads one frame; `None` if its kind, or the code it closes with, is unknown here and the frame
/// is to be passed over.
///
/// # Errors
///
/// If the bytes are no frame.
pub fn decode_server(bytes: &[u8]) -> Result<Option<ServerText<'_>>, DecodeError> {
    ServerText::read(bytes)
}

/// Why bytes are no frame. Its text says what was found where, for whoever writes the other end.
#[derive(Debug)]
pub struct DecodeError(serde_json::Error);

/// What is wrong with bytes that are no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// They are no JSON text, or end inside one.
    Syntax,
    /// A field is missing, twice there, of another type, or has a value that it cannot have.
    Field,
}

impl DecodeError {
    /// What is wrong.
    pub fn fault(&self) -> Fault {
        match self.0.classify() {
            serde_json::error::Category::Data => Fault::Field,
            _ => Fault::Syntax,
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl core::error::Error for DecodeError {}

fn write(frame: &impl Serialize, out: &mut Vec<u8>) {
    serde_json::to_writer(out, frame).expect("a frame has string keys, and memory takes it all");
}
