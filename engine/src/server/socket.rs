//! A WebSocket connection, as its task has it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use greendot_protocol::Time;
use greendot_protocol::limits::CLIENT_FRAME_BYTES;
use hyper::upgrade::Upgraded;

use super::encoding::Encoding;
use super::line::{Line, Outlet};
use super::turns::Turn;
use super::websocket::{Fault, Message, Opcode, Reader, write};
use super::wire::Wire;

/// Read at once from the kernel. A beat has 4 bytes, most watches a few hundred.
const READ: usize = 2 * 1024;

/// A WebSocket connection, on the server's side.
#[derive(Debug)]
pub(super) struct Socket {
    wire: Wire,
    reader: Reader,
    pub(super) line: Arc<Line>,
    /// The payload of the latest ping, until it is answered: a pong answers those before it too.
    ping: Option<Vec<u8>>,
    /// Whether this side has said close. A second one would break the WebSocket for the client, which
    /// would then take the first one's code for lost.
    closing: bool,
    /// What is in the way out stays there until then.
    held: Option<Box<Turn>>,
}

/// What came in.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Incoming {
    /// A frame.
    Frame(Vec<u8>),
    /// A part of a message that is not its last.
    Part,
    /// A message of a type that the connection's encoding does not have.
    WrongType,
    /// A ping (it will be answered) or a pong.
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
            Self::SignOfLife | Self::Part => Some(0),
            Self::WrongType | Self::TooLarge | Self::Malformed | Self::Gone => None,
        }
    }
}

impl Socket {
    pub(super) fn new(upgraded: Upgraded, encoding: Encoding) -> Self {
        let (wire, read) = Wire::new(upgraded);
        let mut reader = Reader::new(CLIENT_FRAME_BYTES);
        reader.feed(&read);
        let line = Arc::new(Line::new(encoding, wire.tcp().cloned()));
        Self { wire, reader, line, ping: None, closing: false, held: None }
    }

    pub(super) fn encoding(&self) -> Encoding {
        self.line.encoding
    }

    pub(super) fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Incoming> {
        loop {
            match self.reader.next() {
                Ok(Some(message)) => return Poll::Ready(self.incoming(message)),
                Ok(None) => {}
                Err(Fault::Malformed) => return Poll::Ready(Incoming::Malformed),
                Err(Fault::TooLarge) => return Poll::Ready(Incoming::TooLarge),
            }
            let mut bytes = [0; READ];
            match ready!(self.wire.poll_read(cx, &mut bytes)) {
                Ok(0) | Err(_) => return Poll::Ready(Incoming::Gone),
                Ok(read) => self.reader.feed(&bytes[..read]),
            }
        }
    }

    fn incoming(&mut self, message: Message) -> Incoming {
        match (message, self.encoding()) {
            (Message::Binary(bytes), Encoding::Binary) | (Message::Text(bytes), Encoding::Json) => {
                Incoming::Frame(bytes)
            }
            (Message::Binary(_) | Message::Text(_), _) => Incoming::WrongType,
            (Message::Ping(payload), _) => {
                self.ping = Some(payload);
                Incoming::SignOfLife
            }
            (Message::Pong, _) => Incoming::SignOfLife,
            (Message::Part, _) => Incoming::Part,
            (Message::Close(number), _) => {
                // Answered with the same, if the kernel takes it at once.
                self.put_close(number.unwrap_or(NORMAL), "");
                Incoming::Gone
            }
        }
    }

    /// Whether a ping waits for its pong.
    pub(super) fn owes_pong(&self) -> bool {
        self.ping.is_some()
    }

    /// Puts the pong that is owed into the way out, if there is one.
    pub(super) fn put_pong(&mut self, outlet: &mut Outlet) {
        if let Some(payload) = self.ping.take() {
            write(outlet.put(), Opcode::Pong, &payload);
        }
    }

    /// Puts a close into the way out, unless one was put there before.
    pub(super) fn put_close(&mut self, number: u16, reason: &str) {
        if !std::mem::replace(&mut self.closing, true) {
            let payload = [&number.to_be_bytes()[..], reason.as_bytes()].concat();
            write(self.line.outlet().put(), Opcode::Close, &payload);
        }
    }

    /// Nothing goes out before this is over.
    pub(super) fn hold(&mut self, until: Turn) {
        self.held = Some(Box::new(until));
    }

    /// Until when nothing goes out, if something waits for that.
    pub(super) fn held_until(&self) -> Option<Time> {
        self.held.as_ref().map(|it| it.at())
    }

    /// Ready once the kernel has taken everything that is in the way out.
    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(held) = &mut self.held {
            ready!(Pin::new(held).poll(cx));
            self.held = None;
        }
        let line = Arc::clone(&self.line);
        let mut outlet = line.outlet();
        while !outlet.is_empty() {
            let written = ready!(self.wire.poll_write(cx, outlet.rest()))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            outlet.took(written);
        }
        self.wire.poll_flush(cx)
    }
}

/// The number of an ordinary close.
pub(super) const NORMAL: u16 = 1000;
