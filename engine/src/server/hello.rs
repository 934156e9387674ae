//! From the upgrade to a seat: the hello is read, its token checked.

use std::sync::Arc;
use std::task::Poll;

use greendot_protocol::limits::SESSION_BYTES;
use greendot_protocol::{ClientFrame, CloseCode, Hello, Span};
use tracing::debug;

use super::auth::{Headers, Identity, Token};
use super::check::{check, lasts};
use super::driver::{Joining, Seat};
use super::limits::Bucket;
use super::presence::Shared;
use super::socket::{Incoming, Socket};
use crate::clock::timeout;
use crate::core::{Connect, SelfReport};

/// A connection that may speak.
#[derive(Debug)]
pub(super) struct Admitted {
    pub(super) seat: Seat,
    /// What had arrived already when the token's check was over.
    pub(super) first: Vec<Incoming>,
}

/// A client that waits for its welcome has little to say: more than this is read later.
const AT_ONCE: usize = 8;

/// Why a connection got no seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turned {
    /// Close it with this code.
    Away(CloseCode),
    /// It closed itself.
    Gone,
}

/// Reads the hello, has its token checked and takes a seat.
///
/// While the token is checked nothing is read: what the client sends on meanwhile waits in the
/// kernel and is read afterwards.
pub(super) async fn admit(
    shared: &Arc<Shared>,
    socket: &mut Socket,
    bucket: &mut Bucket,
    headers: Headers,
) -> Result<Admitted, Turned> {
    let bytes = timeout(shared.limits.hello_timeout, read_hello(shared, socket, bucket))
        .await
        .unwrap_or(Err(Turned::Away(CloseCode::HelloTimeout)))?;
    let decoded = socket.encoding().decode(&bytes).ok().flatten();
    let frame = decoded.as_ref().map(|it| it.frame());
    let Some(ClientFrame::Hello(hello)) = frame.as_deref() else {
        return Err(Turned::Away(CloseCode::BadFrame));
    };
    if hello.session.is_empty() || hello.session.len() > SESSION_BYTES {
        return Err(Turned::Away(CloseCode::BadSession));
    }
    let identity = check(shared, Token::new(hello.token), headers)
        .await
        .map_err(|it| Turned::Away(it.code()))?;
    // A client that left meanwhile was never there.
    let mut first = Vec::new();
    std::future::poll_fn(|cx| {
        while first.len() < AT_ONCE
            && let Poll::Ready(incoming) = socket.poll_read(cx)
        {
            let is_last = !matches!(incoming, Incoming::Frame(_) | Incoming::SignOfLife);
            first.push(incoming);
            if is_last {
                break;
            }
        }
        Poll::Ready(())
    })
    .await;
    if first.contains(&Incoming::Gone) {
        return Err(Turned::Gone);
    }
    let seat =
        shared.driver.seat(&joining(hello, &identity), &socket.line).map_err(Turned::Away)?;
    Ok(Admitted { seat, first })
}

/// The first frame of a kind known here.
async fn read_hello(
    shared: &Shared,
    socket: &mut Socket,
    bucket: &mut Bucket,
) -> Result<Vec<u8>, Turned> {
    loop {
        let incoming = std::future::poll_fn(|cx| socket.poll_read(cx)).await;
        if incoming.weight().is_some_and(|it| !bucket.take(shared.clock.now(), it)) {
            return Err(Turned::Away(CloseCode::TooFast));
        }
        match incoming {
            Incoming::Frame(bytes) => match socket.encoding().decode(&bytes) {
                Ok(Some(_)) => return Ok(bytes),
                Ok(None) => {}
                Err(error) => {
                    debug!(%error, "the first frame could not be read");
                    return Err(Turned::Away(CloseCode::BadFrame));
                }
            },
            Incoming::SignOfLife | Incoming::Part => {}
            Incoming::WrongType | Incoming::Malformed => {
                return Err(Turned::Away(CloseCode::BadFrame));
            }
            Incoming::TooLarge => return Err(Turned::Away(CloseCode::TooLarge)),
            Incoming::Gone => return Err(Turned::Gone),
        }
    }
}

fn joining<'a>(hello: &Hello<'a>, identity: &'a Identity) -> Joining<'a> {
    let secs = |secs: u32| Span::from_secs(u64::from(secs));
    Joining {
        connect: Connect {
            user: identity.user(),
            session: hello.session,
            passive: hello.passive,
            report: SelfReport {
                idle: hello.idle,
                input_age: hello.input_age_secs.map(secs),
                idle_after: hello.idle_after_secs.map(secs),
                mode: hello.mode,
            },
            token_until: None,
            device: hello.device,
        },
        token_for: lasts(identity),
    }
}
