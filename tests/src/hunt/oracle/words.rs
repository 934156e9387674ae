//! What a node says, frame by frame.

use greendot_protocol::binary::decode_server;
use greendot_protocol::{Entry, Epoch, Mode, ServerFrame, State};

use super::conn::{Parcel, Shown, Word};
use super::weigh::Said;
use super::{Complaint, Found, Kind, Oracle, Place};

/// What a frame says of users.
type Words = Vec<Word>;

impl Oracle<'_> {
    pub(super) fn sent(&mut self, conn: usize, bytes: &[u8]) -> Found {
        let Ok(Some(frame)) = decode_server(bytes) else {
            return self.complain(Kind::Panic, "a frame that cannot be read");
        };
        let parcel = match &frame {
            ServerFrame::Welcome(welcome) => {
                self.conns[conn].stale = Some(welcome.stale);
                self.conns[conn].epoch = Some(welcome.epoch.0);
                self.check_mode(conn, welcome.mode)?;
                Parcel::Welcome(welcome.mode)
            }
            ServerFrame::Mode { mode, .. } => {
                self.check_mode(conn, *mode)?;
                Parcel::Mode(*mode)
            }
            ServerFrame::BeatAnswer(number) => Parcel::Answer(*number),
            ServerFrame::Snapshot { epoch, request, entries } => {
                Parcel::Words(self.snapshot(conn, *epoch, *request, entries)?)
            }
            ServerFrame::Events { epoch, entries } => {
                self.check_epoch(conn, *epoch)?;
                Parcel::Words(self.events(conn, entries)?)
            }
            ServerFrame::Room { number, members } => self.roster(conn, *number, members)?,
            ServerFrame::RoomEvents { number, members } => {
                self.room_events(conn, *number, members)?
            }
            ServerFrame::Crowd { number, count, sample } => {
                self.crowd(conn, *number, *count, sample)?
            }
            ServerFrame::Sessions(sessions) => {
                self.own_sessions(conn, sessions)?;
                Parcel::Other
            }
            ServerFrame::Stale(stale) => {
                self.conns[conn].stale = Some(*stale);
                Parcel::Other
            }
            _ => Parcel::Other,
        };
        if self.conns[conn].device.is_some() {
            self.conns[conn].on_the_way.push_back(parcel);
        }
        Ok(())
    }

    /// A user's own connection is told the mode as it is.
    fn check_mode(&self, conn: usize, mode: Mode) -> Found {
        let row = &self.conns[conn];
        let Some(user) = row.user.map(|it| &self.users[it]) else { return Ok(()) };
        let vague = user.murky || !user.other_modes.is_empty();
        // From the store the news takes a turn at least.
        let is_news = self.cluster.shares && user.has_just_left(self.now, mode);
        if mode == user.mode || is_news || vague || !self.cluster.is_settled(row.node) {
            return Ok(());
        }
        let text = format!("{} is told {mode:?}, chosen was {:?}", user.name, user.mode);
        self.complain(Kind::WrongMode, text)
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
        epoch: Epoch,
        request: u32,
        entries: &[Entry<'_>],
    ) -> Result<Words, Complaint> {
        let row = &mut self.conns[conn];
        let serials = if request == 0 {
            // Unasked: only where a new epoch begins or an outage is over, and of every user then.
            let refreshed = std::mem::take(&mut row.owed_refresh);
            let settled = self.cluster.is_settled(row.node);
            if row.epoch == Some(epoch.0) && settled && !refreshed {
                let text = format!("a snapshot for no request to {}", row.owner());
                return self.complain(Kind::SnapshotNotAsked, text);
            }
            row.epoch = Some(epoch.0);
            row.watches.iter().map(|it| it.serial).collect()
        } else {
            let Some(place) = row.requests.iter().position(|it| it.0 == request) else {
                let text = format!("a snapshot for request {request} to {}", row.owner());
                return self.complain(Kind::SnapshotNotAsked, text);
            };
            let serials = row.requests.remove(place).1;
            // A snapshot begins an epoch if it leaves nothing of the one before (rule 8).
            if row.watches.iter().all(|it| it.shown.is_none() || serials.contains(&it.serial)) {
                row.epoch = Some(epoch.0);
            }
            self.check_epoch(conn, epoch)?;
            serials
        };
        let asked = |number: u32| {
            let mut watches = self.conns[conn].watches.iter();
            watches.any(|it| it.number == number && serials.contains(&it.serial))
        };
        if let Some(entry) = entries.iter().find(|it| !asked(it.number)) {
            let text = format!("it lists number {}, which it was not asked for", entry.number);
            return self.complain(Kind::SnapshotNotAsked, text);
        }
        let mut words = Vec::new();
        for place in 0..self.conns[conn].watches.len() {
            let watch = &self.conns[conn].watches[place];
            if !serials.contains(&watch.serial) {
                continue;
            }
            let entry = entries.iter().find(|it| it.number == watch.number);
            self.weigh_absence(conn, watch.user, entry.is_some())?;
            let said = entry.map_or(Said::nothing(), Said::of);
            self.weigh_word(conn, place, &said, true)?;
            if entry.is_some() {
                let row = &self.conns[conn];
                self.weigh_seen(row.node, row.user, row.watches[place].user, &said)?;
            }
            let serial = self.conns[conn].watches[place].serial;
            let mut word = self.show(conn, place, &said);
            if self.conns[conn].requests.iter().any(|it| it.1.contains(&serial)) {
                // Its own answer is still to come: until then the client may go by this or not.
                word.watched = 0;
            }
            words.push(word);
        }
        self.shifted = true;
        Ok(words)
    }

    fn events(&mut self, conn: usize, entries: &[Entry<'_>]) -> Result<Words, Complaint> {
        let mut words = Vec::with_capacity(entries.len());
        for entry in entries {
            let row = &self.conns[conn];
            let Some(place) = row.watches.iter().position(|it| it.number == entry.number) else {
                let text = format!("an event for number {}, which is not watched", entry.number);
                return self.complain(Kind::EventBeforeSnapshot, text);
            };
            let said = Said::of(entry);
            let watch = &row.watches[place];
            let (user, version) = (watch.user, watch.version);
            let name = &self.users[user].name;
            let Some(shown) = &watch.shown else {
                let text = format!("an event about {name}");
                return self.complain(Kind::EventBeforeSnapshot, text);
            };
            if said.version <= version {
                let version_said = said.version;
                let owner = row.owner();
                let text = format!("{owner} got version {version_said} of {name} after {version}");
                return self.complain_at(
                    Kind::VersionNotRising,
                    text,
                    self.event_place(conn, user),
                );
            }
            let regained = self.has_just_regained(row.user, user, self.patience(), watch.shown_at);
            // Of several changes since then in one tick only the newest is told (rule 6).
            let steps = regained.map_or(0, |since| self.users[user].changes_since(since).max(1));
            let gap = regained.is_some() && said.version > version + steps;
            if gap && self.cluster.is_settled(row.node) {
                let version_said = said.version;
                let text = format!("version {version_said} of {name} after {version}");
                let place = self.event_place(conn, user);
                return self.complain_at(Kind::GapInVersions, text, place);
            }
            if shown.state == said.state && shown.note == said.note {
                let text = format!("{name} is {} as before", said.state.name());
                return self.complain_at(Kind::EventRepeats, text, self.event_place(conn, user));
            }
            self.weigh_word(conn, place, &said, false)?;
            self.weigh_rate(conn, place)?;
            let row = &self.conns[conn];
            // That nobody could say anything of a user is over for all at once, at a moment that the user has no part in.
            let was_unknown =
                row.watches[place].shown.as_ref().is_none_or(|it| it.state == State::Unknown);
            self.weigh_seen(row.node, row.user, user, &said)?;
            words.push(self.show(conn, place, &said));
            self.conns[conn].watches[place].event_at = (!was_unknown).then_some(self.now);
        }
        self.shifted = true;
        Ok(words)
    }

    /// Remembers what a watch was shown.
    fn show(&mut self, conn: usize, place: usize, said: &Said<'_>) -> Word {
        let now = self.now;
        let watch = &mut self.conns[conn].watches[place];
        watch.shown_at = now;
        let shown = Shown { state: said.state, note: said.note.to_owned() };
        watch.shown = Some(shown.clone());
        watch.version = said.version;
        watch.wrong_since = None;
        Word { user: watch.user, shown, watched: watch.said }
    }

    pub(super) fn event_place(&self, conn: usize, user: usize) -> Place {
        let row = &self.conns[conn];
        if row.device.is_some() {
            return Place::Nowhere;
        }
        Place::Event { watcher: row.name.clone(), user: self.users[user].name.clone() }
    }
}

impl Said<'_> {
    /// What is said of a user who is left out.
    fn nothing() -> Self {
        Self { state: State::Offline, version: 0, note: "", seen_ago: None }
    }
}
