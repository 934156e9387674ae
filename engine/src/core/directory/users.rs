//! The operations on users and their sessions.

use std::sync::Arc;

use greendot_protocol::sabotage::{Fault, on};
use greendot_protocol::{Epoch, Mode, ModeChoice, Revision, State, Time};

use super::face::Tally;
use super::outlook::Outlooks;
use super::people::{People, UserId};
use super::rooms::{Occupant, Rooms};
use super::sessions::{Removed, Session, Sessions};
use super::{Connected, Face, Joining, Outlook, Record, Roster, SessionId, SessionView};
use crate::core::gate::LastSeen;
use crate::core::name::Name;

/// What an operation changed for watchers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// The public face or the note seen with it.
    pub public: bool,
    /// The true face or the note seen with it.
    pub own: bool,
}

impl Change {
    /// Whether anything changed for anybody.
    pub fn any(self) -> bool {
        self.public || self.own
    }
}

/// Users and their sessions in one epoch.
#[derive(Debug)]
pub struct Directory {
    epoch: Epoch,
    people: People,
    sessions: Sessions,
    outlooks: Outlooks,
    rooms: Rooms,
    /// Users whose sessions have changed; kept only while somebody wants to know.
    followed: Option<Vec<UserId>>,
    /// The highest generation given: each connect gets a higher one.
    generation: u64,
}

impl Directory {
    /// An empty directory. Generations start above `generation`, so that a directory that follows
    /// a lost one gives higher ones if it is given a time.
    pub fn new(epoch: Epoch, generation: u64, seed: u64) -> Self {
        Self {
            epoch,
            people: People::new(seed),
            sessions: Sessions::new(generation),
            outlooks: Outlooks::new(seed),
            rooms: Rooms::new(seed),
            followed: None,
            generation,
        }
    }

    /// The epoch of the versions given here.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Sessions that are live or lingering, passive ones included.
    pub fn session_count(&self) -> usize {
        self.sessions.len()
    }

    /// How many users others see present.
    pub(crate) fn present_count(&self) -> usize {
        self.people.present()
    }

    /// The user with this name, if ever heard of.
    pub fn find(&self, user: &str) -> Option<UserId> {
        self.people.find(user)
    }

    /// The user's name.
    pub fn name(&self, user: UserId) -> &Name {
        self.people.name(user)
    }

    /// The user's name, to be passed around.
    pub(crate) fn shared_name(&self, user: UserId) -> Arc<str> {
        self.name(user).as_str().into()
    }

    /// All that is known of the user.
    pub fn record(&self, user: UserId) -> Record {
        self.people.record(user)
    }

    /// How others see the user.
    pub(crate) fn public(&self, user: UserId) -> Face {
        self.people.public(user)
    }

    /// The user's note, if there is one.
    pub(crate) fn note(&self, user: UserId) -> Option<Arc<str>> {
        self.people.note(user)
    }

    /// When the user was heard last, as far as it is told while offline.
    pub(crate) fn seen(&self, user: UserId) -> Option<Time> {
        self.people.seen(user)
    }

    /// The user's mode and its revision.
    pub fn mode(&self, user: UserId) -> (Mode, Revision) {
        self.people.mode(user)
    }

    /// Whether the user's account has been revoked.
    pub(crate) fn has_been_revoked(&self, user: UserId) -> bool {
        self.people.is_revoked(user)
    }

    /// Whether the account has been revoked.
    pub fn is_revoked(&self, user: &str) -> bool {
        self.find(user).is_some_and(|id| self.people.is_revoked(id))
    }

    /// The user's session of this name.
    pub fn session(&self, user: UserId, name: &str) -> Option<SessionId> {
        self.sessions_of(user).find(|(_, it)| *it.name() == *name).map(|(id, _)| id)
    }

    /// The session in this slot, if there is one.
    pub(crate) fn session_at(&self, slot: u32) -> Option<SessionId> {
        self.sessions.get(SessionId(slot)).map(|_| SessionId(slot))
    }

    /// Reads the rows of these sessions and then those of their users, which are about to be needed; the latter are named in
    /// `into`. The rows lie anywhere in memory: read with little done in between, and none waiting for another, many of them
    /// come in side by side.
    pub(crate) fn look_ahead(&self, slots: impl Iterator<Item = u32>, into: &mut Vec<UserId>) {
        into.clear();
        into.extend(slots.filter_map(|it| self.sessions.look_ahead(SessionId(it))));
        std::hint::black_box(self.people.look_ahead(into));
    }

    /// Reads the row of this session, which is about to be needed.
    pub(crate) fn look_ahead_at(&self, slot: u32) {
        std::hint::black_box(self.sessions.look_ahead(SessionId(slot)));
    }

    /// The session's user, while it is there.
    pub fn user_of(&self, session: SessionId) -> Option<UserId> {
        self.sessions.get(session).map(Session::user)
    }

    /// The session's name, while it is there.
    pub fn session_name(&self, session: SessionId) -> Option<&str> {
        self.sessions.get(session).map(|it| it.name().as_str())
    }

    /// The ids of the user's sessions, in the order of [`Self::views`].
    pub fn ids_of(&self, user: UserId) -> impl Iterator<Item = SessionId> {
        self.sessions_of(user).map(|(id, _)| id)
    }

    /// How the session stands, while it is there.
    pub fn view(&self, session: SessionId) -> Option<SessionView> {
        self.sessions.view(session)
    }

    /// Takes the generation that the shared store gave.
    pub(crate) fn set_generation(&mut self, session: SessionId, generation: u64) {
        self.sessions.set_generation(session, generation);
    }

    /// Takes the mode that the shared store tells; true if it is another.
    pub(crate) fn adopt_mode(&mut self, user: UserId, mode: Mode, revision: Revision) -> bool {
        let before = self.people.mode(user).0;
        self.people.set_revision(user, revision);
        self.people.set_mode(user, mode);
        before != mode
    }

    /// What the user chose is known no more, nor that anything was chosen: what is repeated next counts.
    pub(crate) fn forget_choice(&mut self, user: UserId) {
        self.adopt_mode(user, Mode::Auto, Revision(0));
        self.people.set_chosen(user, false);
    }

    /// The user's sessions, in no order that means anything.
    pub fn views(&self, user: UserId) -> Vec<SessionView> {
        self.ids_of(user).filter_map(|id| self.sessions.view(id)).collect()
    }

    /// The user with this name, heard of now if not before.
    pub(crate) fn intern(&mut self, user: &str) -> UserId {
        self.people.intern(user)
    }

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

    /// Whether it is noted from now on whose sessions change.
    pub(crate) fn follow_sessions(&mut self, follow: bool) {
        if !follow {
            self.followed = None;
        } else if self.followed.is_none() {
            self.followed = Some(Vec::new());
        }
    }

    /// Gives some of the room back that nobody needs any more.
    pub(crate) fn give_back(&mut self) {
        self.sessions.give_back();
    }

    /// Whether [`Self::take_followed`] has something to tell.
    pub(crate) fn has_followed(&self) -> bool {
        self.followed.as_ref().is_some_and(|it| !it.is_empty())
    }

    /// Users whose sessions have changed since the last call.
    pub(crate) fn take_followed(&mut self) -> Vec<UserId> {
        let mut users = self.followed.as_mut().map(std::mem::take).unwrap_or_default();
        users.sort_unstable();
        users.dedup();
        users
    }

    fn sessions_changed(&mut self, user: UserId) {
        if let Some(followed) = self.followed.as_mut() {
            followed.push(user);
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

    /// A session of the user, of which nothing was known here, was heard at `at`; true if last seen moves by it, which
    /// stands still while the user is hidden.
    pub fn hear(&mut self, user: &str, at: Time) -> (UserId, bool) {
        let id = self.people.intern(user);
        (id, self.people.mode(id).0 != Mode::Invisible && self.people.hear(id, at))
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

    fn take_out(&mut self, session: SessionId, heard: Time) -> Option<UserId> {
        let extra = self.sessions.take_extra(session);
        let Removed { user, next, passive } = self.sessions.remove(session)?;
        self.sessions_changed(user);
        self.unlink(user, session, next);
        if !passive {
            // Last seen stands still while the user is hidden.
            if self.people.mode(user).0 != Mode::Invisible {
                self.people.hear(user, heard);
            }
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

    fn occupant(&self, user: UserId) -> Occupant {
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

    /// The user's own choice; `None` if nothing was chosen anew.
    pub fn set_mode(&mut self, now: Time, user: &str, mode: Mode) -> (UserId, Option<Change>) {
        let id = self.people.intern(user);
        if self.people.mode(id).0 == mode && self.people.has_chosen(id) {
            return (id, None);
        }
        self.choose(now, id, mode);
        (id, Some(self.settle(id)))
    }

    /// The user's note; the same again is no change.
    pub fn set_note(&mut self, user: &str, note: &str) -> (UserId, Change) {
        let id = self.people.intern(user);
        (id, self.people.set_note(id, note))
    }

    /// How exactly others may see when the user was there last; true if that is new.
    pub fn set_last_seen(&mut self, user: &str, wish: LastSeen) -> (UserId, bool) {
        let id = self.people.intern(user);
        (id, self.people.set_wish(id, wish))
    }

    /// What stands between a viewer and others.
    pub fn outlook(&self, viewer: &str) -> &Arc<Outlook> {
        self.outlooks.of(viewer)
    }

    /// The number of a viewer's outlook: it rises with each change.
    pub fn outlook_number(&self, viewer: &str) -> u64 {
        self.outlooks.number_of(viewer)
    }

    /// Whether the user hides from everybody.
    pub fn hides(&self, user: &str) -> bool {
        self.find(user).is_some_and(|it| self.people.mode(it).0 == Mode::Invisible)
    }

    /// Users whom others see present, at most so many, in no order that means anything.
    pub fn present(&self, at_most: usize) -> Vec<UserId> {
        let present = self.people.ids().filter(|it| self.people.public(*it).is_present());
        present.take(at_most).collect()
    }

    /// The user hides from the viewer, or shows itself again; `now` is when it chose so. The viewer's
    /// new outlook, if that changes anything. Nobody can hide from itself.
    pub fn set_block(
        &mut self,
        now: Time,
        user: &str,
        viewer: &str,
        blocked: bool,
    ) -> Option<Arc<Outlook>> {
        if user == viewer {
            return None;
        }
        let id = self.find(user);
        let record = id.map(|it| self.record(it)).unwrap_or_default();
        let outlook = self.outlooks.set(now, user, viewer, &record, blocked)?;
        if let Some(id) = id.filter(|_| blocked && record.public.is_present()) {
            // Becoming hidden counts as a frame heard then (rule 9): once it sees again, the viewer is
            // told of no earlier time.
            self.people.hear(id, now);
        }
        Some(outlook)
    }

    /// The same for a block of an epoch before this one.
    pub fn restore_block(&mut self, user: &str, viewer: &str) -> Option<Arc<Outlook>> {
        self.outlooks.restore(user, viewer)
    }

    /// Marks the account as revoked: no session of it connects until it is reinstated. Ending
    /// those that are there is the caller's part.
    pub fn revoke(&mut self, user: &str) -> UserId {
        let id = self.people.intern(user);
        self.people.set_revoked(id, true);
        id
    }

    /// Takes a revocation back.
    pub fn reinstate(&mut self, user: &str) {
        if let Some(id) = self.find(user) {
            self.people.set_revoked(id, false);
        }
    }

    fn sessions_of(&self, user: UserId) -> impl Iterator<Item = (SessionId, &Session)> {
        let mut next = self.people.first(user);
        std::iter::from_fn(move || {
            let id = next?;
            let row = self.sessions.get(id)?;
            next = row.next();
            Some((id, row))
        })
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

    fn choose(&mut self, now: Time, id: UserId, mode: Mode) {
        self.people.set_chosen(id, true);
        self.people.set_revision(id, self.people.mode(id).1.next());
        self.put_mode(now, id, mode);
    }

    /// Weighs the mode that came with a connect (rule 5): a fresh choice is taken; a repeated one
    /// only if nobody has chosen in this epoch and it is the newest repeated so far.
    fn weigh(&mut self, now: Time, id: UserId, choice: ModeChoice) -> bool {
        let (before, revision) = self.people.mode(id);
        if choice.fresh {
            self.people.set_revision(id, revision.max(choice.revision));
            self.choose(now, id, choice.mode);
        } else if !self.people.has_chosen(id) && choice.revision > revision {
            self.people.set_revision(id, choice.revision);
            self.put_mode(now, id, choice.mode);
        }
        self.people.mode(id).0 != before
    }

    fn put_mode(&mut self, now: Time, id: UserId, mode: Mode) {
        if mode == Mode::Invisible && self.people.public(id).state != State::Offline {
            // Becoming hidden counts as a frame heard then (rule 9).
            self.people.hear(id, now);
        }
        self.people.set_mode(id, mode);
    }

    /// Derives the state from what is there and turns the faces (rules 5 and 6).
    fn settle(&mut self, id: UserId) -> Change {
        let mut tally = Tally::default();
        for (_, session) in self.sessions_of(id) {
            tally = tally.and(Tally::of(session.is_passive(), session.is_idle()));
        }
        self.turn(id, tally)
    }

    fn turn(&mut self, id: UserId, tally: Tally) -> Change {
        let mode = self.people.mode(id).0;
        let change = self.people.turn(id, tally.public(mode), tally.own(mode));
        if change.public {
            self.show_in_rooms(id);
        }
        change
    }

    /// The user's public face has turned: in rooms it is seen, or is not.
    fn show_in_rooms(&mut self, id: UserId) {
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

impl Face {
    /// Whether the user is there in this face's eyes.
    pub fn is_present(&self) -> bool {
        !matches!(self.state, State::Offline | State::Unknown)
    }
}

impl SessionId {
    /// The slot, for tables that go along with the directory's.
    pub(crate) fn slot(self) -> u32 {
        self.0
    }
}
