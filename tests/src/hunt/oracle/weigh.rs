//! Every word about a user is weighed when it leaves the node.

use greendot_protocol::{Entry, Mode, Span, State};

use super::states::States;
use super::{Complaint, Found, Kind, Oracle, SLACK, Turns};

/// What the store carries out within so many ms after it was asked passes for carried out at once: by so much nodes may misread
/// its clock.
const PASSES_FOR_NEW: u64 = 50;

/// What is said of a user.
pub(super) struct Said<'a> {
    pub(super) state: State,
    pub(super) version: u32,
    pub(super) note: &'a str,
    pub(super) seen_ago: Option<u64>,
}

impl<'a> Said<'a> {
    pub(super) fn of(entry: &Entry<'a>) -> Self {
        Self {
            state: entry.state,
            version: entry.version.0,
            note: entry.note,
            seen_ago: entry.seen_ago.map(Span::as_millis),
        }
    }
}

impl Oracle<'_> {
    /// A snapshot leaves out only who was never seen.
    pub(super) fn weigh_absence(&self, conn: usize, user: usize, listed: bool) -> Found {
        let row = &self.conns[conn];
        let settled = self.cluster.is_settled(row.node);
        // Somebody who was seen for the first time just now may not be known here yet.
        let seen = self.seen_by(row.node, row.user, user).least.is_some();
        let user = &self.users[user];
        if listed || user.murky || !settled || !seen {
            return Ok(());
        }
        let text = format!("{} is not listed, but was seen", user.name);
        self.complain(Kind::SnapshotLeavesOut, text)
    }

    /// Whether the rules allow this to be said now; `first` in a snapshot.
    pub(super) fn weigh_word(
        &self,
        conn: usize,
        place: usize,
        said: &Said<'_>,
        first: bool,
    ) -> Found {
        let row = &self.conns[conn];
        let user = row.watches[place].user;
        self.weigh_state(row.node, row.user, user, said, first).map_err(|it| Complaint {
            text: format!("{} is told: {}", row.owner(), it.text),
            place: self.event_place(conn, user),
            ..it
        })
    }

    /// Whether the rules allow a node to say this to a viewer now; `first` if it was not asked before.
    pub(super) fn weigh_state(
        &self,
        node: usize,
        viewer: Option<usize>,
        user: usize,
        said: &Said<'_>,
        first: bool,
    ) -> Found {
        let mut allowed = self.allowed(node, user, viewer);
        if first && !self.cluster.is_settled(node) {
            // A node that does not know of a user, and can ask nobody (rule 12 b).
            allowed = allowed.with(State::Unknown).union(self.held_at(node, viewer, user));
        }
        let name = &self.users[user].name;
        if !allowed.has(said.state) {
            let shut_out = !self.wall(node, viewer, user).open;
            let invisible = self.users[user].mode == Mode::Invisible && viewer != Some(user);
            let kind = match said.state {
                State::Offline => Kind::OfflineTooEarly,
                State::Unknown => Kind::UnknownWithoutCause,
                _ if shut_out || invisible => Kind::HiddenShown,
                _ if allowed.is_absent() => Kind::PresentTooLong,
                _ => Kind::WrongState,
            };
            let (state, allowed) = (said.state.name(), allowed.words());
            let text = format!("{name} is {state}; the rules allow {allowed}");
            return self.complain(kind, text);
        }
        // Of one whom it knows by its sessions alone it does not know the note.
        let no_note = first && !self.cluster.is_settled(node) && said.note.is_empty();
        if !no_note && !self.allows_note(node, user, said.state, said.note) {
            let right = self.users[user].note();
            let text = format!("{name} has the note {:?}, not {right:?}", said.note);
            return self.complain(Kind::WrongNote, text);
        }
        Ok(())
    }

    /// What a node that can ask nobody may say of a user by the sessions that it holds (rule 12 b): what they are now, and
    /// the mode as it was when it last heard of it.
    fn held_at(&self, node: usize, viewer: Option<usize>, user: usize) -> States {
        let it = &self.users[user];
        let holds = it.sessions.iter().any(|it| it.node == node);
        let sees = self.wall(node, viewer, user).open && self.hiding(node, viewer, user).open;
        let since = self.behind_since(node);
        if !holds || !sees || it.shown(false, self.now, since, None).is_absent() {
            return States::default();
        }
        it.shown(true, self.now, since, None).without(State::Offline)
    }

    /// Last seen: the time of the last frame, and never going back (rule 9).
    pub(super) fn weigh_seen(
        &mut self,
        node: usize,
        viewer: Option<usize>,
        user: usize,
        said: &Said<'_>,
    ) -> Found {
        let sure = self.cluster.is_settled(node);
        let mut seen = self.seen_by(node, viewer, user);
        let it = &self.users[user];
        let name = &it.name;
        // All that it had from the store has come late, and it cannot know by how much.
        let dated_late = self.cluster.shares && !self.cluster.nodes[node].has_heard;
        if dated_late {
            seen.most = Some(self.now);
        }
        if !it.other_modes.is_empty() {
            // Hidden at some time up to now: that counts as a frame.
            seen.most = Some(self.now);
        }
        if it.murky {
            return Ok(());
        }
        let least = seen.least.filter(|_| sure);
        let Some(ago) = said.seen_ago else {
            if said.state == State::Offline && least.is_some() {
                let text = format!("{name} was seen at {least:?} ms, but nothing is told");
                return self.complain(Kind::LastSeenWrong, text);
            }
            return Ok(());
        };
        // The worlds see nobody before they begin, but may seem to by as much as it is dated late.
        let at = self.now.checked_sub(ago).or(dated_late.then_some(0));
        // Where the store has stood still, a frame may pass for so much younger.
        let late = if self.cluster.stood_still { PASSES_FOR_NEW } else { 0 };
        let right = said.state == State::Offline
            && at.is_some_and(|at| {
                least.is_none_or(|it| at + SLACK >= it)
                    && seen.most.is_some_and(|it| at <= it + SLACK + late)
            });
        if !right {
            let (state, most) = (said.state.name(), seen.most);
            let text =
                format!("{name}, {state}, was seen at {at:?} ms; between {least:?} and {most:?}");
            return self.complain(Kind::LastSeenWrong, text);
        }
        let block = self.block(viewer, user);
        let hides = self.hiding(node, viewer, user).shut;
        let alone = self.wall(node, viewer, user).shut || hides;
        let told = if alone { None } else { it.seen.told };
        let told = told.max(block.and_then(|it| it.told));
        if at < told && sure && !hides {
            let text = format!("{name} was seen at {at:?} ms, told before was {told:?}");
            return self.complain(Kind::LastSeenBack, text);
        }
        if let Some(at) = at.filter(|_| !hides) {
            self.told_of(viewer, user, at);
        }
        if !alone {
            self.users[user].seen.told = at.max(told);
        }
        Ok(())
    }

    /// An application is told of a change: each by one higher, each a change, each once.
    pub(super) fn turned(&mut self, user: &str, state: State, version: u32, note: &str) -> Found {
        let id = self.user(user);
        if self.users[id].murky {
            return Ok(());
        }
        if id >= self.turned.len() {
            self.turned.resize_with(id + 1, Turns::default);
        }
        if !self.disordered {
            // Changes are told in their order (rule 6); that one of this moment is told before the next thing is done, no
            // rule says.
            let allowed = self.users[id].shown(false, self.now, Some(self.now), None);
            if !allowed.has(state) {
                let early = state == State::Offline;
                let kind = if early { Kind::OfflineTooEarly } else { Kind::WrongState };
                let (state, allowed) = (state.name(), allowed.words());
                let text = format!("{user} turns {state}; the rules allow {allowed}");
                return self.complain(kind, text);
            }
        }
        let turns = &mut self.turned[id];
        let last = turns.versions.last().copied().unwrap_or(0);
        let (again, follows) = (turns.versions.contains(&version), version == last + 1);
        let same = turns.state == state && (turns.note == *note || state == State::Offline);
        turns.versions.push(version);
        turns.state = state;
        note.clone_into(&mut turns.note);
        if (again && !self.mixed) || !(follows || self.disordered) {
            let text = format!("{user} turns {} at {version} after {last}", state.name());
            return self.complain(Kind::VersionSkips, text);
        }
        if same && !self.disordered {
            let text = format!("{user} turns {} and was that already", state.name());
            return self.complain(Kind::EventRepeats, text);
        }
        Ok(())
    }
}
