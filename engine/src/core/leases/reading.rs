//! Connections on which something may wait that the driver is asked to read first.

use greendot_protocol::Time;

use super::lease::READING;
use super::{ConnId, Leases};

impl Leases {
    /// Since when the driver has been asked to read what waits on the connection, and whether it has.
    pub(crate) fn reading(&self, conn: ConnId) -> Option<(Time, bool)> {
        self.plan(conn).filter(|it| it.is(READING))?;
        self.reading.get(&conn.slot()).copied()
    }

    /// Marks that the driver is asked to read what waits on the connection.
    pub(crate) fn begin_reading(&mut self, now: Time, conn: ConnId) {
        let Some(mut row) = self.row_mut(conn) else { return };
        row.set(READING, true);
        self.forget_reading(conn.slot());
        self.reading.insert(conn.slot(), (now, false));
        self.unread += 1;
    }

    /// The driver has read; true if it had been asked to.
    pub(crate) fn has_read(&mut self, conn: ConnId) -> bool {
        let asked = self.reading(conn).and_then(|_| self.reading.get_mut(&conn.slot()));
        let Some((_, read)) = asked else { return false };
        self.unread -= usize::from(!std::mem::replace(read, true));
        true
    }

    /// Whether the driver has yet to read what it was asked to.
    pub(crate) fn has_unread(&self) -> bool {
        self.unread > 0
    }

    pub(super) fn forget_reading(&mut self, slot: u32) {
        let asked = self.reading.remove(&slot);
        self.unread -= usize::from(asked.is_some_and(|(_, read)| !read));
    }

    /// Nothing needs to be read first any more.
    pub(crate) fn end_reading(&mut self, conn: ConnId) {
        if !self.plan(conn).is_some_and(|it| it.is(READING)) {
            return;
        }
        self.row_at(conn.slot()).set(READING, false);
        self.forget_reading(conn.slot());
    }
}
