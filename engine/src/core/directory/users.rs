//! The table of users and the operations on it.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::quality::SeedableRandomState;
use greendot_protocol::{Epoch, Mode, ModeChoice, Revision, State, Time};

use super::face::Tally;
use super::outlook::Outlooks;
use super::rooms::Rooms;
use super::sessions::{Extra, Session};
use super::{Connected, Face, Joining, Outlook, Record, Roster, SessionId, SessionView};
use crate::core::gate::LastSeen;
use crate::core::slab::{Id, Slab};

/// A user's place in the directory; it never changes within an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UserId(u32);

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
    names: HashMap<Arc<str>, UserId, SeedableRandomState>,
    users: Vec<User>,
    sessions: Slab<Session>,
    /// What few sessions have.
    extras: HashMap<SessionId, Extra, foldhash::quality::FixedState>,
    outlooks: Outlooks,
    rooms: Rooms,
    /// Users whose sessions have changed; kept only while somebody wants to know.
    followed: Option<Vec<UserId>>,
    /// The highest generation given: each connect gets a higher one.
    generation: u64,
}

#[derive(Debug)]
struct User {
    name: Arc<str>,
    first: Option<SessionId>,
    mode: Mode,
    revision: Revision,
    /// Whether the mode was chosen in this epoch: then no repetition beats it.
    chosen: bool,
    revoked: bool,
    record: Record,
}

impl Directory {
    /// An empty directory. Generations start above `generation`, so that a directory that follows
    /// a lost one gives higher ones if it is given a time.
    pub fn new(epoch: Epoch, generation: u64, seed: u64) -> Self {
        Self {
            epoch,
            names: HashMap::with_hasher(SeedableRandomState::with_seed(
                seed,
                foldhash::SharedSeed::global_fixed(),
            )),
            users: Vec::new(),
            sessions: Slab::default(),
            extras: HashMap::default(),
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

    /// The user with this name, if ever heard of.
    pub fn find(&self, user: &str) -> Option<UserId> {
        self.names.get(user).copied()
    }

    /// The user's name.
    pub fn name(&self, user: UserId) -> &Arc<str> {
        &self.user(user).name
    }

    /// All that is known of the user.
    pub fn record(&self, user: UserId) -> &Record {
        &self.user(user).record
    }

    /// The user's mode and its revision.
    pub fn mode(&self, user: UserId) -> (Mode, Revision) {
        let user = self.user(user);
        (user.mode, user.revision)
    }

    /// Whether the account has been revoked.
    pub fn is_revoked(&self, user: &str) -> bool {
        self.find(user).is_some_and(|id| self.user(id).revoked)
    }

    /// The user's session of this name.
    pub fn session(&self, user: UserId, name: &str) -> Option<SessionId> {
        self.sessions_of(user).find(|(_, it)| *it.name == *name).map(|(id, _)| id)
    }

    /// The session in this slot, if there is one.
    pub(crate) fn session_at(&self, slot: u32) -> Option<SessionId> {
        self.sessions.id_at(slot).map(SessionId)
    }

    /// The session's user, while it is there.
    pub fn user_of(&self, session: SessionId) -> Option<UserId> {
        self.sessions.get(session.0).map(|it| it.user)
    }

    /// The session's name, while it is there.
    pub fn session_name(&self, session: SessionId) -> Option<&str> {
        self.sessions.get(session.0).map(|it| &*it.name)
    }

    /// The ids of the user's sessions, in the order of [`Self::views`].
    pub fn ids_of(&self, user: UserId) -> impl Iterator<Item = SessionId> {
        self.sessions_of(user).map(|(id, _)| id)
    }

    /// How the session stands, while it is there.
    pub fn view(&self, session: SessionId) -> Option<SessionView> {
        self.sessions.get(session.0).map(|it| it.view(self.extras.get(&session)))
    }

    /// Takes the generation that the shared store gave.
    pub(crate) fn set_generation(&mut self, session: SessionId, generation: u64) {
        if let Some(row) = self.sessions.get_mut(session.0) {
            row.generation = generation;
        }
    }

    /// Takes the mode that the shared store tells; true if it is another.
    pub(crate) fn adopt_mode(&mut self, user: UserId, mode: Mode, revision: Revision) -> bool {
        let user = self.user_mut(user);
        user.revision = revision;
        std::mem::replace(&mut user.mode, mode) != mode
    }

    /// The user's sessions, in no order that means anything.
    pub fn views(&self, user: UserId) -> Vec<SessionView> {
        self.sessions_of(user).map(|(id, it)| it.view(self.extras.get(&id))).collect()
    }

    /// A session connects, or connects again (rules 3, 4, 5).
    pub fn connect(&mut self, now: Time, joining: &Joining<'_>) -> Connected {
        let user = self.intern(joining.user);
        let mode_changed = joining.mode.is_some_and(|choice| self.weigh(now, user, choice));
        let generation = joining.generation.unwrap_or(self.generation + 1);
        self.generation = self.generation.max(generation);
        let session = match self.session(user, joining.session) {
            Some(id) => {
                let row = self.sessions.get_mut(id.0).expect("found above");
                row.generation = generation;
                row.lingering = false;
                row.idle = joining.idle.unwrap_or(row.idle);
                self.set_passive(id, joining.passive);
                id
            }
            None => {
                let next = self.user(user).first;
                let row = Session::new(user, next, now, generation, joining);
                let id = SessionId(self.sessions.insert(row));
                self.user_mut(user).first = Some(id);
                id
            }
        };
        if !joining.device.is_empty() {
            self.extras.entry(session).or_default().device = joining.device.into();
        }
        self.sessions_changed(user);
        let change = self.settle(user);
        let (mode, revision) = self.mode(user);
        Connected { user, session, generation, change, mode, revision, mode_changed }
    }

    /// The connection has ended or the page goes away: the session lingers (rule 3).
    pub fn linger(&mut self, session: SessionId) {
        if let Some(row) = self.sessions.get_mut(session.0) {
            row.lingering = true;
            let user = row.user;
            self.sessions_changed(user);
        }
    }

    /// A frame after all: the session lives on.
    pub fn revive(&mut self, session: SessionId) {
        if let Some(row) = self.sessions.get_mut(session.0) {
            row.lingering = false;
            let user = row.user;
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
        let Some(row) = self.sessions.get_mut(session.0) else { return Change::default() };
        if row.idle == idle {
            return Change::default();
        }
        row.idle = idle;
        let user = row.user;
        self.sessions_changed(user);
        self.settle(user)
    }

    /// The session ends; `heard` is when its last frame arrived.
    pub fn end(&mut self, session: SessionId, heard: Time) -> Change {
        self.take_out(session, heard).map_or(Change::default(), |user| self.settle(user))
    }

    /// Sessions of one user end together: one change, however many they are.
    pub fn end_all(&mut self, user: UserId, sessions: &[(SessionId, Time)]) -> Change {
        for &(session, heard) in sessions {
            self.take_out(session, heard);
        }
        self.settle(user)
    }

    fn take_out(&mut self, session: SessionId, heard: Time) -> Option<UserId> {
        let row = self.sessions.remove(session.0)?;
        self.sessions_changed(row.user);
        self.unlink(row.user, session, row.next);
        let extra = self.extras.remove(&session).unwrap_or_default();
        if !row.passive {
            self.hear(row.user, heard);
            for room in &extra.rooms {
                self.rooms.exit(room, row.user);
            }
        }
        Some(row.user)
    }

    /// A session that connects anew may count for its user, or no more.
    fn set_passive(&mut self, session: SessionId, passive: bool) {
        let Some(row) = self.sessions.get_mut(session.0) else { return };
        if std::mem::replace(&mut row.passive, passive) == passive {
            return;
        }
        let user = row.user;
        let rooms = self.rooms_of(session).to_vec();
        let present = self.user(user).record.public.is_present();
        for room in &rooms {
            if passive {
                self.rooms.exit(room, user);
            } else {
                self.rooms.enter(room, user, present);
            }
        }
    }

    /// The session goes into a room; false if it is there already. A passive one is not seen there.
    pub fn join(&mut self, session: SessionId, room: &Arc<str>) -> bool {
        let Some(row) = self.sessions.get(session.0) else { return false };
        let rooms = &mut self.extras.entry(session).or_default().rooms;
        if rooms.contains(room) {
            return false;
        }
        rooms.push(Arc::clone(room));
        let (user, passive) = (row.user, row.passive);
        if !passive {
            let present = self.user(user).record.public.is_present();
            self.rooms.enter(room, user, present);
        }
        true
    }

    /// The session leaves a room; false if it is not there.
    pub fn leave(&mut self, session: SessionId, room: &str) -> bool {
        let Some(row) = self.sessions.get(session.0) else { return false };
        let Some(extra) = self.extras.get_mut(&session) else { return false };
        let Some(place) = extra.rooms.iter().position(|it| **it == *room) else { return false };
        let room = extra.rooms.swap_remove(place);
        let (user, passive) = (row.user, row.passive);
        if !passive {
            self.rooms.exit(&room, user);
        }
        true
    }

    /// The rooms that a session is in.
    pub fn rooms_of(&self, session: SessionId) -> &[Arc<str>] {
        self.extras.get(&session).map_or(&[], |it| &it.rooms)
    }

    /// How many rooms anybody is in.
    pub fn room_count(&self) -> usize {
        self.rooms.len()
    }

    /// Who is in a room; up to `limit` users are named, of more only some.
    pub fn roster(&self, room: &Arc<str>, limit: usize) -> Roster {
        self.rooms.roster(room, limit, |user| self.name(user))
    }

    /// Rooms whose roster has changed since the last call.
    pub(crate) fn take_touched_rooms(&mut self) -> Vec<Arc<str>> {
        self.rooms.take_touched()
    }

    /// The user's own choice; `None` if nothing was chosen anew.
    pub fn set_mode(&mut self, now: Time, user: &str, mode: Mode) -> (UserId, Option<Change>) {
        let id = self.intern(user);
        if self.user(id).mode == mode && self.user(id).chosen {
            return (id, None);
        }
        self.choose(now, id, mode);
        (id, Some(self.settle(id)))
    }

    /// The user's note; the same again is no change.
    pub fn set_note(&mut self, user: &str, note: &str) -> (UserId, Change) {
        let id = self.intern(user);
        let record = &mut self.user_mut(id).record;
        if *record.note == *note {
            return (id, Change::default());
        }
        record.note = note.into();
        let change =
            Change { public: record.public.note_changed(), own: record.own.note_changed() };
        (id, change)
    }

    /// How exactly others may see when the user was there last; true if that is new.
    pub fn set_last_seen(&mut self, user: &str, wish: LastSeen) -> (UserId, bool) {
        let id = self.intern(user);
        let record = &mut self.user_mut(id).record;
        let new = std::mem::replace(&mut record.wish, wish) != wish;
        record.wishes += u32::from(new);
        (id, new)
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
        self.find(user).is_some_and(|it| self.user(it).mode == Mode::Invisible)
    }

    /// Users whom others see present, at most so many, in no order that means anything.
    pub fn present(&self, at_most: usize) -> Vec<UserId> {
        let ids = (0..self.users.len()).map(|it| UserId(it as u32));
        ids.filter(|it| self.user(*it).record.public.is_present()).take(at_most).collect()
    }

    /// The user hides from the viewer, or shows itself again. The viewer's new outlook, if that
    /// changes anything. Nobody can hide from itself.
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
        let unheard = Record::default();
        let record = self.names.get(user).map_or(&unheard, |id| &self.users[id.0 as usize].record);
        self.outlooks.set(now, user, viewer, record, blocked)
    }

    /// The same for a block of an epoch before this one.
    pub fn restore_block(&mut self, user: &str, viewer: &str) -> Option<Arc<Outlook>> {
        self.outlooks.restore(user, viewer)
    }

    /// Marks the account as revoked: no session of it connects until it is reinstated. Ending
    /// those that are there is the caller's part.
    pub fn revoke(&mut self, user: &str) -> UserId {
        let id = self.intern(user);
        self.user_mut(id).revoked = true;
        id
    }

    /// Takes a revocation back.
    pub fn reinstate(&mut self, user: &str) {
        if let Some(id) = self.find(user) {
            self.user_mut(id).revoked = false;
        }
    }

    fn user(&self, id: UserId) -> &User {
        &self.users[id.0 as usize]
    }

    fn user_mut(&mut self, id: UserId) -> &mut User {
        &mut self.users[id.0 as usize]
    }

    fn intern(&mut self, name: &str) -> UserId {
        if let Some(&id) = self.names.get(name) {
            return id;
        }
        let id = UserId(u32::try_from(self.users.len()).expect("fewer than 2^32 users"));
        let name: Arc<str> = name.into();
        self.users.push(User {
            name: Arc::clone(&name),
            first: None,
            mode: Mode::Auto,
            revision: Revision(0),
            chosen: false,
            revoked: false,
            record: Record::default(),
        });
        self.names.insert(name, id);
        id
    }

    fn sessions_of(&self, user: UserId) -> impl Iterator<Item = (SessionId, &Session)> {
        let mut next = self.user(user).first;
        std::iter::from_fn(move || {
            let id = next?;
            let row = self.sessions.get(id.0)?;
            next = row.next;
            Some((id, row))
        })
    }

    fn unlink(&mut self, user: UserId, gone: SessionId, after: Option<SessionId>) {
        if self.user(user).first == Some(gone) {
            self.user_mut(user).first = after;
            return;
        }
        let before = self.sessions_of(user).find(|(_, it)| it.next == Some(gone)).map(|it| it.0);
        if let Some(row) = before.and_then(|id| self.sessions.get_mut(id.0)) {
            row.next = after;
        }
    }

    /// A frame was heard at `at`: last seen moves, unless the user is hidden, and never back.
    fn hear(&mut self, user: UserId, at: Time) {
        let user = self.user_mut(user);
        if user.mode != Mode::Invisible {
            user.record.seen = user.record.seen.max(Some(at));
        }
    }

    fn choose(&mut self, now: Time, id: UserId, mode: Mode) {
        let user = self.user_mut(id);
        user.chosen = true;
        user.revision = user.revision.next();
        self.put_mode(now, id, mode);
    }

    /// Weighs the mode that came with a connect (rule 5): a fresh choice is taken; a repeated one
    /// only if nobody has chosen in this epoch and it is the newest repeated so far.
    fn weigh(&mut self, now: Time, id: UserId, choice: ModeChoice) -> bool {
        let user = self.user_mut(id);
        let before = user.mode;
        if choice.fresh {
            user.revision = user.revision.max(choice.revision);
            self.choose(now, id, choice.mode);
        } else if !user.chosen && choice.revision > user.revision {
            user.revision = choice.revision;
            self.put_mode(now, id, choice.mode);
        }
        self.user(id).mode != before
    }

    fn put_mode(&mut self, now: Time, id: UserId, mode: Mode) {
        let user = self.user_mut(id);
        if mode == Mode::Invisible && user.record.public.state != State::Offline {
            // Becoming hidden counts as a frame heard then (rule 9).
            user.record.seen = user.record.seen.max(Some(now));
        }
        user.mode = mode;
    }

    /// Derives the state from what is there and turns the faces (rules 5 and 6).
    fn settle(&mut self, id: UserId) -> Change {
        let mut tally = Tally::default();
        for (_, session) in self.sessions_of(id).filter(|(_, it)| !it.passive) {
            tally.any = true;
            tally.active |= !session.idle;
        }
        let user = self.user_mut(id);
        let record = &mut user.record;
        let change = Change {
            public: record.public.turn(tally.public(user.mode)),
            own: record.own.turn(tally.own(user.mode)),
        };
        record.heard |= record.public.state != State::Offline;
        if change.public {
            self.show_in_rooms(id);
        }
        change
    }

    /// The user's public face has turned: in rooms it is seen, or is not.
    fn show_in_rooms(&mut self, id: UserId) {
        let present = self.user(id).record.public.is_present();
        let rooms: Vec<Arc<str>> = self
            .sessions_of(id)
            .filter(|(_, it)| !it.passive)
            .flat_map(|(id, _)| self.rooms_of(id).iter().cloned())
            .collect();
        for room in rooms {
            self.rooms.show(&room, id, present);
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
    pub(crate) fn id(self) -> Id {
        self.0
    }
}
