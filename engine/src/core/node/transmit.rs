//! What goes out when a connection can take it.

use greendot_protocol::{ServerFrame, Time, Welcome};

use super::{ConnId, Node};
use crate::core::leases::Waiting;

impl Node {
    /// Hands out, in order, the frames that wait for a connection. Called when its socket can take
    /// more; everything is built at this moment from the newest that is known, so that a slow
    /// reader is never sent what has long been overtaken (rule 14).
    pub fn transmit(&mut self, now: Time, conn: ConnId, emit: &mut dyn FnMut(&ServerFrame<'_>)) {
        let Some((waiting, beat)) = self.leases.waiting(conn) else { return };
        self.leases.taken(conn, &[Waiting::TOLD]);
        if !waiting.has(Waiting::WELCOMED) {
            // Nothing goes before the welcome.
            return;
        }
        use Waiting as W;
        self.leases.taken(conn, &[W::WELCOME, W::STALE, W::MODE, W::BEAT, W::ERRORS, W::SESSIONS]);
        self.leases.taken(conn, &[W::TOKEN]);
        let (epoch, stale) = (self.epoch(), self.is_stale());
        let Some(session) = self.session_of(conn) else { return };
        let Some(user) = self.directory.user_of(session) else { return };
        let (mode, revision) = self.directory.mode(user);
        if waiting.has(Waiting::WELCOME) {
            let idle_after = self.leases.idle_after(conn);
            let session = self.directory.session_name(session).unwrap_or_default();
            emit(&ServerFrame::Welcome(Welcome {
                beat: self.settings.beat,
                ttl: self.settings.ttl,
                grace: self.settings.grace,
                idle_after,
                session,
                epoch,
                mode,
                revision,
                ticket: "",
                stale,
                token: self.tokens.lasts(now, conn),
            }));
        } else {
            if waiting.has(Waiting::TOKEN) {
                emit(&ServerFrame::Token { lasts: self.tokens.lasts(now, conn) });
            }
            if waiting.has(Waiting::MODE) {
                emit(&ServerFrame::Mode { mode, revision });
            }
            if waiting.has(Waiting::STALE) && stale {
                emit(&ServerFrame::Stale(true));
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
            self.watches.transmit(now, epoch, viewer, emit);
        }
        if waiting.has(Waiting::STALE) && !waiting.has(Waiting::WELCOME) && !stale {
            // Good again only behind what made it good.
            emit(&ServerFrame::Stale(false));
        }
        if waiting.has(Waiting::BEAT) {
            emit(&ServerFrame::BeatAnswer(beat));
        }
    }

    /// The tick has come: what is marked may go.
    pub(super) fn flush(&mut self, _now: Time) {
        self.flush_at = None;
        for viewer in self.watches.release() {
            if let Some(conn) = self.watches.conn_of(viewer) {
                self.wake(conn);
            }
        }
    }
}
