//! What waits for a connection beside snapshots and events: flags in its lease.

use super::lease::{CONNECTED, NOBODY, Plan, UNTOLD, WAITING};
use super::{ConnId, Leases};

/// What can wait for a connection. Each is a flag: whatever happens, no queue grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting(u32);

impl Waiting {
    /// The welcome.
    pub(crate) const WELCOME: Self = Self(WAITING);
    /// The welcome has been said, or waits.
    pub(crate) const WELCOMED: Self = Self(WAITING << 1);
    /// Whether the node's word may be old has changed.
    pub(crate) const STALE: Self = Self(WAITING << 2);
    /// The user's mode.
    pub(crate) const MODE: Self = Self(WAITING << 3);
    /// The answer to the latest beat: it proves what those to earlier ones would.
    pub(crate) const BEAT: Self = Self(WAITING << 4);
    /// Errors; they are kept beside the table.
    pub(crate) const ERRORS: Self = Self(WAITING << 5);
    /// The driver has been told that something waits.
    pub(crate) const TOLD: Self = Self(WAITING << 6);

    /// The user's own sessions have changed, and it wants to know.
    pub(crate) const SESSIONS: Self = Self(WAITING << 7);

    /// A fresh token was taken, and it is to be said how long it lasts.
    pub(crate) const TOKEN: Self = Self(WAITING << 8);

    const ALL: u32 = (WAITING << 9) - WAITING;

    /// Nothing.
    pub(crate) const NONE: Self = Self(0);

    /// What is said first, with the driver told of it.
    pub(crate) const FIRST: Self = Self(Self::WELCOME.0 | Self::WELCOMED.0 | Self::TOLD.0);

    pub(super) fn of(plan: &Plan) -> Self {
        Self(plan.flags() & Self::ALL)
    }

    pub(super) fn bits(self) -> u32 {
        self.0
    }

    pub(crate) fn has(self, what: Self) -> bool {
        self.0 & what.0 != 0
    }
}

impl Leases {
    /// Marks that this waits for an open connection.
    pub(crate) fn wait(&mut self, conn: ConnId, what: Waiting) {
        if let Some(plan) = self.open_plan(conn) {
            plan.wait(what.0);
        }
    }

    /// Marks that the answer to the beat of this number waits.
    pub(crate) fn answer(&mut self, conn: ConnId, number: u8) {
        if let Some(plan) = self.open_plan(conn) {
            plan.set_beat(number);
            plan.take(UNTOLD);
            plan.wait(Waiting::BEAT.0);
        }
    }

    /// Marks that the driver is told; true if it has not been.
    pub(crate) fn tell(&mut self, conn: ConnId) -> bool {
        let Some(plan) = self.open_plan(conn) else { return false };
        let first = !plan.is(Waiting::TOLD.0);
        plan.wait(Waiting::TOLD.0);
        first
    }

    /// What waits for an open connection.
    pub(crate) fn waiting(&self, conn: ConnId) -> Option<Waiting> {
        self.plan(conn).filter(|it| it.is(CONNECTED)).map(Waiting::of)
    }

    /// Takes what waits for an open connection, and the number of the last beat. Until the connection is welcomed all of it
    /// waits on, but for the word to the driver.
    pub(crate) fn take_waiting(&mut self, conn: ConnId) -> Option<(Waiting, u8)> {
        let plan = self.open_plan(conn)?;
        let waiting = Waiting::of(plan);
        let told = if waiting.has(Waiting::WELCOMED) {
            Waiting::ALL & !Waiting::WELCOMED.0
        } else {
            Waiting::TOLD.0
        };
        plan.take(told);
        Some((waiting, plan.beat()))
    }

    pub(super) fn open_plan(&mut self, conn: ConnId) -> Option<&mut Plan> {
        self.plan_mut(conn).filter(|it| it.is(CONNECTED))
    }

    /// The slot of the connection's viewer among the watches, if it watches.
    pub(crate) fn viewer(&self, conn: ConnId) -> Option<u32> {
        self.plan(conn).map(|it| it.viewer).filter(|&it| it != NOBODY)
    }

    pub(crate) fn set_viewer(&mut self, conn: ConnId, viewer: u32) {
        if let Some(plan) = self.plan_mut(conn) {
            plan.viewer = viewer;
        }
    }
}
