//! Silence that is to be reported, once until the session is heard again.

use greendot_protocol::{Span, Time};

use super::lease::{LINGERS, SILENT};
use super::{ConnId, Leases};

impl Leases {
    /// From now on silence of this length is reported, once until the session is heard again.
    pub(crate) fn report_silence_after(&mut self, span: Span) {
        self.periods.silent_after = Some(span);
    }

    /// Those whose silence is to be reported by now, and has not been. Every lease is looked at.
    pub(crate) fn silent(&self, now: Time) -> Vec<ConnId> {
        let is_silent = |conn: &ConnId| {
            let row = self.row(*conn).filter(|it| !it.plan.is(LINGERS));
            row.is_some_and(|it| it.silent_at(&self.periods) <= now)
        };
        self.live().filter(is_silent).collect()
    }

    /// Its silence has been reported.
    pub(crate) fn reported_silent(&mut self, conn: ConnId) {
        if let Some(mut row) = self.row_mut(conn) {
            row.set(SILENT, true);
        }
    }

    /// What was reported is forgotten, and when each was heard has been told: silence that begins
    /// later will be reported.
    pub(crate) fn report_anew(&mut self, now: Time, conn: ConnId) {
        let after = self.periods.silent_after;
        let Some(heard) = self.heard(conn) else { return };
        if let Some(mut row) = self.row_mut(conn) {
            let silence = now.since(heard);
            row.set(SILENT, after.is_some_and(|it| silence > it));
        }
        self.arm(conn);
    }
}
