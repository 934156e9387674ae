//! The seats of sessions: who holds each, until when, and how they end.

use std::sync::Arc;

use greendot_protocol::limits::ROOMS;
use greendot_protocol::sabotage::{Fault, on};
use greendot_protocol::{ModeChoice, Span, Time};

use super::MemoryStore;
use crate::core::directory::{Joining, SessionId, UserId};
use crate::store::{
    Claim, Departed, HeldBy, NodeId, Notice, Register, Report, SessionName, Speaker,
};

/// Sessions that one user may have at a time.
const SESSIONS_OF_A_USER: usize = 256;

/// What keeps a session alive in the store.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seat {
    pub(super) claim: Claim,
    pub(super) connected: Time,
    pub(super) heard: Time,
    pub(super) passive: bool,
    pub(super) lingers_until: Option<Time>,
    /// Covered by its node's lease; it has no deadline of its own.
    pub(super) covered: bool,
}

impl Seat {
    /// Whether it is of a later connect than a claim; where the two are of one moment, whether it `stays`.
    fn is_later_than(&self, claim: Claim, connected: Time, stays: bool) -> bool {
        if on(Fault::EarlierClaimWins) {
            return false;
        }
        if self.claim.node == claim.node {
            return self.claim.seat > claim.seat;
        }
        self.connected > connected || (self.connected == connected && stays)
    }
}

impl MemoryStore {
    /// The session of this name, if it is held, and by whom.
    pub(super) fn seat_of(&self, name: &SessionName) -> Option<(SessionId, Seat)> {
        let user = self.directory.find(&name.user)?;
        let session = self.directory.session(user, &name.session)?;
        Some((session, *self.seats.get(&session)?))
    }

    /// When a later connect than this one was made, if one has the session, or had it and is over. What was heard of this one
    /// until then counts, and nothing else of it (rules 4 and 9). Where the two are of one moment, whether the one that has it
    /// `stays`.
    fn outdone_at(
        &self,
        now: Time,
        name: &SessionName,
        claim: Claim,
        connected: Time,
        stays: bool,
    ) -> Option<Time> {
        match self.seat_of(name) {
            Some((_, seat)) => {
                seat.is_later_than(claim, connected, stays).then_some(seat.connected)
            }
            None => self.past.outdone_at(name, claim, connected, now),
        }
    }

    /// The session, if this connect of this node speaks for it.
    pub(super) fn claimed(&self, node: NodeId, name: &SessionName, seat: u64) -> Option<SessionId> {
        let (session, row) = self.seat_of(name)?;
        (row.claim == Claim { node, seat }).then_some(session)
    }

    /// Whether a later connect had the session already when this one said something in its name, so long ago.
    pub(super) fn is_over(
        &self,
        now: Time,
        node: NodeId,
        user: &Arc<str>,
        by: &Speaker,
        ago: Span,
    ) -> bool {
        let name = SessionName { user: Arc::clone(user), session: Arc::clone(&by.session) };
        let (claim, connected) = (Claim { node, seat: by.seat }, now - by.connected_ago);
        match self.seat_of(&name) {
            Some((_, seat)) => {
                seat.is_later_than(claim, connected, true) && seat.connected <= now - ago
            }
            None => self.past.has_ended_since(&name, claim, connected, now - ago),
        }
    }

    /// The session, if this node holds it.
    pub(super) fn held_by(&self, node: NodeId, name: &SessionName) -> Option<SessionId> {
        let (session, row) = self.seat_of(name)?;
        (row.claim.node == node).then_some(session)
    }

    fn index(&mut self, session: SessionId) {
        let Some(&seat) = self.seats.get(&session) else { return };
        if seat.covered && seat.lingers_until.is_none() {
            self.covered.entry(seat.claim.node).or_default().insert(session);
        } else {
            self.due.insert((self.deadline_of(&seat), session));
        }
    }

    fn unindex(&mut self, session: SessionId) {
        let Some(seat) = self.seats.get(&session) else { return };
        self.due.remove(&(self.deadline_of(seat), session));
        if let Some(of_node) = self.covered.get_mut(&seat.claim.node) {
            of_node.remove(&session);
            if of_node.is_empty() {
                self.covered.remove(&seat.claim.node);
            }
        }
    }

    /// The session has ended. A node that has not heard of it may still tell of an earlier connect.
    fn vacate(&mut self, now: Time, session: SessionId) {
        self.unindex(session);
        let (Some(seat), Some(user)) =
            (self.seats.remove(&session), self.directory.user_of(session))
        else {
            return;
        };
        let user = self.directory.shared_name(user);
        if let Some(name) = self.directory.session_name(session) {
            let name = SessionName { user, session: name.into() };
            self.past.ended(now, name, seat.claim, seat.connected);
        }
    }

    /// Changes a seat and keeps the indices right.
    pub(super) fn reseat(&mut self, session: SessionId, change: impl FnOnce(&mut Seat)) {
        self.unindex(session);
        if let Some(seat) = self.seats.get_mut(&session) {
            change(seat);
        }
        self.index(session);
    }

    pub(super) fn connect(
        &mut self,
        now: Time,
        node: NodeId,
        register: &Register,
        turned: &mut Vec<Report>,
    ) -> HeldBy {
        let name = &register.name;
        if self.directory.is_revoked(&name.user) {
            return HeldBy::Revoked;
        }
        let claim = Claim { node, seat: register.seat };
        let connected = now - register.connected_ago;
        let user = self.directory.find(&name.user);
        let (present, before) = self.seat_of(name).unzip();
        // One that is told late does not unseat another of the same moment.
        let stays = register.connected_ago != Span::ZERO;
        if let Some(at) = self.outdone_at(now, name, claim, connected, stays) {
            if !register.passive {
                self.hear(now, &name.user, at.min(now - register.heard_ago));
            }
            return HeldBy::Another;
        }
        let ends = self.settings.ttl + self.settings.expiry_grace;
        // Its node has told of its end since: what is late of it is older.
        if before.is_none() && self.late != Span::ZERO && self.past.knows_end_of(name, claim) {
            return HeldBy::Over;
        }
        // While the store is warming up it cannot know: it may have lost the session, and then nobody has ended it.
        if before.is_none() && register.heard_ago >= ends && self.warm_until.is_none() {
            return HeldBy::Over;
        }
        if present.is_none()
            && user.is_some_and(|it| self.directory.views(it).len() >= SESSIONS_OF_A_USER)
        {
            return HeldBy::Full;
        }
        // Before anything is chosen: what was heard of who hid until now is not shown.
        let outdone = before.filter(|it| register.passive && !it.passive);
        if let (Some(session), Some(old)) = (present, outdone) {
            self.directory.count_no_more(session, connected.min(self.heard_of(&old)));
        }
        if let Some(session) = present {
            self.unindex(session);
        }
        // A session of before an outage goes on in its generation, and so does one whose node has not heard of it.
        let same = before.is_none_or(|it| it.claim == claim);
        let held = present.filter(|_| same).and_then(|it| self.directory.view(it));
        let generation = register.generation.or(held.map(|it| it.generation));
        // A choice that is late counts unless another has been made since.
        let (user, ago) = (&name.user, register.connected_ago);
        let latest = |it: &ModeChoice| {
            !it.fresh || self.past.is_latest(now, user, node, ago, |it| &mut it.mode)
        };
        let mode = register.mode.filter(latest);
        let joined = self.directory.connect(
            now,
            &Joining {
                user: &name.user,
                session: &name.session,
                passive: register.passive,
                idle: register.idle,
                mode,
                device: &register.device,
                generation: generation.filter(|_| same),
            },
        );
        let session = joined.session;
        if register.lingers_for.is_some() {
            self.directory.linger(session);
        }
        for room in &register.rooms {
            self.join(session, room);
        }
        if register.no_others {
            for room in self.directory.rooms_of(session).to_vec() {
                if !register.rooms.contains(&room) {
                    self.directory.leave(session, &room);
                }
            }
        }
        self.seats.insert(
            session,
            Seat {
                claim,
                connected,
                heard: now - register.heard_ago,
                passive: register.passive,
                lingers_until: register.lingers_for.map(|it| now + it),
                covered: self.thin
                    && register.lingers_for.is_none()
                    && register.heard_ago <= self.settings.beat,
            },
        );
        self.index(session);
        if let Some(old) = before.filter(|it| it.claim != claim && !on(Fault::ReplacedUntold)) {
            let (seat, passive) = (old.claim.seat, outdone.is_some());
            let notice = Notice::Replaced { seat, passive };
            self.tell(old.claim.node, notice);
        }
        self.wrote(now, &name.user);
        self.publish(now, joined.user, joined.change, turned);
        if joined.mode_changed {
            self.tell_mode(joined.user);
        }
        let idle = self.directory.view(session).is_some_and(|it| it.idle);
        let (mode, revision) = (joined.mode, joined.revision);
        HeldBy::You { generation: joined.generation, mode, revision, idle }
    }

    /// A node lets no connect into too many rooms, but does not know where earlier ones went: those give way.
    pub(super) fn join(&mut self, session: SessionId, room: &Arc<str>) {
        self.directory.join(session, room);
        if let [first, _, ..] = self.directory.rooms_of(session)
            && self.directory.rooms_of(session).len() > ROOMS
        {
            let first = Arc::clone(first);
            self.directory.leave(session, &first);
        }
    }

    pub(super) fn end(
        &mut self,
        now: Time,
        session: SessionId,
        heard: Time,
        turned: &mut Vec<Report>,
    ) {
        let Some(user) = self.directory.user_of(session) else { return };
        let name = self.directory.shared_name(user);
        self.wrote(now, &name);
        self.end_all(now, user, &[(session, heard)], turned);
    }

    /// Sessions of a user end, each last heard then: one change, however many they are.
    pub(super) fn end_all(
        &mut self,
        now: Time,
        user: UserId,
        sessions: &[(SessionId, Time)],
        turned: &mut Vec<Report>,
    ) {
        for &(session, _) in sessions {
            self.vacate(now, session);
        }
        let change = self.directory.end_all(user, sessions.iter().copied());
        self.publish(now, user, change, turned);
    }

    /// A session has ended at a node. What is held of an earlier connect ends with it (rule 4).
    pub(super) fn depart(
        &mut self,
        now: Time,
        node: NodeId,
        it: &Departed,
        turned: &mut Vec<Report>,
    ) {
        let name = &it.name;
        let (heard, connected) = (now - it.heard_ago, now - it.connected_ago);
        let claim = Claim { node, seat: it.seat };
        // Of two of one moment it was the one told first, or it would hold the seat.
        let outdone = self.outdone_at(now, name, claim, connected, true);
        match (self.seat_of(name), outdone) {
            (_, Some(_)) => {}
            (Some((session, seat)), None) => {
                let passive = it.passive && !seat.passive;
                if seat.claim.node != node && !on(Fault::ReplacedUntold) {
                    let notice = Notice::Replaced { seat: seat.claim.seat, passive };
                    self.tell(seat.claim.node, notice);
                }
                // What a passive one says is nothing that anybody was seen by.
                let heard = if passive { connected.min(self.heard_of(&seat)) } else { heard };
                match self.directory.user_of(session) {
                    // A node has swept.
                    Some(user) if !it.bye => {
                        self.end_due(now, node, user, &[(session, heard)], turned);
                    }
                    _ => self.end(now, session, heard, turned),
                }
            }
            (None, None) if self.past.knows_end_of(name, claim) => {}
            (None, None) => self.past.ended(now, name.clone(), claim, connected),
        }
        // It was there, whatever was known of it here.
        // A revoked account's connects are refused, and what they said is of nobody.
        let refused = self.directory.is_revoked(&name.user)
            && self.past.was_revoked_by(&name.user, connected);
        if !it.passive && !refused {
            self.hear(now, &name.user, outdone.map_or(heard, |at| at.min(heard)));
        }
    }

    /// A session that counted was heard then, of which no more is known here than that.
    fn hear(&mut self, now: Time, name: &Arc<str>, heard: Time) {
        let (user, later) = self.directory.hear(name, heard);
        if later && !self.directory.record(user).public.is_present() {
            // No change that anybody is told of: it counts from the next look on.
            self.wrote(now, name);
            self.spread(now, user);
        }
    }

    /// A session is to end, said so long ago: what has connected since goes on.
    pub(super) fn sign_out(
        &mut self,
        now: Time,
        claim: Claim,
        name: &SessionName,
        ago: Span,
        turned: &mut Vec<Report>,
    ) {
        let (said, at_once) = (now - ago, ago == Span::ZERO);
        let held = self.seat_of(name);
        let is_over = match held {
            Some((_, seat)) => at_once || !seat.is_later_than(claim, said, false),
            // Where it had connected by then may not have been told yet.
            None => !at_once && !self.past.has_ended_since(name, claim, said, now),
        };
        if !is_over {
            return;
        }
        if let Some((session, seat)) = held {
            let heard = self.heard_of(&seat);
            self.tell(seat.claim.node, Notice::SignedOut { seat: seat.claim.seat });
            self.end(now, session, heard, turned);
        }
        // No node that has yet to hear of it holds it again.
        self.past.ended(now, name.clone(), claim, said);
    }

    pub(super) fn revoke(
        &mut self,
        now: Time,
        user: &str,
        revoked: bool,
        turned: &mut Vec<Report>,
    ) {
        if !revoked {
            return self.directory.reinstate(user);
        }
        let id = self.directory.revoke(user);
        let mut ended = Vec::new();
        for session in self.directory.ids_of(id).collect::<Vec<_>>() {
            let Some(&seat) = self.seats.get(&session) else { continue };
            let notice = Notice::Revoked { seat: seat.claim.seat };
            self.tell(seat.claim.node, notice);
            ended.push((session, self.heard_of(&seat)));
        }
        self.end_all(now, id, &ended, turned);
    }
}
