//! A connection's seat in the core, and how it comes by one.

use std::sync::Arc;

use greendot_protocol::{CloseCode, Span, Time};

use super::Driver;
use crate::core::{ConnId, Connect, Node};
use crate::server::beacon::Ticket;
use crate::server::line::Line;

/// A connection's seat in the core. It is given up when this is dropped, whatever became of the
/// task that held it.
#[derive(Debug)]
pub(in crate::server) struct Seat {
    driver: Arc<Driver>,
    pub(in crate::server) conn: ConnId,
    /// Whether something waits for this connection.
    ready: bool,
}

/// A connection that wants a seat.
#[derive(Debug)]
pub(in crate::server) struct Joining<'a> {
    pub(in crate::server) connect: Connect<'a>,
    /// How long the token is good from now on.
    pub(in crate::server) token_for: Option<Span>,
}

impl Driver {
    /// Gives a connection its seat.
    ///
    /// # Errors
    ///
    /// The code to close it with if it may not have one.
    pub(in crate::server) fn seat(
        self: &Arc<Self>,
        connect: &Joining<'_>,
        line: &Arc<Line>,
    ) -> Result<Seat, CloseCode> {
        // Without randomness there are no tickets, and pages do without their beacon.
        let ticket = Ticket::draw().ok();
        if let Some(ticket) = ticket {
            line.set_ticket(ticket);
        }
        let (seated, ready) = self.operate(|now, core| {
            if core.drains {
                return Err(CloseCode::Drain);
            }
            let conn =
                core.node.handle_connect(now, &connect.at(now)).map_err(|refusal| refusal.code)?;
            core.acting = Some(conn);
            // The word to a connection that this one takes over from goes to its line.
            core.gather();
            core.put_line(conn, Some(Arc::clone(line)));
            core.tickets.extend(ticket.map(|it| (it, conn)));
            Ok(conn)
        });
        let driver = Arc::clone(self);
        seated.map(|conn| Seat { driver, conn, ready })
    }
}

impl<'a> Joining<'a> {
    fn at(&self, now: Time) -> Connect<'a> {
        Connect { token_until: self.token_for.map(|span| now + span), ..self.connect }
    }
}

impl Seat {
    /// One operation on the node in the name of this connection.
    pub(in crate::server) fn with<R>(
        &mut self,
        operate: impl FnOnce(Time, ConnId, &mut Node) -> R,
    ) -> R {
        let conn = self.conn;
        let (result, ready) = self.driver.operate(|now, core| {
            core.acting = Some(conn);
            operate(now, conn, &mut core.node)
        });
        self.ready |= ready;
        result
    }

    /// Whether something waits for this connection, since this was asked last.
    pub(in crate::server) fn take_ready(&mut self) -> bool {
        std::mem::take(&mut self.ready)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.driver.operate(|now, core| {
            if let Some(ticket) = core.line(self.conn).and_then(|it| it.ticket().copied()) {
                core.tickets.remove(&ticket);
            }
            core.put_line(self.conn, None);
            core.node.handle_drop(now, self.conn);
        });
    }
}
