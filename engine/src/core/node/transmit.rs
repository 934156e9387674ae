//! What goes out when a connection can take it.

use greendot_protocol::{ServerFrame, Time, Welcome};

use super::connections::Waiting;
use super::{ConnId, Node};

impl Node {
    /// Hands out, in order, the frames that wait for a connection. Called when its socket can take
    /// more; everything is built at this moment from the newest that is known, so that a slow
    /// reader is never sent what has long been overtaken (rule 14).
    pub fn transmit(&mut self, now: Time, conn: ConnId, emit: &mut dyn FnMut(&ServerFrame<'_>)) {
        let Some(row) = self.conns.get_mut(conn.0) else { return };
        let waiting = std::mem::take(&mut row.waiting);
        row.waiting.welcomed = waiting.welcomed;
        if !waiting.welcomed {
            // Nothing goes before the welcome.
            row.waiting = Waiting { told: false, ..waiting };
            return;
        }
        let (epoch, stale) = (self.epoch(), self.is_stale());
        let Some(row) = self.conns.get_mut(conn.0) else { return };
        let (mode, revision) = self.directory.mode(row.user);
        if waiting.welcome {
            let session = self.directory.session_name(row.session).unwrap_or_default();
            let idle_after = row
                .lease
                .and_then(|it| self.leases.get(it))
                .map_or(self.settings.idle_after, |it| it.idle_after);
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
            }));
        } else {
            if waiting.mode {
                emit(&ServerFrame::Mode { mode, revision });
            }
            if waiting.stale && stale {
                emit(&ServerFrame::Stale(true));
            }
        }
        for (code, about, text) in &waiting.errors {
            emit(&ServerFrame::Error { code: *code, about: *about, text });
        }
        if let Some(viewer) = row.viewer {
            self.watches.transmit(now, epoch, viewer, emit);
        }
        if waiting.stale && !waiting.welcome && !stale {
            // Good again only behind what made it good.
            emit(&ServerFrame::Stale(false));
        }
        if let Some(number) = waiting.beat_answer {
            emit(&ServerFrame::BeatAnswer(number));
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
