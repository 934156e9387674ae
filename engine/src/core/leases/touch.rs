//! Signs of life: what each does to a lease.

use greendot_protocol::{Span, Time};

use super::lease::{LINGERS, MUTE, Pulse, SILENT};
use super::{ConnId, Leases};

/// What a sign of life met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touch {
    /// The connection speaks for no session any more: it has no effect.
    Nobody,
    /// The lease is renewed, and that is all.
    Alive,
    /// The lease is renewed.
    Noted {
        /// How long the session had been silent, if that was reported.
        silence: Option<Span>,
        /// Whether it lingers.
        lingers: bool,
    },
}

impl Leases {
    /// A pong has arrived on an open connection: it says nothing to one that lingers.
    pub(crate) fn pong(&mut self, now: Time, conn: ConnId) -> Touch {
        match self.plan(conn) {
            Some(plan) if !plan.is(LINGERS) => {
                self.says_nothing_of_input(conn);
                self.note(now, conn, 0)
            }
            _ => Touch::Nobody,
        }
    }

    /// A frame has arrived on an open connection.
    #[inline]
    pub(crate) fn touch(&mut self, now: Time, conn: ConnId) -> Touch {
        if self.renew(now, conn) { Touch::Alive } else { self.note(now, conn, MUTE) }
    }

    /// What nearly every sign of life comes to: false if there is more to it, and nothing was done.
    #[inline]
    pub(crate) fn renew(&mut self, now: Time, conn: ConnId) -> bool {
        let slot = conn.0.slot as usize;
        let Some(pulse) = self.pulses.get_mut(slot).filter(|it| it.is_plain(conn.0.stamp)) else {
            return false;
        };
        // Time does not run back: no need to look whether it is before the origin.
        let at = now.as_millis().wrapping_sub(self.origin.as_millis());
        *pulse = Pulse::plain(Span::from_millis(at), conn.0.stamp);
        true
    }

    /// A sign of life, after which some flags no longer hold.
    #[cold]
    fn note(&mut self, now: Time, conn: ConnId, over: u32) -> Touch {
        let Some(heard) = self.heard(conn) else { return Touch::Nobody };
        let at = now.since(self.origin);
        let Some(mut row) = self.open(conn) else { return Touch::Nobody };
        row.set(over, false);
        let silence = row.plan.is(SILENT).then(|| now.since(heard));
        row.hear(at);
        if !row.plan.is(SILENT) && !row.plan.is(LINGERS) {
            return Touch::Alive;
        }
        row.set(SILENT, false);
        let lingers = row.plan.is(LINGERS);
        if silence.is_some() {
            // Its next silence may be due before anything that it was armed for.
            self.arm(conn);
        }
        Touch::Noted { silence, lingers }
    }
}
