//! What a node says: every word about a user is weighed when it leaves the node.

use greendot_protocol::binary::decode_server;
use greendot_protocol::{Entry, Epoch, Mode, ServerFrame, State};

use super::conn::{Parcel, Shown};
use super::{Complaint, Found, Kind, Oracle, Place, SLACK};

/// What is said of a user.
struct Said<'a> {
    state: State,
    version: u32,
    note: &'a str,
    seen_ago: Option<u64>,
}

impl Oracle<'_> {
    pub(super) fn sent(&mut self, conn: usize, bytes: &[u8]) -> Found {
        let Ok(Some(frame)) = decode_server(bytes) else {
            return self.complain(Kind::Panic, "a frame that cannot be read");
        };
        let parcel = match &frame {
            ServerFrame::Welcome(welcome) => {
                self.check_welcome(conn, welcome.generation, welcome.epoch, welcome.mode)?;
                Parcel::Welcome
            }
            ServerFrame::Mode { mode, .. } => {
                self.check_mode(conn, *mode)?;
                Parcel::Other
            }
            ServerFrame::BeatAnswer(number) => Parcel::Answer(*number),
            ServerFrame::Snapshot { epoch, request, entries } => {
                self.check_epoch(conn, *epoch)?;
                Parcel::Words(self.snapshot(conn, *request, entries)?)
            }
            ServerFrame::Events { epoch, entries } => {
                self.check_epoch(conn, *epoch)?;
                Parcel::Words(self.events(conn, entries)?)
            }
            _ => Parcel::Other,
        };
        if self.conns[conn].device.is_some() {
            self.conns[conn].on_the_way.push_back(parcel);
        }
        Ok(())
    }

    fn check_welcome(&mut self, conn: usize, generation: u64, epoch: Epoch, mode: Mode) -> Found {
        self.conns[conn].epoch = Some(epoch.0);
        self.conns[conn].generation = generation;
        self.nodes[self.conns[conn].node].epoch = Some(epoch.0);
        let (user, session) = (self.conns[conn].user, &self.conns[conn].session);
        let before = self.conns[..conn]
            .iter()
            .filter(|it| it.user == user && it.session == *session)
            .map(|it| it.generation)
            .max();
        if before.is_some_and(|it| it >= generation) {
            let text = format!("{generation} after {before:?} for {session}");
            return self.complain(Kind::GenerationBack, text);
        }
        self.check_mode(conn, mode)
    }

    /// A user's own connection is told the mode as it is.
    fn check_mode(&self, conn: usize, mode: Mode) -> Found {
        let Some(user) = self.conns[conn].user else { return Ok(()) };
        let right = self.users[user].mode;
        if mode == right {
            return Ok(());
        }
        let name = &self.users[user].name;
        self.complain(Kind::WrongMode, format!("{name} is told {mode:?}, chosen was {right:?}"))
    }

    fn check_epoch(&self, conn: usize, epoch: Epoch) -> Found {
        match self.conns[conn].epoch {
            Some(it) if it == epoch.0 => Ok(()),
            other => self.complain(Kind::WrongEpoch, format!("{epoch:?} after {other:?}")),
        }
    }

    fn snapshot(
        &mut self,
        conn: usize,
        request: u32,
        entries: &[Entry<'_>],
    ) -> Result<Vec<(usize, Shown)>, Complaint> {
        let row = &mut self.conns[conn];
        let Some(place) = row.requests.iter().position(|it| it.0 == request) else {
            let text = format!("a snapshot for request {request} to {}", row.owner());
            return self.complain(Kind::SnapshotNotAsked, text);
        };
        let (_, serials, _) = row.requests.remove(place);
        let mut words = Vec::new();
        for entry in entries {
            let known = self.conns[conn]
                .watches
                .iter()
                .any(|it| it.number == entry.number && serials.contains(&it.serial));
            if !known {
                let text = format!("it lists number {}, which it was not asked for", entry.number);
                return self.complain(Kind::SnapshotNotAsked, text);
            }
        }
        for place in 0..self.conns[conn].watches.len() {
            let watch = &self.conns[conn].watches[place];
            if !serials.contains(&watch.serial) {
                continue;
            }
            let user = watch.user;
            let entry = entries.iter().find(|it| it.number == watch.number);
            if entry.is_none() && self.users[user].seen.least.is_some() {
                let text = format!("{} is not listed, but was seen", self.users[user].name);
                return self.complain(Kind::SnapshotLeavesOut, text);
            }
            let said = entry.map_or(
                Said { state: State::Offline, version: 0, note: "", seen_ago: None },
                Said::of,
            );
            self.weigh_word(conn, place, &said, entry.is_some())?;
            let shown = Shown { state: said.state, note: said.note.to_owned() };
            let watch = &mut self.conns[conn].watches[place];
            watch.shown = Some(shown.clone());
            watch.version = said.version;
            watch.wrong_since = None;
            words.push((user, shown));
        }
        self.shifted = true;
        Ok(words)
    }

    fn events(
        &mut self,
        conn: usize,
        entries: &[Entry<'_>],
    ) -> Result<Vec<(usize, Shown)>, Complaint> {
        let mut words = Vec::with_capacity(entries.len());
        for entry in entries {
            let row = &self.conns[conn];
            let Some(place) = row.watches.iter().position(|it| it.number == entry.number) else {
                let text = format!("an event for number {}, which is not watched", entry.number);
                return self.complain(Kind::EventBeforeSnapshot, text);
            };
            let said = Said::of(entry);
            let watch = &row.watches[place];
            let user = watch.user;
            let Some(shown) = &watch.shown else {
                let text = format!("an event about {}", self.users[user].name);
                return self.complain(Kind::EventBeforeSnapshot, text);
            };
            if said.version <= watch.version {
                let text = format!(
                    "{} got version {} of {} after {}",
                    row.owner(),
                    said.version,
                    self.users[user].name,
                    watch.version
                );
                return self.complain_at(Kind::VersionNotRising, text, self.event_place(conn, user));
            }
            if shown.state == said.state && shown.note == said.note {
                let name = &self.users[user].name;
                let text = format!("{name} is {} as before", said.state.name());
                return self.complain_at(Kind::EventRepeats, text, self.event_place(conn, user));
            }
            self.weigh_word(conn, place, &said, true)?;
            let shown = Shown { state: said.state, note: said.note.to_owned() };
            let watch = &mut self.conns[conn].watches[place];
            watch.shown = Some(shown.clone());
            watch.version = said.version;
            watch.wrong_since = None;
            words.push((user, shown));
        }
        self.shifted = true;
        Ok(words)
    }

    fn event_place(&self, conn: usize, user: usize) -> Place {
        let row = &self.conns[conn];
        if row.device.is_some() {
            return Place::Nowhere;
        }
        Place::Event { watcher: row.name.clone(), user: self.users[user].name.clone() }
    }

    /// Whether the rules allow this to be said now.
    fn weigh_word(&mut self, conn: usize, place: usize, said: &Said<'_>, listed: bool) -> Found {
        let row = &self.conns[conn];
        let watch = &row.watches[place];
        let (user, own, node) = (watch.user, watch.own, row.node);
        let allowed = self.allowed(node, user, own);
        let right = self.note_with(user, said.state);
        let name = &self.users[user].name;
        if !allowed.has(said.state) {
            let hidden = self.users[user].mode == Mode::Invisible && !own;
            let kind = match said.state {
                State::Offline => Kind::OfflineTooEarly,
                State::Unknown => Kind::UnknownWithoutCause,
                _ if hidden => Kind::HiddenShown,
                _ if allowed.is_absent() => Kind::PresentTooLong,
                _ => Kind::WrongState,
            };
            let text = format!(
                "{} is told that {name} is {}; the rules allow {}",
                row.owner(),
                said.state.name(),
                allowed.words()
            );
            return self.complain_at(kind, text, self.event_place(conn, user));
        }
        if said.note != right {
            let text = format!("{name} has the note {:?}, not {right:?}", said.note);
            return self.complain_at(Kind::WrongNote, text, self.event_place(conn, user));
        }
        if listed { self.weigh_seen(user, said) } else { Ok(()) }
    }

    /// Last seen: the time of the last frame, and never going back (rule 9).
    fn weigh_seen(&mut self, user: usize, said: &Said<'_>) -> Found {
        let seen = self.users[user].seen;
        let name = &self.users[user].name;
        let Some(ago) = said.seen_ago else {
            if said.state == State::Offline && seen.least.is_some() {
                let text = format!("{name} was seen at {:?} ms, but nothing is told", seen.least);
                return self.complain(Kind::LastSeenWrong, text);
            }
            return Ok(());
        };
        // An age that reaches before the run would wrap; the worlds see nobody before they begin.
        let at = self.now.checked_sub(ago);
        let right = said.state == State::Offline
            && at.is_some_and(|at| {
                seen.least.is_none_or(|it| at + SLACK >= it) && seen.most.is_some_and(|it| at <= it + SLACK)
            });
        if !right {
            let text = format!(
                "{name}, {}, was seen at {at:?} ms; it was between {:?} and {:?}",
                said.state.name(),
                seen.least,
                seen.most
            );
            return self.complain(Kind::LastSeenWrong, text);
        }
        if at < seen.told {
            let text = format!("{name} was seen at {at:?} ms, told before was {:?}", seen.told);
            return self.complain(Kind::LastSeenBack, text);
        }
        self.users[user].seen.told = at;
        Ok(())
    }

    /// The application of a node is told of a change: each by one higher, and each a change.
    pub(super) fn turned(
        &mut self,
        node: usize,
        user: &str,
        state: State,
        version: u32,
        note: &str,
    ) -> Found {
        let id = self.user(user);
        let allowed = self.users[id].public;
        if !allowed.has(state) {
            let text = format!("{user} turns {}; the rules allow {}", state.name(), allowed.words());
            let kind = if state == State::Offline { Kind::OfflineTooEarly } else { Kind::WrongState };
            return self.complain(kind, text);
        }
        let rows = &mut self.nodes[node].turned;
        if id >= rows.len() {
            rows.resize(id + 1, None);
        }
        let before = rows[id].replace((version, state, note.to_owned()));
        let (last, was, its_note) = before.unwrap_or((0, State::Offline, String::new()));
        if version != last + 1 {
            let text = format!("{user} turns {} at {version} after {last}", state.name());
            return self.complain(Kind::VersionSkips, text);
        }
        if was == state && (its_note == note || state == State::Offline) {
            let text = format!("{user} turns {} and was that already", state.name());
            return self.complain(Kind::EventRepeats, text);
        }
        Ok(())
    }

    /// Marks the watches that show what the rules no longer allow.
    pub(super) fn recheck_watches(&mut self) {
        for conn in 0..self.conns.len() {
            let row = &self.conns[conn];
            if !row.open || row.stalled || row.watches.is_empty() || self.nodes[row.node].pace.paused {
                continue;
            }
            let node = row.node;
            for place in 0..self.conns[conn].watches.len() {
                let watch = &self.conns[conn].watches[place];
                let Some(shown) = &watch.shown else { continue };
                let right = self.allowed(node, watch.user, watch.own).has(shown.state)
                    && shown.note == self.note_with(watch.user, shown.state);
                let since = watch.wrong_since;
                let since = if right { None } else { Some(since.unwrap_or(self.now)) };
                self.conns[conn].watches[place].wrong_since = since;
                if let Some(since) = since {
                    self.raise_alarm(since + self.patience());
                }
            }
        }
    }

    /// How long a change may take to be told, in ms.
    fn patience(&self) -> u64 {
        self.periods.tick + SLACK + 1
    }

    /// Has anything been wrong for too long?
    pub(super) fn sound_alarm(&mut self) -> Found {
        self.alarm = u64::MAX;
        let patience = self.patience();
        for row in &self.conns {
            if !row.open || row.stalled || self.nodes[row.node].pace.paused {
                continue;
            }
            if let Some((request, _, since)) = row.requests.iter().find(|it| it.2 + SLACK < self.now) {
                let text = format!("request {request} of {}, read at {since} ms", row.owner());
                return self.complain(Kind::SnapshotMissing, text);
            }
            for watch in &row.watches {
                let (Some(since), Some(shown)) = (watch.wrong_since, &watch.shown) else { continue };
                if self.now < since + patience {
                    self.alarm = self.alarm.min(since + patience);
                    continue;
                }
                let name = &self.users[watch.user].name;
                let allowed = self.allowed(row.node, watch.user, watch.own);
                let text = format!(
                    "{} still sees {name} {} {:?}, since {since} ms the rules want {}",
                    row.owner(),
                    shown.state.name(),
                    shown.note,
                    allowed.words()
                );
                let kind = if allowed.is_absent() { Kind::PresentTooLong } else { Kind::ChangeNotTold };
                let place = match (allowed.single(), row.device) {
                    (Some(state), None) => {
                        let (watcher, user) = (row.name.clone(), name.clone());
                        Place::Missing { watcher, user, state }
                    }
                    _ => Place::Nowhere,
                };
                return self.complain_at(kind, text, place);
            }
            if !row.requests.is_empty() {
                self.alarm = self.alarm.min(self.now + SLACK + 1);
            }
        }
        Ok(())
    }
}

impl<'a> Said<'a> {
    fn of(entry: &Entry<'a>) -> Self {
        Self {
            state: entry.state,
            version: entry.version.0,
            note: entry.note,
            seen_ago: entry.seen_ago.map(greendot_protocol::Span::as_millis),
        }
    }
}
