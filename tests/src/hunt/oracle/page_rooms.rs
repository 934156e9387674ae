//! What apps are shown of rooms.

use std::collections::BTreeMap;

use greendot_client::core::LinkState;
use greendot_protocol::State;

use super::device::Device;
use super::{Found, Kind, Oracle, SLACK};
use crate::world::Device as Page;

/// A room that an app has joined.
#[derive(Clone, Debug)]
pub(super) struct PageRoom {
    room: usize,
    /// Since when: what was said to an earlier join of it is of no interest.
    since: u64,
    /// Who is there, as the engine said last.
    told: Option<Told>,
    /// Whether the app left it in the moment in which it joined: what is said to that moment's first join is of no
    /// interest, and looks like what is said to the second.
    again: bool,
    /// Then, what was told before that.
    or: Option<Option<Told>>,
    /// The connection that told last, while that stands.
    pub(super) conn: Option<usize>,
}

/// Who is in a room, and about how many if these are not all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Told {
    members: BTreeMap<usize, State>,
    count: Option<u32>,
}

impl Device {
    pub(super) fn joins(&mut self, now: u64, room: usize) {
        if self.gone {
            return;
        }
        if !self.rooms.iter().any(|it| it.room == room) {
            let again = self.left.contains(&(room, now));
            self.rooms.push(PageRoom { room, since: now, told: None, again, or: None, conn: None });
        }
    }

    pub(super) fn leaves(&mut self, now: u64, room: usize) {
        self.left.retain(|it| it.1 == now);
        self.left.push((room, now));
        self.rooms.retain(|it| it.room != room);
    }

    /// A frame about a room reaches the client; it answers a join that was said at `said`.
    pub(super) fn hears_of(
        &mut self,
        conn: usize,
        room: usize,
        said: u64,
        whole: Option<Option<u32>>,
        members: &[(usize, State)],
    ) {
        let found = self.rooms.iter_mut().find(|it| it.room == room && said >= it.since);
        let Some(row) = found else { return };
        if row.again && said == row.since && row.or.is_none() {
            row.or = Some(row.told.clone());
        }
        if let Some(count) = whole {
            row.told = Some(Told { members: BTreeMap::new(), count });
        }
        let Some(told) = &mut row.told else { return };
        row.conn = Some(conn);
        for &(user, state) in members {
            match state {
                State::Offline => told.members.remove(&user),
                state => told.members.insert(user, state),
            };
        }
    }
}

impl Oracle<'_> {
    /// At quiet, a live client's session is in the rooms that its app has joined, and in no other.
    pub(super) fn rooms_agree(&self, device: &Device) -> Found {
        let Some(conn) = device.conn else { return Ok(()) };
        let session = self.conns[conn].user.and_then(|user| {
            let mut sessions = self.users[user].sessions.iter();
            sessions.find(|it| it.conn == Some(conn)).filter(|_| !self.users[user].murky)
        });
        let Some(session) = session else { return Ok(()) };
        for (room, name) in self.rooms.iter().enumerate() {
            let joined = device.rooms.iter().any(|it| it.room == room);
            let is_in = session.stays.iter().any(|it| it.room == room && it.is_sure());
            let may_be = session.stays.iter().any(|it| it.room == room);
            if (is_in && !joined) || (joined && !may_be) {
                let text = format!("{} has joined {name}: {joined}; is in: {is_in}", device.name);
                return self.complain(Kind::RosterWrong, text);
            }
        }
        Ok(())
    }

    /// An app is shown of its rooms what the engine said last, until that is too old.
    pub(super) fn look_at_rooms(&mut self, device: usize, page: &Page) -> Found {
        let now = self.now;
        let memory = self.cluster.periods.ttl + self.cluster.periods.grace;
        for place in 0..self.devices[device].rooms.len() {
            let row = &mut self.devices[device];
            row.awake_at(now);
            let forgets = row.link != LinkState::Live && row.cut_off_at_most() + SLACK >= memory;
            let room = &self.devices[device].rooms[place];
            let name = &self.rooms[room.room];
            let shown = page.roster(name).map(|it| Told {
                members: it
                    .members
                    .iter()
                    .filter_map(|(user, state)| {
                        Some((self.users.iter().position(|it| it.name == *user)?, *state))
                    })
                    .collect(),
                count: it.count.map(|it| it as u32),
            });
            let or = self.devices[device].rooms[place].or.take();
            let room = &self.devices[device].rooms[place];
            if shown == room.told {
                continue;
            }
            if or.is_some_and(|it| it == shown) {
                self.devices[device].rooms[place].told = shown;
                continue;
            }
            if shown.is_none() && forgets && !self.devices[device].is_told_by(room.conn) {
                self.devices[device].rooms[place].told = None;
                continue;
            }
            let text =
                format!("{} shows {shown:?} in {name}, told was {:?}", page.name(), room.told);
            return self.complain(Kind::RosterWrong, text);
        }
        Ok(())
    }
}
