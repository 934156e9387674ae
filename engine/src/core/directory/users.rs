//! The table of users and the operations on it.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::quality::SeedableRandomState;
use greendot_protocol::{Epoch, Mode, ModeChoice, Revision, State, Time};

use super::face::Tally;
use super::sessions::Session;
use super::{Connected, Face, Joining, Record, SessionId, SessionView};
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
        self.sessions.get(session.0).map(Session::view)
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
        self.sessions_of(user).map(|(_, it)| it.view()).collect()
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
                row.passive = joining.passive;
                row.idle = joining.idle.unwrap_or(row.idle);
                id
            }
            None => {
                let next = self.user(user).first;
                let id = SessionId(self.sessions.insert(Session {
                    user,
                    next,
                    name: joining.session.into(),
                    generation,
                    idle: joining.idle.unwrap_or(false),
                    passive: joining.passive,
                    lingering: false,
                }));
                self.user_mut(user).first = Some(id);
                id
            }
        };
        let change = self.settle(user);
        let (mode, revision) = self.mode(user);
        Connected { user, session, generation, change, mode, revision, mode_changed }
    }

    /// The connection has ended or the page goes away: the session lingers (rule 3).
    pub fn linger(&mut self, session: SessionId) {
        if let Some(row) = self.sessions.get_mut(session.0) {
            row.lingering = true;
        }
    }

    /// A frame after all: the session lives on.
    pub fn revive(&mut self, session: SessionId) {
        if let Some(row) = self.sessions.get_mut(session.0) {
            row.lingering = false;
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
        self.unlink(row.user, session, row.next);
        if !row.passive {
            self.hear(row.user, heard);
        }
        Some(row.user)
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
        change
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
