//! Input, and how long ago it was: when a session becomes idle.

use greendot_protocol::{Span, Time};

use super::lease::{LINGERS, OWN_IDLE_AFTER, Plan, UNTOLD};
use super::{ConnId, Idle, Leases};
use crate::core::moment::Moment;

impl Leases {
    /// Whether the session of this connect is idle, and who said so.
    pub(crate) fn idle(&self, conn: ConnId) -> Option<Idle> {
        self.plan(conn).map(Plan::idle)
    }

    /// After how long without input the session counts as idle; zero: never.
    pub(crate) fn idle_after(&self, conn: ConnId) -> Span {
        match self.plan(conn) {
            Some(plan) if plan.is(OWN_IDLE_AFTER) => {
                self.idle_after.get(&conn.slot()).copied().unwrap_or(self.periods.idle_after)
            }
            _ => self.periods.idle_after,
        }
    }

    /// The person touched the device at `at`. Whether that is later than was known.
    pub(crate) fn input(&mut self, conn: ConnId, at: Time) -> bool {
        let after = self.idle_after(conn);
        if after == Span::ZERO || self.plan(conn).is_none_or(|it| it.is(LINGERS)) {
            return false;
        }
        let idle_at = at + after;
        let plan = &mut self.plans[conn.slot() as usize];
        if plan.until == Moment::NEVER {
            plan.until = Moment::at(idle_at);
            // It may be sooner than what the wheel knows; later it only ever moves on.
            self.arm(conn);
        } else if plan.until.time() < idle_at {
            plan.until = Moment::at(idle_at);
        } else {
            return false;
        }
        true
    }

    /// It has been heard, and not by a beat: what its next one tells of input may be from before this.
    pub(crate) fn says_nothing_of_input(&mut self, conn: ConnId) {
        if let Some(plan) = self.open_plan(conn) {
            plan.wait(UNTOLD);
        }
    }

    /// The session has become idle by the age of its last input. What it tells later of input before its last beat is no
    /// news: it told then what there was. The clock of a device that sleeps stands still, and makes old input look younger.
    pub(crate) fn find_idle(&mut self, conn: ConnId) {
        let Some(lease) = self.row(conn) else { return };
        if !lease.plan.is(UNTOLD) {
            let heard = lease.heard;
            self.input(conn, heard);
        }
    }

    pub(crate) fn set_idle(&mut self, conn: ConnId, idle: Idle) {
        if let Some(mut row) = self.row_mut(conn) {
            row.set_idle(idle);
        }
        self.arm(conn);
    }

    /// Whether the person has not touched the device for long enough, and nobody has noticed yet.
    pub(crate) fn has_idled(&self, now: Time, conn: ConnId) -> bool {
        self.row(conn).is_some_and(|it| it.has_idled(now, &self.periods))
    }
}
