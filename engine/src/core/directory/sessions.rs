//! Sessions as the directory knows them.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::quality::FixedState;
use greendot_protocol::{Mode, ModeChoice, Revision, Time};

use super::{Change, UserId};
use crate::core::name::Name;
use crate::core::table::Table;

/// A session's place in the directory, while it is there: later it may be another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(pub(super) u32);

/// A session that connects.
#[derive(Clone, Copy, Debug)]
pub struct Joining<'a> {
    /// The user's name, as authenticated.
    pub user: &'a str,
    /// The session's id, as claimed.
    pub session: &'a str,
    /// Whether it is passive: it counts for nothing but itself.
    pub passive: bool,
    /// Idle or active, if the connect says so.
    pub idle: Option<bool>,
    /// The mode, chosen afresh or repeated.
    pub mode: Option<ModeChoice>,
    /// What the person may call the device; empty: as it was called before.
    pub device: &'a str,
    /// The generation to go on in, for a session that is registered again; none: a new one.
    pub generation: Option<u64>,
}

/// What came of a connect.
#[derive(Clone, Copy, Debug)]
pub struct Connected {
    /// The user.
    pub user: UserId,
    /// The session.
    pub session: SessionId,
    /// The session's generation, higher than any earlier one's.
    pub generation: u64,
    /// What changed for watchers.
    pub change: Change,
    /// The user's mode.
    pub mode: Mode,
    /// The number of the choice of mode.
    pub revision: Revision,
    /// Whether this connect changed the mode, so that the user's other sessions are told.
    pub mode_changed: bool,
    /// Whether the session was there already.
    pub was_there: bool,
}

/// A session as shown to those who look into the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionView {
    /// The session's id.
    pub session: Box<str>,
    /// Its generation.
    pub generation: u64,
    /// Whether its connection has ended and it still counts.
    pub lingering: bool,
    /// Whether it is idle.
    pub idle: bool,
    /// Whether it is passive.
    pub passive: bool,
    /// What the person may call the device; may be empty.
    pub device: Box<str>,
    /// When it began, to the second.
    pub since: Time,
}

/// The table of sessions: a row of 40 bytes each, and what few have beside it.
#[derive(Debug)]
pub(super) struct Sessions {
    rows: Table<Session>,
    /// The first of the rows that nobody has, each of which names the next.
    free: u32,
    live: usize,
    /// Generations are kept as what they are above this.
    base: u64,
    extras: HashMap<SessionId, Extra, FixedState>,
}

/// A row of the table.
#[derive(Debug)]
pub(super) struct Session {
    name: Name,
    /// The user; [`NONE`] in a row that nobody has.
    user: u32,
    /// The slot of the user's next session (a list through the table, since most users have just one), or of the next
    /// free row, and above it the flags.
    link: u32,
    /// Less the table's base; [`NONE`]: among the extras.
    generation: u32,
    /// When it began, in seconds.
    since: u32,
}

/// What few sessions have.
#[derive(Debug, Default)]
pub(super) struct Extra {
    /// The rooms it is in.
    pub(super) rooms: Vec<Arc<str>>,
    /// What the person may call the device; may be empty.
    pub(super) device: Box<str>,
    /// A generation from a time before this table's.
    generation: Option<u64>,
}

const NONE: u32 = u32::MAX;
/// The part of a link that is a slot: there are fewer than 2²⁹ sessions.
const SLOT: u32 = (1 << 29) - 1;
/// No further slot.
const END: u32 = SLOT;
const IDLE: u32 = 1 << 29;
const PASSIVE: u32 = 1 << 30;
const LINGERING: u32 = 1 << 31;

impl SessionId {
    /// The slot, for tables that go along with the directory's.
    pub(crate) fn slot(self) -> u32 {
        self.0
    }
}

impl Sessions {
    pub(super) fn new(base: u64) -> Self {
        Self { rows: Table::default(), free: END, live: 0, base, extras: HashMap::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.live
    }

    pub(super) fn get(&self, id: SessionId) -> Option<&Session> {
        self.rows.get(id.0 as usize).filter(|it| it.user != NONE)
    }

    pub(super) fn get_mut(&mut self, id: SessionId) -> Option<&mut Session> {
        self.rows.get_mut(id.0 as usize).filter(|it| it.user != NONE)
    }

    /// Reads the row of a session: whose it is. A row may lie in two cache lines; both of its ends are read.
    pub(super) fn look_ahead(&self, id: SessionId) -> Option<UserId> {
        let row = self.rows.get(id.0 as usize)?;
        std::hint::black_box(row.name.as_bytes().len());
        (row.user != NONE).then_some(UserId(row.user))
    }

    /// # Panics
    ///
    /// At 2²⁹ sessions.
    #[inline(always)]
    pub(super) fn insert(
        &mut self,
        user: UserId,
        next: Option<SessionId>,
        now: Time,
        generation: u64,
        joining: &Joining<'_>,
    ) -> SessionId {
        let told = self.generation_in_row(generation);
        let mut row = Session {
            name: joining.session.into(),
            user: user.0,
            link: next.map_or(END, |it| it.0),
            generation: told.unwrap_or(NONE),
            since: u32::try_from(now.as_millis() / 1000).unwrap_or(u32::MAX),
        };
        row.set(IDLE, joining.idle.unwrap_or(false));
        row.set(PASSIVE, joining.passive);
        let slot = self.free;
        let id = if slot == END {
            let slot = self.rows.len();
            assert!(slot < END as usize, "fewer than 2^29 sessions");
            self.rows.push(row);
            SessionId(slot as u32)
        } else {
            let place = &mut self.rows[slot as usize];
            self.free = place.link & SLOT;
            *place = row;
            SessionId(slot)
        };
        self.live += 1;
        if told.is_none() {
            self.extra_mut(id).generation = Some(generation);
        }
        id
    }

    /// A generation as a row keeps it; none if it does not fit there.
    fn generation_in_row(&self, generation: u64) -> Option<u32> {
        let above = generation.checked_sub(self.base).and_then(|it| u32::try_from(it).ok());
        above.filter(|&it| it != NONE)
    }

    /// Takes what a session has beside its row, if it has anything.
    #[inline]
    pub(super) fn take_extra(&mut self, id: SessionId) -> Option<Extra> {
        if self.extras.is_empty() { None } else { self.extras.remove(&id) }
    }

    /// Takes a session out.
    pub(super) fn remove(&mut self, id: SessionId) -> Option<Removed> {
        let free = self.free;
        let row = self.get_mut(id)?;
        let (user, next, passive) = (row.user(), row.next(), row.is_passive());
        *row = Session { name: Name::default(), user: NONE, link: free, generation: 0, since: 0 };
        self.free = id.0;
        self.live -= 1;
        if self.live == 0 {
            // When everybody has gone the room goes back, too.
            self.rows.clear();
            self.free = END;
        }
        Some(Removed { user, next, passive })
    }

    /// Gives some of the room back that nobody needs any more; false if there is none left.
    pub(super) fn give_back(&mut self) -> bool {
        self.rows.give_back()
    }

    pub(super) fn set_generation(&mut self, id: SessionId, generation: u64) {
        let told = self.generation_in_row(generation);
        let Some(row) = self.get_mut(id) else { return };
        match told {
            Some(above) => row.generation = above,
            None => {
                row.generation = NONE;
                self.extra_mut(id).generation = Some(generation);
            }
        }
    }

    /// Whether any session has something beside its row.
    pub(super) fn has_extras(&self) -> bool {
        !self.extras.is_empty()
    }

    pub(super) fn extra(&self, id: SessionId) -> Option<&Extra> {
        self.extras.get(&id)
    }

    pub(super) fn extra_mut(&mut self, id: SessionId) -> &mut Extra {
        self.extras.entry(id).or_default()
    }

    pub(super) fn view(&self, id: SessionId) -> Option<SessionView> {
        let row = self.get(id)?;
        let extra = self.extra(id);
        let told = extra.and_then(|it| it.generation).filter(|_| row.generation == NONE);
        Some(SessionView {
            session: row.name.as_str().into(),
            generation: told.unwrap_or(self.base + u64::from(row.generation)),
            lingering: row.is(LINGERING),
            idle: row.is_idle(),
            passive: row.is_passive(),
            device: extra.map(|it| it.device.clone()).unwrap_or_default(),
            since: Time::from_millis(u64::from(row.since) * 1000),
        })
    }
}

/// What a session leaves behind.
#[derive(Debug)]
pub(super) struct Removed {
    pub(super) user: UserId,
    pub(super) next: Option<SessionId>,
    pub(super) passive: bool,
}

impl Session {
    pub(super) fn name(&self) -> &Name {
        &self.name
    }

    pub(super) fn user(&self) -> UserId {
        UserId(self.user)
    }

    pub(super) fn next(&self) -> Option<SessionId> {
        let slot = self.link & SLOT;
        (slot != END).then_some(SessionId(slot))
    }

    pub(super) fn set_next(&mut self, next: Option<SessionId>) {
        self.link = self.link & !SLOT | next.map_or(END, |it| it.0);
    }

    pub(super) fn is_idle(&self) -> bool {
        self.is(IDLE)
    }

    pub(super) fn set_idle(&mut self, idle: bool) {
        self.set(IDLE, idle);
    }

    pub(super) fn is_passive(&self) -> bool {
        self.is(PASSIVE)
    }

    pub(super) fn set_passive(&mut self, passive: bool) {
        self.set(PASSIVE, passive);
    }

    pub(super) fn set_lingering(&mut self, lingering: bool) {
        self.set(LINGERING, lingering);
    }

    fn is(&self, flag: u32) -> bool {
        self.link & flag != 0
    }

    fn set(&mut self, flag: u32, on: bool) {
        self.link = if on { self.link | flag } else { self.link & !flag };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joining(session: &str) -> Joining<'_> {
        Joining {
            user: "ana",
            session,
            passive: false,
            idle: None,
            mode: None,
            device: "",
            generation: None,
        }
    }

    #[test]
    fn a_session_is_small() {
        assert_eq!(size_of::<Session>(), 40);
    }

    #[test]
    fn a_generation_of_any_age_is_kept() {
        let mut sessions = Sessions::new(1_000_000);
        for generation in [5, 1_000_001, 1_000_000 + u64::from(u32::MAX), u64::MAX] {
            let id = sessions.insert(UserId(0), None, Time::ZERO, generation, &joining("tab"));
            assert_eq!(sessions.view(id).unwrap().generation, generation);
        }
    }

    #[test]
    fn a_free_row_is_used_again_and_all_rows_go_with_the_last_session() {
        let mut sessions = Sessions::new(0);
        let mut ids: Vec<SessionId> = (0..10)
            .map(|_| sessions.insert(UserId(0), None, Time::ZERO, 1, &joining("tab")))
            .collect();
        let gone = ids.swap_remove(3);
        sessions.remove(gone).unwrap();
        assert!(sessions.get(gone).is_none());
        let again = sessions.insert(UserId(0), None, Time::ZERO, 2, &joining("tab"));
        assert_eq!(again, gone);
        for id in ids.into_iter().chain([again]) {
            sessions.remove(id).unwrap();
        }
        while sessions.give_back() {}
        assert_eq!(sessions.rows.capacity(), 0);
    }
}
