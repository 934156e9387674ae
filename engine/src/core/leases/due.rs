//! When a lease is looked at next, and what is due then.

use greendot_protocol::{Span, Time};

use super::lease::{Lease, SILENT};
use super::{ConnId, Due, Leases};
use crate::core::slab::Id;

impl Leases {
    /// The tick at which something can be due for a lease at the earliest. Rounded up: a session ends at the first sweep at or
    /// after its deadline.
    #[inline]
    pub(super) fn due(&self, lease: Lease<'_>) -> u64 {
        let due = lease.next(&self.periods).since(self.origin).as_millis();
        due.div_ceil(self.periods.sweep.as_millis())
    }

    /// Makes sure that the lease comes up in time. Called whenever something may be due sooner than before.
    pub(crate) fn arm(&mut self, conn: ConnId) {
        let reached = self.wheel.reached();
        let Some(lease) = self.row(conn) else { return };
        let tick = self.due(lease);
        if let Some(armed) = lease.plan.armed() {
            // Both lie within the wheel's reach, so their low bits tell which is sooner.
            let ahead = armed.wrapping_sub(reached as u16) as i16;
            if tick.wrapping_sub(reached) as i64 >= i64::from(ahead) {
                return;
            }
        }
        let at = self.wheel.arm(tick, conn.slot());
        self.plans[conn.slot() as usize].arm(at);
    }

    /// The tick whose time has come at `now`.
    pub(crate) fn tick_at(&self, now: Time) -> u64 {
        now.since(self.origin).as_millis() / self.periods.sweep.as_millis()
    }

    /// When a tick's time comes.
    pub(crate) fn time_of(&self, tick: u64) -> Time {
        self.origin + Span::from_millis(tick.saturating_mul(self.periods.sweep.as_millis()))
    }

    /// Reads the rows that are about to be needed. They lie anywhere in memory: read one behind the other and nothing else done
    /// in between, many of them come in side by side.
    fn look_ahead(&self, most: usize) -> u32 {
        let slots = self.wheel.upcoming(most).iter().map(|&it| it as usize);
        let row = |slot: usize| {
            let (pulse, plan) = (self.pulses.get(slot)?, self.plans.get(slot)?);
            // Of both ends of a row, whichever of its parts lie there.
            Some(
                pulse.low() ^ plan.viewer ^ plan.stamp ^ plan.flags() ^ u32::from(plan.until.low()),
            )
        };
        slots.filter_map(row).fold(0, |it, row| it ^ row)
    }

    /// Looks at up to so many leases and takes those for which something is due. The caller acts on each and then calls
    /// [`Self::arm`]. False if there was none left to look at.
    pub(crate) fn pop(&mut self, now: Time, most: usize, into: &mut Vec<(ConnId, Due)>) -> bool {
        let tick = self.tick_at(now);
        let (periods, origin) = (self.periods, self.origin);
        std::hint::black_box(self.look_ahead(most));
        for looked in 0..most {
            let Some((at, slot)) = self.wheel.pop(tick) else { return looked > 0 };
            let Some(plan) = self.plans.get_mut(slot as usize).filter(|it| it.is_armed(at)) else {
                continue;
            };
            plan.disarm();
            let conn = ConnId(Id { slot, stamp: plan.stamp });
            let lease = Lease::new(origin, self.pulses[slot as usize], plan);
            let (silent, due) = (lease.falls_silent(now, &periods), lease.due(now, &periods));
            if silent {
                self.row_at(slot).set(SILENT, true);
                into.push((conn, Due::Silent));
            }
            match due {
                None if silent => {}
                None => self.arm(conn),
                Some(due) => {
                    if due == Due::Ping {
                        self.row_at(slot).pinged(now.since(origin), &periods);
                    }
                    into.push((conn, due));
                }
            }
        }
        true
    }
}
