//! What goes out when a connection can take it.

use greendot_protocol::{ServerFrame, Time, Welcome};

use super::{ConnId, Node};
use crate::core::leases::Waiting;
use crate::core::seal::seal;

impl Node {
    /// Hands out, in order, the frames that wait for a connection. Called when its socket can take
    /// more; everything is built at this moment from the newest that is known, so that a slow
    /// reader is never sent what has long been overtaken (rule 14).
    pub fn transmit(&mut self, now: Time, conn: ConnId, emit: &mut dyn FnMut(&ServerFrame<'_>)) {
        let Some((waiting, beat)) = self.leases.take_waiting(conn) else { return };
        if !waiting.has(Waiting::WELCOMED) {
            // Nothing goes before the welcome.
            return;
        }
        let (epoch, stale) = (self.epoch(), self.is_stale());
        let settles = [Waiting::MODE, Waiting::BEAT];
        let unsettled = settles.iter().any(|it| waiting.has(*it)) && self.is_unsettled(conn);
        if unsettled {
            for it in settles.into_iter().filter(|it| waiting.has(*it)) {
                self.leases.wait(conn, it);
            }
        }
        if waiting.has(Waiting::WELCOME) {
            self.transmit_welcome(now, conn, emit);
        } else {
            if waiting.has(Waiting::TOKEN) {
                emit(&ServerFrame::Token { lasts: self.tokens.lasts(now, conn) });
            }
            if waiting.has(Waiting::STALE) && stale {
                // Before what would settle a choice if the node were not.
                emit(&ServerFrame::Stale(true));
            }
            if waiting.has(Waiting::MODE)
                && !unsettled
                && let Some(user) = self.user_of(conn)
            {
                let (mode, revision) = self.directory.mode(user);
                let revision = seal(self.directory.name(user), revision);
                emit(&ServerFrame::Mode { mode, revision });
            }
        }
        if waiting.has(Waiting::ERRORS) {
            for (code, about, text) in self.errors.remove(&conn).unwrap_or_default() {
                emit(&ServerFrame::Error { code, about, text: &text });
            }
        }
        if waiting.has(Waiting::SESSIONS) {
            self.transmit_own(now, conn, emit);
        }
        if let Some(viewer) = self.viewer_of(conn) {
            let totals = &mut self.totals;
            self.watches.transmit(now, epoch, viewer, &mut |frame| {
                if let ServerFrame::Snapshot { entries, .. } | ServerFrame::Events { entries, .. } =
                    frame
                {
                    totals.entries += entries.len() as u64;
                    totals.entry_frames += 1;
                }
                emit(frame);
            });
        }
        if waiting.has(Waiting::STALE) && !waiting.has(Waiting::WELCOME) && !stale {
            // Good again only behind what made it good.
            emit(&ServerFrame::Stale(false));
        }
        if waiting.has(Waiting::BEAT) && !unsettled {
            emit(&ServerFrame::BeatAnswer(beat));
        }
    }

    fn transmit_welcome(&self, now: Time, conn: ConnId, emit: &mut dyn FnMut(&ServerFrame<'_>)) {
        let Some(user) = self.user_of(conn) else { return };
        let Some(session) = self.session_of(conn) else { return };
        let (mode, revision) = self.directory.mode(user);
        let revision = seal(self.directory.name(user), revision);
        emit(&ServerFrame::Welcome(Welcome {
            beat: self.settings.beat,
            ttl: self.settings.ttl,
            grace: self.settings.grace,
            idle_after: self.leases.idle_after(conn),
            session: self.directory.session_name(session).unwrap_or_default(),
            epoch: self.epoch(),
            mode,
            revision,
            ticket: "",
            stale: self.is_stale(),
            token: self.tokens.lasts(now, conn),
        }));
    }

    /// The tick has come: what is marked may go.
    pub(super) fn flush(&mut self, _now: Time) {
        self.flush_at = None;
        let (leases, ready) = (&mut self.leases, &mut self.ready);
        self.watches.release(|conn| {
            if leases.tell(conn) {
                ready.push_back(conn);
            }
        });
    }
}
