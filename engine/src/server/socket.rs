//! The WebSocket library, as the rest of the server sees it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use futures_util::{Sink, Stream};
use greendot_protocol::limits::CLIENT_FRAME_BYTES;
use tungstenite::error::{CapacityError, ProtocolError};

use super::encoding::Encoding;

/// Read at once from the kernel, and kept by each connection. A beat has 4 bytes, most watches a
/// few hundred.
const READ_BUFFER: usize = 2 * 1024;

/// Gathered before it is handed to the kernel, so that many small frames are one write.
const WRITE_BUFFER: usize = 16 * 1024;

/// A WebSocket connection, on the server's side.
#[derive(Debug)]
pub(super) struct Socket {
    socket: WebSocket,
    pub(super) encoding: Encoding,
}

/// What came in.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Incoming {
    /// A frame.
    Frame(axum::body::Bytes),
    /// A message of a type that the connection's encoding does not have.
    WrongType,
    /// A ping (answered by the library) or a pong.
    SignOfLife,
    /// A message larger than the limit; nothing after it can be read.
    TooLarge,
    /// Bytes that are no WebSocket message; nothing after them can be read.
    Malformed,
    /// The client closes or is gone.
    Gone,
}

impl Incoming {
    /// The bytes that count against the connection's rate; none for what ends it anyway.
    pub(super) fn weight(&self) -> Option<usize> {
        match self {
            Self::Frame(bytes) => Some(bytes.len()),
            Self::SignOfLife => Some(0),
            Self::WrongType | Self::TooLarge | Self::Malformed | Self::Gone => None,
        }
    }
}

impl Socket {
    pub(super) fn new(socket: WebSocket, encoding: Encoding) -> Self {
        Self { socket, encoding }
    }

    /// Sets the sizes of a connection to be.
    pub(super) fn configure(upgrade: WebSocketUpgrade) -> WebSocketUpgrade {
        upgrade
            .read_buffer_size(READ_BUFFER)
            .write_buffer_size(WRITE_BUFFER)
            .max_message_size(CLIENT_FRAME_BYTES)
            .max_frame_size(CLIENT_FRAME_BYTES)
    }

    pub(super) fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Incoming> {
        let encoding = self.encoding;
        Pin::new(&mut self.socket).poll_next(cx).map(|message| match message {
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => Incoming::SignOfLife,
            Some(Ok(Message::Close(_))) | None => Incoming::Gone,
            Some(Ok(message)) => {
                encoding.payload(message).map_or(Incoming::WrongType, Incoming::Frame)
            }
            Some(Err(error)) => classify(error),
        })
    }

    /// Puts a frame into the write buffer. It always fits; flush before putting in more than what
    /// is worth one flush.
    pub(super) fn put(&mut self, frame: Vec<u8>) -> io::Result<()> {
        self.start(self.encoding.message(frame)?)
    }

    pub(super) fn put_ping(&mut self) -> io::Result<()> {
        self.start(Message::Ping(axum::body::Bytes::new()))
    }

    pub(super) fn put_close(&mut self, number: u16, reason: &'static str) -> io::Result<()> {
        self.start(Message::Close(Some(CloseFrame { code: number, reason: reason.into() })))
    }

    /// Ready once the kernel has taken everything.
    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx).map_err(io::Error::other)
    }

    fn start(&mut self, message: Message) -> io::Result<()> {
        // The library takes a message even while the kernel takes none: it keeps it.
        Pin::new(&mut self.socket).start_send(message).map_err(io::Error::other)
    }
}

/// The number of an ordinary close.
pub(super) const NORMAL: u16 = 1000;

fn classify(error: axum::Error) -> Incoming {
    use tungstenite::Error;
    let error = error.into_inner();
    match error.downcast_ref::<Error>() {
        Some(Error::Capacity(CapacityError::MessageTooLong { .. })) => Incoming::TooLarge,
        Some(Error::Protocol(ProtocolError::ResetWithoutClosingHandshake)) => Incoming::Gone,
        Some(Error::Protocol(_) | Error::Utf8(_)) => Incoming::Malformed,
        _ => Incoming::Gone,
    }
}
