//! The driver: one node, the clock, and who is to be told what.
//!
//! The node sits behind an ordinary mutex. Nothing is awaited while it is held, and nobody is woken
//! either: outputs are gathered inside and delivered after the lock is gone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use greendot_protocol::{ClientFrame, CloseCode, Span, Time};
use tokio::sync::{Notify, broadcast};

use super::beacon::Ticket;
use super::clock::Clock;
use super::mailbox::{self, Mailbox};
use crate::core::{ConnId, Connect, Node, Output, Transition};

/// What drives one node.
#[derive(Debug)]
pub(super) struct Driver {
    clock: Clock,
    core: Mutex<Core>,
    /// Wakes the timer task when something is due sooner than it knows.
    sooner: Arc<Notify>,
}

#[derive(Debug)]
struct Core {
    node: Node,
    mailboxes: HashMap<ConnId, Arc<Mailbox>>,
    /// Whose ticket is whose. Hashed under a random key, so that the time of a look tells nothing.
    tickets: HashMap<Ticket, ConnId>,
    transitions: broadcast::Sender<Transition>,
    /// When the timer task will look at the node next.
    timer_at: Time,
    /// Whether this node takes no more connections.
    drains: bool,
}

/// What is to be delivered once the lock is gone.
type Deliveries = Vec<(Arc<Mailbox>, Output)>;

/// A connection's seat in the core. It is given up when this is dropped, whatever became of the
/// task that held it.
#[derive(Debug)]
pub(super) struct Seat {
    driver: Arc<Driver>,
    pub(super) conn: ConnId,
    pub(super) mailbox: Arc<Mailbox>,
    ticket: Option<Ticket>,
}

impl Driver {
    /// Starts driving; must be called inside a tokio runtime.
    pub(super) fn start(
        clock: Clock,
        node: Node,
        transitions: broadcast::Sender<Transition>,
    ) -> Arc<Self> {
        let sooner = Arc::new(Notify::new());
        let driver = Arc::new(Self {
            clock,
            core: Mutex::new(Core {
                node,
                mailboxes: HashMap::new(),
                tickets: HashMap::new(),
                transitions,
                timer_at: Time::ZERO,
                drains: false,
            }),
            sooner: Arc::clone(&sooner),
        });
        spawn(run_timer(clock, sooner, Arc::downgrade(&driver)));
        driver
    }

    /// One operation on the node, and delivery of what came of it.
    pub(super) fn with<R>(&self, operate: impl FnOnce(Time, &mut Node) -> R) -> R {
        self.operate(|now, core| operate(now, &mut core.node))
    }

    /// A look at the node that changes nothing.
    pub(super) fn look<R>(&self, look: impl FnOnce(Time, &Node) -> R) -> R {
        let core = self.lock();
        look(self.clock.now(), &core.node)
    }

    /// Gives a connection its seat.
    ///
    /// # Errors
    ///
    /// The code to close it with if it may not have one.
    pub(super) fn seat(self: &Arc<Self>, connect: &Joining<'_>) -> Result<Seat, CloseCode> {
        // Without randomness there are no tickets, and pages do without their beacon.
        let ticket = Ticket::draw().ok();
        self.operate(|now, core| {
            if core.drains {
                return Err(CloseCode::Drain);
            }
            let conn =
                core.node.handle_connect(now, &connect.at(now)).map_err(|refusal| refusal.code)?;
            let mailbox = Arc::new(Mailbox::default());
            core.mailboxes.insert(conn, Arc::clone(&mailbox));
            core.tickets.extend(ticket.map(|it| (it, conn)));
            Ok(Seat { driver: Arc::clone(self), conn, mailbox, ticket })
        })
    }

    /// Says `closing` in the name of the connection that was given this ticket, once.
    pub(super) fn closing(&self, ticket: &Ticket) {
        self.operate(|now, core| {
            if let Some(conn) = core.tickets.remove(ticket) {
                core.node.handle_frame(now, conn, &ClientFrame::Closing);
            }
        });
    }

    /// Takes no more connections and closes those that are open with `drain`.
    pub(super) fn drain(&self) {
        self.operate(|now, core| {
            core.drains = true;
            for &conn in core.mailboxes.keys() {
                core.node.hang_up(now, conn, CloseCode::Drain);
            }
        });
    }

    /// Whether no more connections are taken.
    pub(super) fn drains(&self) -> bool {
        self.lock().drains
    }

    /// Does what is due and says when to come again.
    fn tick(&self) -> Time {
        self.operate(|now, core| {
            if core.node.deadline() <= now {
                core.node.handle_timeout(now);
            }
            core.timer_at = core.node.deadline();
            core.timer_at
        })
    }

    fn operate<R>(&self, operate: impl FnOnce(Time, &mut Core) -> R) -> R {
        let mut deliveries = Deliveries::new();
        let mut core = self.lock();
        // Read under the lock: the core's time never runs back.
        let result = operate(self.clock.now(), &mut core);
        core.gather(&mut deliveries);
        let deadline = core.node.deadline();
        let sooner = deadline < core.timer_at;
        if sooner {
            core.timer_at = deadline;
        }
        drop(core);
        if sooner {
            self.sooner.notify_one();
        }
        for (mailbox, output) in deliveries {
            deliver(&mailbox, output);
        }
        result
    }

    fn lock(&self) -> MutexGuard<'_, Core> {
        // A panic in the core is a bug that has been reported by then; the others are served on.
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that wants a seat.
#[derive(Debug)]
pub(super) struct Joining<'a> {
    pub(super) connect: Connect<'a>,
    /// How long the token is good from now on.
    pub(super) token_for: Option<Span>,
}

impl<'a> Joining<'a> {
    fn at(&self, now: Time) -> Connect<'a> {
        Connect { token_until: self.token_for.map(|span| now + span), ..self.connect }
    }
}

impl Core {
    fn gather(&mut self, deliveries: &mut Deliveries) {
        while let Some(output) = self.node.poll_output() {
            let conn = match &output {
                Output::Ready(conn) | Output::Ping(conn) | Output::ReadFirst(conn) => conn,
                Output::Close { conn, .. } => conn,
                Output::Transition(transition) => {
                    // Sent under the lock, so that each reader gets them in order. Nobody
                    // listening is no error.
                    let _ = self.transitions.send(transition.clone());
                    continue;
                }
                // This node works alone: no store is asked, and nobody asks through outputs.
                Output::Store { .. }
                | Output::Answer { .. }
                | Output::List { .. }
                | Output::Audience { .. }
                | Output::MayJoin { .. } => continue,
            };
            if let Some(mailbox) = self.mailboxes.get(conn) {
                deliveries.push((Arc::clone(mailbox), output));
            }
        }
    }
}

impl Seat {
    /// One operation on the node in the name of this connection.
    pub(super) fn with<R>(&self, operate: impl FnOnce(Time, ConnId, &mut Node) -> R) -> R {
        self.driver.with(|now, node| operate(now, self.conn, node))
    }

    /// The right to say `closing` in this connection's name, for its client; empty if there is none.
    pub(super) fn ticket(&self) -> &str {
        self.ticket.as_ref().map_or("", Ticket::as_str)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.driver.operate(|now, core| {
            core.mailboxes.remove(&self.conn);
            if let Some(ticket) = &self.ticket {
                core.tickets.remove(ticket);
            }
            core.node.handle_drop(now, self.conn);
        });
    }
}

fn deliver(mailbox: &Mailbox, output: Output) {
    match output {
        Output::Ready(_) => mailbox.post(mailbox::READY),
        Output::Ping(_) => mailbox.post(mailbox::PING),
        Output::ReadFirst(_) => mailbox.post(mailbox::READ_FIRST),
        Output::Close { code, retry_after, .. } => mailbox.post_close(code, retry_after),
        Output::Transition(_)
        | Output::Store { .. }
        | Output::Answer { .. }
        | Output::List { .. }
        | Output::Audience { .. }
        | Output::MayJoin { .. } => {}
    }
}

/// Sleeps until the node's next deadline, again and again, as long as somebody holds the driver.
async fn run_timer(clock: Clock, sooner: Arc<Notify>, driver: Weak<Driver>) {
    loop {
        // Not held over the wait, or the end of the last handle would go unnoticed.
        let Some(at) = driver.upgrade().map(|it| it.tick()) else { return };
        if at <= clock.now() {
            // More is due at once; the connections get their turn in between.
            tokio::task::yield_now().await;
            continue;
        }
        tokio::select! {
            () = sooner.notified() => {}
            () = clock.reach(at) => {}
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the driver is where tasks are started")]
fn spawn(task: impl Future<Output = ()> + Send + 'static) {
    tokio::spawn(task);
}
