//! The table of users: a row of 40 bytes each, and what few have beside it.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;

use super::index::Index;
use super::{Change, Face, Record, SessionId};
use crate::core::gate::LastSeen;
use crate::core::moment::Moment;
use crate::core::name::Name;
use crate::core::table::Table;
use foldhash::quality::{FixedState, SeedableRandomState};
use greendot_protocol::{Mode, Revision, State, Time, Version};

/// A user's place in the directory; it never changes within an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UserId(pub(super) u32);

/// All users ever heard of in this epoch.
#[derive(Debug)]
pub(super) struct People {
    rows: Table<Person>,
    index: Index,
    hasher: SeedableRandomState,
    /// Users whom others see present.
    present: usize,
    /// What few users have; marked in their rows.
    rare: HashMap<UserId, Rare, FixedState>,
}

/// A row of the table.
#[derive(Debug)]
pub(super) struct Person {
    name: Name,
    /// The slot of the first session, or [`NONE`].
    first: u32,
    /// The version of the public face.
    version: Version,
    seen: Moment,
    state: State,
    /// Flags, and above them the mode's number.
    flags: u8,
}

/// No session.
const NONE: u32 = u32::MAX;

/// The mode was chosen in this epoch: then no repetition beats it.
const CHOSEN: u8 = 1;
/// The account has been revoked.
const REVOKED: u8 = 1 << 1;
/// The user has been visible in this epoch.
const HEARD: u8 = 1 << 2;
/// There is a row in [`People::rare`].
const RARE: u8 = 1 << 3;
/// Where the mode's number begins.
const MODE: u32 = 4;

/// What few users have.
#[derive(Debug, Default)]
struct Rare {
    /// What the user's own sessions see, once that has differed from what others see.
    own: Option<Face>,
    revision: Revision,
    note: Arc<str>,
    wish: LastSeen,
    wishes: u32,
}

impl People {
    pub(super) fn new(seed: u64) -> Self {
        let hasher = SeedableRandomState::with_seed(seed, foldhash::SharedSeed::global_fixed());
        Self {
            rows: Table::default(),
            index: Index::default(),
            present: 0,
            hasher,
            rare: HashMap::default(),
        }
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = UserId> {
        (0..self.rows.len()).map(|place| UserId(place as u32))
    }

    /// The user with this name, if ever heard of.
    pub(super) fn find(&self, name: &str) -> Option<UserId> {
        let hash = self.hasher.hash_one(name.as_bytes());
        self.index.find(hash, |it| self.rows[it as usize].name == *name).map(UserId)
    }

    /// The user with this name, heard of now if not before.
    ///
    /// # Panics
    ///
    /// At 2³² users.
    pub(super) fn intern(&mut self, name: &str) -> UserId {
        let hash = self.hasher.hash_one(name.as_bytes());
        let (rows, hasher) = (&mut self.rows, &self.hasher);
        if let Some(id) = self.index.find(hash, |it| rows[it as usize].name == *name) {
            return UserId(id);
        }
        let id = u32::try_from(rows.len()).expect("fewer than 2^32 users");
        self.index.insert(hash, id, |it| hasher.hash_one(rows[it as usize].name.as_bytes()));
        rows.push(Person {
            name: name.into(),
            first: NONE,
            version: Version(0),
            seen: Moment::NEVER,
            state: State::default(),
            flags: 0,
        });
        UserId(id)
    }

    /// Reads the rows of these users; what it returns means nothing.
    pub(super) fn look_ahead(&self, users: &[UserId]) -> usize {
        let rows = users.iter().map(|&it| self.row(it));
        // Of both ends, too.
        rows.map(|it| usize::from(it.flags) + it.name.as_bytes().len()).sum()
    }

    pub(super) fn name(&self, id: UserId) -> &Name {
        &self.row(id).name
    }

    pub(super) fn record(&self, id: UserId) -> Record {
        let row = self.row(id);
        let public = row.public();
        let rare = self.rare(id);
        Record {
            public,
            own: rare.and_then(|it| it.own).unwrap_or(public),
            note: rare.map(|it| Arc::clone(&it.note)).unwrap_or_default(),
            seen: row.seen(),
            heard: row.is(HEARD),
            wish: rare.map(|it| it.wish).unwrap_or_default(),
            wishes: rare.map_or(0, |it| it.wishes),
        }
    }

    /// When a frame was heard last.
    pub(super) fn seen(&self, id: UserId) -> Option<Time> {
        self.row(id).seen()
    }

    /// How many users others see present.
    pub(super) fn present(&self) -> usize {
        self.present
    }

    /// The note, if there is one.
    #[inline]
    pub(super) fn note(&self, id: UserId) -> Option<Arc<str>> {
        if self.row(id).is(RARE) { self.rare_note(id) } else { None }
    }

    #[cold]
    fn rare_note(&self, id: UserId) -> Option<Arc<str>> {
        self.rare(id).map(|it| Arc::clone(&it.note)).filter(|it| !it.is_empty())
    }

    /// What others may see.
    pub(super) fn public(&self, id: UserId) -> Face {
        self.row(id).public()
    }

    pub(super) fn mode(&self, id: UserId) -> (Mode, Revision) {
        let row = self.row(id);
        (row.mode(), if row.is(RARE) { self.revision(id) } else { Revision(0) })
    }

    #[cold]
    fn revision(&self, id: UserId) -> Revision {
        self.rare(id).map_or(Revision(0), |it| it.revision)
    }

    pub(super) fn set_mode(&mut self, id: UserId, mode: Mode) {
        let row = self.row_mut(id);
        row.flags = row.flags & !(u8::MAX << MODE) | (mode as u8) << MODE;
    }

    pub(super) fn set_revision(&mut self, id: UserId, revision: Revision) {
        if self.mode(id).1 != revision {
            self.rare_mut(id).revision = revision;
        }
    }

    pub(super) fn has_chosen(&self, id: UserId) -> bool {
        self.row(id).is(CHOSEN)
    }

    pub(super) fn set_chosen(&mut self, id: UserId, chosen: bool) {
        let row = self.row_mut(id);
        row.flags = if chosen { row.flags | CHOSEN } else { row.flags & !CHOSEN };
    }

    pub(super) fn is_revoked(&self, id: UserId) -> bool {
        self.row(id).is(REVOKED)
    }

    pub(super) fn set_revoked(&mut self, id: UserId, revoked: bool) {
        let row = self.row_mut(id);
        row.flags = if revoked { row.flags | REVOKED } else { row.flags & !REVOKED };
    }

    pub(super) fn first(&self, id: UserId) -> Option<SessionId> {
        let first = self.row(id).first;
        (first != NONE).then_some(SessionId(first))
    }

    /// Where this is the user's first session, another takes its place; false where it is not.
    pub(super) fn replace_first(
        &mut self,
        id: UserId,
        gone: SessionId,
        session: Option<SessionId>,
    ) -> bool {
        let row = self.row_mut(id);
        if row.first != gone.0 {
            return false;
        }
        row.first = session.map_or(NONE, |it| it.0);
        true
    }

    pub(super) fn set_first(&mut self, id: UserId, session: Option<SessionId>) {
        self.row_mut(id).first = session.map_or(NONE, |it| it.0);
    }

    /// A frame was heard at `at`: last seen moves, and never back. True if it does.
    pub(super) fn hear(&mut self, id: UserId, at: Time) -> bool {
        let row = self.row_mut(id);
        row.flags |= HEARD;
        let later = row.seen().is_none_or(|seen| seen < at);
        if later {
            row.seen = Moment::at(at);
        }
        later
    }

    /// Takes what others see and what the user's own sessions see.
    pub(super) fn turn(&mut self, id: UserId, public: State, own: State) -> Change {
        let row = &mut self.rows[id.0 as usize];
        let before = row.public();
        let mut face = before;
        let changed = face.turn(public);
        (row.state, row.version) = (face.state, face.version);
        self.present += usize::from(face.is_present());
        self.present -= usize::from(before.is_present());
        if public != State::Offline {
            row.flags |= HEARD;
        }
        if public == own && !row.is(RARE) {
            return Change { public: changed, own: changed };
        }
        Change { public: changed, own: self.turn_own(id, before, own, changed) }
    }

    /// Takes what the user's own sessions see, where that may not be what others see; `before` is what they saw.
    #[cold]
    fn turn_own(&mut self, id: UserId, before: Face, own: State, changed: bool) -> bool {
        let public = self.row(id).public().state;
        let rare = self.rare_mut(id);
        match &mut rare.own {
            None if public == own => changed,
            face => face.get_or_insert(before).turn(own),
        }
    }

    /// Takes the user's note; the same again is no change.
    pub(super) fn set_note(&mut self, id: UserId, note: &str) -> Change {
        let before = self.rare(id).map(|it| &*it.note).unwrap_or_default();
        if before == note {
            return Change::default();
        }
        let row = self.row_mut(id);
        let mut face = row.public();
        let public = face.note_changed();
        row.version = face.version;
        let rare = self.rare_mut(id);
        rare.note = note.into();
        let own = match &mut rare.own {
            Some(own) => own.note_changed(),
            None => public,
        };
        Change { public, own }
    }

    /// Takes how exactly others may see when the user was there last; true if that is new.
    pub(super) fn set_wish(&mut self, id: UserId, wish: LastSeen) -> bool {
        if self.rare(id).map(|it| it.wish).unwrap_or_default() == wish {
            return false;
        }
        let rare = self.rare_mut(id);
        rare.wish = wish;
        rare.wishes += 1;
        true
    }

    fn row(&self, id: UserId) -> &Person {
        &self.rows[id.0 as usize]
    }

    fn row_mut(&mut self, id: UserId) -> &mut Person {
        &mut self.rows[id.0 as usize]
    }

    fn rare(&self, id: UserId) -> Option<&Rare> {
        if self.row(id).is(RARE) { self.rare.get(&id) } else { None }
    }

    fn rare_mut(&mut self, id: UserId) -> &mut Rare {
        self.row_mut(id).flags |= RARE;
        self.rare.entry(id).or_default()
    }
}

impl Person {
    fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    fn mode(&self) -> Mode {
        Mode::ALL.get(usize::from(self.flags >> MODE)).copied().unwrap_or_default()
    }

    fn public(&self) -> Face {
        Face { state: self.state, version: self.version }
    }

    fn seen(&self) -> Option<Time> {
        (self.seen != Moment::NEVER).then(|| self.seen.time())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_small() {
        assert_eq!(size_of::<Person>(), 40);
    }

    #[test]
    fn the_true_face_goes_its_own_way_once_it_differs() {
        let mut people = People::new(1);
        let ana = people.intern("ana");
        assert!(people.turn(ana, State::Online, State::Online).own);
        assert!(people.rare.is_empty());
        // Hidden: the one turns, the other does not.
        let change = people.turn(ana, State::Offline, State::Online);
        assert_eq!(change, Change { public: true, own: false });
        let record = people.record(ana);
        assert_eq!((record.public.version, record.own.version), (Version(2), Version(1)));
        let change = people.turn(ana, State::Away, State::Away);
        assert_eq!(change, Change { public: true, own: true });
        let record = people.record(ana);
        assert_eq!((record.public.version, record.own.version), (Version(3), Version(2)));
    }
}
