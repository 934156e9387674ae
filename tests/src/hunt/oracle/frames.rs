//! What reaches a node: hellos, frames, pongs and ends, and what follows from each.

use greendot_engine::core::unseal;
use greendot_protocol::binary::decode_client;
use greendot_protocol::{Beat, ClientFrame, CloseCode, Hello, Mode, ModeChoice, Revision};

use super::conn::Watch;
use super::session::{Leaving, Session, When};
use super::states::Flags;
use super::tokens::token_until;
use super::{Due, Found, Kind, Oracle, SLACK};

/// What a connection is closed with that has said goodbye.
const BYE: u16 = 1000;

impl Oracle<'_> {
    /// A frame has arrived and is not read: it counts from now on (rule 1).
    pub(super) fn frame_waits(&mut self, conn: usize, bytes: &[u8]) {
        let now = self.now;
        self.conns[conn].waiting.push_back(now);
        if self.conns[conn].user.is_some() {
            self.token_waits(conn, bytes);
            self.life_waits(conn);
            return;
        }
        // A connect that has arrived in time keeps the session, once it is read.
        if let Ok(Some(ClientFrame::Hello(hello))) = decode_client(bytes) {
            let user = self.user(user_of(hello.token));
            let cluster = &self.cluster;
            let node = self.conns[conn].node;
            if let Some(session) = self.users[user].session(hello.session)
                && session.node == node
                && now < session.may_end(cluster)
            {
                session.awaited = true;
                self.conns[conn].awaits = Some((user, hello.session.into()));
                self.derive(user);
            }
        }
    }

    pub(super) fn end_waits(&mut self, conn: usize) {
        let now = self.now;
        self.conns[conn].waiting.push_back(now);
        self.conns[conn].end_waits = true;
        // Who said hello and left before that was read was never there.
        let Some((user, name)) = self.conns[conn].awaits.take() else { return };
        let others = self.conns.iter().filter_map(|it| it.awaits.as_ref());
        let still = others.filter(|it| (it.0, &*it.1) == (user, &*name)).count() > 0;
        if let Some(session) = self.users[user].session(&name) {
            session.awaited &= still;
            self.derive(user);
        }
    }

    pub(super) fn pong_waits(&mut self, conn: usize) {
        self.conns[conn].waiting.push_back(self.now);
        self.life_waits(conn);
    }

    fn life_waits(&mut self, conn: usize) {
        let now = self.now;
        let Some(user) = self.conns[conn].user.filter(|_| !self.conns[conn].end_waits) else {
            return;
        };
        let ttl = self.cluster.periods.ttl;
        // One that arrives after the deadline does not count before it is read (rule 1).
        if let Some(session) = self.users[user].session_on(conn)
            && now <= session.heard.arrived + ttl
        {
            session.heard.arrived = now;
            self.derive(user);
        }
    }

    /// When what is read now arrived.
    fn arrival(&mut self, conn: usize) -> When {
        let now = self.now;
        let arrived = self.conns[conn].waiting.pop_front().unwrap_or(now);
        When { arrived, read: now }
    }

    pub(super) fn pong(&mut self, conn: usize) {
        let when = self.arrival(conn);
        let Some(user) = self.conns[conn].user else { return };
        let heard = self.cluster.is_heard(self.conns[conn].node);
        let Some(session) = self.users[user].session_on(conn) else {
            return self.old_one_said(conn, user, None);
        };
        // Whether a pong counts while the page has said that it goes away is left open.
        if session.leaving == Leaving::No {
            session.hear(when, heard);
            session.answers(when, &self.cluster);
        }
        session.heard.read = when.read;
        if !session.passive {
            // Last seen is the time of frames; that of a pong is no lie either.
            self.users[user].hear_at_most(when.read);
        }
        self.derive(user);
    }

    pub(super) fn frame(&mut self, conn: usize, bytes: &[u8]) {
        let when = self.arrival(conn);
        // Each direction keeps its order, and what is lost takes all with it that comes behind.
        let said = self.conns[conn].said.pop_front().unwrap_or(self.now);
        let Ok(Some(frame)) = decode_client(bytes) else { return };
        match (self.conns[conn].user, frame) {
            (None, ClientFrame::Hello(hello)) => self.hello(conn, when, &hello),
            (None, _) => {}
            (Some(user), frame) => self.said(conn, user, when, said, &frame),
        }
    }

    fn said(&mut self, conn: usize, user: usize, when: When, said: u64, frame: &ClientFrame<'_>) {
        let (now, node) = (self.now, self.conns[conn].node);
        let cluster = &self.cluster;
        let heard = cluster.is_heard(node);
        let Some(session) = self.users[user].session_on(conn) else {
            // It speaks for no session any more: nothing it says has any effect (rule 4).
            let chosen = match frame {
                ClientFrame::Mode(mode) => Some(*mode),
                _ => None,
            };
            self.old_one_said(conn, user, chosen);
            return self.watching(conn, said, frame);
        };
        session.hear(when, heard);
        let spoke = session.spoke.arrived;
        // Of one that was about to leave its node has forgotten what it was told of input.
        let counts = session.untold || session.leaving != Leaving::No;
        session.untold = !matches!(frame, ClientFrame::Beat(_));
        if session.leaving == Leaving::No {
            session.speaks(when, cluster);
        }
        // A store that has lost the session takes its word once it is registered again.
        let taken = heard && session.certain_from <= now;
        if session.leaving != Leaving::No {
            let frozen = session.flags(now, cluster);
            session.found_idle |= session.told.active && !frozen.active;
            session.told = frozen;
            session.leaving = Leaving::No;
            session.told_left.take_if(|_| heard);
            session.looked_for = now;
            session.spoke = when;
        }
        match frame {
            ClientFrame::Beat(Beat { input_age_secs: Some(secs), .. }) => {
                let input = when.arrived.saturating_sub(u64::from(*secs) * 1000);
                let before = session.flags(now, cluster);
                session.input = session.input.max(Some(input));
                if session.found_idle && when.arrived < input + session.idle_after {
                    // What it said with its last beat is no news: its clock may have stood still since.
                    match (input > spoke, counts) {
                        (true, _) => (session.told, session.found_idle) = (Flags::ACTIVE, false),
                        (false, true) => session.told = session.told.union(Flags::ACTIVE),
                        (false, false) => {}
                    }
                }
                session.looked_for = now;
                if !cluster.is_settled(node) {
                    session.vague = session.vague.union(before);
                }
            }
            ClientFrame::Idle => session.tell(now, Flags::IDLE, cluster),
            ClientFrame::Active => {
                session.tell(now, Flags::ACTIVE, cluster);
                session.input = Some(now);
                session.looked_for = now;
            }
            ClientFrame::Closing => session.linger(when, cluster),
            _ => {}
        }
        if !session.passive {
            let arrived = self.told_as_heard(when.arrived);
            self.users[user].hear(arrived, when.read, taken);
        }
        let by = (!heard).then_some(node);
        match frame {
            ClientFrame::Bye => {
                self.must_close(conn, BYE, None);
                self.session_is_over(conn, user);
            }
            ClientFrame::Mode(mode) => {
                self.users[user].choose(now, *mode, by);
                self.choice_is_read(conn, *mode);
            }
            ClientFrame::Note(note) => self.users[user].set_note(now, note),
            _ => self.watching(conn, said, frame),
        }
        self.derive(user);
        self.shifted = true;
    }

    /// A connection whose place another has taken says something. While not every node knows of the
    /// other one, what it says may still be believed.
    fn old_one_said(&mut self, conn: usize, user: usize, chosen: Option<Mode>) {
        let (now, cluster) = (self.now, &self.cluster);
        let row = &self.conns[conn];
        let Some(session) = self.users[user].session(&row.session) else { return };
        let unknown = !(cluster.is_settled(row.node) && cluster.is_settled(session.node));
        if unknown && !session.passive {
            self.users[user].hear_at_most(now);
        }
        if let Some(mode) = chosen.filter(|_| unknown) {
            self.users[user].may_have_chosen(mode);
            self.derive(user);
        }
    }

    /// Of a covered session it is only known that it was heard shortly before (thin renewals).
    fn told_as_heard(&self, arrived: u64) -> u64 {
        if self.cluster.thin {
            arrived.saturating_sub(self.cluster.silence_before())
        } else {
            arrived
        }
    }

    fn watching(&mut self, conn: usize, said: u64, frame: &ClientFrame<'_>) {
        let now = self.now;
        if self.conns[conn].is_closing {
            return;
        }
        match frame {
            ClientFrame::Token(token) => {
                let row = &mut self.conns[conn];
                (row.token_until, row.fresh_waits) = (token_until(token), false);
            }
            ClientFrame::Watch { request, users } => {
                let serials =
                    users.iter().map(|it| self.watch(conn, said, it.number, it.user)).collect();
                self.conns[conn].requests.push((*request, serials, now));
                self.conns[conn].has_watched = true;
                self.raise_alarm(now);
            }
            ClientFrame::Join { number, room } => self.joins(conn, said, *number, room),
            ClientFrame::Leave { number } => self.leaves(conn, *number),
            ClientFrame::Own(on) => self.owns(conn, *on),
            ClientFrame::Unwatch { numbers } => {
                self.a_watch_ends(conn);
                self.conns[conn].watches.retain(|it| !numbers.contains(&it.number));
            }
            _ => {}
        }
    }

    fn watch(&mut self, conn: usize, said: u64, number: u32, name: &str) -> u64 {
        let user = self.user(name);
        self.serial += 1;
        let serial = self.serial;
        self.a_watch_ends(conn);
        let row = &mut self.conns[conn];
        // Of a number, and of a user, the latest watch counts.
        row.watches.retain(|it| it.number != number && it.user != user);
        row.watches.push(Watch {
            serial,
            number,
            user,
            shown: None,
            shown_at: 0,
            event_at: None,
            begun: self.now,
            version: 0,
            said,
            wrong_since: None,
        });
        serial
    }

    /// A hello is read.
    fn hello(&mut self, conn: usize, when: When, hello: &Hello<'_>) {
        self.conns[conn].awaits = None;
        if hello.token.ends_with("|throws") {
            return;
        }
        let (now, node) = (self.now, self.conns[conn].node);
        let user = self.user(user_of(hello.token));
        let heard = self.cluster.is_heard(node);
        let unsure_by = (!heard).then_some(conn);
        self.conns[conn].session = hello.session.to_owned();
        self.conns[conn].passive = hello.passive;
        self.conns[conn].token_until = token_until(hello.token);
        if self.app.turned_away.contains(&user) {
            return;
        }
        if self.users[user].revoked {
            if self.cluster.shares {
                // Known once the store is asked.
                self.conns[conn].user = Some(user);
                self.must_close(conn, CloseCode::Revoked.number(), unsure_by);
                if !heard {
                    self.app.unasked.push((user, node));
                }
            }
            return;
        }
        self.conns[conn].user = Some(user);
        let name = user_of(hello.token);
        let told = |it: ModeChoice| match unseal(name, it.revision) {
            Some(revision) => Some(ModeChoice { revision, ..it }),
            None => it.fresh.then_some(ModeChoice { revision: Revision(0), ..it }),
        };
        if let Some(choice) = hello.mode.and_then(told) {
            self.users[user].weigh(now, choice, (!heard).then_some(node));
            if choice.fresh {
                self.choice_is_read(conn, choice.mode);
            }
        }
        let said = hello.idle.map(|idle| if idle { Flags::IDLE } else { Flags::ACTIVE });
        let cluster = &self.cluster;
        let both_known = |it: &Session| heard && cluster.is_settled(it.node);
        let moment = |it: &Session| it.node != node && now <= it.connected + SLACK;
        // Of two connects at one moment to two nodes that do not hear of each other, no rule says
        // which is the later, and nobody can know.
        let no_order = |it: &Session| it.name == hello.session && moment(it) && !both_known(it);
        let no_order = self.users[user].sessions.iter().any(no_order);
        self.users[user].murky |= no_order;
        let before = self.users[user].session(hello.session).map(|session| {
            let known = heard && session.is_certain(now, cluster);
            let stays = session.hands_on(known && cluster.is_settled(session.node));
            (session.flags(now, cluster), known, session.conn, stays)
        });
        let (carried, known, old, stays) = before.unwrap_or_else(|| {
            let blurred = !self.cluster.is_settled(node);
            let user = &self.users[user];
            let found = if blurred { user.former_stays(hello.session, node) } else { Vec::new() };
            (Flags::ACTIVE, true, None, found)
        });
        let told = match said {
            Some(flags) => flags,
            None if known => carried,
            // It may be over: then it begins as active.
            None if heard => carried.union(Flags::ACTIVE),
            // Nobody here knows its flag; what carries over is what it is once the store is told.
            None => Flags::EITHER,
        };
        let idle_after = hello.idle_after_secs.map(|it| u64::from(it) * 1000);
        let age = hello.input_age_secs.map(|it| u64::from(it) * 1000);
        let session = Session {
            name: hello.session.to_owned(),
            passive: hello.passive,
            node,
            conn: Some(conn),
            connected: now,
            heard: when,
            spoke: when,
            known: when.arrived,
            known_before: (when.arrived, now),
            told,
            found_idle: false,
            untold: false,
            vague: if heard { Flags::NONE } else { Flags::EITHER },
            input: age.map(|age| now.saturating_sub(age)),
            idle_after: idle_after.unwrap_or(cluster.periods.idle_after),
            looked_for: now,
            leaving: Leaving::No,
            stays,
            awaited: false,
            certain_from: if heard { now } else { u64::MAX },
            knows_mode: false,
            orphan: false,
            maybe_over: false,
            told_leaving: false,
            told_left: None,
        };
        self.users[user].sessions.retain(|it| it.name != hello.session);
        self.users[user].forget_session();
        self.users[user].sessions.push(session);
        if !hello.passive {
            let arrived = self.told_as_heard(when.arrived);
            self.users[user].hear(arrived, when.read, heard);
        }
        if let Some(old) = old.filter(|&it| self.conns[it].open && !self.conns[it].is_closing) {
            self.must_close(old, CloseCode::Replaced.number(), unsure_by);
        }
        self.derive(user);
        self.shifted = true;
    }

    /// The node sees the connection end: the session lingers, if it is still on it (rule 3).
    pub(super) fn ended(&mut self, conn: usize) {
        let when = self.arrival(conn);
        self.a_watch_ends(conn);
        let row = &mut self.conns[conn];
        row.open = false;
        row.watches.clear();
        row.seats.clear();
        row.own = None;
        row.requests.clear();
        let Some(user) = row.user else { return };
        self.place_is_lost(conn);
        let cluster = &self.cluster;
        if let Some(session) = self.users[user].session_on(conn) {
            session.conn = None;
            session.linger(when, cluster);
            self.derive(user);
        }
    }

    /// The session on this connection has ended. Where its node cannot say so, it may be taken to
    /// be there for a while.
    pub(super) fn session_is_over(&mut self, conn: usize, user: usize) {
        self.place_is_lost(conn);
        let (now, cluster) = (self.now, &self.cluster);
        let Some(session) = self.users[user].session_on(conn) else { return };
        session.conn = None;
        if cluster.is_settled(session.node) {
            session.name.clear();
            self.users[user].sessions.retain(|it| !it.name.is_empty());
        } else {
            session.leaving = Leaving::Gone(now, session.flags(now, cluster));
            session.knows_mode = false;
        }
        self.users[user].forget_session();
        self.derive(user);
        self.shifted = true;
    }

    /// A connection that was to take another's place is over before every node knew of it: which
    /// of the two counts, no rule says.
    pub(super) fn place_is_lost(&mut self, conn: usize) {
        for place in 0..self.to_close.len() {
            let due = self.to_close[place];
            let (old, new) = (&self.conns[due.conn], &self.conns[conn]);
            let same = old.user == new.user && old.session == new.session;
            let unsettled = !self.cluster.is_settled(old.node) || due.unsure_by == Some(conn);
            if same
                && unsettled
                && due.conn != conn
                && old.open
                && let Some(user) = new.user
            {
                self.users[user].murky = true;
            }
        }
    }

    pub(super) fn must_close(&mut self, conn: usize, code: u16, unsure_by: Option<usize>) {
        self.to_close.push(Due { conn, code, since: self.now, unsure_by });
    }

    /// A connection that was to be closed, and is not?
    pub(super) fn check_closings(&mut self) -> Found {
        let now = self.now;
        let mut place = 0;
        while let Some(due) = self.to_close.get_mut(place) {
            let row = &self.conns[due.conn];
            let by_node = due.unsure_by.map(|it| self.conns[it].node);
            let murky = row.user.is_some_and(|it| self.users[it].murky);
            if !row.open || murky {
                self.to_close.remove(place);
                continue;
            }
            if !self.cluster.is_settled(row.node)
                || by_node.is_some_and(|it| !self.cluster.is_settled(it))
            {
                due.since = now;
            } else if now > due.since {
                let (conn, code) = (due.conn, due.code);
                let text =
                    format!("connection {conn} of {} is not closed with {code}", row.owner());
                return self.complain(Kind::NotReplaced, text);
            }
            place += 1;
        }
        Ok(())
    }

    /// The node closes a connection: there must be a cause.
    pub(super) fn closes(&mut self, conn: usize, code: u16) -> Found {
        let mut due = self.to_close.iter();
        let expected =
            due.position(|it| it.conn == conn && (it.code == code || it.unsure_by.is_some()));
        self.a_watch_ends(conn);
        let row = &mut self.conns[conn];
        row.watches.clear();
        row.seats.clear();
        row.own = None;
        row.requests.clear();
        row.has_watched = false;
        row.is_closing = true;
        if let Some(place) = expected {
            self.to_close.remove(place);
            return Ok(());
        }
        if self.token_ends(conn, code) {
            return Ok(());
        }
        self.lease_ended(conn, code)
    }

    /// The only other cause: the session's time is over.
    fn lease_ended(&mut self, conn: usize, code: u16) -> Found {
        let (now, cluster) = (self.now, &self.cluster);
        let text = format!("connection {conn} of {} with {code}", self.conns[conn].owner());
        let due = self.to_close.iter().any(|it| it.conn == conn);
        let Some(user) = self.conns[conn].user else {
            return self.complain(Kind::ClosedWithoutCause, text);
        };
        let it = &self.users[user];
        // Of several reasons to close it any may come first.
        let bye = code == BYE;
        if it.murky || (due && (bye || it.revoked || !cluster.is_settled(self.conns[conn].node))) {
            self.to_close.retain(|it| it.conn != conn);
            return Ok(());
        }
        let Some(session) = self.users[user].session_on(conn) else {
            return self.complain(Kind::ClosedWithoutCause, text);
        };
        let may = session.may_close(cluster);
        if code != CloseCode::Ended.number() || now < may {
            let text = format!("{text}; allowed from {may} ms on");
            return self.complain(Kind::ClosedWithoutCause, text);
        }
        if cluster.periods.expiry_grace > 0 && session.leaving == Leaving::No {
            session.leaving = Leaving::Expired(session.flags(now, cluster));
            session.conn = None;
            self.derive(user);
            self.shifted = true;
        } else {
            self.session_is_over(conn, user);
        }
        Ok(())
    }
}

/// Whom the harness's tokens name.
fn user_of(token: &str) -> &str {
    token.split_once('|').map_or(token, |it| it.0)
}
