//! The stays of sessions in rooms: there each user is seen once, and a passive session is not.

use std::sync::Arc;

use super::Directory;
use crate::core::directory::people::UserId;
use crate::core::directory::rooms::Occupant;
use crate::core::directory::{Roster, SessionId};

impl Directory {
    pub(super) fn occupant(&self, user: UserId) -> Occupant {
        self.rooms.occupant(user, self.people.name(user))
    }

    /// The session goes into a room; false if it is there already. A passive one is not seen there.
    pub fn join(&mut self, session: SessionId, room: &Arc<str>) -> bool {
        let Some(row) = self.sessions.get(session) else { return false };
        let (user, passive) = (row.user(), row.is_passive());
        let rooms = &mut self.sessions.extra_mut(session).rooms;
        // In the order in which it was said last that the session is there.
        let before = rooms.iter().position(|it| it == room).map(|it| rooms.remove(it));
        rooms.push(Arc::clone(room));
        if before.is_some() {
            return false;
        }
        if !passive {
            let present = self.people.public(user).is_present();
            self.rooms.enter(room, self.occupant(user), present);
        }
        true
    }

    /// The session leaves a room; false if it is not there.
    pub fn leave(&mut self, session: SessionId, room: &str) -> bool {
        let Some(row) = self.sessions.get(session) else { return false };
        let (user, passive) = (row.user(), row.is_passive());
        let rooms = self.rooms_of(session);
        let Some(place) = rooms.iter().position(|it| **it == *room) else { return false };
        let room = self.sessions.extra_mut(session).rooms.remove(place);
        if !passive {
            self.rooms.exit(&room, self.occupant(user));
        }
        true
    }

    /// The rooms that a session is in.
    pub fn rooms_of(&self, session: SessionId) -> &[Arc<str>] {
        self.sessions.extra(session).map_or(&[], |it| &it.rooms)
    }

    /// How many rooms anybody is in.
    pub fn room_count(&self) -> usize {
        self.rooms.len()
    }

    /// Who is in a room; up to `limit` users are named, of more only some.
    pub fn roster(&self, room: &Arc<str>, limit: usize) -> Roster {
        self.rooms.roster(room, limit, |user| self.shared_name(user))
    }

    /// Whether [`Self::take_touched_rooms`] has something to tell.
    pub(crate) fn has_touched_rooms(&self) -> bool {
        self.rooms.has_touched()
    }

    /// Rooms whose roster has changed since the last call.
    pub(crate) fn take_touched_rooms(&mut self) -> Vec<Arc<str>> {
        self.rooms.take_touched()
    }

    /// The user's public face has turned: in rooms it is seen, or is not.
    pub(super) fn show_in_rooms(&mut self, id: UserId) {
        if !self.sessions.has_extras() {
            return;
        }
        let present = self.people.public(id).is_present();
        let rooms: Vec<Arc<str>> = self
            .sessions_of(id)
            .filter(|(_, it)| !it.is_passive())
            .flat_map(|(id, _)| self.rooms_of(id).iter().cloned())
            .collect();
        for room in rooms {
            self.rooms.show(&room, self.occupant(id), present);
        }
    }
}
