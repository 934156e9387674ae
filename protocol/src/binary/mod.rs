//! The compact binary encoding.
//!
//! A frame is a kind byte and its fields. Numbers are LEB128 varints, texts are a varint length
//! and UTF-8. What a newer peer adds is passed over: unknown kinds decode to `None`, bytes after
//! the last known field are ignored, and an entry may carry an extension block (see [`Entry`]).
//! So nothing may ever be added in the middle.
//!
//! [`Entry`]: crate::Entry

mod client;
mod read;
mod server;

pub use client::{decode_client, encode_client};
pub use server::{decode_but_sessions, decode_server, encode_server};

use alloc::vec::Vec;
use core::fmt;

/// Why bytes are no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes end inside a field, or a count promises more than there is.
    Truncated,
    /// A number does not fit its field.
    Overflow,
    /// A text is not UTF-8.
    Text,
    /// A byte that chooses between alternatives names none.
    Choice,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Truncated => "the frame ends inside a field",
            Self::Overflow => "a number does not fit its field",
            Self::Text => "a text is not UTF-8",
            Self::Choice => "a choice names no alternative",
        })
    }
}

impl core::error::Error for DecodeError {}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put_varint(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}
