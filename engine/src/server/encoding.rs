//! Which of the protocol's two encodings a connection speaks: chosen once, by its subprotocol.

use std::borrow::Cow;

use greendot_protocol::{
    ClientFrame, SUBPROTOCOL_BINARY, SUBPROTOCOL_JSON, ServerFrame, binary, json,
};
use thiserror::Error;

use super::websocket::Opcode;

/// An encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// Compact, in binary messages.
    Binary,
    /// JSON, in text messages.
    Json,
}

/// A client's frame as it was read.
pub(super) enum Decoded<'a> {
    Binary(ClientFrame<'a>),
    Json(json::ClientText<'a>),
}

/// Why a message holds no frame.
#[derive(Debug, Error)]
pub(super) enum Unreadable {
    #[error(transparent)]
    Binary(#[from] binary::DecodeError),
    #[error(transparent)]
    Json(#[from] json::DecodeError),
}

impl Encoding {
    /// All that are spoken here. Of those that a client offers the first is chosen.
    pub(super) const ALL: [Self; 2] = [Self::Binary, Self::Json];

    /// The subprotocol that stands for it.
    pub(super) const fn subprotocol(self) -> &'static str {
        match self {
            Self::Binary => SUBPROTOCOL_BINARY,
            Self::Json => SUBPROTOCOL_JSON,
        }
    }

    /// Appends the bytes of a frame.
    pub(super) fn encode(self, frame: &ServerFrame<'_>, out: &mut Vec<u8>) {
        match self {
            Self::Binary => binary::encode_server(frame, out),
            Self::Json => json::encode_server(frame, out),
        }
    }

    /// The type of the messages that carry its frames.
    pub(super) const fn opcode(self) -> Opcode {
        match self {
            Self::Binary => Opcode::Binary,
            Self::Json => Opcode::Text,
        }
    }

    /// Reads a frame; none if it is of a kind unknown here, to be passed over.
    pub(super) fn decode(self, bytes: &[u8]) -> Result<Option<Decoded<'_>>, Unreadable> {
        Ok(match self {
            Self::Binary => binary::decode_client(bytes)?.map(Decoded::Binary),
            Self::Json => json::decode_client(bytes)?.map(Decoded::Json),
        })
    }
}

impl Decoded<'_> {
    pub(super) fn frame(&self) -> Cow<'_, ClientFrame<'_>> {
        match self {
            Self::Binary(frame) => Cow::Borrowed(frame),
            Self::Json(text) => Cow::Owned(text.frame()),
        }
    }
}
