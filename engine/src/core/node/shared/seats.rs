//! What the other rooms of the node report of its sessions and users.

use std::sync::Arc;

use greendot_protocol::sabotage::{Fault, on};
use greendot_protocol::{Mode, ModeChoice, Span, Time};

use super::words::Word;
use super::{BEAT, ENDS_AFTER, Reach, Seat, Then};
use crate::core::leases::ConnId;
use crate::core::node::Node;
use crate::store::{Departed, Register, Request, SessionName, Silent, Speaker};

impl Node {
    /// A session has connected here.
    pub(in crate::core::node) fn seat_connects(
        &mut self,
        now: Time,
        lease: ConnId,
        idle_said: Option<bool>,
        mode: Option<ModeChoice>,
    ) {
        let Some(shared) = self.shared.as_mut() else { return };
        let number = shared.take_seat();
        shared.by_number.insert(number, lease);
        let seat = Seat { number, connected: now, generation: None, idle_said, left_others: false };
        shared.seats.insert(lease, seat);
        let lost = shared.reach == Reach::Lost;
        self.register_with(now, lease, mode);
        if lost {
            // It need not wait for a store that does not answer.
            self.welcome(lease);
        }
    }

    pub(super) fn register_with(&mut self, now: Time, lease: ConnId, mode: Option<ModeChoice>) {
        let Some(name) = self.session_name(lease) else { return };
        let Some(row) = self.leases.get(lease) else { return };
        let Some(view) = self.session_of(lease).and_then(|it| self.directory.view(it)) else {
            return;
        };
        let Some(shared) = self.shared.as_ref() else { return };
        let Some(seat) = shared.seats.get(&lease) else { return };
        let register = Register {
            name,
            seat: seat.number,
            connected_ago: now.since(seat.connected),
            heard_ago: now.since(row.heard),
            generation: seat.generation,
            passive: view.passive,
            idle: match seat.generation {
                None => seat.idle_said,
                Some(_) => Some(view.idle),
            },
            lingers_for: row.lingers_until.map(|at| at.since(now)),
            mode,
            rooms: if on(Fault::RoomForgotten) { Vec::new() } else { self.rooms_of(lease) },
            no_others: seat.left_others,
            device: (*view.device).into(),
        };
        self.submit(now, Request::Connect(register), Then::Connected(lease));
        // How long it has been silent is told with that, and no older word about it is to follow.
        self.leases.report_anew(now, lease);
        if let Some(shared) = self.shared.as_mut() {
            shared.silent.remove(&lease);
        }
    }

    /// The rooms that a session is in, as far as this connect has a say. Where an earlier one went the store knows, or a
    /// later one elsewhere has left since.
    pub(in crate::core::node) fn rooms_of(&self, lease: ConnId) -> Vec<Arc<str>> {
        if self.leases.is_connected(lease) {
            return self.viewer_of(lease).map_or(Vec::new(), |it| self.watches.rooms_of(it));
        }
        self.session_of(lease).map_or(Vec::new(), |it| self.directory.rooms_of(it).to_vec())
    }

    /// The session's lease is gone, and with it what the store is told under its number.
    pub(in crate::core::node) fn forget_seat(&mut self, lease: ConnId) {
        let Some(shared) = self.shared.as_mut() else { return };
        shared.over.remove(&lease);
        if let Some(seat) = shared.seats.remove(&lease) {
            shared.by_number.remove(&seat.number);
        }
    }

    pub(in crate::core::node) fn seat_ends(
        &mut self,
        now: Time,
        lease: ConnId,
        name: SessionName,
        heard: Time,
        bye: bool,
        swept: bool,
    ) {
        let Some(departed) = self.departed(now, lease, name, heard, bye) else { return };
        if swept && let Some(shared) = self.shared.as_mut() {
            // It may have gone on in an outage, at a node that has not said so yet.
            let waits = shared.pending.front().is_some_and(|it| now.since(it.since) >= BEAT);
            if waits && shared.reach != Reach::Lost {
                shared.ends_at.get_or_insert(now + ENDS_AFTER);
            }
            if shared.ends_at.is_some_and(|at| at > now) {
                return shared.unsaid.keep(Word::Ended(departed, now));
            }
        }
        self.submit(now, Request::End(departed), Then::Nothing);
    }

    /// What the store is told of a session that ends here now.
    pub(in crate::core::node) fn departed(
        &self,
        now: Time,
        lease: ConnId,
        name: SessionName,
        heard: Time,
        bye: bool,
    ) -> Option<Departed> {
        let seat = self.shared.as_ref()?.seats.get(&lease)?;
        Some(Departed {
            name,
            seat: seat.number,
            connected_ago: now.since(seat.connected),
            heard_ago: now.since(heard),
            passive: self
                .session_of(lease)
                .and_then(|it| self.directory.view(it))
                .is_some_and(|it| it.passive),
            bye,
        })
    }

    /// A passive connect has taken over a session that counted. Told behind it, that ends nothing; but only this node knows
    /// when it was heard last.
    pub(in crate::core::node) fn seat_was_outdone(&mut self, now: Time, departed: Departed) {
        self.submit(now, Request::End(departed), Then::Nothing);
    }

    pub(in crate::core::node) fn seat_lingers(&mut self, now: Time, lease: ConnId) {
        if self.shared.is_none() {
            return;
        }
        let Some(until) = self.leases.get(lease).and_then(|it| it.lingers_until) else { return };
        if let Some(Silent { name, seat, heard_ago }) = self.silent_of(now, lease) {
            let request = Request::Linger { name, seat, heard_ago, lasts: until.since(now) };
            self.submit(now, request, Then::Nothing);
        }
    }

    pub(in crate::core::node) fn seat_revives(&mut self, now: Time, lease: ConnId) {
        if let Some(silent) = self.silent_of(now, lease) {
            self.submit(now, Request::Revive(silent), Then::Nothing);
        }
    }

    /// A sign of life has been taken, after a silence of this length if that was reported; `late` if
    /// the lease had run out.
    pub(in crate::core::node) fn seat_heard(
        &mut self,
        now: Time,
        lease: ConnId,
        silence: Option<Span>,
        late: bool,
    ) {
        if late {
            // The lease had run out: it may be over elsewhere.
            return self.register(now, lease);
        }
        let Some(shared) = self.shared.as_mut() else { return };
        if shared.thin {
            let Some(silence) = silence else { return };
            shared.heard.push(lease);
            if silence + BEAT + BEAT >= self.settings.ttl {
                // At the next beat it might be too late: others sweep, too.
                self.send_beat(now);
            }
        } else if let Some(silent) = self.silent_of(now, lease) {
            self.submit(now, Request::Renew(silent), Then::Nothing);
        }
    }

    /// Nothing has been heard of a session for a beat: it gets a deadline of its own.
    pub(in crate::core::node) fn seat_is_silent(&mut self, lease: ConnId) {
        if let Some(shared) = self.shared.as_mut() {
            shared.silent.insert(lease);
        }
    }

    pub(in crate::core::node) fn seat_idles(&mut self, now: Time, lease: ConnId, idle: bool) {
        if self.shared.is_none() {
            return;
        }
        let Some(name) = self.session_name(lease) else { return };
        if let Some(seat) = self.shared.as_mut().and_then(|it| it.seats.get_mut(&lease)) {
            // Until the store has heard of the session, this goes with its connect.
            seat.idle_said = Some(idle);
        }
        if let Some(seat) = self.seat_number(lease) {
            self.submit(now, Request::SetIdle { name, seat, idle }, Then::Nothing);
        }
    }

    /// The user's choice, said over this connection or by the application.
    pub(in crate::core::node) fn share_mode(
        &mut self,
        now: Time,
        user: &Arc<str>,
        mode: Mode,
        by: Option<ConnId>,
    ) {
        let (user, ago, by) = (Arc::clone(user), Span::ZERO, self.speaker(now, by));
        self.submit(now, Request::SetMode { user, mode, ago, by }, Then::Nothing);
    }

    /// The same of the user's note.
    pub(in crate::core::node) fn share_note(
        &mut self,
        now: Time,
        user: &Arc<str>,
        note: Arc<str>,
        by: Option<ConnId>,
    ) {
        let (user, ago, by) = (Arc::clone(user), Span::ZERO, self.speaker(now, by));
        self.submit(now, Request::SetNote { user, note, ago, by }, Then::Nothing);
    }

    fn speaker(&self, now: Time, conn: Option<ConnId>) -> Option<Speaker> {
        let conn = conn?;
        let session = self.session_name(conn)?.session;
        let seat = self.shared.as_ref()?.seats.get(&conn)?;
        Some(Speaker { session, seat: seat.number, connected_ago: now.since(seat.connected) })
    }

    pub(in crate::core::node) fn share_revoke(
        &mut self,
        now: Time,
        user: &Arc<str>,
        revoked: bool,
    ) {
        self.submit(
            now,
            Request::Revoke { user: Arc::clone(user), revoked, ago: Span::ZERO },
            Then::Nothing,
        );
    }

    pub(in crate::core::node) fn share_sign_out(&mut self, now: Time, user: &str, session: &str) {
        let Some(shared) = self.shared.as_mut() else { return };
        let seat = shared.take_seat();
        let name = SessionName { user: user.into(), session: session.into() };
        self.submit(now, Request::SignOut { name, seat, ago: Span::ZERO }, Then::Nothing);
    }

    pub(in crate::core::node) fn share_join(&mut self, now: Time, conn: ConnId, room: &Arc<str>) {
        let Some(name) = self.session_name(conn) else { return };
        self.submit(now, Request::Join { name, room: Arc::clone(room) }, Then::Nothing);
    }

    pub(in crate::core::node) fn share_leave(&mut self, now: Time, conn: ConnId, room: &Arc<str>) {
        let Some(name) = self.session_name(conn) else { return };
        self.submit(now, Request::Leave { name, room: Arc::clone(room) }, Then::Nothing);
    }

    /// The session has left all rooms that this connect has not joined.
    pub(in crate::core::node) fn share_leave_others(&mut self, now: Time, conn: ConnId) {
        if let Some(seat) = self.shared.as_mut().and_then(|it| it.seats.get_mut(&conn)) {
            seat.left_others = true;
            self.register(now, conn);
        }
    }

    pub(super) fn seat_number(&self, lease: ConnId) -> Option<u64> {
        self.shared.as_ref()?.seats.get(&lease).map(|it| it.number)
    }
}
