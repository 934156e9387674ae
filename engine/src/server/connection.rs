//! One connection's task.
//!
//! It reads before it does anything else, so that what has arrived counts before a deadline is
//! acted upon (rule 1), and it writes in its own time: a reader that takes nothing holds up its own
//! task alone. While a write is under way the task goes on reading, or the beats of a client with
//! a slow downlink would count for nothing; it takes no further output from the core, where at most
//! the newest state of each watched user waits (rule 14). What the task itself holds for a slow
//! reader is what one transmit gave.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use greendot_protocol::{ClientFrame, CloseCode, ServerFrame, Span, Time};
use tokio::time::Sleep;
use tracing::{debug, trace};

use super::auth::{Headers, Identity, Token};
use super::check::{Refused, check, lasts};
use super::driver::Seat;
use super::hello::{Admitted, Turned, admit};
use super::limits::Bucket;
use super::line::{CLOSE, PING, READ_FIRST, READY, REST};
use super::metrics;
use super::presence::{Place, Shared};
use super::socket::{Incoming, NORMAL, Socket};
use super::websocket::{Opcode, write};
use crate::clock::{moment, sleep, spawn, timeout};
use crate::core::Ending;

/// How long a client has to take its close before the socket is dropped.
const FAREWELL: Duration = Duration::from_secs(2);

/// After this long of finding nothing to read, nothing is there: the runtime has asked the kernel
/// in between.
const READ_OUT: Duration = Duration::from_millis(25);

/// A fresh token weighs as much as so many frames: each one asks the application.
const TOKEN_WEIGHT: u64 = 50;

/// The check of a fresh token, while it is under way.
type Checking = Pin<Box<dyn Future<Output = Result<Identity, Refused>> + Send>>;

/// Runs a connection from its upgrade until it is admitted; from then on a task of its own runs it, which needs half the room.
///
/// `unauthenticated` is given back as soon as the connection's token has been checked.
pub(super) async fn begin(
    shared: Arc<Shared>,
    mut socket: Socket,
    headers: Headers,
    unauthenticated: impl Send,
    place: Place,
) {
    let limits = &shared.limits;
    let mut bucket = Bucket::full(shared.clock.now(), limits.frames_per_second, limits.burst);
    let admitted = admit(&shared, &mut socket, &mut bucket, headers.clone()).await;
    drop(unauthenticated);
    match admitted {
        Ok(Admitted { seat, first }) => {
            socket.line.keep_quiet(shared.driver.answers_at(shared.clock.now()));
            let mut connection = Box::new(Connection {
                shared,
                socket,
                seat,
                bucket,
                todo: 0,
                writing: false,
                read_out: None,
                checking: None,
                headers,
                _place: place,
            });
            match first.into_iter().find_map(|incoming| connection.take(incoming)) {
                Some(leaving) => connection.leave(leaving).await,
                None => spawn(connection.run()),
            }
        }
        Err(Turned::Away(code)) => {
            turn_away(&mut socket, code, Span::ZERO).await;
            flush(&mut socket).await;
        }
        Err(Turned::Gone) => flush(&mut socket).await,
    }
}

/// What the kernel takes at once still goes out: the answer to a client's close, most likely.
async fn flush(socket: &mut Socket) {
    std::future::poll_fn(|cx| Poll::Ready(_ = socket.poll_flush(cx))).await;
}

/// Closes a connection that never got a seat.
pub(super) async fn turn_away(socket: &mut Socket, code: CloseCode, retry_after: Span) {
    debug!(code = code.name(), "a connection was turned away");
    farewell(socket, Ending::Code(code), retry_after).await;
}

struct Connection {
    shared: Arc<Shared>,
    socket: Socket,
    seat: Seat,
    bucket: Bucket,
    /// Taken from the line and not done yet.
    todo: u8,
    /// Whether the kernel has not yet taken all that was put into the socket.
    writing: bool,
    /// Set while the core waits to hear that everything has been read.
    read_out: Option<Pin<Box<Sleep>>>,
    /// Set while a fresh token is checked. All else goes on meanwhile; a later one takes its place.
    checking: Option<Checking>,
    headers: Headers,
    _place: Place,
}

enum Turn {
    Came(Incoming),
    Post,
    ReadOut,
    Checked(Result<Identity, Refused>),
    Broken(io::Error),
}

enum Leaving {
    /// The client went.
    Gone,
    /// The core, or this task in its name, closes the connection.
    Closed(Ending, Span),
}

impl Connection {
    async fn run(mut self: Box<Self>) {
        let leaving = self.serve().await;
        // On the heap while it lasts: an open connection needs the room not at all.
        Box::pin(self.leave(leaving)).await;
    }

    /// Closes it, if that is still to be done, and gives up its seat.
    async fn leave(mut self: Box<Self>, leaving: Leaving) {
        if let Leaving::Closed(ending, retry_after) = leaving {
            self.transmit_last();
            farewell(&mut self.socket, ending, retry_after).await;
        } else {
            // The answer to a client's close tells no more than any other.
            self.shared.driver.reach(self.socket.line.quiet_until()).await;
        }
        let Self { mut socket, seat, _place: place, .. } = *self;
        drop(seat);
        flush(&mut socket).await;
        drop((socket, place));
    }

    async fn serve(&mut self) -> Leaving {
        loop {
            let leaving = match std::future::poll_fn(|cx| self.poll_turn(cx)).await {
                Turn::Came(incoming) => self.take(incoming),
                Turn::Post => self.act(),
                Turn::ReadOut => {
                    self.read_out = None;
                    self.seat.with(|now, conn, node| node.handle_read(now, conn));
                    None
                }
                Turn::Checked(checked) => self.renew(checked),
                Turn::Broken(error) => {
                    trace!(%error, "a connection broke");
                    Some(Leaving::Gone)
                }
            };
            if let Some(leaving) = leaving {
                return leaving;
            }
        }
    }

    fn poll_turn(&mut self, cx: &mut Context<'_>) -> Poll<Turn> {
        if self.writing {
            match self.socket.poll_flush(cx) {
                Poll::Ready(Ok(())) => self.writing = false,
                Poll::Ready(Err(error)) => return Poll::Ready(Turn::Broken(error)),
                Poll::Pending => {}
            }
        }
        self.todo |= self.socket.line.take(cx);
        if self.seat.take_ready() {
            self.todo |= READY;
        }
        if self.todo & CLOSE != 0 {
            // Before reading: nothing that comes now has any effect.
            return Poll::Ready(Turn::Post);
        }
        if let Poll::Ready(incoming) = self.socket.poll_read(cx) {
            return Poll::Ready(Turn::Came(incoming));
        }
        let wants_out = self.todo & (READY | PING) != 0 || self.socket.owes_pong();
        if (wants_out && self.takes_more()) || self.todo & (READ_FIRST | REST) != 0 {
            return Poll::Ready(Turn::Post);
        }
        if let Some(wait) = &mut self.read_out
            && wait.as_mut().poll(cx).is_ready()
        {
            return Poll::Ready(Turn::ReadOut);
        }
        if let Some(checking) = &mut self.checking
            && let Poll::Ready(checked) = checking.as_mut().poll(cx)
        {
            return Poll::Ready(Turn::Checked(checked));
        }
        Poll::Pending
    }

    /// Takes what came. It is dated by when it is read, also where it waited because the process stood still: TCP tells no
    /// times, and the one that Linux keeps of a socket (`tcpi_last_data_recv`) is of its last bytes alone, takes unsafe code to
    /// read, and stands still where the whole machine does. So a standstill may make leases longer by as much, never shorter.
    fn take(&mut self, incoming: Incoming) -> Option<Leaving> {
        let now = self.shared.clock.now();
        // Beats too: how soon one is answered would tell what the server is busy with.
        self.socket.line.keep_quiet(self.shared.driver.answers_at(now));
        if incoming.weight().is_some_and(|it| !self.bucket.take(now, it)) {
            return self.hang_up(CloseCode::TooFast);
        }
        match incoming {
            Incoming::Part => None,
            Incoming::Frame(bytes) => match self.socket.encoding().decode(&bytes) {
                Ok(Some(decoded)) => {
                    let frame = decoded.frame();
                    if let ClientFrame::Watch { users, .. } = &*frame
                        && !self.may_name(now, users.len())
                    {
                        return self.hang_up(CloseCode::TooFast);
                    }
                    let arrived = matches!(*frame, ClientFrame::Beat(_)).then(moment);
                    self.seat.with(|now, conn, node| node.handle_frame(now, conn, &frame));
                    if let Some(arrived) = arrived {
                        self.shared.driver.time_beat(arrived);
                    }
                    match *frame {
                        ClientFrame::Token(token) => self.examine(token),
                        _ => None,
                    }
                }
                // A later version's frame: passed over, but a sign of life.
                Ok(None) => self.sign_of_life(),
                Err(error) => {
                    debug!(%error, "a frame could not be read");
                    self.hang_up(CloseCode::BadFrame)
                }
            },
            Incoming::SignOfLife => self.sign_of_life(),
            Incoming::WrongType | Incoming::Malformed => self.hang_up(CloseCode::BadFrame),
            Incoming::TooLarge => self.hang_up(CloseCode::TooLarge),
            Incoming::Gone => Some(Leaving::Gone),
        }
    }

    /// Whether the user may go on naming others to watch.
    fn may_name(&mut self, now: Time, names: usize) -> bool {
        let user = self.seat.with(|_, conn, node| node.user(conn));
        user.is_none_or(|user| self.shared.namers.take(now, &user, names as u64))
    }

    /// Begins to have a fresh token checked.
    fn examine(&mut self, token: &str) -> Option<Leaving> {
        if !self.bucket.take_weight(self.shared.clock.now(), TOKEN_WEIGHT) {
            return self.hang_up(CloseCode::TooFast);
        }
        let (shared, token) = (Arc::clone(&self.shared), Token::new(token));
        let headers = self.headers.clone();
        self.checking = Some(Box::pin(async move { check(&shared, token, headers).await }));
        None
    }

    /// Does what came of a check. A close that follows from it comes by the line.
    fn renew(&mut self, checked: Result<Identity, Refused>) -> Option<Leaving> {
        self.checking = None;
        self.seat.with(|now, conn, node| match checked {
            Ok(identity) => {
                let until = lasts(&identity).map(|it| now + it);
                node.handle_token(now, conn, identity.user(), until);
            }
            Err(refused) => node.refuse_token(now, conn, refused.words()),
        });
        None
    }

    fn sign_of_life(&mut self) -> Option<Leaving> {
        self.seat.with(|now, conn, node| node.handle_pong(now, conn));
        None
    }

    /// Does what was posted, as far as it can be done now.
    fn act(&mut self) -> Option<Leaving> {
        let todo = self.todo;
        if todo & CLOSE != 0 {
            let (ending, retry_after) = self.socket.line.ending()?;
            return Some(Leaving::Closed(ending, retry_after));
        }
        if todo & READ_FIRST != 0 {
            self.todo &= !READ_FIRST;
            self.read_out = Some(Box::pin(sleep(READ_OUT)));
        }
        if todo & REST != 0 {
            self.todo &= !REST;
            self.writing = true;
        }
        if self.takes_more() {
            self.transmit(todo & PING != 0);
            self.todo &= !(READY | PING);
        }
        None
    }

    /// Whether more may be put into the way out. While what is there waits for its time, only what waits for the same: made at that time,
    /// it would tell how long that takes. What waits for a later one must not hold it up.
    fn takes_more(&self) -> bool {
        !self.writing || self.socket.held_until() == Some(self.socket.line.quiet_until())
    }

    /// Puts into the way out what waits for the client.
    fn transmit(&mut self, ping: bool) {
        let line = Arc::clone(&self.socket.line);
        let mut outlet = line.outlet();
        let now = self.seat.with(|now, conn, node| {
            node.transmit(now, conn, &mut |frame| line.put(frame, outlet.put()));
            now
        });
        let until = line.quiet_until();
        if until > now {
            self.socket.hold(self.shared.driver.reach(until));
        }
        self.socket.put_pong(&mut outlet);
        if ping {
            write(outlet.put(), Opcode::Ping, &[]);
        }
        self.writing = true;
    }

    /// Before a close: what waits for the client is sent, if it is not behind with its reading.
    fn transmit_last(&mut self) {
        if !self.writing {
            self.transmit(false);
        }
        // Where something is on its way already, what comes behind it waits for its own time.
        let until = self.socket.line.quiet_until();
        if until > self.shared.clock.now() {
            self.socket.hold(self.shared.driver.reach(until));
        }
    }

    /// The client did what it must not: its session lingers, its connection is closed.
    fn hang_up(&mut self, code: CloseCode) -> Option<Leaving> {
        debug!(code = code.name(), "a connection was closed");
        self.seat.with(|now, conn, node| node.hang_up(now, conn, code));
        Some(Leaving::Closed(Ending::Code(code), Span::ZERO))
    }
}

/// Says why, closes, and waits a moment for the client to take it: a socket dropped with unread
/// bytes in it would take the close along.
async fn farewell(socket: &mut Socket, ending: Ending, retry_after: Span) {
    let (number, reason) = match ending {
        Ending::Bye => (NORMAL, "bye"),
        Ending::Code(code) => {
            metrics::closed(code.name());
            if retry_after != Span::ZERO {
                let line = &socket.line;
                line.put(&ServerFrame::Close { code, retry_after }, line.outlet().put());
            }
            (code.number(), code.name())
        }
    };
    socket.put_close(number, reason);
    let _ = timeout(FAREWELL, async {
        let mut unreadable = false;
        std::future::poll_fn(|cx| {
            if let Poll::Ready(Err(_)) = socket.poll_flush(cx) {
                return Poll::Ready(());
            }
            while !unreadable {
                match socket.poll_read(cx) {
                    Poll::Ready(Incoming::Gone) => return Poll::Ready(()),
                    Poll::Ready(Incoming::TooLarge | Incoming::Malformed) => unreadable = true,
                    Poll::Ready(_) => {}
                    Poll::Pending => break,
                }
            }
            Poll::Pending
        })
        .await;
    })
    .await;
}
