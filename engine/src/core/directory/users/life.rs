//! The life of a session: it connects, idles, lingers and ends, and the user turns with it.

use greendot_protocol::sabotage::{Fault, on};
use greendot_protocol::{Mode, Time};

use super::{Change, Directory};
use crate::core::directory::face::Tally;
use crate::core::directory::people::UserId;
use crate::core::directory::sessions::Removed;
use crate::core::directory::{Connected, Joining, SessionId};

impl Directory {
    /// A session connects, or connects again (rules 3, 4, 5).
    pub fn connect(&mut self, now: Time, joining: &Joining<'_>) -> Connected {
        let user = self.people.intern(joining.user);
        self.connect_user(now, user, joining)
    }

    /// The same for a user who has been looked up. Put into its caller: a `Joining` that goes by memory is put together from
    /// bytes and read in words, which waits for everything stored before.
    #[inline(always)]
    pub(crate) fn connect_user(
        &mut self,
        now: Time,
        user: UserId,
        joining: &Joining<'_>,
    ) -> Connected {
        let mode_changed = joining.mode.is_some_and(|choice| self.weigh(now, user, choice));
        let generation = joining.generation.unwrap_or(self.generation + 1);
        self.generation = self.generation.max(generation);
        let first = self.people.first(user);
        let there = first.and_then(|_| self.session(user, joining.session));
        let session = match there {
            Some(id) => {
                if let Some(row) = self.sessions.get_mut(id) {
                    row.set_lingering(false);
                    row.set_idle(joining.idle.unwrap_or(row.is_idle()));
                }
                self.sessions.set_generation(id, generation);
                self.set_passive(id, joining.passive);
                id
            }
            None => {
                let id = self.sessions.insert(user, first, now, generation, joining);
                self.people.set_first(user, Some(id));
                id
            }
        };
        if !joining.device.is_empty() {
            self.sessions.extra_mut(session).device = joining.device.into();
        }
        self.sessions_changed(user);
        let change = match first {
            Some(_) => self.settle(user),
            // Most users have one session.
            None => self.turn(user, Tally::of(joining.passive, joining.idle == Some(true))),
        };
        let (mode, revision) = self.mode(user);
        Connected {
            user,
            session,
            generation,
            change,
            mode,
            revision,
            mode_changed,
            was_there: there.is_some(),
        }
    }

    /// The connection has ended or the page goes away: the session lingers (rule 3).
    pub fn linger(&mut self, session: SessionId) {
        if let Some(row) = self.sessions.get_mut(session) {
            row.set_lingering(true);
            let user = row.user();
            self.sessions_changed(user);
        }
    }

    /// A frame after all: the session lives on.
    pub fn revive(&mut self, session: SessionId) {
        if let Some(row) = self.sessions.get_mut(session) {
            row.set_lingering(false);
            let user = row.user();
            self.sessions_changed(user);
        }
    }

    /// The session becomes idle or active.
    pub fn set_idle(&mut self, session: SessionId, idle: bool) -> Change {
        let Some(row) = self.sessions.get_mut(session) else { return Change::default() };
        if row.is_idle() == idle {
            return Change::default();
        }
        row.set_idle(idle);
        let user = row.user();
        self.sessions_changed(user);
        self.settle(user)
    }

    /// The session ends; `heard` is when its last frame arrived. Whose it was, if it was there.
    pub fn end(&mut self, session: SessionId, heard: Time) -> Option<(UserId, Change)> {
        let user = self.take_out(session, heard)?;
        Some((user, self.settle(user)))
    }

    /// A session of the user, of which nothing was known here, was heard at `at`; true if last seen moves by it.
    pub fn hear(&mut self, user: &str, at: Time) -> (UserId, bool) {
        let id = self.people.intern(user);
        (id, self.see_last(id, at))
    }

    /// Sessions of one user end together: one change, however many they are.
    pub fn end_all(
        &mut self,
        user: UserId,
        sessions: impl IntoIterator<Item = (SessionId, Time)>,
    ) -> Change {
        for (session, heard) in sessions {
            self.take_out(session, heard);
        }
        self.settle(user)
    }

    /// A passive connect is about to take the session over: from then on it counts no more, as one that ended, and was
    /// `heard` last until then.
    pub(crate) fn count_no_more(&mut self, session: SessionId, heard: Time) {
        if let Some(row) = self.sessions.get(session).filter(|it| !it.is_passive()) {
            self.see_last(row.user(), heard);
        }
    }

    /// Last seen stands still while the user is hidden.
    fn see_last(&mut self, user: UserId, heard: Time) -> bool {
        self.people.mode(user).0 != Mode::Invisible && self.people.hear(user, heard)
    }

    fn take_out(&mut self, session: SessionId, heard: Time) -> Option<UserId> {
        let extra = self.sessions.take_extra(session);
        let Removed { user, next, passive } = self.sessions.remove(session)?;
        self.sessions_changed(user);
        self.unlink(user, session, next);
        if !passive {
            self.see_last(user, heard);
            let rooms = extra.iter().flat_map(|it| &it.rooms);
            for room in rooms.filter(|_| !on(Fault::RoomKept)) {
                self.rooms.exit(room, self.occupant(user));
            }
        }
        Some(user)
    }

    /// A session that connects anew may count for its user, or no more.
    fn set_passive(&mut self, session: SessionId, passive: bool) {
        let Some(row) = self.sessions.get_mut(session) else { return };
        if row.is_passive() == passive {
            return;
        }
        row.set_passive(passive);
        let user = row.user();
        let rooms = self.rooms_of(session).to_vec();
        let present = self.people.public(user).is_present();
        for room in &rooms {
            if passive {
                self.rooms.exit(room, self.occupant(user));
            } else {
                self.rooms.enter(room, self.occupant(user), present);
            }
        }
    }

    fn unlink(&mut self, user: UserId, gone: SessionId, after: Option<SessionId>) {
        if self.people.replace_first(user, gone, after) {
            return;
        }
        let before = self.sessions_of(user).find(|(_, it)| it.next() == Some(gone)).map(|it| it.0);
        if let Some(row) = before.and_then(|id| self.sessions.get_mut(id)) {
            row.set_next(after);
        }
    }
}
