//! Looking into a node: for tests, metrics and those who run it.

use std::sync::Arc;

use greendot_protocol::{Mode, Time};

use super::shared::Shared;
use super::{ConnId, Node, NodeTotals};
use crate::core::directory::{Roster, SessionView};

/// How much a node holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeCounts {
    /// Sessions, live or lingering.
    pub sessions: usize,
    /// Leases, each with its timers.
    pub leases: usize,
    /// Open connections.
    pub conns: usize,
    /// Users whom somebody watches.
    pub watched: usize,
    /// Watches.
    pub watches: usize,
    /// Connections that watch.
    pub viewers: usize,
    /// Users whose connections watch.
    pub onlookers: usize,
    /// Looks that wait for the application's word.
    pub looks: usize,
    /// Connections that look into rooms, once for each room.
    pub seats: usize,
    /// Joins, and stays in rooms, that wait for the application's word.
    pub joins: usize,
    /// Connections that are told of their user's own sessions.
    pub owners: usize,
}

/// How the application's answers on who may see whom fare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AudienceCounts {
    /// Pairs of which an answer is kept or awaited.
    pub pairs: usize,
    /// Answers that failed, came late, or were missing.
    pub failures: u64,
    /// The same of answers on who may be in which room.
    pub room_failures: u64,
}

/// A session that a node holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldSession {
    /// The session, as the directory knows it.
    pub view: SessionView,
    /// When its lease runs out, or when it has lingered long enough if that is sooner.
    pub deadline: Time,
    /// When it was last heard.
    pub heard: Time,
    /// Its connection, if it has one.
    pub conn: Option<ConnId>,
}

impl Node {
    /// How much the node holds.
    pub fn counts(&self) -> NodeCounts {
        NodeCounts {
            sessions: self.directory.session_count(),
            leases: self.leases.len(),
            conns: self.leases.connected(),
            watched: self.watches.subject_count(),
            watches: self.watches.watch_count(),
            viewers: self.watches.viewer_count(),
            onlookers: self.watches.onlooker_count(),
            looks: self.reads.len(),
            seats: self.watches.seat_count(),
            joins: self.rights.len(),
            owners: self.owners.len(),
        }
    }

    /// What the node has done since it began.
    pub fn totals(&self) -> NodeTotals {
        let AudienceCounts { failures, room_failures, .. } = self.audience_counts();
        NodeTotals {
            marks: self.watches.marks(),
            overtaken: self.watches.overtaken(),
            look_failures: failures,
            join_failures: room_failures,
            ..self.totals.clone()
        }
    }

    /// How many users with sessions here others see present.
    pub fn present_users(&self) -> usize {
        self.directory.present_count()
    }

    /// Requests that wait for the shared store's answer.
    pub fn store_waiting(&self) -> usize {
        self.shared.as_ref().map_or(0, Shared::waiting)
    }

    /// How the application's answers on who may see whom fare.
    pub fn audience_counts(&self) -> AudienceCounts {
        let (pairs, failures) =
            self.audience.as_ref().map_or((0, 0), |it| (it.len(), it.failures()));
        AudienceCounts { pairs, failures, room_failures: self.rights.failures() }
    }

    /// The sessions of a user.
    pub fn sessions(&self, user: &str) -> Vec<HeldSession> {
        let Some(id) = self.directory.find(user) else { return Vec::new() };
        let views = self.directory.views(id);
        let sessions = self.directory.ids_of(id);
        sessions
            .zip(views)
            .map(|(session, view)| {
                let conn = self.leases.at(session.slot());
                let standing = conn.and_then(|it| self.leases.get(it));
                HeldSession {
                    view,
                    deadline: standing
                        .map_or(Time::ZERO, |it| it.lingers_until.unwrap_or(it.deadline)),
                    heard: standing.map_or(Time::ZERO, |it| it.heard),
                    conn: conn.filter(|_| standing.is_some_and(|it| it.connected)),
                }
            })
            .collect()
    }

    /// Who is in a room, as everybody may see it; named are no more than the room's limit.
    pub fn roster(&self, room: &str) -> Roster {
        self.directory.roster(&room.into(), self.settings.room_limit)
    }

    /// The user's mode.
    pub fn mode(&self, user: &str) -> Mode {
        self.directory.find(user).map_or(Mode::Auto, |id| self.directory.mode(id).0)
    }

    /// Entries that wait for a connection, counted by users.
    pub fn waiting(&self, conn: ConnId) -> usize {
        self.viewer_of(conn).map_or(0, |it| self.watches.waiting(it))
    }

    /// The user for whom an open connection speaks.
    pub fn user(&self, conn: ConnId) -> Option<Arc<str>> {
        self.name_of(conn)
    }

    /// Whether the connection still speaks for a session.
    pub fn is_open(&self, conn: ConnId) -> bool {
        self.leases.is_connected(conn)
    }
}
