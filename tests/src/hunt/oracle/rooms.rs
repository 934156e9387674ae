//! What a node says of rooms (rules 13 and 15).

use std::collections::{BTreeMap, BTreeSet};

use greendot_protocol::{Member, State};

use super::conn::Parcel;
use super::states::States;
use super::{Complaint, Found, Kind, Oracle, SLACK};

/// A connection that looks into a room.
#[derive(Clone, Debug)]
pub(super) struct Seat {
    pub(super) room: usize,
    number: u32,
    /// When its client said so.
    said: u64,
    /// Since when it waits to be told who is there.
    asked: u64,
    /// Who is there, as it was told last; none before it was told.
    told: Option<BTreeMap<usize, State>>,
    /// About how many there are, if it was told that.
    count: Option<u32>,
    /// When it was last told that anew.
    counted: Option<u64>,
    /// Since when what it was told is not right, by user; and since when the count is not.
    wrong_since: BTreeMap<usize, u64>,
    count_wrong_since: Option<u64>,
}

/// A large room tells something once in this time, in ms.
const CROWD: u64 = 1_000;

/// The store tells the nodes as often at most, when it is asked anything; nodes ask once a second.
const STORE: u64 = 2_000;

/// Members of a room too large to name all who are named to the nodes.
const CANDIDATES: u32 = 16;

/// Members in a sample.
const SAMPLE: usize = 8;

impl Oracle<'_> {
    pub(super) fn room(&mut self, name: &str) -> usize {
        match self.rooms.iter().position(|it| it == name) {
            Some(room) => room,
            None => {
                self.rooms.push(name.to_owned());
                self.rooms.len() - 1
            }
        }
    }

    pub(super) fn joins(&mut self, conn: usize, said: u64, number: u32, name: &str) {
        let now = self.now;
        let room = self.room(name);
        let Some(user) = self.conns[conn].user else { return };
        let before = self.conns[conn].seats.iter().find(|it| it.number == number);
        if let Some(before) = before.map(|it| it.room).filter(|it| *it != room) {
            self.exits(conn, user, before);
        }
        let row = &mut self.conns[conn];
        row.has_watched = true;
        row.seats.retain(|it| it.number != number && it.room != room);
        row.seats.push(Seat {
            room,
            number,
            said,
            asked: now,
            told: None,
            count: None,
            counted: None,
            wrong_since: BTreeMap::new(),
            count_wrong_since: None,
        });
        let heard = self.cluster.is_heard(row.node);
        let rooms = &mut self.users[user].rooms;
        if rooms.len() <= room {
            rooms.resize_with(room + 1, Vec::new);
        }
        match self.users[user].session_on(conn) {
            Some(session) => session.enter(room, heard && session.certain_from <= now),
            None => self.old_one_moved(conn, user, room),
        }
        self.derive(user);
        self.shifted = true;
        self.raise_alarm(now);
    }

    pub(super) fn leaves(&mut self, conn: usize, number: u32) {
        let row = &mut self.conns[conn];
        let Some(place) = row.seats.iter().position(|it| it.number == number) else {
            if number == 0 {
                self.leaves_others(conn);
            }
            return;
        };
        let room = row.seats.remove(place).room;
        if let Some(user) = row.user {
            self.exits(conn, user, room);
        }
        self.shifted = true;
    }

    /// Its session leaves all rooms that this connection has not joined.
    fn leaves_others(&mut self, conn: usize) {
        let row = &self.conns[conn];
        let Some(user) = row.user else { return };
        let here: Vec<usize> = row.seats.iter().map(|it| it.room).collect();
        let session = self.users[user].session(&row.session);
        let rooms: Vec<usize> =
            session.map_or(Vec::new(), |it| it.stays.iter().map(|it| it.room).collect());
        for room in rooms.into_iter().filter(|it| !here.contains(it)) {
            self.exits(conn, user, room);
        }
        self.shifted = true;
    }

    fn exits(&mut self, conn: usize, user: usize, room: usize) {
        let (now, heard) = (self.now, self.cluster.is_heard(self.conns[conn].node));
        match self.users[user].session_on(conn) {
            Some(session) => session.exit(room, heard && session.certain_from <= now),
            None => self.old_one_moved(conn, user, room),
        }
        self.derive(user);
    }

    /// While not every node knows that another connection has taken the place of this one, what it says
    /// may still be believed.
    fn old_one_moved(&mut self, conn: usize, user: usize, room: usize) {
        let cluster = &self.cluster;
        let row = &self.conns[conn];
        if let Some(session) = self.users[user].session(&row.session)
            && !(cluster.is_settled(row.node) && cluster.is_settled(session.node))
        {
            session.may_have_moved(room);
        }
    }

    /// How a user may look in a room; `offline`: it may be left out.
    fn seen_in(&self, conn: usize, room: usize, user: usize) -> States {
        let row = &self.conns[conn];
        let here = self.users[user].presence(room, self.behind_since(row.node));
        let allowed = self.allowed(row.node, user, row.user);
        let there = allowed.without(State::Offline).without(State::Unknown);
        let own = row.user == Some(user);
        let inside = own && !row.passive;
        if inside {
            // Whoever is inside sees itself, whatever it lets others see.
            let may_end = allowed.has(State::Offline) || allowed.has(State::Unknown);
            return if may_end { there.with(State::Offline) } else { there };
        }
        if !here.may {
            return States::only(State::Offline);
        }
        let public = if own { self.allowed(row.node, user, None) } else { allowed };
        let must = here.must && !public.has(State::Offline) && !public.has(State::Unknown);
        if must { there } else { there.with(State::Offline) }
    }

    /// How many a connection may be told to be in a room, at least and at most: those whom it may see, or,
    /// where they are too many to be named to the nodes, all who do not hide from everybody.
    fn count_in(&self, conn: usize, room: usize) -> (u32, u32) {
        let row = &self.conns[conn];
        let seen = self.count_of(row.node, room, row.user);
        let all = self.count_of(row.node, room, None);
        let vast = self.vast();
        if all.1 <= vast {
            seen
        } else if all.0 > vast {
            all
        } else {
            (seen.0.min(all.0), seen.1.max(all.1))
        }
    }

    fn count_of(&self, node: usize, room: usize, viewer: Option<usize>) -> (u32, u32) {
        let (mut least, mut most) = (0, 0);
        for user in 0..self.users.len() {
            let here = self.users[user].presence(room, self.behind_since(node));
            let allowed = self.allowed(node, user, viewer.filter(|it| *it != user));
            most += u32::from(here.may && !allowed.is_absent());
            let absent = allowed.has(State::Offline) || allowed.has(State::Unknown);
            least += u32::from(here.must && !absent);
        }
        (least, most)
    }

    /// Above how many members not all of a room are named to the nodes.
    fn vast(&self) -> u32 {
        (2 * self.room_limit()).max(CANDIDATES)
    }

    fn room_limit(&self) -> u32 {
        self.scenario.settings.engine.room_limit as u32
    }

    fn seat(&self, conn: usize, number: u32) -> Result<usize, Complaint> {
        let row = &self.conns[conn];
        match row.seats.iter().position(|it| it.number == number) {
            Some(place) => Ok(place),
            None => {
                let text = format!("{} is told of room {number}", row.owner());
                self.complain(Kind::RoomNotAsked, text)
            }
        }
    }

    /// Of a member there may be said this.
    fn weigh_member(&self, conn: usize, room: usize, user: usize, said: State) -> Found {
        let allowed = self.seen_in(conn, room, user);
        if allowed.has(said) {
            return Ok(());
        }
        let (owner, name) = (self.conns[conn].owner(), &self.users[user].name);
        let (said, allowed, room) = (said.name(), allowed.words(), &self.rooms[room]);
        let text = format!("{owner} is told that {name} is {said} in {room}; right is {allowed}");
        self.complain(Kind::RosterWrong, text)
    }

    fn members(
        &mut self,
        conn: usize,
        members: &[Member<'_>],
    ) -> Result<Vec<(usize, State)>, Complaint> {
        let mut seen = BTreeSet::new();
        let rows: Vec<(usize, State)> =
            members.iter().map(|it| (self.user(it.user), it.state)).collect();
        if rows.iter().any(|it| !seen.insert(it.0)) {
            let text = format!("{} is told of somebody twice at once", self.conns[conn].owner());
            return self.complain(Kind::RosterWrong, text);
        }
        Ok(rows)
    }

    pub(super) fn roster(
        &mut self,
        conn: usize,
        number: u32,
        members: &[Member<'_>],
    ) -> Result<Parcel, Complaint> {
        let (place, members) = (self.seat(conn, number)?, self.members(conn, members)?);
        let Seat { room, said, .. } = self.conns[conn].seats[place];
        for user in 0..self.users.len() {
            let state = members.iter().find(|it| it.0 == user).map_or(State::Offline, |it| it.1);
            self.weigh_member(conn, room, user, state)?;
        }
        let (least, _) = self.count_in(conn, room);
        if least > self.room_limit() && self.cluster.is_settled(self.conns[conn].node) {
            let text = format!("{least} are named in {}", self.rooms[room]);
            return self.complain(Kind::CrowdWrong, text);
        }
        let seat = &mut self.conns[conn].seats[place];
        seat.told = Some(members.iter().copied().collect());
        (seat.count, seat.counted) = (None, None);
        self.shifted = true;
        Ok(Parcel::Room { room, said, whole: Some(None), members })
    }

    pub(super) fn room_events(
        &mut self,
        conn: usize,
        number: u32,
        members: &[Member<'_>],
    ) -> Result<Parcel, Complaint> {
        let (place, members) = (self.seat(conn, number)?, self.members(conn, members)?);
        let Seat { room, said, .. } = self.conns[conn].seats[place];
        for &(user, state) in &members {
            self.weigh_member(conn, room, user, state)?;
            let seat = &mut self.conns[conn].seats[place];
            let Some(told) = seat.told.as_mut().filter(|_| seat.count.is_none()) else {
                let text = format!("{} is told who came and went", self.conns[conn].owner());
                return self.complain(Kind::EventBeforeSnapshot, text);
            };
            let before = match state {
                State::Offline => told.remove(&user),
                state => told.insert(user, state),
            };
            if before.unwrap_or(State::Offline) == state {
                let (name, state) = (&self.users[user].name, state.name());
                let text = format!("{name} is {state} in {} as before", self.rooms[room]);
                return self.complain(Kind::EventRepeats, text);
            }
        }
        self.shifted = true;
        Ok(Parcel::Room { room, said, whole: None, members })
    }

    pub(super) fn crowd(
        &mut self,
        conn: usize,
        number: u32,
        count: u32,
        sample: &[Member<'_>],
    ) -> Result<Parcel, Complaint> {
        let now = self.now;
        let place = self.seat(conn, number)?;
        let members = self.members(conn, sample)?;
        let Seat { room, said, counted, .. } = self.conns[conn].seats[place];
        let node = self.conns[conn].node;
        let settled = self.cluster.is_settled(node);
        // It is told with the clock's seconds; a node that stood still may be late for one, not for the next.
        let soon = |it: &u64| now < it + CROWD && now / CROWD == it / CROWD;
        if let Some(before) = counted.filter(|it| settled && soon(it)) {
            let text =
                format!("{} is counted {} ms after {before} ms", self.rooms[room], now - before);
            return self.complain(Kind::CrowdWrong, text);
        }
        for &(user, state) in &members {
            if state == State::Offline || state == State::Unknown {
                let text = format!("{} is in a sample, and gone", self.users[user].name);
                return self.complain(Kind::CrowdWrong, text);
            }
            // What a crowd is made of may be of a second ago.
            if settled && !self.may_look(conn, room, user, state) {
                self.weigh_member(conn, room, user, state)?;
            }
        }
        if members.len() > SAMPLE {
            let text = format!("{} are in a sample", members.len());
            return self.complain(Kind::CrowdWrong, text);
        }
        let seat = &mut self.conns[conn].seats[place];
        // The first time goes at once, and the next with the clock.
        seat.counted = seat.count.is_some().then_some(now);
        seat.told = Some(members.iter().copied().collect());
        seat.count = Some(count);
        self.shifted = true;
        Ok(Parcel::Room { room, said, whole: Some(Some(count)), members })
    }

    /// Who is in a large room is as of when it was counted last; how a member looks is as of now.
    fn may_look(&self, conn: usize, room: usize, user: usize, state: State) -> bool {
        let row = &self.conns[conn];
        let lately = Some(self.now.saturating_sub(CROWD + STORE));
        let allowed = self.allowed(row.node, user, row.user);
        self.users[user].presence(room, lately).may && allowed.has(state)
    }

    /// Marks what connections were told of rooms and the rules no longer allow.
    pub(super) fn recheck_seats(&mut self, conn: usize) {
        let now = self.now;
        let blamed = self.cluster.is_settled(self.conns[conn].node);
        for place in 0..self.conns[conn].seats.len() {
            let seat = &self.conns[conn].seats[place];
            let (room, told) = (seat.room, seat.told.clone());
            let Some(told) = told else { continue };
            let (least, most) = self.count_in(conn, room);
            let limit = self.room_limit();
            let right = match seat.count {
                _ if !blamed => true,
                None => least <= limit,
                Some(count) => {
                    let gone = |it: (&usize, &State)| self.seen_in(conn, room, *it.0).has(*it.1);
                    let about = (told_as(least, &told)..=told_as(most, &told)).contains(&count);
                    most > limit && about && told.iter().all(gone)
                }
            };
            let named = seat.count.is_none() && least <= limit;
            let mut wrong = BTreeMap::new();
            for user in (0..self.users.len()).filter(|_| blamed && named) {
                let shown = told.get(&user).copied().unwrap_or(State::Offline);
                if !self.seen_in(conn, room, user).has(shown) {
                    wrong.insert(user, now);
                }
            }
            let patience = self.room_patience();
            let seat = &mut self.conns[conn].seats[place];
            for (user, since) in &mut wrong {
                *since = seat.wrong_since.get(user).copied().unwrap_or(now);
            }
            let first = wrong.values().min().copied();
            seat.wrong_since = wrong;
            let counted = (!right).then(|| seat.count_wrong_since.unwrap_or(now));
            seat.count_wrong_since = counted;
            if let Some(since) = first.into_iter().chain(counted).min() {
                self.raise_alarm(since + patience);
            }
        }
    }

    /// How long a change in a room may take to be told, in ms.
    fn room_patience(&self) -> u64 {
        let crowds = self.scenario.settings.engine.room_limit < self.users.len();
        self.patience() + if crowds { CROWD + STORE + SLACK } else { 0 }
    }

    /// Has anything about rooms been wrong for too long?
    pub(super) fn sound_room_alarm(&mut self, conn: usize) -> Found {
        let patience = self.room_patience();
        let mut alarm = u64::MAX;
        for seat in &self.conns[conn].seats {
            let (owner, room) = (self.conns[conn].owner(), &self.rooms[seat.room]);
            if seat.told.is_none() {
                if seat.asked + SLACK < self.now {
                    let text = format!("{owner} is not told who is in {room}");
                    return self.complain(Kind::SnapshotMissing, text);
                }
                alarm = alarm.min(self.now + SLACK + 1);
            }
            for (&user, &since) in &seat.wrong_since {
                if self.now < since + patience {
                    alarm = alarm.min(since + patience);
                    continue;
                }
                let shown = seat.told.as_ref().and_then(|it| it.get(&user));
                let shown = shown.map_or("not there", |it| it.name());
                let (name, wanted) = (&self.users[user].name, self.seen_in(conn, seat.room, user));
                let wanted = wanted.words();
                let text = format!(
                    "{owner} sees {name} {shown} in {room}; since {since} ms right is {wanted}"
                );
                return self.complain(Kind::RosterWrong, text);
            }
            if let Some(since) = seat.count_wrong_since {
                if self.now < since + patience {
                    alarm = alarm.min(since + patience);
                    continue;
                }
                let (count, told) = (seat.count, &seat.told);
                let right = self.count_in(conn, seat.room);
                let text = format!(
                    "{owner} was told {count:?} in {room}, {told:?}; since {since} ms there are {right:?}"
                );
                return self.complain(Kind::CrowdWrong, text);
            }
        }
        self.raise_alarm(alarm);
        Ok(())
    }

    /// Every room is to be told afresh: a new epoch, or an outage that is over.
    pub(super) fn refresh_seats(&mut self, node: usize) {
        for seat in self.conns.iter_mut().filter(|it| it.node == node).flat_map(|it| &mut it.seats)
        {
            seat.counted = None;
        }
    }

    /// At quiet: of whom a node keeps watches for those who look into rooms; none if it may keep more.
    pub(super) fn kept_at(&self, node: usize) -> Option<Vec<usize>> {
        let of_node = |conn: &usize| {
            let row = &self.conns[*conn];
            row.node == node && row.open && row.user.is_some()
        };
        let conns = (0..self.conns.len()).filter(of_node);
        let seats: Vec<(usize, &Seat)> = conns
            .flat_map(|conn| self.conns[conn].seats.iter().map(move |it| (conn, it)))
            .collect();
        let vague = |seat: &Seat| {
            self.users.iter().any(|it| {
                let (here, public) = (it.presence(seat.room, None), it.public());
                here.may != here.must || (!public.is_absent() && public.has(State::Offline))
            })
        };
        if seats.iter().any(|it| vague(it.1)) {
            return None;
        }
        Some(seats.iter().flat_map(|(conn, seat)| self.kept_for(*conn, seat)).collect())
    }

    fn kept_for(&self, conn: usize, seat: &Seat) -> Vec<usize> {
        let row = &self.conns[conn];
        let vast = self.count_of(row.node, seat.room, None).0 > self.vast();
        let there = |user: &usize| {
            let itself = row.user == Some(*user) && !row.passive && !vast;
            let here = self.users[*user].presence(seat.room, None).must;
            itself || (here && !self.allowed(row.node, *user, None).is_absent())
        };
        (0..self.users.len()).filter(there).collect()
    }
}

/// About so many, to two digits, and no fewer than are in the sample.
fn told_as(count: u32, sample: &BTreeMap<usize, State>) -> u32 {
    let step = 10_u32.max(10_u32.pow((count.max(1).ilog10()).saturating_sub(1)));
    ((count + step / 2) / step * step).max(sample.len() as u32)
}
