//! What a connection says after its hello.

use std::sync::Arc;

use greendot_protocol::limits::{NOTE_BYTES, USER_BYTES, WATCHES};
use greendot_protocol::sabotage::{Fault, on};
use greendot_protocol::{Beat, ClientFrame, CloseCode, ErrorCode, Span, Time, WatchItem};

use super::asking::Purpose;
use super::rooms::known;
use super::{ConnId, Ending, Node};
use crate::core::gate::Fineness;
use crate::core::leases::{Idle, Touch, Waiting};
use crate::core::watches::ViewerId;

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
        self.take_frame(now, now, conn, frame);
    }

    /// The same, of a frame that is read late by a driver that knows when it arrived: the lease and last seen go by that
    /// (rules 1 and 9), as far as nothing later was heard.
    pub fn handle_late_frame(
        &mut self,
        now: Time,
        arrived: Time,
        conn: ConnId,
        frame: &ClientFrame<'_>,
    ) {
        self.take_frame(now, self.dated(now, arrived, conn), conn, frame);
    }

    fn take_frame(&mut self, now: Time, arrived: Time, conn: ConnId, frame: &ClientFrame<'_>) {
        // A farewell revives nothing that is over elsewhere.
        let leaves = matches!(frame, ClientFrame::Bye | ClientFrame::Closing);
        let late = !leaves && self.is_late(now, conn);
        match self.leases.touch(arrived, conn) {
            Touch::Nobody => {
                self.totals.late_frames += 1;
                self.totals.late_beats += u64::from(matches!(frame, ClientFrame::Beat(_)));
                return;
            }
            touch => self.renewed(now, conn, touch, late),
        }
        if !matches!(frame, ClientFrame::Beat(_)) {
            self.leases.says_nothing_of_input(conn);
        }
        match frame {
            ClientFrame::Hello(_) => {
                self.totals.endings.refused += 1;
                self.end(now, conn, Ending::Code(CloseCode::BadFrame));
            }
            ClientFrame::Beat(beat) => self.on_beat(now, arrived, conn, *beat),
            ClientFrame::Watch { request, users } => self.on_watch(now, conn, *request, users),
            ClientFrame::Unwatch { numbers } => {
                if let Some(viewer) = self.viewer_of(conn) {
                    for &number in numbers {
                        self.watches.unwatch(viewer, number);
                    }
                    self.unload(now);
                }
            }
            ClientFrame::Mode(mode) => {
                let Some(name) = self.name_of(conn) else { return };
                self.choose_mode(now, &name, *mode, Some(conn));
            }
            ClientFrame::Note(note) => {
                let Some(name) = self.name_of(conn) else { return };
                if self.write_note(now, &name, note, Some(conn)).is_err() {
                    let text = format!(
                        "the note has {} bytes; at most {NOTE_BYTES}: shorten it",
                        note.len()
                    );
                    self.complain(now, conn, ErrorCode::NoteTooLong, 0, text);
                }
            }
            ClientFrame::Idle => self.set_idle(now, conn, Idle::Told),
            ClientFrame::Active => {
                self.leases.input(conn, now);
                self.set_idle(now, conn, Idle::No);
            }
            ClientFrame::Closing => self.linger(now, conn),
            ClientFrame::Bye if on(Fault::ByeLingers) => self.linger(now, conn),
            ClientFrame::Bye => {
                self.totals.endings.bye += 1;
                self.end(now, conn, Ending::Bye);
            }
            ClientFrame::Join { number, room } => self.on_join(now, conn, *number, room),
            ClientFrame::Own(on) => self.on_own(now, conn, *on),
            ClientFrame::End { session } => self.on_end(now, conn, session),
            ClientFrame::Leave { number } => self.on_leave(now, conn, *number),
            // The driver has it checked, and says what came of it: [`Self::handle_token`].
            ClientFrame::Token(_) => self.tokens.begin_check(conn),
            // A later version's frame, passed over; it was a sign of life all the same.
            _ => {}
        }
    }

    /// A frame of a kind unknown here, or a pong, has arrived: a sign of life. It takes no `closing` back.
    #[inline]
    pub fn handle_pong(&mut self, now: Time, conn: ConnId) {
        if self.shared.is_some() || !self.leases.renew(now, conn) {
            self.take_pong(now, now, conn);
        }
    }

    /// The same, of a pong that is read late by a driver that knows when it arrived.
    pub fn handle_late_pong(&mut self, now: Time, arrived: Time, conn: ConnId) {
        self.take_pong(now, self.dated(now, arrived, conn), conn);
    }

    /// When something that is read late counts as heard: not before what was heard since.
    fn dated(&self, now: Time, arrived: Time, conn: ConnId) -> Time {
        let heard = self.leases.get(conn).map_or(now, |it| it.heard);
        arrived.max(heard).min(now)
    }

    /// One that is more than a renewal.
    fn take_pong(&mut self, now: Time, arrived: Time, conn: ConnId) {
        let late = self.is_late(now, conn);
        match self.leases.pong(arrived, conn) {
            Touch::Nobody => {}
            touch => self.renewed(now, conn, touch, late),
        }
    }

    /// What waited on the connection has been read, as [`super::Output::ReadFirst`] asked.
    pub fn handle_read(&mut self, now: Time, conn: ConnId) {
        let asked = self.leases.has_read(conn);
        if !self.follows_end(now, conn) && asked {
            if self.catches_up() {
                // What is due ends with the next sweep.
                self.leases.end_reading(conn);
            } else {
                self.expire(now, conn);
            }
        }
        self.end_token_that_was_read(now, conn);
        self.catch_up(now);
    }

    /// Whether the session's lease has run out, so that it may be over at other nodes.
    fn is_late(&self, now: Time, conn: ConnId) -> bool {
        self.shared.is_some() && self.leases.get(conn).is_some_and(|it| it.deadline <= now)
    }

    /// A lease has been renewed; `late` if it had run out.
    fn renewed(&mut self, now: Time, conn: ConnId, touch: Touch, late: bool) {
        let (silence, lingers) = match touch {
            Touch::Noted { silence, lingers } => (silence, lingers),
            Touch::Alive | Touch::Nobody => (None, false),
        };
        if self.shared.is_some() {
            self.seat_heard(now, conn, silence, late);
        }
        if lingers {
            self.revive(now, conn);
        }
    }

    /// A session that lingered while its connection still stood lives on.
    fn revive(&mut self, now: Time, conn: ConnId) {
        let Some(session) = self.session_of(conn) else { return };
        if self.leases.revive(conn) {
            self.directory.revive(session);
            self.tell_own_sessions();
            self.seat_revives(now, conn);
        }
    }

    fn on_beat(&mut self, now: Time, arrived: Time, conn: ConnId, beat: Beat) {
        self.totals.beats += 1;
        self.leases.answer(conn, beat.number);
        if let Some(secs) = beat.input_age_secs {
            let age = Span::from_secs(u64::from(secs));
            let is_news = self.leases.input(conn, arrived - age);
            if self.leases.idle(conn) == Some(Idle::Found) {
                if is_news && age < self.leases.idle_after(conn) {
                    self.set_idle(now, conn, Idle::No);
                } else {
                    self.leases.find_idle(conn);
                }
            }
        }
        self.wake(conn);
    }

    pub(super) fn set_idle(&mut self, now: Time, conn: ConnId, idle: Idle) {
        let Some(session) = self.session_of(conn) else { return };
        self.leases.set_idle(conn, idle);
        let Some(user) = self.directory.user_of(session) else { return };
        let change = self.directory.set_idle(session, idle != Idle::No);
        self.publish(now, user, change);
        if change.any() || self.shared.is_some() {
            self.seat_idles(now, conn, idle != Idle::No);
        }
    }

    pub(super) fn name_of(&self, conn: ConnId) -> Option<Arc<str>> {
        self.user_of(conn).map(|user| self.directory.shared_name(user))
    }

    fn on_watch(&mut self, now: Time, conn: ConnId, request: u32, users: &[WatchItem<'_>]) {
        if request == 0 {
            let text = "a watch's request number is 0, which stands for none; use 1 or more";
            self.complain(now, conn, ErrorCode::BadRequest, 0, text.into());
            return;
        }
        let Some((viewer, name)) = self.open_viewer(now, conn) else { return };
        if self.watches.requests_of(viewer) >= REQUESTS_WAITING
            || self.watches.requested(viewer) + users.len() > ENTRIES_WAITING
        {
            self.hang_up(now, conn, CloseCode::TooFast);
            return;
        }
        self.watches.begin_request(viewer, request);
        let (mut fresh, mut itself) = (Vec::new(), None);
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
                && !self.watches.sees(viewer, item.user)
            {
                let text = format!(
                    "{WATCHES} users are watched already: unwatch some before watching others"
                );
                if !self.complain(now, conn, ErrorCode::TooManyWatches, item.number, text) {
                    return;
                }
                continue;
            }
            let (directory, alone) = (&self.directory, self.shared.is_none());
            let grant = self.audience.is_none().then_some(Fineness::Live);
            let record = || known(directory, alone, item.user);
            let begun = self.watches.watch(viewer, item.number, item.user, grant, record);
            let Some(begun) = begun else { continue };
            if *item.user == *name {
                itself = begun.load.or(itself);
            } else {
                fresh.extend(begun.load);
            }
            if let Some(audience) = self.audience.as_mut().filter(|_| *item.user != *name) {
                let known =
                    audience.attach(now, Purpose::Name, &name, &item.user.into(), begun.watch);
                if let Some((fineness, since)) = known {
                    self.watches.grant(now, begun.watch, fineness, since);
                }
            }
        }
        self.unload(now);
        self.ask_audience(now);
        if self.shared.is_some() && !fresh.is_empty() {
            self.load_watched(now, fresh);
        }
        if let Some(itself) = itself.filter(|_| self.shared.is_some()) {
            self.load(now, vec![itself]);
        }
        self.wake(conn);
    }

    /// The viewer that a connection is, from its first wish on, and its user.
    pub(super) fn open_viewer(&mut self, now: Time, conn: ConnId) -> Option<(ViewerId, Arc<str>)> {
        let name = self.name_of(conn)?;
        if let Some(viewer) = self.viewer_of(conn) {
            return Some((viewer, name));
        }
        let outlook = self.shared.is_none().then(|| Arc::clone(self.directory.outlook(&name)));
        let hides = self.hides(&name);
        let (viewer, fresh) = self.watches.open(conn, &name, hides, outlook);
        self.leases.set_viewer(conn, viewer.slot());
        if fresh && self.shared.is_some() {
            self.look(now, vec![Arc::clone(&name)]);
        }
        Some((viewer, name))
    }

    /// Something was not done; the connection goes on, unless its client never reads. Returns
    /// whether it does.
    pub(super) fn complain(
        &mut self,
        now: Time,
        conn: ConnId,
        code: ErrorCode,
        about: u32,
        text: String,
    ) -> bool {
        if !self.leases.is_connected(conn) {
            return false;
        }
        let errors = self.errors.entry(conn).or_default();
        if errors.len() >= ERRORS_WAITING {
            self.hang_up(now, conn, CloseCode::TooFast);
            return false;
        }
        errors.push_back((code, about, text));
        self.leases.wait(conn, Waiting::ERRORS);
        self.wake(conn);
        true
    }

    /// Closes a connection for a reason that its session has no part in (a broken frame, a token that has ended):
    /// the session lingers, as after a drop.
    pub fn hang_up(&mut self, now: Time, conn: ConnId, code: CloseCode) {
        if self.leases.is_connected(conn) {
            self.close(now, conn, Ending::Code(code));
            self.linger(now, conn);
        }
    }
}
