//! WebSocket messages (RFC 6455), from the server's side. Pure: bytes in, messages out.
//!
//! Not a library's, for what it weighs: a reader that is between two messages holds no buffer at all (a library keeps 2 KB or
//! more for each of a hundred thousand idle connections), and a frame that goes to a thousand watchers is written by whoever
//! has it at hand (see [`super::fanout`]), which no library's socket lets happen.

mod header;
mod reader;

pub(super) use header::{Opcode, compose, write};
pub(super) use reader::{Fault, Message, Reader};
