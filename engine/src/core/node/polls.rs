//! Sessions of those who cannot hold a connection: each poll keeps its session for a while (rule 16).

use greendot_protocol::{Span, Time};

use super::{Connect, Node, Refusal};

/// The longest that a poll can keep its session; whoever polls more seldom is away in between.
const KEPT_MOST: Span = Span::from_millis(10 * 60_000);

impl Node {
    /// A poll in a session's name: the session is there, without a connection, for two poll
    /// intervals from now on. One that has a connection is only heard: the poll takes nothing from it.
    ///
    /// # Errors
    ///
    /// If it may not have a session; the poll is to be answered so.
    pub fn handle_poll(
        &mut self,
        now: Time,
        connect: &Connect<'_>,
        interval: Span,
    ) -> Result<(), Refusal> {
        let session = self
            .directory
            .find(connect.user)
            .and_then(|it| self.directory.session(it, connect.session))
            .and_then(|it| self.leases.at(it.slot()));
        if let Some(conn) = session.filter(|it| self.leases.is_connected(*it)) {
            self.handle_pong(now, conn);
            return Ok(());
        }
        let conn = self.handle_connect(now, connect)?;
        self.leave_for(now, conn, (interval + interval).min(KEPT_MOST));
        Ok(())
    }
}
