//! What reaches a node: hellos, frames, pongs and ends, and what follows from each.

use greendot_protocol::binary::decode_client;
use greendot_protocol::{Beat, ClientFrame, CloseCode, Hello};

use super::conn::Watch;
use super::session::{Leaving, Session, When};
use super::states::Flags;
use super::{Complaint, Found, Kind, Oracle};

impl Oracle<'_> {
    /// A frame has arrived and is not read: it counts from now on (rule 1).
    pub(super) fn frame_waits(&mut self, conn: usize, bytes: &[u8]) {
        let now = self.now;
        self.conns[conn].waiting.push_back(now);
        if self.conns[conn].user.is_some() {
            self.life_waits(conn);
            return;
        }
        // A connect that has arrived in time keeps the session, once it is read.
        if let Ok(Some(ClientFrame::Hello(hello))) = decode_client(bytes) {
            let periods = self.periods;
            let user = self.user(user_of(hello.token));
            if let Some(session) = self.users[user].session(hello.session)
                && now < session.may_end(&periods)
            {
                session.awaited = true;
                self.derive(user);
            }
        }
    }

    pub(super) fn pong_waits(&mut self, conn: usize) {
        self.conns[conn].waiting.push_back(self.now);
        self.life_waits(conn);
    }

    fn life_waits(&mut self, conn: usize) {
        let now = self.now;
        let Some(user) = self.conns[conn].user else { return };
        if let Some(session) = self.users[user].session_on(conn) {
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
        let Some(session) = self.users[user].session_on(conn) else { return };
        // Whether a pong counts while the page has said that it goes away is left open.
        if session.leaving == Leaving::No {
            session.heard.arrived = session.heard.arrived.max(when.arrived);
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
        let Ok(Some(frame)) = decode_client(bytes) else { return };
        match (self.conns[conn].user, frame) {
            (None, ClientFrame::Hello(hello)) => self.hello(conn, when, &hello),
            (None, _) => {}
            (Some(user), frame) => self.said(conn, user, when, &frame),
        }
    }

    fn said(&mut self, conn: usize, user: usize, when: When, frame: &ClientFrame<'_>) {
        let now = self.now;
        let (periods, paces) = (self.periods, self.nodes[self.conns[conn].node].pace);
        let Some(session) = self.users[user].session_on(conn) else {
            // It speaks for no session any more: nothing it says has any effect (rule 4).
            return;
        };
        session.heard.arrived = session.heard.arrived.max(when.arrived);
        session.heard.read = when.read;
        if session.leaving != Leaving::No {
            session.told = session.flags(now, &periods, &paces);
            session.leaving = Leaving::No;
            session.looked_for = now;
        }
        match frame {
            ClientFrame::Beat(Beat { input_age_secs: Some(secs), .. }) => {
                let input = now.saturating_sub(u64::from(*secs) * 1000);
                session.input = session.input.max(Some(input));
                session.looked_for = now;
            }
            ClientFrame::Idle => session.told = Flags::IDLE,
            ClientFrame::Active => {
                session.told = Flags::ACTIVE;
                session.input = Some(now);
                session.looked_for = now;
            }
            ClientFrame::Closing => session.linger(when, &periods, &paces),
            _ => {}
        }
        if !session.passive {
            self.users[user].hear(when.arrived, when.read);
        }
        match frame {
            ClientFrame::Bye => {
                self.to_close.push((conn, 1000));
                self.users[user].sessions.retain(|it| it.conn != Some(conn));
            }
            ClientFrame::Watch { request, users } => {
                let serials = users.iter().map(|it| self.watch(conn, it.number, it.user)).collect();
                self.conns[conn].requests.push((*request, serials, now));
                self.conns[conn].has_watched = true;
                self.raise_alarm(now);
            }
            ClientFrame::Unwatch { numbers } => {
                self.conns[conn].watches.retain(|it| !numbers.contains(&it.number));
            }
            ClientFrame::Mode(mode) => {
                self.users[user].choose(now, *mode);
            }
            ClientFrame::Note(note) => self.users[user].note = (*note).to_owned(),
            _ => {}
        }
        self.derive(user);
        self.shifted = true;
    }

    fn watch(&mut self, conn: usize, number: u32, name: &str) -> u64 {
        let user = self.user(name);
        self.serial += 1;
        let serial = self.serial;
        let row = &mut self.conns[conn];
        let own = row.user == Some(user);
        row.watches.retain(|it| it.number != number);
        row.watches.push(Watch {
            serial,
            number,
            user,
            own,
            shown: None,
            version: 0,
            wrong_since: None,
        });
        serial
    }

    /// A hello is read; whether it is taken is told next.
    fn hello(&mut self, conn: usize, when: When, hello: &Hello<'_>) {
        let user = self.user(user_of(hello.token));
        if self.users[user].revoked || hello.token.ends_with("|throws") {
            return;
        }
        let now = self.now;
        if let Some(choice) = hello.mode {
            self.users[user].weigh(now, choice);
        }
        let periods = self.periods;
        let node = self.conns[conn].node;
        let pace = self.nodes[node].pace;
        let said = hello.idle.map(|idle| if idle { Flags::IDLE } else { Flags::ACTIVE });
        let told = match self.users[user].session(hello.session) {
            None => said.unwrap_or(Flags::ACTIVE),
            Some(session) => {
                let carried = session.flags(now, &periods, &pace);
                let fresh = now >= session.may_end(&periods);
                match said {
                    Some(flags) => flags,
                    None if fresh => carried.union(Flags::ACTIVE),
                    None => carried,
                }
            }
        };
        let before = self.users[user].session(hello.session).and_then(|it| it.conn);
        if let Some(old) = before.filter(|&it| self.conns[it].open) {
            self.to_close.push((old, CloseCode::Replaced.number()));
        }
        self.users[user].sessions.retain(|it| it.name != hello.session);
        let idle_after = hello.idle_after_secs.map(|it| u64::from(it) * 1000);
        let age = hello.input_age_secs.map(|it| u64::from(it) * 1000);
        self.users[user].sessions.push(Session {
            name: hello.session.to_owned(),
            passive: hello.passive,
            node,
            conn: Some(conn),
            heard: when,
            told,
            input: age.map(|age| now.saturating_sub(age)),
            idle_after: idle_after.unwrap_or(periods.idle_after),
            looked_for: now,
            leaving: Leaving::No,
            awaited: false,
        });
        if !hello.passive {
            self.users[user].hear(when.arrived, when.read);
        }
        let row = &mut self.conns[conn];
        row.user = Some(user);
        row.session = hello.session.to_owned();
        self.derive(user);
        self.shifted = true;
    }

    /// The hello that was read was taken. A revoked user's never is.
    pub(super) fn taken(&mut self, _conn: usize) {}

    /// The node sees the connection end: the session lingers, if it is still on it (rule 3).
    pub(super) fn ended(&mut self, conn: usize) {
        let when = self.arrival(conn);
        let row = &mut self.conns[conn];
        row.open = false;
        row.watches.clear();
        row.requests.clear();
        let Some(user) = row.user else { return };
        let (periods, pace) = (self.periods, self.nodes[row.node].pace);
        if let Some(session) = self.users[user].session_on(conn) {
            session.conn = None;
            session.linger(when, &periods, &pace);
            self.derive(user);
        }
    }

    /// The node closes a connection: there must be a cause.
    pub(super) fn closes(&mut self, conn: usize, code: u16) -> Found {
        let now = self.now;
        let expected = self.to_close.iter().position(|it| *it == (conn, code));
        let row = &mut self.conns[conn];
        row.watches.clear();
        row.requests.clear();
        row.has_watched = false;
        if let Some(place) = expected {
            self.to_close.remove(place);
            return Ok(());
        }
        self.lease_ended(conn, code, now)
    }

    /// The only other cause: the session's time is over.
    fn lease_ended(&mut self, conn: usize, code: u16, now: u64) -> Result<(), Complaint> {
        let periods = self.periods;
        let node = self.conns[conn].node;
        let pace = self.nodes[node].pace;
        let text = format!("connection {conn} of {} with {code}", self.conns[conn].owner());
        let Some(user) = self.conns[conn].user else {
            return self.complain(Kind::ClosedWithoutCause, text);
        };
        let Some(session) = self.users[user].session_on(conn) else {
            return self.complain(Kind::ClosedWithoutCause, text);
        };
        let may = session.may_close(&periods);
        if code != CloseCode::Ended.number() || now < may {
            return self.complain(Kind::ClosedWithoutCause, format!("{text}; allowed from {may} ms on"));
        }
        if periods.expiry_grace > 0 && session.leaving == Leaving::No {
            session.leaving = Leaving::Expired(session.flags(now, &periods, &pace));
            session.conn = None;
        } else {
            self.users[user].sessions.retain(|it| it.conn != Some(conn));
        }
        self.derive(user);
        self.shifted = true;
        Ok(())
    }
}

/// Whom the harness's tokens name.
fn user_of(token: &str) -> &str {
    token.split_once('|').map_or(token, |it| it.0)
}
