//! The operations on users and their sessions.

mod blocks;
mod choices;
mod followed;
mod life;
mod stays;

use std::sync::Arc;

use greendot_protocol::{Epoch, Mode, Revision, Time};

use super::face::Tally;
use super::outlook::Outlooks;
use super::people::{People, UserId};
use super::rooms::Rooms;
use super::sessions::{Session, Sessions};
use super::{Face, Record, SessionId, SessionView};
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

    /// The user's sessions, in no order that means anything.
    pub fn views(&self, user: UserId) -> Vec<SessionView> {
        self.ids_of(user).filter_map(|id| self.sessions.view(id)).collect()
    }

    /// The user with this name, heard of now if not before.
    pub(crate) fn intern(&mut self, user: &str) -> UserId {
        self.people.intern(user)
    }

    /// Gives some of the room back that nobody needs any more.
    pub(crate) fn give_back(&mut self) {
        self.sessions.give_back();
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
}
