//! A user: what others may be shown, going by the rules.

use greendot_protocol::{Mode, ModeChoice, State};

use super::SLACK;
use super::cluster::Cluster;
use super::session::Session;
use super::states::States;
use super::stays::{Presence, Stay};

/// A user, as far as what crossed the edges tells.
#[derive(Clone, Debug)]
pub(super) struct User {
    pub(super) name: String,
    pub(super) sessions: Vec<Session>,
    pub(super) mode: Mode,
    /// The modes so far, each with when it began to be the one.
    modes: Vec<(u64, Mode)>,
    /// Other modes that nodes may still go by, and the node that is to put that right.
    pub(super) other_modes: Vec<Mode>,
    pub(super) put_right_by: Option<usize>,
    /// Whether that node only repeats what its sessions know, once it registers them again.
    by_sessions: bool,
    revision: u32,
    /// Whether the mode was chosen since the store was last lost.
    chosen: bool,
    /// When that was.
    chosen_at: Option<u64>,
    /// Whether the store was lost since the mode was chosen.
    lost: bool,
    /// The notes so far, each with when it began to be the one.
    notes: Vec<(u64, String)>,
    pub(super) revoked: bool,
    /// What becomes of the user is beyond what the rules say.
    pub(super) murky: bool,
    pub(super) seen: Seen,
    /// Whether the user may have been visible in this epoch, and since when it must have been.
    heard: (bool, Option<u64>),
    /// What others may be shown, and the user's own sessions; each with since when.
    history: Vec<(u64, States, States)>,
    /// Sessions that have ended: their names, nodes and rooms. A node that did not know of that finds one
    /// that comes back where it was.
    former: Vec<(String, usize, Vec<usize>)>,
    /// Whether it may hide from everybody, and must; each with since when.
    pub(super) hid: Vec<(u64, (bool, bool))>,
    /// By room: whether the user may be, and must be, there.
    pub(super) rooms: Vec<Vec<(u64, Presence)>>,
    /// When that changes next by time alone.
    pub(super) next_change: u64,
}

/// When the user was last seen (rule 9).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// At least: since when that has been so, and what.
    least: Option<(u64, u64)>,
    /// At least, before that.
    least_before: Option<u64>,
    /// For how long what was heard may wait to be told, in ms.
    pub(super) batch: u64,
    /// At most.
    pub(super) most: Option<u64>,
    /// The last frame heard while the user was hidden; it may count once the user shows again.
    hidden: Option<u64>,
    /// The latest that anyone was told.
    pub(super) told: Option<u64>,
}

/// Between when and when the user was last seen.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bounds {
    /// At least; none: it need not be told at all.
    pub(super) least: Option<u64>,
    /// At most; none: never.
    pub(super) most: Option<u64>,
}

impl Bounds {
    /// Nothing is known of it.
    pub(super) const ANY: Self = Self { least: None, most: Some(u64::MAX / 2) };

    /// The one or the other.
    pub(super) fn or(self, other: Self) -> Self {
        Self { least: self.least.min(other.least), most: self.most.max(other.most) }
    }
}

impl Seen {
    /// Somebody was heard at `at`, as of `now`.
    pub(super) fn at_least(&mut self, now: u64, at: u64) {
        let (since, least) = self.least.unwrap_or((0, 0));
        if self.least.is_some() && at <= least {
            return;
        }
        if since + self.batch < now {
            self.least_before = self.least.map(|it| it.1);
        }
        self.least = Some((now, at));
    }

    /// What was heard since the last batch of renewals is known to nobody.
    pub(super) fn lose_last_batch(&mut self, now: u64) {
        if let Some((since, _)) = self.least.filter(|it| it.0 + self.batch >= now) {
            self.least = self.least_before.map(|it| (since, it));
        }
    }

    /// At least, as a node knows that may have heard of it `before` this very moment only.
    pub(super) fn least(&self, now: u64, before: bool) -> Option<u64> {
        match self.least {
            Some((since, _)) if before && since + self.batch >= now => self.least_before,
            it => it.map(|it| it.1),
        }
    }
}

impl User {
    pub(super) fn new(name: &str) -> Self {
        let offline = States::only(State::Offline);
        Self {
            name: name.into(),
            sessions: Vec::new(),
            mode: Mode::Auto,
            modes: vec![(0, Mode::Auto)],
            other_modes: Vec::new(),
            put_right_by: None,
            by_sessions: false,
            revision: 0,
            chosen: false,
            chosen_at: None,
            lost: false,
            notes: vec![(0, String::new())],
            revoked: false,
            murky: false,
            seen: Seen::default(),
            heard: (false, None),
            history: vec![(0, offline, offline)],
            former: Vec::new(),
            hid: Vec::new(),
            rooms: Vec::new(),
            next_change: 0,
        }
    }

    /// The one node that knew of the user is gone.
    pub(super) fn forget(&mut self) {
        *self = Self::new(&std::mem::take(&mut self.name));
    }

    /// The store is lost; what nodes hold of the user they register anew.
    pub(super) fn lose(&mut self, now: u64, cluster: &Cluster) {
        // A choice that waits at a node is told to the new store, if it was not told to the old one.
        let waits = self.put_right_by.take().is_some_and(|it| cluster.nodes[it].up);
        (self.chosen, self.lost) = (false, true);
        if !waits && !self.other_modes.is_empty() {
            // What its sessions know, and repeat, may be any of these.
            (self.by_sessions, self.put_right_by) = (false, None);
        } else if !waits {
            // A node learns the mode when the store takes a session of the user from it.
            let knows = |it: &Session| {
                !it.orphan && cluster.is_settled(it.node) && it.is_certain(now, cluster)
            };
            for session in &mut self.sessions {
                session.knows_mode = knows(session);
            }
            self.by_sessions = true;
            self.put_right_by = self.repeats_mode();
        }
        if self.mode != Mode::Auto || waits {
            self.other_modes.push(Mode::Auto);
        }
        // A node that has not heard of the last choices yet repeats one of before, and be it with a session that it does not
        // know to be over.
        let nodes = (0..cluster.nodes.len()).filter(|it| cluster.nodes[*it].up);
        let since = nodes.map(|it| cluster.behind_since(now, it)).min().unwrap_or(now);
        self.other_modes.extend(self.modes_left_since(since));
        if self.put_right_by.is_none() {
            self.revision = 0;
        }
        self.revoked = false;
        self.heard = (self.heard.0, None);
        self.seen = Seen { least: None, least_before: None, told: None, ..self.seen };
        self.notes.push((now, String::new()));
        for session in &mut self.sessions {
            session.certain_from = u64::MAX;
            session.stays_are_lost();
        }
    }

    /// A node that holds a session of which the mode of before the store's loss is to be had.
    fn repeats_mode(&self) -> Option<usize> {
        self.sessions.iter().find(|it| it.knows_mode && !it.orphan).map(|it| it.node)
    }

    /// A session is over, or another connect has taken its place, and with it what it knew.
    pub(super) fn forget_session(&mut self) {
        if self.by_sessions && self.put_right_by.is_some() {
            self.put_right_by = self.repeats_mode();
        }
    }

    /// A node can tell the others nothing from now on.
    pub(super) fn is_parted(&mut self, now: u64, node: usize, cluster: &Cluster) {
        let mut any = false;
        for session in self.sessions.iter_mut().filter(|it| it.node == node) {
            session.is_parted(cluster);
            any = true;
        }
        if any && cluster.thin {
            self.seen.lose_last_batch(now);
        }
    }

    /// Where a session may be found to be that comes back to a node that does not know how things stand.
    pub(super) fn former_stays(&self, name: &str, node: usize) -> Vec<Stay> {
        let found = self.former.iter().find(|it| it.0 == name && it.1 == node);
        found.map_or(Vec::new(), |it| it.2.iter().map(|&room| Stay::unsure(room)).collect())
    }

    pub(super) fn session(&mut self, name: &str) -> Option<&mut Session> {
        self.sessions.iter_mut().find(|it| it.name == name)
    }

    /// The session whose newest generation is on this connection.
    pub(super) fn session_on(&mut self, conn: usize) -> Option<&mut Session> {
        self.sessions.iter_mut().find(|it| it.conn == Some(conn))
    }

    /// A frame was heard from a session that counts; `sure` if every node knows.
    pub(super) fn hear(&mut self, arrived: u64, read: u64, sure: bool) {
        self.hear_at_most(read);
        if sure && self.mode != Mode::Invisible && self.other_modes.is_empty() {
            self.seen.at_least(read, arrived);
        }
    }

    /// Something was heard that may count or not.
    pub(super) fn hear_at_most(&mut self, read: u64) {
        let seen = &mut self.seen;
        let hidden = self.mode == Mode::Invisible && self.other_modes.is_empty();
        let most = if hidden { &mut seen.hidden } else { &mut seen.most };
        *most = (*most).max(Some(read));
    }

    /// The user chooses a mode; `by` is the node that takes it, if not every node knows at once.
    pub(super) fn choose(&mut self, now: u64, mode: Mode, by: Option<usize>) {
        if self.mode == mode && self.chosen && self.other_modes.is_empty() {
            // No change, but chosen anew: of two choices of one moment this may be the later.
            self.chosen_at = Some(now);
            return;
        }
        self.chosen = true;
        self.revision += 1;
        self.put_mode(now, mode, by);
    }

    /// It was chosen over a connect that is over, where nobody may have known: whether it counts, no rule says.
    pub(super) fn may_have_chosen(&mut self, mode: Mode) {
        (self.put_right_by, self.by_sessions) = (None, false);
        self.other_modes.push(mode);
    }

    /// Whether this was the mode at some time of this moment.
    pub(super) fn has_just_left(&self, now: u64, mode: Mode) -> bool {
        self.modes_left().any(|it| it == (now, mode))
    }

    /// When each mode ended, the latest first.
    fn modes_left(&self) -> impl Iterator<Item = (u64, Mode)> {
        let ends = self.modes.iter().rev().map(|it| it.0);
        ends.zip(self.modes.iter().rev().skip(1)).map(|(end, it)| (end, it.1))
    }

    /// The modes that were left since then, that moment included, and one at least.
    fn modes_left_since(&self, since: u64) -> Vec<Mode> {
        let mut first = true;
        let left = self.modes_left();
        left.take_while(|it| std::mem::take(&mut first) || it.0 >= since).map(|it| it.1).collect()
    }

    /// Whether nobody has chosen anything since then.
    pub(super) fn was_chosen_by(&self, at: u64) -> bool {
        self.chosen_at.is_none_or(|it| it <= at)
    }

    /// The mode that came with a connect (rule 5).
    pub(super) fn weigh(&mut self, now: u64, choice: ModeChoice, by: Option<usize>) {
        if choice.fresh {
            self.revision = self.revision.max(choice.revision.0) + 1;
            self.chosen = true;
            self.put_mode(now, choice.mode, by);
        } else if !self.other_modes.is_empty() {
            // A store that has lost it goes by what is repeated, until it is told better.
            self.other_modes.push(choice.mode);
        } else if !self.chosen {
            let (told, known) = (choice.revision.0, self.revision);
            // What is repeated to a store that has lost it is known again.
            let again = self.lost && told == known && told > 0 && choice.mode == self.mode;
            if told > known || again {
                self.revision = told;
                self.put_mode(now, choice.mode, by);
            }
        }
    }

    fn put_mode(&mut self, now: u64, mode: Mode, by: Option<usize>) {
        let before = self.mode;
        let was_hidden = before == Mode::Invisible && self.other_modes.is_empty();
        if mode == Mode::Invisible && !was_hidden {
            // Becoming hidden counts as a frame heard then; from there on it stands still.
            let public = self.public();
            if !public.is_absent() {
                self.seen.most = self.seen.most.max(Some(now));
            }
            if !public.has(State::Offline) && by.is_none() {
                self.seen.at_least(now, now);
            }
        }
        if mode != Mode::Invisible {
            self.seen.most = self.seen.most.max(self.seen.hidden);
        }
        if before != mode {
            self.modes.push((now, mode));
        }
        self.mode = mode;
        let chosen_at = self.chosen_at.replace(now);
        match by {
            None => {
                self.other_modes.clear();
                self.put_right_by = None;
            }
            Some(node) => {
                // Of two choices of one moment at two nodes, no rule says which is the later.
                let stuck = !self.other_modes.is_empty() && self.put_right_by.is_none();
                let tie = chosen_at.is_some_and(|it| now <= it + SLACK);
                self.put_right_by = (!stuck && !tie).then_some(node);
                self.by_sessions = false;
                self.other_modes.push(before);
            }
        }
    }

    /// A node has settled: what it had to tell is known.
    pub(super) fn settle(&mut self, now: u64, node: usize, cluster: &Cluster) {
        if self.put_right_by == Some(node) {
            self.put_right_by = None;
            // One that may have ended before its node could register it again takes along what it knew: nobody else
            // repeats the mode (rule 5).
            let knows = |it: &Session| {
                it.node == node && it.knows_mode && !it.orphan && now < it.may_end(cluster)
            };
            if !self.by_sessions || self.sessions.iter().any(knows) {
                self.other_modes.clear();
            }
            // When the choice became known is when the user became hidden.
            self.seen.most = self.seen.most.max(self.seen.hidden).max(Some(now));
        }
        for session in self.sessions.iter_mut().filter(|it| it.node == node && !it.orphan) {
            session.settle(now);
        }
    }

    /// A node is gone: what it had to tell is lost, or is not; its sessions have no connections.
    pub(super) fn lose_node(&mut self, now: u64, node: usize) {
        if self.put_right_by == Some(node) {
            self.put_right_by = None;
            self.seen.most = self.seen.most.max(self.seen.hidden).max(Some(now));
        }
        for session in self.sessions.iter_mut().filter(|it| it.node == node) {
            (session.orphan, session.conn) = (true, None);
            session.stays_are_untold();
        }
    }

    pub(super) fn set_note(&mut self, now: u64, note: &str) {
        self.notes.push((now, note.to_owned()));
    }

    /// The note, as of now.
    pub(super) fn note(&self) -> &str {
        self.notes.last().map_or("", |it| &it.1)
    }

    /// Whether the note was this one at any time since then.
    pub(super) fn had_note(&self, note: &str, since: u64) -> bool {
        let ends = self.notes.iter().skip(1).map(|it| it.0).chain([u64::MAX]);
        self.notes.iter().zip(ends).any(|(it, end)| end >= since && it.1 == note)
    }

    /// When it was last seen, as a node knows that may have heard of it `before` this very moment only.
    pub(super) fn seen_bounds(&self, now: u64, before: bool) -> Bounds {
        Bounds { least: self.seen.least(now, before), most: self.seen.most }
    }

    /// How many changes of state or note there may have been since then.
    pub(super) fn changes_since(&self, since: u64) -> u32 {
        let states = self.history.iter().filter(|it| it.0 >= since).count();
        let notes = self.notes.iter().filter(|it| it.0 >= since).count();
        (states + notes) as u32
    }

    /// What others may be shown now.
    pub(super) fn public(&self) -> States {
        self.history.last().map_or(States::default(), |it| it.1)
    }

    /// What may be shown at `now`, from what is known; whether that has changed.
    pub(super) fn derive(&mut self, now: u64, cluster: &Cluster) -> bool {
        // What a node that has stood still holds it may register anew.
        let held = |it: &Session| it.conn.is_some() && !cluster.is_settled(it.node);
        let former = &mut self.former;
        self.sessions.retain(|it| {
            let stays = now <= it.must_end(cluster) || held(it);
            if !stays && !it.stays.is_empty() {
                former.retain(|(name, node, _)| (name, *node) != (&it.name, it.node));
                let rooms = it.stays.iter().map(|it| it.room).collect();
                former.push((it.name.clone(), it.node, rooms));
            }
            stays
        });
        self.forget_session();
        let (mut may_be, mut must_be) = (false, false);
        let (mut may_be_active, mut must_be_active) = (false, false);
        let mut may_be_idle = false;
        let mut next = u64::MAX;
        for session in &self.sessions {
            next = next.min(session.next_change(now, cluster));
            if session.passive || now > session.must_end(cluster) {
                continue;
            }
            let certain = session.is_certain(now, cluster);
            let flags = session.flags(now, cluster);
            may_be = true;
            must_be |= certain;
            may_be_active |= flags.active;
            must_be_active |= certain && !flags.idle;
            may_be_idle |= flags.idle;
        }
        self.next_change = next;
        let moved = self.derive_rooms(now, cluster) | self.derive_hiding(now);
        let online = may_be_active;
        let away = may_be_idle && !must_be_active;
        let (mut public, mut own) = (States::default(), States::default());
        for &mode in self.other_modes.iter().chain([&self.mode]) {
            let mut states = States::default();
            if !must_be {
                states = states.with(State::Offline);
            }
            let chosen = match mode {
                Mode::Away => Some(State::Away),
                Mode::Busy => Some(State::Busy),
                Mode::Dnd => Some(State::Dnd),
                Mode::Auto | Mode::Invisible => None,
            };
            match chosen.filter(|_| may_be) {
                Some(state) => states = states.with(state),
                None if chosen.is_none() => {
                    states = if online { states.with(State::Online) } else { states };
                    states = if away { states.with(State::Away) } else { states };
                }
                None => {}
            }
            own = own.union(states);
            let hidden = mode == Mode::Invisible;
            public = public.union(if hidden { States::only(State::Offline) } else { states });
        }
        self.heard.0 |= !public.is_absent();
        if !public.has(State::Offline) {
            self.heard.1.get_or_insert(now);
        }
        let before = self.history.last().map(|it| (it.1, it.2));
        if before != Some((public, own)) {
            self.history.push((now, public, own));
            return true;
        }
        moved
    }

    /// What may be shown to a node's viewers that may be behind since `since`, and that may say
    /// unknown until a time between these two (rule 12 a): in the warm-up nobody can say of users
    /// not heard from whether they are there.
    pub(super) fn shown(
        &self,
        own: bool,
        now: u64,
        since: Option<u64>,
        warm_until: Option<(u64, u64)>,
    ) -> States {
        if self.murky {
            return States::ALL;
        }
        let pick = |it: &(u64, States, States)| if own { it.2 } else { it.1 };
        let mut states = self.history.last().map_or(States::default(), pick);
        if let Some(since) = since {
            let mut end = u64::MAX;
            for it in self.history.iter().rev().take_while(|it| {
                let overlaps = end >= since;
                end = it.0;
                overlaps
            }) {
                states = states.union(pick(it));
            }
        }
        let heard = self.heard.1.is_some_and(|at| since.is_none_or(|it| at < it));
        match warm_until {
            Some((may, must)) if states.has(State::Offline) && now <= must && !heard => {
                let known = self.heard.0 || now >= may;
                let states = states.with(State::Unknown);
                if known { states } else { states.without(State::Offline) }
            }
            _ => states,
        }
    }
}
