//! What a connection says after its hello.

use greendot_protocol::limits::{NOTE_BYTES, USER_BYTES, WATCHES};
use greendot_protocol::{Beat, ClientFrame, CloseCode, ErrorCode, Span, Time, WatchItem};

use super::{ConnId, Ending, Node};
use crate::core::gate::Sight;
use crate::core::leases::{Idle, LeaseId};

/// Errors that wait for one connection; a client that causes more without reading them is closed.
const ERRORS_WAITING: usize = 64;

/// Watch frames that may wait for their snapshots.
const REQUESTS_WAITING: usize = 256;

/// Watches in them, those included that a later frame took back: a client that takes no answers
/// cannot fill the memory with questions.
const ENTRIES_WAITING: usize = 16 * WATCHES;

impl Node {
    /// A frame has arrived. From a connection that speaks for no session any more it has no effect
    /// (rule 4).
    pub fn handle_frame(&mut self, now: Time, conn: ConnId, frame: &ClientFrame<'_>) {
        let Some(lease) = self.conns.get(conn.0).and_then(|it| it.lease) else { return };
        let leaves = matches!(frame, ClientFrame::Bye | ClientFrame::Closing);
        self.sign_of_life(now, lease, leaves);
        match frame {
            ClientFrame::Hello(_) => self.end(now, lease, Ending::Code(CloseCode::BadFrame)),
            ClientFrame::Beat(beat) => self.on_beat(now, conn, lease, *beat),
            ClientFrame::Watch { request, users } => self.on_watch(now, conn, *request, users),
            ClientFrame::Unwatch { numbers } => {
                if let Some(viewer) = self.conns.get(conn.0).and_then(|it| it.viewer) {
                    for &number in numbers {
                        self.watches.unwatch(viewer, number);
                    }
                    self.unload(now);
                }
            }
            ClientFrame::Mode(mode) => {
                let Some(name) = self.conns.get(conn.0).map(|it| it.name.clone()) else { return };
                self.set_mode(now, &name, *mode);
            }
            ClientFrame::Note(note) => {
                let Some(name) = self.conns.get(conn.0).map(|it| it.name.clone()) else { return };
                if self.set_note(now, &name, note).is_err() {
                    let text = format!(
                        "the note has {} bytes; at most {NOTE_BYTES}: shorten it",
                        note.len()
                    );
                    self.complain(now, conn, ErrorCode::NoteTooLong, 0, text);
                }
            }
            ClientFrame::Idle => self.set_idle(now, lease, Idle::Told),
            ClientFrame::Active => {
                if let Some(row) = self.leases.get_mut(lease) {
                    row.input = Some(now);
                }
                self.set_idle(now, lease, Idle::No);
                self.leases.arm(lease);
            }
            ClientFrame::Closing => self.linger(now, lease),
            ClientFrame::Bye => self.end(now, lease, Ending::Bye),
            // A later version's frame, passed over; it was a sign of life all the same.
            _ => {}
        }
    }

    /// A frame of a kind unknown here, or a pong, has arrived: a sign of life.
    pub fn handle_pong(&mut self, now: Time, conn: ConnId) {
        let Some(lease) = self.conns.get(conn.0).and_then(|it| it.lease) else { return };
        if self.leases.get(lease).is_some_and(|it| it.lingers_until.is_none()) {
            self.touch(now, lease, false);
        }
    }

    /// What waited on the connection has been read, as [`super::Output::ReadFirst`] asked.
    pub fn handle_read(&mut self, now: Time, conn: ConnId) {
        let Some(lease) = self.conns.get(conn.0).and_then(|it| it.lease) else { return };
        let Some(row) = self.leases.get_mut(lease) else { return };
        if row.reading_since.take().is_some() {
            self.expire(now, lease);
        }
    }

    /// The newest generation has been heard: its deadline moves, and one that lingered while its
    /// connection still stood lives on.
    fn sign_of_life(&mut self, now: Time, lease: LeaseId, leaves: bool) {
        self.touch(now, lease, leaves);
        let Some(row) = self.leases.get_mut(lease) else { return };
        if row.lingers_until.take().is_some() {
            let session = row.session;
            self.directory.revive(session);
            self.leases.arm(lease);
            self.seat_revives(now, lease);
        }
    }

    /// `leaves`: the sign of life is a farewell, which revives nothing that is over elsewhere.
    fn touch(&mut self, now: Time, lease: LeaseId, leaves: bool) {
        let late = self.leases.get(lease).is_some_and(|it| self.leases.deadline(it) <= now);
        let silence = self.leases.touch(now, lease);
        if self.shared.is_some() {
            self.seat_heard(now, lease, silence, late && !leaves);
        }
    }

    fn on_beat(&mut self, now: Time, conn: ConnId, lease: LeaseId, beat: Beat) {
        if let Some(row) = self.conns.get_mut(conn.0) {
            row.waiting.beat_answer = Some(beat.number);
        }
        if let Some(secs) = beat.input_age_secs {
            let age = Span::from_secs(u64::from(secs));
            let Some(row) = self.leases.get_mut(lease) else { return };
            row.input = row.input.max(Some(now - age));
            let back = row.idle == Idle::Found && age < row.idle_after;
            if back {
                self.set_idle(now, lease, Idle::No);
            }
            self.leases.arm(lease);
        }
        self.wake(conn);
    }

    pub(super) fn set_idle(&mut self, now: Time, lease: LeaseId, idle: Idle) {
        let Some(row) = self.leases.get_mut(lease) else { return };
        row.idle = idle;
        let session = row.session;
        let Some(user) = self.directory.user_of(session) else { return };
        let change = self.directory.set_idle(session, idle != Idle::No);
        self.publish(now, user, change);
        if change.any() || self.shared.is_some() {
            self.seat_idles(now, lease, idle != Idle::No);
        }
    }

    fn on_watch(&mut self, now: Time, conn: ConnId, request: u32, users: &[WatchItem<'_>]) {
        if request == 0 {
            let text = "a watch's request number is 0, which stands for none; use 1 or more";
            self.complain(now, conn, ErrorCode::BadRequest, 0, text.into());
            return;
        }
        let Some(row) = self.conns.get_mut(conn.0) else { return };
        let viewer = *row.viewer.get_or_insert_with(|| self.watches.open(conn));
        let name = row.name.clone();
        if self.watches.requests_of(viewer) >= REQUESTS_WAITING
            || self.watches.waiting(viewer) + users.len() > ENTRIES_WAITING
        {
            self.hang_up(now, conn, CloseCode::TooFast);
            return;
        }
        self.watches.begin_request(viewer, request);
        let mut fresh = Vec::new();
        for item in users {
            if item.user.is_empty() || item.user.len() > USER_BYTES {
                let text = format!(
                    "the user watched as {} has a name of {} bytes; 1 to {USER_BYTES} are allowed",
                    item.number,
                    item.user.len()
                );
                if !self.complain(now, conn, ErrorCode::BadUser, item.number, text) {
                    return;
                }
                continue;
            }
            if self.watches.watched_by(viewer) >= WATCHES
                && !self.watches.is_taken(viewer, item.number)
            {
                let text = format!(
                    "{WATCHES} users are watched already: unwatch some before watching others"
                );
                if !self.complain(now, conn, ErrorCode::TooManyWatches, item.number, text) {
                    return;
                }
                continue;
            }
            let sight = if *item.user == *name { Sight::Own } else { Sight::Public };
            let (directory, alone) = (&self.directory, self.shared.is_none());
            let new = self.watches.watch(viewer, item.number, item.user, sight, || {
                // A shared store is asked; alone, the directory is right here.
                alone.then(|| {
                    let user = directory.find(item.user);
                    user.map(|user| directory.record(user).clone()).unwrap_or_default()
                })
            });
            fresh.extend(new);
        }
        self.unload(now);
        if self.shared.is_some() && !fresh.is_empty() {
            self.load(now, fresh);
        }
        self.wake(conn);
    }

    /// Something was not done; the connection goes on, unless its client never reads. Returns
    /// whether it does.
    fn complain(
        &mut self,
        now: Time,
        conn: ConnId,
        code: ErrorCode,
        about: u32,
        text: String,
    ) -> bool {
        let Some(row) = self.conns.get_mut(conn.0) else { return false };
        if row.waiting.errors.len() >= ERRORS_WAITING {
            self.hang_up(now, conn, CloseCode::TooFast);
            return false;
        }
        row.waiting.errors.push_back((code, about, text));
        self.wake(conn);
        true
    }

    /// Closes a connection for a reason that its session has no part in (a broken frame, a drain):
    /// the session lingers, as after a drop.
    pub fn hang_up(&mut self, now: Time, conn: ConnId, code: CloseCode) {
        let lease = self.conns.get(conn.0).and_then(|it| it.lease);
        if let Some(row) = lease.and_then(|it| self.leases.get_mut(it)) {
            row.conn = None;
        }
        self.close(now, conn, Ending::Code(code));
        if let Some(lease) = lease {
            self.linger(now, lease);
        }
    }
}
