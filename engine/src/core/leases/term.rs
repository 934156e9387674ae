//! The term of a lease: it begins with a connect, may linger at its end, and is over.

use greendot_protocol::{Span, Time};

use super::lease::{
    CONNECTED, LINGERS, LIVE, Lease, NOBODY, OWN_IDLE_AFTER, Plan, Pulse, READING, begin,
};
use super::{ConnId, Device, Leases, Waiting};
use crate::core::moment::Moment;
use crate::core::slab::Id;

impl Leases {
    /// A session connects, for the first time or anew: then nothing before it counts any more. This waits for it at once.
    pub(crate) fn connect(
        &mut self,
        now: Time,
        slot: u32,
        device: Device,
        waiting: Waiting,
    ) -> ConnId {
        while self.pulses.len() < slot as usize {
            self.put(self.pulses.len(), Pulse::VACANT, Plan::vacant(self.newest));
        }
        self.vacate(slot);
        let before = self.plans.get(slot as usize).map_or(self.newest, |it| it.stamp);
        let own = if device.idle_after.is_some() { OWN_IDLE_AFTER } else { 0 };
        let flags = device.idle.flag() | waiting.bits() | own;
        let (pulse, mut plan) = begin(now.since(self.origin), before, flags);
        let after = device.idle_after.unwrap_or(self.periods.idle_after);
        if let Some(input) = device.input.filter(|_| after != Span::ZERO) {
            plan.until = Moment::at(input + after);
        }
        if let Some(span) = device.idle_after {
            self.idle_after.insert(slot, span);
        }
        let tick = self.due(Lease::new(self.origin, pulse, &plan));
        plan.arm(self.wheel.arm(tick, slot));
        self.newest = self.newest.max(plan.stamp);
        self.live += 1;
        self.connected += 1;
        let conn = ConnId(Id { slot, stamp: plan.stamp });
        self.put(slot as usize, pulse, plan);
        conn
    }

    /// Puts a lease where it belongs: into a slot there is, or into the next one. Put into its caller: a plan that goes by
    /// memory is written in pieces and read in words, which waits for everything stored before.
    #[inline(always)]
    fn put(&mut self, slot: usize, pulse: Pulse, plan: Plan) {
        if slot < self.pulses.len() {
            self.pulses[slot] = pulse;
            self.plans[slot] = plan;
            return;
        }
        if self.pulses.len() == self.pulses.capacity() {
            // By an eighth: by doubling, half of it would be empty.
            self.pulses.reserve_exact((self.pulses.len() / 8).max(64));
        }
        self.pulses.push(pulse);
        self.plans.push(plan);
    }

    /// The session has ended. The connection is none of its own any more.
    pub(crate) fn remove(&mut self, conn: ConnId) {
        if self.row(conn).is_none() {
            return;
        }
        self.vacate(conn.slot());
        if self.live == 0 {
            // When everybody has gone the room goes back.
            self.pulses.clear();
            self.plans.clear();
        }
    }

    /// Gives some of the room back that nobody needs any more.
    pub(crate) fn give_back(&mut self) {
        self.plans.give_back();
        let (len, room) = (self.pulses.len(), self.pulses.capacity());
        if room - len > len / 8 + AT_A_TIME {
            self.pulses.shrink_to(room - AT_A_TIME);
        } else if len == 0 {
            self.pulses = Vec::new();
        }
    }

    fn vacate(&mut self, slot: u32) {
        let flags = self.plans.get(slot as usize).map_or(0, Plan::flags);
        if flags & LIVE == 0 {
            return;
        }
        self.row_at(slot).vacate();
        self.live -= 1;
        self.connected -= usize::from(flags & CONNECTED != 0);
        if flags & OWN_IDLE_AFTER != 0 {
            self.idle_after.remove(&slot);
        }
        if flags & READING != 0 {
            self.forget_reading(slot);
        }
    }

    /// The connection has ended, or speaks for its session no more; the session is still there. What waited for the
    /// connection, and the slot of its viewer among the watches, if it was open until now.
    pub(crate) fn disconnect(&mut self, conn: ConnId) -> Option<(Waiting, Option<u32>)> {
        let mut row = self.open(conn)?;
        let waiting = Waiting::of(row.plan);
        let viewer = std::mem::replace(&mut row.plan.viewer, NOBODY);
        let was_read = row.plan.is(READING);
        row.set(CONNECTED | READING, false);
        self.connected -= 1;
        if was_read {
            self.forget_reading(conn.slot());
        }
        Some((waiting, (viewer != NOBODY).then_some(viewer)))
    }

    /// The session lingers until then, unless it lingers already.
    pub(crate) fn linger(&mut self, conn: ConnId, until: Time) {
        let Some(mut row) = self.row_mut(conn) else { return };
        if !row.plan.is(LINGERS) {
            row.set(LINGERS, true);
            row.plan.until = Moment::at(until);
        }
        self.arm(conn);
    }

    /// A lingering session lives on; true if it lingered. Its last input has to be told anew.
    pub(crate) fn revive(&mut self, conn: ConnId) -> bool {
        let Some(mut row) = self.row_mut(conn).filter(|it| it.plan.is(LINGERS)) else {
            return false;
        };
        row.set(LINGERS, false);
        row.plan.until = Moment::NEVER;
        self.arm(conn);
        true
    }
}

/// Pulses whose room is given back at a time: 1 MB.
const AT_A_TIME: usize = 1 << 17;
