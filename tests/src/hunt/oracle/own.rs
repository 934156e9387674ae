//! What a connection is told of its user's own sessions (rule 5).

use greendot_protocol::OwnSession;

use super::session::Leaving;
use super::{Found, Kind, Oracle, SLACK};

/// What a connection that asked for it is told.
#[derive(Clone, Debug, Default)]
pub(super) struct Own {
    /// What it was told last; none before that.
    told: Option<Vec<Told>>,
    /// Since when that is not right.
    wrong_since: Option<u64>,
}

/// A session, as a connection of its user is told.
#[derive(Clone, Debug)]
struct Told {
    name: String,
    idle: bool,
    lingering: bool,
    passive: bool,
}

impl Oracle<'_> {
    /// The connection asks to be told, or no more.
    pub(super) fn owns(&mut self, conn: usize, on: bool) {
        let row = &mut self.conns[conn];
        row.own = on.then(|| row.own.take().unwrap_or_default());
        self.shifted = true;
    }

    /// The connection is told.
    pub(super) fn own_sessions(&mut self, conn: usize, sessions: &[OwnSession<'_>]) -> Found {
        let row = &mut self.conns[conn];
        let text = format!("{} is told of sessions", row.owner());
        let Some(own) = &mut row.own else {
            return self.complain(Kind::OwnSessionsWrong, format!("{text}, and did not ask"));
        };
        if let Some(it) = sessions.iter().find(|it| it.this != (*it.session == *row.session)) {
            let text = format!("{text}; {} is its own: {}", it.session, it.this);
            return self.complain(Kind::OwnSessionsWrong, text);
        }
        let told = |it: &OwnSession<'_>| Told {
            name: it.session.to_owned(),
            idle: it.idle,
            lingering: it.lingering,
            passive: it.passive,
        };
        own.told = Some(sessions.iter().map(told).collect());
        self.shifted = true;
        Ok(())
    }

    /// What is wrong with what the connection was told, if it asked.
    fn own_fault(&self, conn: usize) -> Option<String> {
        let row = &self.conns[conn];
        let own = row.own.as_ref()?;
        let user = &self.users[row.user?];
        if user.murky || !self.cluster.is_settled(row.node) {
            return None;
        }
        let Some(told) = &own.told else { return Some("nothing".to_owned()) };
        for it in told {
            let Some(session) = user.sessions.iter().find(|session| session.name == it.name) else {
                return Some(format!("{it:?}, which has ended"));
            };
            let flags = session.flags(self.now, &self.cluster);
            let lingers = matches!(session.leaving, Leaving::Lingers(..) | Leaving::Expired(_));
            // A node that is cut off can tell nobody that it lingers, and one that has drained has told that all do,
            // though their leases are all that counts (rule 10).
            let known = session.is_certain(self.now, &self.cluster)
                && !session.orphan
                && self.cluster.is_settled(session.node);
            let right = it.passive == session.passive
                && (if it.idle { flags.idle } else { flags.active })
                && (!known || it.lingering == lingers);
            if !right {
                return Some(format!("{it:?}; {flags:?}, lingers: {lingers}"));
            }
        }
        let missing = user.sessions.iter().find(|session| {
            session.is_certain(self.now, &self.cluster)
                && !told.iter().any(|it| it.name == session.name)
        })?;
        Some(format!("nothing of {}", missing.name))
    }

    /// Marks what a connection was told of its user's sessions and is not right any more.
    pub(super) fn recheck_own(&mut self, conn: usize) {
        if self.conns[conn].own.is_none() {
            return;
        }
        let wrong = self.own_fault(conn).is_some();
        let now = self.now;
        let Some(own) = &mut self.conns[conn].own else { return };
        own.wrong_since = wrong.then(|| own.wrong_since.unwrap_or(now));
        if let Some(since) = own.wrong_since {
            self.raise_alarm(since + SLACK + 1);
        }
    }

    /// Has what a connection was told been wrong for too long?
    pub(super) fn sound_own_alarm(&mut self, conn: usize) -> Found {
        let row = &self.conns[conn];
        let Some(since) = row.own.as_ref().and_then(|it| it.wrong_since) else { return Ok(()) };
        if self.now <= since + SLACK {
            self.raise_alarm(since + SLACK + 1);
            return Ok(());
        }
        let Some(fault) = self.own_fault(conn) else { return Ok(()) };
        let text = format!("{} is told, wrong since {since} ms: {fault}", self.conns[conn].owner());
        self.complain(Kind::OwnSessionsWrong, text)
    }
}
