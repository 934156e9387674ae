//! The right to be in a room: asked of the application when somebody joins, and asked again when it says that
//! things have changed.
//!
//! An answer that fails or is late is none: it is asked for again, later and later. Until there is one, whoever wants to join has
//! not joined, and whoever is in the room is told nothing newer; once an answer has failed, that nobody is there.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use foldhash::quality::FixedState;
use greendot_protocol::{Span, Time};

use super::rooms::known;
use super::{ConnId, Node, Output};
use crate::core::audience::wait_after;
use crate::core::directory::SessionId;

/// How long the application may take.
const DEADLINE: Span = Span::from_millis(3_000);

/// Who wants to be in a room.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asker {
    /// A connection joins, under a number of its own.
    Conn { conn: ConnId, number: u32 },
    /// A session is there already.
    Session { user: Arc<str>, session: Arc<str> },
    /// A poll.
    Poll(u64),
}

/// A question that waits for its answer, or for its time.
#[derive(Debug)]
struct Wish {
    asker: Asker,
    user: Arc<str>,
    room: Arc<str>,
    /// Whether it is under way; else it has failed, and is asked again in its time.
    asked: bool,
    failures: u32,
    due: Time,
}

/// The questions that wait. Each time one is asked it has a new number: answers of before are none.
#[derive(Debug, Default)]
pub(super) struct Rights {
    waiting: BTreeMap<u64, Wish>,
    due: BTreeSet<(Time, u64)>,
    by_asker: HashMap<By, BTreeSet<u64>, FixedState>,
    next: u64,
    failures: u64,
}

/// Whose questions they are: a connection's, or a session's in one room.
#[derive(Debug, PartialEq, Eq, Hash)]
enum By {
    Conn(ConnId),
    Session { user: Arc<str>, session: Arc<str>, room: Arc<str> },
    Poll(u64),
}

impl Wish {
    fn by(&self) -> By {
        match &self.asker {
            Asker::Conn { conn, .. } => By::Conn(*conn),
            Asker::Poll(number) => By::Poll(*number),
            Asker::Session { user, session } => By::Session {
                user: Arc::clone(user),
                session: Arc::clone(session),
                room: Arc::clone(&self.room),
            },
        }
    }
}

impl Rights {
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// How many answers have failed, were late or were missing.
    pub(super) fn failures(&self) -> u64 {
        self.failures
    }

    pub(super) fn deadline(&self) -> Time {
        self.due.first().map_or(Time::MAX, |it| it.0)
    }

    /// Joins of the connection that wait.
    pub(super) fn of(&self, conn: ConnId) -> usize {
        self.by_asker.get(&By::Conn(conn)).map_or(0, BTreeSet::len)
    }

    /// The rooms that the connection has asked to join and that wait.
    pub(super) fn rooms_of(&self, conn: ConnId) -> Vec<Arc<str>> {
        let wishes = self.by_asker.get(&By::Conn(conn)).into_iter().flatten();
        wishes.filter_map(|it| self.waiting.get(it)).map(|it| Arc::clone(&it.room)).collect()
    }

    fn put(&mut self, wish: Wish) -> u64 {
        self.next += 1;
        self.due.insert((wish.due, self.next));
        self.by_asker.entry(wish.by()).or_default().insert(self.next);
        self.waiting.insert(self.next, wish);
        self.next
    }

    fn take(&mut self, number: u64) -> Option<Wish> {
        let wish = self.waiting.remove(&number)?;
        self.due.remove(&(wish.due, number));
        let by = wish.by();
        if let Some(numbers) = self.by_asker.get_mut(&by) {
            numbers.remove(&number);
            if numbers.is_empty() {
                self.by_asker.remove(&by);
            }
        }
        Some(wish)
    }

    /// The connection takes back its wish to be in the room of this number; none: all of them. The rooms
    /// that it wished for.
    pub(super) fn take_back(&mut self, conn: ConnId, number: Option<u32>) -> Vec<Arc<str>> {
        let mut rooms = Vec::new();
        let Some(wishes) = self.by_asker.get(&By::Conn(conn)) else { return rooms };
        for wish in wishes.iter().copied().collect::<Vec<_>>() {
            let Some(row) = self.waiting.get(&wish) else { continue };
            if number.is_none_or(|number| row.asker == Asker::Conn { conn, number }) {
                rooms.push(Arc::clone(&row.room));
                self.take(wish);
            }
        }
        rooms
    }

    pub(super) fn forget(&mut self, conn: ConnId) {
        if !self.by_asker.is_empty() {
            self.take_back(conn, None);
        }
    }
}

impl Node {
    pub(super) fn ask_right(&mut self, now: Time, asker: Asker, user: Arc<str>, room: Arc<str>) {
        self.put_right(now, Wish { asker, user, room, asked: true, failures: 0, due: now });
    }

    fn put_right(&mut self, now: Time, wish: Wish) {
        let (user, room) = (Arc::clone(&wish.user), Arc::clone(&wish.room));
        let ask = self.rights.put(Wish { asked: true, due: now + DEADLINE, ..wish });
        self.say(Output::MayJoin { ask, user, room });
    }

    /// The application's answer to [`Output::MayJoin`]; none if it has failed to say: it is asked again.
    pub fn handle_may_join(&mut self, now: Time, ask: u64, may: Option<bool>) {
        let Some(wish) = self.rights.take(ask) else { return };
        match (may, &wish.asker) {
            (Some(true), Asker::Conn { conn, number }) => {
                self.join(now, *conn, *number, &wish.room);
            }
            (Some(false), Asker::Conn { conn, number }) => {
                self.shut_out(now, *conn, *number, &wish.room);
            }
            (Some(true), Asker::Session { user, session }) => {
                self.stay(now, user, session, &wish.room);
            }
            (Some(false), Asker::Session { user, session }) => {
                self.turn_out(now, user, session, &wish.room);
            }
            (may, &Asker::Poll(number)) => {
                self.rights.failures += u64::from(may.is_none());
                self.poll_right(now, number, &wish.room, may);
            }
            (None, _) => self.right_failed(now, wish),
        }
    }

    fn right_failed(&mut self, now: Time, wish: Wish) {
        self.rights.failures += 1;
        if let Asker::Session { user, session } = &wish.asker {
            let Some((conn, _)) = self.sits(user, session, &wish.room) else { return };
            if let Some(viewer) = self.viewer_of(conn) {
                self.watches.darken_room(viewer, &wish.room);
                self.schedule_flush(now);
            }
        }
        let failures = wish.failures.saturating_add(1);
        let due = now + wait_after(failures);
        self.rights.put(Wish { asked: false, failures, due, ..wish });
    }

    pub(super) fn rights_timeout(&mut self, now: Time) {
        while let Some(&(due, number)) = self.rights.due.first() {
            if due > now {
                return;
            }
            if self.rights.waiting.get(&number).is_some_and(|it| it.asked) {
                self.handle_may_join(now, number, None);
            } else if let Some(wish) = self.rights.take(number) {
                self.put_right(now, wish);
            }
        }
    }

    /// Who may see whom has changed, and so may have who may be in which room: of these users (none: all)
    /// it is asked again.
    pub(super) fn ask_rights_again(&mut self, now: Time, users: &[Option<&str>]) {
        if !self.settings.asks_rooms {
            return;
        }
        let mut named: Vec<&str> = users.iter().copied().flatten().collect();
        named.sort_unstable();
        named.dedup();
        let outdated = self.rights.waiting.iter();
        let is_meant = |it: &Wish| named.is_empty() || named.contains(&&*it.user);
        let outdated: Vec<u64> = outdated.filter(|it| is_meant(it.1)).map(|it| *it.0).collect();
        for number in outdated {
            if let Some(wish) = self.rights.take(number) {
                self.put_right(now, Wish { failures: 0, ..wish });
            }
        }
        let sessions: Vec<SessionId> = if named.is_empty() {
            self.leases.live().filter_map(|it| self.session_of(it)).collect()
        } else {
            let users = named.iter().filter_map(|it| self.directory.find(it));
            users.flat_map(|it| self.directory.ids_of(it)).collect()
        };
        for session in sessions {
            self.ask_session_again(now, session);
        }
    }

    fn ask_session_again(&mut self, now: Time, session: SessionId) {
        let rooms = self.directory.rooms_of(session).to_vec();
        if rooms.is_empty() {
            return;
        }
        let Some(user) = self.directory.user_of(session) else { return };
        let user = self.directory.shared_name(user);
        let Some(id) = self.directory.session_name(session).map(Arc::<str>::from) else { return };
        let viewer = self.leases.at(session.slot()).and_then(|it| self.viewer_of(it));
        for room in rooms {
            if let Some(viewer) = viewer {
                self.watches.pause_room(viewer, &room);
            }
            let asker = Asker::Session { user: Arc::clone(&user), session: Arc::clone(&id) };
            let wish =
                Wish { asker, user: Arc::clone(&user), room, asked: true, failures: 0, due: now };
            if !self.rights.by_asker.contains_key(&wish.by()) {
                self.put_right(now, wish);
            }
        }
    }

    /// The latest connect of a session that is in a room.
    fn sits(&self, user: &str, session: &str, room: &str) -> Option<(ConnId, SessionId)> {
        let session = self.directory.session(self.directory.find(user)?, session)?;
        let is_there = self.directory.rooms_of(session).iter().any(|it| **it == *room);
        self.leases.at(session.slot()).filter(|_| is_there).map(|it| (it, session))
    }

    /// A session may stay where it is.
    fn stay(&mut self, now: Time, user: &str, session: &str, room: &Arc<str>) {
        let Some((conn, _)) = self.sits(user, session, room) else { return };
        let Some(viewer) = self.viewer_of(conn) else { return };
        let (directory, alone) = (&self.directory, self.shared.is_none());
        let known = |user: &str| known(directory, alone, user);
        let (work, opens) = self.watches.resume_room(now, viewer, room, &known);
        self.do_room_work(now, work);
        if let Some(number) = opens {
            self.open_anew(now, conn, number, room);
        }
    }

    /// A session may not stay where it is.
    fn turn_out(&mut self, now: Time, user: &str, session: &str, room: &Arc<str>) {
        let Some((conn, _)) = self.sits(user, session, room) else { return };
        let number = self.viewer_of(conn).and_then(|it| self.watches.number_of(it, room));
        match number {
            Some(number) => self.shut_out(now, conn, number, room),
            None => self.leave(now, conn, room),
        }
    }
}
