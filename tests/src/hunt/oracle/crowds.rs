//! Whoever is watched by a crowd is told about at a bounded rate (rule 15).

use greendot_protocol::State;

use super::{Found, Kind, Oracle, SLACK};

impl Oracle<'_> {
    /// A watch of a connection ends, or may.
    pub(super) fn a_watch_ends(&mut self, conn: usize) {
        self.watch_ended[self.conns[conn].node] = self.now;
    }

    /// A watch is told a change: not too soon after the one before, if a crowd has watched the user ever since.
    pub(super) fn weigh_rate(&self, conn: usize, place: usize) -> Found {
        let settings = &self.scenario.settings;
        let (Some(every), row) = (settings.crowd_every(), &self.conns[conn]) else {
            return Ok(());
        };
        let watch = &row.watches[place];
        let Some(before) = watch.event_at else { return Ok(()) };
        // It tells in a hundred parts. Who was shown nothing yet need not wait.
        let soon = self.now + every / 50 + self.cluster.periods.tick + SLACK < before + every;
        let nothing = watch.shown.as_ref().is_none_or(|it| it.state == State::Unknown);
        if !soon || nothing || row.user == Some(watch.user) {
            return Ok(());
        }
        // One that stood still, or did not read, is told late, and may be told the next in time.
        let steady = |since: u64| before > since + 2 * every;
        let works = self.cluster.works_since(row.node).is_some_and(|it| it == 0 || steady(it));
        let reads = row.stalled_at == 0 || steady(row.stalled_at);
        // Who takes the place of one that has left is told twice rather than never.
        let stayed = self.watch_ended[row.node] < before;
        // What was told then was to be told a tick before, when they may not have been a crowd yet.
        let crowded = before.saturating_sub(self.cluster.periods.tick);
        let of_user = |other: &&super::conn::Conn| {
            let watches = |it: &super::conn::Watch| it.user == watch.user && it.begun < crowded;
            other.node == row.node
                && other.open
                && other.user != Some(watch.user)
                && other.watches.iter().any(watches)
        };
        let many = self.conns.iter().filter(of_user).count();
        if works && reads && stayed && many > settings.engine.crowd_limit {
            let name = &self.users[watch.user].name;
            let text = format!(
                "{} is told of {name}, whom {many} watch, {} ms after {before} ms",
                row.owner(),
                self.now - before
            );
            return self.complain(Kind::ToldTooOften, text);
        }
        Ok(())
    }
}
