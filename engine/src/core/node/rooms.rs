//! Rooms: who may join, who is in, and who looks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use greendot_protocol::limits::{ROOM_BYTES, ROOMS};
use greendot_protocol::{ErrorCode, Span, Time};

use super::shared::Then;
use super::{ConnId, Node, Output};
use crate::core::directory::{Directory, Record, Roster};
use crate::core::watches::RoomWork;
use crate::store::Request;

/// How long the application may take to say whether a user may join; then the answer is no.
const DEADLINE: Span = Span::from_millis(3_000);

/// A wish to join that waits for the application.
#[derive(Debug)]
struct Wish {
    conn: ConnId,
    number: u32,
    room: Arc<str>,
    until: Time,
}

/// The wishes that wait.
#[derive(Debug, Default)]
pub(super) struct Wishes {
    waiting: BTreeMap<u64, Wish>,
    by_conn: BTreeMap<ConnId, BTreeSet<u64>>,
    next: u64,
}

impl Wishes {
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn deadline(&self) -> Time {
        // Numbered in the order in which they came, and all may wait as long.
        self.waiting.first_key_value().map_or(Time::MAX, |it| it.1.until)
    }

    fn of(&self, conn: ConnId) -> usize {
        self.by_conn.get(&conn).map_or(0, BTreeSet::len)
    }

    fn add(&mut self, wish: Wish) -> u64 {
        self.next += 1;
        self.by_conn.entry(wish.conn).or_default().insert(self.next);
        self.waiting.insert(self.next, wish);
        self.next
    }

    fn take(&mut self, ask: u64) -> Option<Wish> {
        let wish = self.waiting.remove(&ask)?;
        if let Some(asks) = self.by_conn.get_mut(&wish.conn) {
            asks.remove(&ask);
            if asks.is_empty() {
                self.by_conn.remove(&wish.conn);
            }
        }
        Some(wish)
    }

    /// The connection takes back its wishes for the room of this number; none: all of them.
    fn take_back(&mut self, conn: ConnId, number: Option<u32>) {
        let Some(asks) = self.by_conn.get(&conn) else { return };
        for ask in asks.iter().copied().collect::<Vec<_>>() {
            let is_meant = |it: &Wish| number.is_none_or(|number| it.number == number);
            if self.waiting.get(&ask).is_some_and(is_meant) {
                self.take(ask);
            }
        }
    }

    pub(super) fn forget(&mut self, conn: ConnId) {
        self.take_back(conn, None);
    }
}

impl Node {
    pub(super) fn on_join(&mut self, now: Time, conn: ConnId, number: u32, room: &str) {
        if room.is_empty() || room.len() > ROOM_BYTES {
            let text = format!(
                "the room joined as {number} has an id of {} bytes; 1 to {ROOM_BYTES} are allowed",
                room.len()
            );
            self.complain(now, conn, ErrorCode::BadRoom, number, text);
            return;
        }
        let Some((viewer, name)) = self.open_viewer(now, conn) else { return };
        let Some(session) = self.session_of(conn) else { return };
        let rooms = self.directory.rooms_of(session);
        let is_in = rooms.iter().any(|it| **it == *room);
        let many = rooms.len().max(self.watches.seats_of(viewer)) + self.wishes.of(conn);
        if many >= ROOMS && !is_in {
            let text = format!("the session is in {ROOMS} rooms already: leave one before joining");
            self.complain(now, conn, ErrorCode::TooManyRooms, number, text);
            return;
        }
        let room: Arc<str> = room.into();
        if !self.settings.asks_rooms {
            return self.join(now, conn, number, &room);
        }
        if self.wishes.of(conn) >= ROOMS {
            let text = "too many joins wait for their answers".into();
            self.complain(now, conn, ErrorCode::TooManyRooms, number, text);
            return;
        }
        let until = now + DEADLINE;
        let ask = self.wishes.add(Wish { conn, number, room: Arc::clone(&room), until });
        self.outputs.push_back(Output::MayJoin { ask, user: name, room });
    }

    /// The application's answer to [`Output::MayJoin`].
    pub fn handle_may_join(&mut self, now: Time, ask: u64, may: bool) {
        let Some(Wish { conn, number, room, .. }) = self.wishes.take(ask) else {
            return;
        };
        if may {
            return self.join(now, conn, number, &room);
        }
        // It may have been there before the answer was another.
        self.leave(now, conn, &room);
        let text = format!("the room joined as {number} is not open to this user");
        self.complain(now, conn, ErrorCode::NotAllowed, number, text);
    }

    pub(super) fn wishes_timeout(&mut self, now: Time) {
        while let Some((&ask, wish)) = self.wishes.waiting.first_key_value() {
            if wish.until > now {
                return;
            }
            self.handle_may_join(now, ask, false);
        }
    }

    fn join(&mut self, now: Time, conn: ConnId, number: u32, room: &Arc<str>) {
        let Some((viewer, _)) = self.open_viewer(now, conn) else { return };
        let Some(session) = self.session_of(conn) else { return };
        if let Some(before) = self.watches.room_of(viewer, number).filter(|it| it != room) {
            self.leave(now, conn, &before);
        }
        self.directory.join(session, room);
        let inside = self.directory.view(session).is_some_and(|it| !it.passive);
        let fresh = self.watches.sit(viewer, number, room, inside);
        if self.shared.is_some() {
            self.share_join(now, conn, room);
            if fresh {
                let request = Request::LookInto { rooms: vec![Arc::clone(room)] };
                self.submit(now, request, Then::LookedInto);
            }
        } else if fresh {
            self.tell_room(now, room);
        }
        if !fresh {
            let directory = &self.directory;
            let alone = self.shared.is_none();
            let work =
                self.watches.fill_seat(viewer, number, &|user| known(directory, alone, user));
            self.do_room_work(now, work);
        }
        self.tell_rooms(now);
        self.unload(now);
        self.wake(conn);
    }

    pub(super) fn on_leave(&mut self, now: Time, conn: ConnId, number: u32) {
        self.wishes.take_back(conn, Some(number));
        let Some(viewer) = self.viewer_of(conn) else { return };
        let Some(room) = self.watches.room_of(viewer, number) else { return };
        self.watches.rise(viewer, number);
        self.leave(now, conn, &room);
    }

    fn leave(&mut self, now: Time, conn: ConnId, room: &Arc<str>) {
        let Some(session) = self.session_of(conn) else { return };
        if self.directory.leave(session, room) && self.shared.is_some() {
            self.share_leave(now, conn, room);
        }
        self.tell_rooms(now);
        self.unload(now);
    }

    /// Tells who is in the rooms where that has changed. With a shared store, it is the store that
    /// says so.
    #[inline]
    pub(super) fn tell_rooms(&mut self, now: Time) {
        if self.directory.has_touched_rooms() {
            self.tell_touched_rooms(now);
        }
    }

    fn tell_touched_rooms(&mut self, now: Time) {
        let touched = self.directory.take_touched_rooms();
        if self.shared.is_none() {
            for room in touched {
                self.tell_room(now, &room);
            }
        }
    }

    fn tell_room(&mut self, now: Time, room: &Arc<str>) {
        if self.watches.knows_room(room) {
            let roster = self.directory.roster(room, self.settings.room_limit);
            self.take_roster(now, roster);
        }
    }

    pub(super) fn take_roster(&mut self, now: Time, roster: Roster) {
        let directory = &self.directory;
        let alone = self.shared.is_none();
        let work = self.watches.take_roster(now, roster, &|user| known(directory, alone, user));
        self.do_room_work(now, work);
    }

    pub(super) fn rooms_timeout(&mut self, now: Time) {
        if self.watches.room_deadline() > now {
            return;
        }
        let directory = &self.directory;
        let alone = self.shared.is_none();
        let work = self.watches.turn_rooms(now, &|user| known(directory, alone, user));
        self.do_room_work(now, work);
    }

    fn do_room_work(&mut self, now: Time, work: RoomWork) {
        if let Some(audience) = self.audience.as_mut() {
            for (viewer, user, watch) in work.ask {
                if let Some(fineness) = audience.attach(now, &viewer, &user, watch) {
                    self.watches.grant(now, watch, fineness);
                }
            }
        }
        self.ask_audience(now);
        if self.shared.is_some() && !work.load.is_empty() {
            self.load(now, work.load);
        }
        for conn in work.wake {
            self.wake(conn);
        }
        self.unload(now);
        self.schedule_flush(now);
    }
}

/// How a user stands, where the directory is right here; a shared store is asked.
pub(super) fn known(directory: &Directory, alone: bool, user: &str) -> Option<Record> {
    alone.then(|| {
        let found = directory.find(user);
        found.map_or_else(Record::default, |it| directory.record(it))
    })
}
