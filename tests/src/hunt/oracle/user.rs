//! A user: what others may be shown, going by the rules.

use greendot_protocol::{Mode, ModeChoice, State};

use super::periods::{Pace, Periods};
use super::session::Session;
use super::states::States;

/// A user, as far as what crossed the edges tells.
#[derive(Clone, Debug)]
pub(super) struct User {
    pub(super) name: String,
    pub(super) sessions: Vec<Session>,
    pub(super) mode: Mode,
    revision: u32,
    /// Whether the mode was chosen since the store was last lost.
    chosen: bool,
    pub(super) note: String,
    pub(super) revoked: bool,
    pub(super) seen: Seen,
    /// Whether the user may have been visible in this epoch, and whether it must have been.
    heard: (bool, bool),
    /// What others may be shown now, and the user's own sessions.
    pub(super) public: States,
    pub(super) own: States,
    /// When that changes next by time alone.
    pub(super) next_change: u64,
}

/// When the user was last seen (rule 9).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// At least.
    pub(super) least: Option<u64>,
    /// At most.
    pub(super) most: Option<u64>,
    /// The last frame heard while the user was hidden; it may count once the user shows again.
    hidden: Option<u64>,
    /// The latest that anyone was told.
    pub(super) told: Option<u64>,
}

impl User {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            sessions: Vec::new(),
            mode: Mode::Auto,
            revision: 0,
            chosen: false,
            note: String::new(),
            revoked: false,
            seen: Seen::default(),
            heard: (false, false),
            public: States::only(State::Offline),
            own: States::only(State::Offline),
            next_change: 0,
        }
    }

    /// The store is lost.
    pub(super) fn forget(&mut self) {
        *self = Self::new(&std::mem::take(&mut self.name));
    }

    pub(super) fn session(&mut self, name: &str) -> Option<&mut Session> {
        self.sessions.iter_mut().find(|it| it.name == name)
    }

    /// The session whose newest generation is on this connection.
    pub(super) fn session_on(&mut self, conn: usize) -> Option<&mut Session> {
        self.sessions.iter_mut().find(|it| it.conn == Some(conn))
    }

    /// A frame was heard from a session that counts.
    pub(super) fn hear(&mut self, arrived: u64, read: u64) {
        if self.mode == Mode::Invisible {
            self.seen.hidden = self.seen.hidden.max(Some(read));
        } else {
            self.seen.least = self.seen.least.max(Some(arrived));
            self.seen.most = self.seen.most.max(Some(read));
        }
    }

    /// Something that is no frame was heard: it may count or not.
    pub(super) fn hear_at_most(&mut self, read: u64) {
        let seen = &mut self.seen;
        let most =
            if self.mode == Mode::Invisible { &mut seen.hidden } else { &mut seen.most };
        *most = (*most).max(Some(read));
    }

    /// The user chooses a mode; whether that is a new choice.
    pub(super) fn choose(&mut self, now: u64, mode: Mode) -> bool {
        if self.mode == mode && self.chosen {
            return false;
        }
        self.chosen = true;
        self.revision += 1;
        self.put_mode(now, mode);
        true
    }

    /// The mode that came with a connect (rule 5).
    pub(super) fn weigh(&mut self, now: u64, choice: ModeChoice) {
        if choice.fresh {
            self.revision = self.revision.max(choice.revision.0) + 1;
            self.chosen = true;
            self.put_mode(now, choice.mode);
        } else if !self.chosen && choice.revision.0 > self.revision {
            self.revision = choice.revision.0;
            self.put_mode(now, choice.mode);
        }
    }

    fn put_mode(&mut self, now: u64, mode: Mode) {
        if mode == Mode::Invisible && self.mode != Mode::Invisible {
            // Becoming hidden counts as a frame heard then; from there on it stands still.
            if !self.public.is_absent() {
                self.seen.most = self.seen.most.max(Some(now));
            }
            if !self.public.has(State::Offline) && !self.public.has(State::Unknown) {
                self.seen.least = self.seen.least.max(Some(now));
            }
        }
        if mode != Mode::Invisible {
            self.seen.most = self.seen.most.max(self.seen.hidden);
        }
        self.mode = mode;
    }

    /// What may be shown at `now`, from what is known; whether that has changed.
    pub(super) fn derive(&mut self, now: u64, periods: &Periods, pace: &[Pace]) -> bool {
        self.sessions.retain(|it| now <= it.must_end(periods, &pace[it.node]));
        let (mut may_be, mut must_be) = (false, false);
        let (mut may_be_active, mut must_be_active) = (false, false);
        let mut may_be_idle = false;
        let mut next = u64::MAX;
        for session in &self.sessions {
            let pace = &pace[session.node];
            next = next.min(session.next_change(now, periods, pace));
            if session.passive {
                continue;
            }
            let certain = now < session.may_end(periods);
            let flags = session.flags(now, periods, pace);
            may_be = true;
            must_be |= certain;
            may_be_active |= flags.active;
            must_be_active |= certain && !flags.idle;
            may_be_idle |= flags.idle;
        }
        let mut own = States::default();
        if !must_be {
            own = own.with(State::Offline);
        }
        match self.mode {
            Mode::Away if may_be => own = own.with(State::Away),
            Mode::Busy if may_be => own = own.with(State::Busy),
            Mode::Dnd if may_be => own = own.with(State::Dnd),
            Mode::Auto | Mode::Invisible => {
                if may_be_active {
                    own = own.with(State::Online);
                }
                if may_be_idle && !must_be_active {
                    own = own.with(State::Away);
                }
            }
            _ => {}
        }
        let public =
            if self.mode == Mode::Invisible { States::only(State::Offline) } else { own };
        self.heard.0 |= !public.is_absent();
        self.heard.1 |= !public.has(State::Offline);
        self.next_change = next;
        let before = (self.public, self.own);
        (self.public, self.own) = (public, own);
        before != (public, own)
    }

    /// What a node may show that says unknown until a time between these two (rule 12 a): in the
    /// warm-up nobody can say of users not heard from whether they are there.
    pub(super) fn shown(&self, own: bool, now: u64, warm_until: Option<(u64, u64)>) -> States {
        let states = if own { self.own } else { self.public };
        match warm_until {
            Some((may, must)) if states.has(State::Offline) && now <= must && !self.heard.1 => {
                let known = self.heard.0 || now >= may;
                let states = states.with(State::Unknown);
                if known { states } else { states.without(State::Offline) }
            }
            _ => states,
        }
    }
}
