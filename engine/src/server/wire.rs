//! The stream below a WebSocket.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use hyper_util::server::conn::auto::upgrade::downcast;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Bytes in both directions, for one task.
#[derive(Debug)]
pub(super) enum Wire {
    /// A plain TCP connection, as [`axum::serve`] has it. Whoever holds it may write.
    Tcp(Arc<TcpStream>),
    /// Anything else that an application serves on: TLS, a Unix socket, a test's pipe.
    Other(Box<TokioIo<Upgraded>>),
}

impl Wire {
    /// Takes over a connection whose HTTP is done, with what it has read too far.
    pub(super) fn new(upgraded: Upgraded) -> (Self, axum::body::Bytes) {
        // As `axum::serve` has it, or hyper itself.
        let wrapped = downcast(upgraded).map(|it| (it.io, it.read_buf));
        let plain = wrapped.or_else(|it| it.downcast().map(|it| (it.io, it.read_buf)));
        match plain.map(|(io, read)| (TokioIo::<TcpStream>::into_inner(io), read)) {
            Ok((tcp, read)) => (Self::Tcp(Arc::new(tcp)), read),
            Err(other) => (Self::Other(Box::new(TokioIo::new(other))), axum::body::Bytes::new()),
        }
    }

    /// The TCP connection, if it is one.
    pub(super) fn tcp(&self) -> Option<&Arc<TcpStream>> {
        match self {
            Self::Tcp(tcp) => Some(tcp),
            Self::Other(_) => None,
        }
    }

    /// Reads what has come; 0: nothing more will.
    pub(super) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        bytes: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Tcp(tcp) => loop {
                match tcp.try_read(bytes) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        ready!(tcp.poll_read_ready(cx))?;
                    }
                    read => return Poll::Ready(read),
                }
            },
            Self::Other(io) => {
                let mut into = ReadBuf::new(bytes);
                ready!(Pin::new(io).poll_read(cx, &mut into))?;
                Poll::Ready(Ok(into.filled().len()))
            }
        }
    }

    /// Writes what can be taken now.
    pub(super) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Tcp(tcp) => loop {
                match tcp.try_write(bytes) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        ready!(tcp.poll_write_ready(cx))?;
                    }
                    written => return Poll::Ready(written),
                }
            },
            Self::Other(io) => Pin::new(io).poll_write(cx, bytes),
        }
    }

    /// Passes on what a layer in between may hold.
    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(_) => Poll::Ready(Ok(())),
            Self::Other(io) => Pin::new(io).poll_flush(cx),
        }
    }
}
