//! Tokens that end take their connections with them (rule 18).

use greendot_protocol::binary::decode_client;
use greendot_protocol::{ClientFrame, CloseCode};

use super::session::When;
use super::{Found, Kind, Oracle, SLACK};

impl Oracle<'_> {
    /// Whether the node closes the connection because its token has ended; its session lingers.
    pub(super) fn token_ends(&mut self, conn: usize, code: u16) -> bool {
        let now = self.now;
        let row = &mut self.conns[conn];
        let ended = row.token_until.is_some_and(|it| it <= now);
        if code != CloseCode::TokenExpired.number() || !ended {
            return false;
        }
        // What waits is read first.
        if row.fresh_waits {
            return false;
        }
        row.token_until = None;
        let Some(user) = row.user else { return true };
        let cluster = &self.cluster;
        if let Some(session) = self.users[user].session_on(conn) {
            session.linger(When { arrived: now, read: now }, cluster);
            self.derive(user);
        }
        true
    }

    /// A frame waits at a node that stands still: a fresh token that came in time counts, once it is read.
    pub(super) fn token_waits(&mut self, conn: usize, bytes: &[u8]) {
        let now = self.now;
        let Ok(Some(ClientFrame::Token(token))) = decode_client(bytes) else { return };
        let row = &mut self.conns[conn];
        let counts = token_until(token).is_none() && row.token_until.is_some_and(|it| now <= it);
        row.fresh_waits |= counts && !row.end_waits && row.device.is_none();
    }

    /// A connection that has outlived its token?
    pub(super) fn check_tokens(&self) -> Found {
        for row in self.conns.iter().filter(|it| it.open && !it.is_closing && it.user.is_some()) {
            let node = &self.cluster.nodes[row.node];
            let runs = node.up && !node.paused;
            if let Some(until) = row.token_until.filter(|it| runs && it + SLACK < self.now) {
                let text = format!("{}'s ended at {until} ms", row.owner());
                return self.complain(Kind::TokenOutlived, text);
            }
        }
        Ok(())
    }
}

/// Until when a token of the harness is good, in ms of the run.
pub(super) fn token_until(token: &str) -> Option<u64> {
    token.split_once('|')?.1.parse().ok()
}
