//! Rooms: who may join, who is in, and who looks.

use std::sync::Arc;

use greendot_protocol::limits::{ROOM_BYTES, ROOMS};
use greendot_protocol::{ErrorCode, OTHER_ROOMS, Time};

use super::asking::Purpose;
use super::rights::Asker;
use super::shared::{Shared, Then};
use super::{ConnId, Node};
use crate::core::directory::{Directory, Record, Roster};
use crate::core::watches::{RoomWork, ViewerId};
use crate::store::Request;

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
        let many = rooms.len().max(self.watches.seats_of(viewer)) + self.rights.of(conn);
        if many >= ROOMS && !is_in {
            let text = format!("the session is in {ROOMS} rooms already: leave one before joining");
            self.complain(now, conn, ErrorCode::TooManyRooms, number, text);
            return;
        }
        let room: Arc<str> = room.into();
        if !self.settings.asks_rooms {
            return self.join(now, conn, number, &room);
        }
        if self.rights.of(conn) >= ROOMS {
            let text = "too many joins wait for their answers".into();
            self.complain(now, conn, ErrorCode::TooManyRooms, number, text);
            return;
        }
        self.ask_right(now, Asker::Conn { conn, number }, name, room);
    }

    /// The application does not let the connection into the room that it asked for under `number`.
    pub(super) fn shut_out(&mut self, now: Time, conn: ConnId, number: u32, room: &Arc<str>) {
        // It may have been there before the answer was another.
        if let Some(viewer) = self.viewer_of(conn) {
            self.watches.clear_room(viewer, room);
        }
        self.leave(now, conn, room);
        let text = format!("the room joined as {number} is not open to this user");
        self.complain(now, conn, ErrorCode::NotAllowed, number, text);
        self.schedule_flush(now);
    }

    pub(super) fn join(&mut self, now: Time, conn: ConnId, number: u32, room: &Arc<str>) {
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
            // Asked even where the room is known here: by one who hides, it may be.
            self.ask_who_is_there(now, conn, number, room);
        } else {
            if fresh {
                self.tell_room(now, room);
            } else {
                let work = self.fill_seat(now, viewer, number);
                self.do_room_work(now, work);
            }
            self.open_seat(now, conn, number);
        }
        self.tell_rooms(now);
        self.unload(now);
    }

    fn fill_seat(&mut self, now: Time, viewer: ViewerId, number: u32) -> RoomWork {
        let (directory, alone) = (&self.directory, self.shared.is_none());
        self.watches.fill_seat(now, viewer, number, &|user| known(directory, alone, user))
    }

    fn ask_who_is_there(&mut self, now: Time, conn: ConnId, number: u32, room: &Arc<str>) {
        let Some(viewer) = self.viewer_of(conn) else { return };
        let request = Request::LookInto { rooms: vec![Arc::clone(room)] };
        self.submit(now, request, Then::Joined { conn, number });
        self.ask_for_seat(viewer, number);
    }

    /// A connection is to be told of a room as one that has just joined it.
    pub(super) fn open_anew(&mut self, now: Time, conn: ConnId, number: u32, room: &Arc<str>) {
        if self.shared.is_some() {
            self.ask_who_is_there(now, conn, number, room);
        } else {
            self.open_seat(now, conn, number);
        }
    }

    /// The store has said who is in a room that a connection has joined. It is asked how they stand, and how the one who joined does: so
    /// it is asked whoever is there.
    pub(super) fn take_seat(&mut self, now: Time, conn: ConnId, number: u32) {
        let Some(viewer) = self.viewer_of(conn) else { return };
        let Some(name) = self.name_of(conn) else { return };
        let work = self.fill_seat(now, viewer, number);
        let mut users: Vec<Arc<str>> = work.load.iter().cloned().chain([name]).collect();
        if self.shared.as_ref().is_some_and(Shared::asks_on) {
            // Who was known in an epoch before may be among those who are asked about last.
            users.extend(self.watches.unknown_members(viewer, number));
            users.sort_unstable();
            users.dedup();
        }
        self.do_room_work(now, RoomWork { load: Vec::new(), ..work });
        let request = Request::Subscribe { users: users.clone() };
        self.submit(now, request, Then::Seated { conn, number, users });
        self.ask_for_seat(viewer, number);
    }

    /// What was asked last is what this seat waits for: by what was asked before it may not be known how all stand who are there.
    fn ask_for_seat(&mut self, viewer: ViewerId, number: u32) {
        if let Some(shared) = &self.shared {
            self.watches.ask_for_seat(viewer, number, shared.last_request());
        }
    }

    /// Whether the seat of this number waits for the answer to this question.
    pub(super) fn answers_for_seat(&self, conn: ConnId, number: u32, question: u64) -> bool {
        let viewer = self.viewer_of(conn);
        viewer.is_some_and(|it| self.watches.seat_waits_for(it, number, question))
    }

    /// All is known of the room that a connection has joined: it is told who is there. Where the application is asked who may be
    /// seen, at the next tick: by then it may have answered. Those of whom it has not are told later; whether there is somebody to ask
    /// about must not show in when the others are told.
    pub(super) fn open_seat(&mut self, now: Time, conn: ConnId, number: u32) {
        let Some(viewer) = self.viewer_of(conn) else { return };
        let at = if self.audience.is_some() { self.settings.tells_at(now) } else { now };
        if self.watches.open_seat(viewer, number, now, at) {
            self.wake(conn);
        }
    }

    pub(super) fn on_leave(&mut self, now: Time, conn: ConnId, number: u32) {
        for room in self.rights.take_back(conn, Some(number)) {
            // An earlier connection may have taken the session there.
            self.leave(now, conn, &room);
        }
        let viewer = self.viewer_of(conn);
        let room = viewer.and_then(|it| Some((it, self.watches.room_of(it, number)?)));
        match room {
            Some((viewer, room)) => {
                self.watches.rise(viewer, number);
                self.leave(now, conn, &room);
            }
            None if number == OTHER_ROOMS => self.leave_elsewhere(now, conn),
            None => {}
        }
    }

    /// The session leaves all rooms that this connection has not joined, nor asked to join.
    fn leave_elsewhere(&mut self, now: Time, conn: ConnId) {
        let Some(session) = self.session_of(conn) else { return };
        let here = self.rooms_of(conn);
        let asked = self.rights.rooms_of(conn);
        let stays = |it: &Arc<str>| here.contains(it) || asked.contains(it);
        let rooms = self.directory.rooms_of(session).to_vec();
        for room in rooms.into_iter().filter(|it| !stays(it)) {
            self.directory.leave(session, &room);
        }
        if asked.is_empty() {
            self.share_leave_others(now, conn);
        }
        self.tell_rooms(now);
    }

    pub(super) fn leave(&mut self, now: Time, conn: ConnId, room: &Arc<str>) {
        let Some(session) = self.session_of(conn) else { return };
        if self.directory.leave(session, room) && self.shared.is_some() {
            self.share_leave(now, conn, room);
        }
        self.tell_rooms(now);
        self.unload(now);
    }

    /// Tells who is in the rooms where that has changed. With a shared store, it is the store that
    /// says so.
    #[inline(always)]
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
            let roster = self.directory.roster(room, self.settings.roster_limit());
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

    pub(super) fn do_room_work(&mut self, now: Time, work: RoomWork) {
        if let Some(audience) = self.audience.as_mut() {
            for (viewer, user, watch) in work.ask {
                let known = audience.attach(now, Purpose::Room, &viewer, &user, watch);
                if let Some((fineness, since)) = known {
                    self.watches.grant(now, watch, fineness, since);
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
