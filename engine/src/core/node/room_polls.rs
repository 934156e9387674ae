//! Rooms over polls: each poll in a session's name says in which rooms the session is, and is told who is there (rule 16).
//!
//! The way of an answer: the application is asked for the right to each room, the session goes into those that are open to it and
//! leaves the others, the store is asked who is in them, and then the members are looked at as one looks at users in a poll. So they
//! pass the same gate.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use greendot_protocol::{State, Time};

use super::reads::Look;
use super::rights::Asker;
use super::shared::{Shared, Then};
use super::{Answer, Node, Output};
use crate::core::directory::Roster;
use crate::core::watches::{SAMPLE, rounded};
use crate::store::Request;

/// A poll's rooms, on their way.
#[derive(Clone, Debug)]
pub(in crate::core::node) struct RoomsLook {
    ask: u64,
    user: Arc<str>,
    session: Arc<str>,
    rooms: Vec<(Arc<str>, Standing)>,
    /// How many rights are still asked for.
    left: usize,
}

/// How a user stands to a room.
#[derive(Clone, Debug)]
enum Standing {
    /// It may be there, and these are.
    Open(Option<Roster>),
    /// It may not.
    Closed,
    /// Nobody can say.
    Unknown,
}

/// What is told of a room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomAnswer {
    /// The room's id.
    pub room: Arc<str>,
    /// Who is there; none if the user may not be there itself.
    pub who: Option<Who>,
}

/// Who is in a room, as far as the one who asked may see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Who {
    /// About how many there are, if these are only some of them.
    pub count: Option<u32>,
    /// Users, with what they look like.
    pub members: Vec<(Arc<str>, State)>,
}

impl Node {
    /// A poll in a session's name, which was said to [`Self::handle_poll`] before, says that the session is in these
    /// rooms and in no others; [`Output::Rooms`] brings who is there under the number `ask`. A session that has a
    /// connection is in the rooms that it said there, and is told of these all the same.
    pub fn ask_rooms(&mut self, now: Time, ask: u64, user: &str, session: &str, rooms: &[&str]) {
        let user: Arc<str> = user.into();
        let mut seen = BTreeSet::<&str>::new();
        let names = rooms.iter().filter(|it| seen.insert(it));
        let rooms: Vec<_> = names.map(|&it| (Arc::from(it), Standing::Unknown)).collect();
        let left = rooms.len();
        let mut look = RoomsLook { ask, user, session: session.into(), rooms, left };
        let rooms: Vec<Arc<str>> = look.rooms.iter().map(|it| Arc::clone(&it.0)).collect();
        self.leave_others(now, &look, &rooms);
        if !self.settings.asks_rooms || left == 0 {
            for (_, standing) in &mut look.rooms {
                *standing = Standing::Open(None);
            }
            return self.enter_rooms(now, look);
        }
        let user = Arc::clone(&look.user);
        let number = self.reads.keep_rooms(look);
        for room in rooms {
            self.ask_right(now, Asker::Poll(number), Arc::clone(&user), room);
        }
    }

    /// The application's answer about one of a poll's rooms.
    pub(super) fn poll_right(&mut self, now: Time, number: u64, room: &str, may: Option<bool>) {
        let Some(look) = self.reads.rooms(number) else { return };
        if let Some((_, standing)) = look.rooms.iter_mut().find(|it| *it.0 == *room) {
            *standing = match may {
                Some(true) => Standing::Open(None),
                Some(false) => Standing::Closed,
                None => Standing::Unknown,
            };
        }
        look.left -= 1;
        if look.left == 0
            && let Some(look) = self.reads.take_rooms(number)
        {
            self.enter_rooms(now, look);
        }
    }

    /// Whether the polls of a session say in which rooms it is: then it has no connection.
    fn lives_by_polls(&self, look: &RoomsLook) -> Option<super::ConnId> {
        let user = self.directory.find(&look.user)?;
        let session = self.directory.session(user, &look.session)?;
        self.leases.at(session.slot()).filter(|it| !self.leases.is_connected(*it))
    }

    fn leave_others(&mut self, now: Time, look: &RoomsLook, rooms: &[Arc<str>]) {
        let Some(conn) = self.lives_by_polls(look) else { return };
        let Some(session) = self.session_of(conn) else { return };
        let others = self.directory.rooms_of(session).iter().filter(|it| !rooms.contains(it));
        for room in others.cloned().collect::<Vec<_>>() {
            self.leave(now, conn, &room);
        }
    }

    pub(super) fn enter_rooms(&mut self, now: Time, mut look: RoomsLook) {
        if let Some(conn) = self.lives_by_polls(&look)
            && let Some(session) = self.session_of(conn)
        {
            for (room, standing) in &look.rooms {
                match standing {
                    Standing::Open(_) => {
                        self.directory.join(session, room);
                        self.share_join(now, conn, room);
                    }
                    Standing::Closed => self.leave(now, conn, room),
                    Standing::Unknown => {}
                }
            }
            self.tell_rooms(now);
        }
        if self.shared.as_ref().is_some_and(|it| !it.is_stale()) {
            let open = look.rooms.iter().filter(|it| matches!(it.1, Standing::Open(_)));
            let rooms = open.map(|it| Arc::clone(&it.0)).collect();
            return self.submit(now, Request::LookInto { rooms }, Then::RoomsRead(look));
        }
        if self.shared.is_none() {
            for (room, standing) in &mut look.rooms {
                if let Standing::Open(roster) = standing {
                    let limit = self.settings.roster_limit();
                    *roster = Some(self.directory.roster(room, limit));
                }
            }
        }
        self.look_at_members(now, look);
    }

    /// The store has said who is in the rooms, or cannot.
    pub(super) fn rooms_read(&mut self, now: Time, mut look: RoomsLook, rosters: &[Roster]) {
        let mut done = Vec::new();
        for (room, standing) in &mut look.rooms {
            if let Standing::Open(roster) = standing {
                *roster = rosters.iter().find(|it| it.room == *room).cloned();
                if !self.watches.knows_room(room) {
                    done.push(Arc::clone(room));
                }
            }
        }
        if !done.is_empty() && !self.shared.as_ref().is_some_and(Shared::is_lost) {
            self.submit(now, Request::LookOut { rooms: done }, Then::Nothing);
        }
        self.look_at_members(now, look);
    }

    fn look_at_members(&mut self, now: Time, look: RoomsLook) {
        let rosters = look.rooms.iter().filter_map(|it| match &it.1 {
            Standing::Open(roster) => roster.as_ref(),
            _ => None,
        });
        // Whoever is inside sees itself, whatever it lets others see.
        let mut users: BTreeSet<Arc<str>> = rosters.flat_map(|it| it.members.clone()).collect();
        users.insert(Arc::clone(&look.user));
        let viewer = Arc::clone(&look.user);
        let users = users.into_iter().collect();
        self.begin_look(now, Look::at_rooms(look.ask, viewer, users, look));
    }

    /// All is known of the members: who is there, as far as the one who asked may see. A room of which nobody can say that
    /// now is left out: that nobody is there would be another thing (rule 12).
    pub(super) fn tell_polled(&mut self, look: &RoomsLook, members: &[Answer]) {
        let states: BTreeMap<&str, State> =
            members.iter().map(|it| (&*it.user, it.state)).collect();
        let state = |user: &Arc<str>| {
            let state = states.get(&**user).copied().unwrap_or(State::Unknown);
            (!matches!(state, State::Offline | State::Unknown)).then(|| (Arc::clone(user), state))
        };
        let limit = self.settings.room_limit;
        let who = |roster: &Roster| {
            let mut there: Vec<_> = roster.members.iter().filter_map(state).collect();
            let all = roster.members.len() >= roster.count;
            if !all || there.len() > limit {
                let count = if all { there.len() } else { roster.count };
                there.truncate(SAMPLE);
                let count = rounded(count).max(there.len() as u32);
                return Who { count: Some(count), members: there };
            }
            if !roster.members.contains(&look.user) {
                there.extend(state(&look.user));
            }
            there.sort_unstable_by(|one, other| one.0.cmp(&other.0));
            Who { count: None, members: there }
        };
        // By now it may be out of reach, or have lost what it held.
        let stale = self.shared.as_ref().is_some_and(Shared::is_stale);
        let rooms = look.rooms.iter().filter_map(|(room, standing)| {
            let who = match standing {
                Standing::Open(roster) => Some(who(roster.as_ref().filter(|_| !stale)?)),
                Standing::Unknown => Some(Who::default()),
                Standing::Closed => None,
            };
            Some(RoomAnswer { room: Arc::clone(room), who })
        });
        let rooms = rooms.collect();
        self.say(Output::Rooms { ask: look.ask, rooms });
    }
}
