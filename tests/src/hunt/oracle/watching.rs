//! What a node does not say: watches that show what the rules no longer allow.

use super::conn::Conn;
use super::{Found, Kind, Oracle, Place, SLACK};

/// Clients are told within this time that their node's word may be old (rule 12 b), in ms.
const TOLD: u64 = 5_000;

impl Oracle<'_> {
    /// Marks the watches that show what the rules no longer allow.
    pub(super) fn recheck_watches(&mut self) {
        for conn in 0..self.conns.len() {
            let row = &self.conns[conn];
            let node = row.node;
            if !row.open || (row.stalled && !row.left) {
                continue;
            }
            if !row.seats.is_empty() {
                self.recheck_seats(conn);
            }
            self.recheck_own(conn);
            let row = &self.conns[conn];
            if row.watches.is_empty() {
                continue;
            }
            let blamed = self.cluster.is_settled(node) && !row.left;
            for place in 0..row.watches.len() {
                let watch = &self.conns[conn].watches[place];
                let Some(shown) = &watch.shown else { continue };
                let right = !blamed
                    || (self.allowed(node, watch.user, self.conns[conn].user).has(shown.state)
                        && self.allows_note(node, watch.user, shown.state, &shown.note));
                let since = if right { None } else { Some(watch.wrong_since.unwrap_or(self.now)) };
                self.conns[conn].watches[place].wrong_since = since;
                if let Some(since) = since {
                    self.raise_alarm(since + self.patience());
                }
            }
        }
    }

    /// How long a change may take to be told, in ms.
    pub(super) fn patience(&self) -> u64 {
        self.cluster.periods.tick + SLACK + 1 + self.cluster.periods.crowds
    }

    /// Has anything been wrong for too long?
    pub(super) fn sound_alarm(&mut self) -> Found {
        self.alarm = u64::MAX;
        for conn in 0..self.conns.len() {
            let row = &self.conns[conn];
            if !row.open || row.stalled || !self.cluster.is_settled(row.node) {
                continue;
            }
            self.unanswered(conn)?;
            self.sound_room_alarm(conn)?;
            self.sound_own_alarm(conn)?;
            self.untold(conn)?;
        }
        Ok(())
    }

    /// Watch frames that got no snapshot.
    fn unanswered(&mut self, conn: usize) -> Found {
        let row = &self.conns[conn];
        let Some((request, _, since)) = row.requests.first() else { return Ok(()) };
        if since + SLACK < self.now {
            let text = format!("request {request} of {}, read at {since} ms", row.owner());
            return self.complain(Kind::SnapshotMissing, text);
        }
        self.raise_alarm(self.now + SLACK + 1);
        Ok(())
    }

    /// Changes that were not told.
    fn untold(&mut self, conn: usize) -> Found {
        let patience = self.patience();
        let mut alarm = u64::MAX;
        let row = &self.conns[conn];
        for watch in &row.watches {
            let (Some(since), Some(shown)) = (watch.wrong_since, &watch.shown) else { continue };
            if self.now < since + patience {
                alarm = alarm.min(since + patience);
                continue;
            }
            let name = &self.users[watch.user].name;
            let allowed = self.allowed(row.node, watch.user, row.user);
            let (owner, state, note) = (row.owner(), shown.state.name(), &shown.note);
            let wanted = allowed.words();
            let text = format!(
                "{owner} still sees {name} {state} {note:?}; since {since} ms the rules want {wanted}"
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
        self.raise_alarm(alarm);
        Ok(())
    }

    /// Whether each node's clients know what its word is worth (rule 12 b).
    pub(super) fn look_at_staleness(&self) -> Found {
        // One that is being closed is told that, and nothing more.
        let listens = |it: &&Conn| it.open && !it.is_closing && !it.stalled && it.user.is_some();
        for row in self.conns.iter().filter(listens) {
            let Some(stale) = row.stale else { continue };
            let node = &self.cluster.nodes[row.node];
            if node.blind_since.is_some_and(|at| self.now > at + TOLD + SLACK) && !stale {
                let text = format!("{} is not told that its node reaches no store", row.owner());
                return self.complain(Kind::StaleNotTold, text);
            }
            if stale && self.cluster.is_settled(row.node) {
                let text = format!("{} is told still that all may be old", row.owner());
                return self.complain(Kind::StaleNotTold, text);
            }
        }
        Ok(())
    }
}
