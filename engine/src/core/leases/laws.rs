//! Whatever happens in whichever order: no lease ends early, none outlives the first sweep at or after its deadline, and
//! what is over is reached by no handle.

use proptest::prelude::{Just, Strategy};
use proptest::{collection, option, prop_assert, prop_assert_eq, proptest};

use super::*;

const SLOTS: usize = 4;
const TTL: Span = Span::from_secs(30);
const SWEEP: u64 = 1_000;
const PING_AFTER: Span = Span::from_secs(12);
const SILENT_AFTER: Span = Span::from_secs(11);

fn periods(silent_after: Option<Span>) -> Periods {
    Periods {
        ttl: TTL,
        ping_after: PING_AFTER,
        sweep: Span::from_millis(SWEEP),
        idle_after: Span::from_secs(45),
        silent_after,
    }
}

/// What happens next, to a slot.
#[derive(Clone, Debug)]
enum Deed {
    Connect {
        idle_after: Option<u64>,
    },
    Touch,
    /// The answer to a ping, if there was one: a page that is frozen can say no more.
    Pong,
    /// Input so many ms ago.
    Input(u64),
    /// The connection ends, or its page goes away: it lingers for so many ms.
    Linger {
        lasts: u64,
        drop: bool,
    },
    Remove,
    /// Everything that may be said of a connect, about one that is over.
    Ghost,
    /// So many ms pass, and all that is due is taken, so many at a time.
    Pass {
        millis: u64,
        most: usize,
    },
}

fn deeds() -> impl Strategy<Value = (usize, Deed)> {
    let millis = proptest::prop_oneof![
        8 => 0..2_500u64,
        3 => 2_500..40_000u64,
        // Longer than the wheel reaches.
        1 => 40_000..4_000_000u64,
    ];
    let deed = proptest::prop_oneof![
        3 => option::of(0..90_000u64).prop_map(|idle_after| Deed::Connect { idle_after }),
        4 => Just(Deed::Touch),
        4 => Just(Deed::Pong),
        2 => (0..60_000u64).prop_map(Deed::Input),
        2 => (0..6_000u64, proptest::bool::ANY)
            .prop_map(|(lasts, drop)| Deed::Linger { lasts, drop }),
        1 => Just(Deed::Remove),
        1 => Just(Deed::Ghost),
        8 => (millis, 1..5usize).prop_map(|(millis, most)| Deed::Pass { millis, most }),
    ];
    (0..SLOTS, deed)
}

/// What must be true of a session.
#[derive(Clone, Copy)]
struct Truth {
    conn: ConnId,
    heard: Time,
    /// The last frame; and whether it was pinged since.
    spoke: Time,
    pinged: bool,
    /// Whether its silence has been reported since it was last heard.
    reported: bool,
    lingers_until: Option<Time>,
    connected: bool,
    /// Idle from then on, by the last input told.
    idle_at: Option<Time>,
}

impl Truth {
    fn ends_at(&self) -> Time {
        self.lingers_until.unwrap_or(self.heard + TTL)
    }

    /// Found idle at the first sweep from then on: what a frame told may be old by a beat, so it is not gone by while
    /// frames come.
    fn found_idle_at(&self) -> Option<Time> {
        self.idle_at.map(|it| it.max(self.spoke + PING_AFTER))
    }
}

/// What a connect that is over says has no effect.
fn haunt(leases: &mut Leases, now: Time, conn: ConnId) {
    assert_eq!(leases.touch(now, conn), Touch::Nobody);
    assert_eq!(leases.pong(now, conn), Touch::Nobody);
    leases.input(conn, now);
    leases.linger(conn, now);
    assert!(!leases.revive(conn));
    leases.set_idle(conn, Idle::Told);
    leases.disconnect(conn);
    leases.remove(conn);
    leases.arm(conn);
    assert!(leases.get(conn).is_none());
}

proptest! {
    #[test]
    fn a_lease_ends_at_the_first_sweep_from_its_deadline_on(
        script in collection::vec(deeds(), 1..120), reports in proptest::bool::ANY,
    ) {
        let mut now = Time::from_millis(5_000_000);
        let mut leases = Leases::new(now, periods(reports.then_some(SILENT_AFTER)));
        let mut truths: [Option<Truth>; SLOTS] = [None; SLOTS];
        let (mut ghosts, mut swept) = (Vec::new(), 0);
        for (slot, deed) in script {
            let conn = truths[slot].map(|it| it.conn);
            match (deed, truths[slot].as_mut()) {
                (Deed::Connect { idle_after }, _) => {
                    ghosts.extend(conn);
                    let idle_after = idle_after.map(Span::from_millis);
                    let device = Device { input: Some(now), idle_after, idle: Idle::No };
                    let after = idle_after.unwrap_or(Span::from_secs(45));
                    truths[slot] = Some(Truth {
                        conn: leases.connect(now, slot as u32, device, Waiting::NONE),
                        heard: now,
                        spoke: now,
                        pinged: false,
                        reported: false,
                        lingers_until: None,
                        connected: true,
                        idle_at: (after != Span::ZERO).then(|| now + after),
                    });
                }
                (Deed::Touch, Some(truth)) => {
                    let touch = leases.touch(now, truth.conn);
                    prop_assert_eq!(touch != Touch::Nobody, truth.connected);
                    if truth.connected {
                        (truth.heard, truth.spoke, truth.pinged) = (now, now, false);
                        truth.reported = false;
                        if truth.lingers_until.take().is_some() {
                            prop_assert!(leases.revive(truth.conn));
                            truth.idle_at = None;
                        }
                    }
                }
                (Deed::Pong, Some(truth)) => {
                    if truth.pinged && leases.pong(now, truth.conn) != Touch::Nobody {
                        (truth.heard, truth.reported) = (now, false);
                    }
                }
                (Deed::Input(ago), Some(truth)) => {
                    let at = now - Span::from_millis(ago);
                    let after = leases.idle_after(truth.conn);
                    leases.input(truth.conn, at);
                    let found = leases.get(truth.conn).is_some_and(|it| it.idle == Idle::Found);
                    if truth.lingers_until.is_none() && after != Span::ZERO && !found {
                        truth.idle_at = truth.idle_at.max(Some(at + after));
                    }
                }
                (Deed::Linger { lasts, drop }, Some(truth)) => {
                    let until = (now + Span::from_millis(lasts)).min(truth.ends_at());
                    leases.linger(truth.conn, until);
                    truth.lingers_until.get_or_insert(until);
                    truth.idle_at = None;
                    if drop {
                        leases.disconnect(truth.conn);
                        truth.connected = false;
                    }
                }
                (Deed::Remove, Some(truth)) => {
                    leases.remove(truth.conn);
                    ghosts.push(truth.conn);
                    truths[slot] = None;
                }
                (Deed::Ghost, _) => ghosts.iter().for_each(|it| haunt(&mut leases, now, *it)),
                (Deed::Pass { millis, most }, _) => {
                    now = now + Span::from_millis(millis);
                    let tick = leases.tick_at(now);
                    let sweep = leases.time_of(tick);
                    loop {
                        let mut due = Vec::new();
                        if !leases.pop(now, most, &mut due) {
                            break;
                        }
                        for (conn, due) in due {
                            let slot = conn.slot() as usize;
                            let Some(truth) = truths[slot].as_mut().filter(|it| it.conn == conn) else {
                                return Err(proptest::test_runner::TestCaseError::fail("a ghost"));
                            };
                            match due {
                                Due::Expired | Due::Lingered => {
                                    prop_assert!(truth.ends_at() <= now, "ended early");
                                    leases.remove(conn);
                                    ghosts.push(conn);
                                    truths[slot] = None;
                                }
                                Due::Idle => {
                                    prop_assert!(truth.found_idle_at().is_some_and(|it| it <= now));
                                    leases.set_idle(conn, Idle::Found);
                                }
                                Due::Ping => truth.pinged = true,
                                Due::Silent => truth.reported = true,
                            }
                            leases.arm(conn);
                        }
                    }
                    if tick == swept {
                        continue;
                    }
                    swept = tick;
                    for truth in truths.iter().flatten() {
                        prop_assert!(truth.ends_at() > sweep, "it outlived its sweep");
                        let idle = leases.get(truth.conn).map(|it| it.idle);
                        let idled = truth.found_idle_at().is_some_and(|it| it <= sweep);
                        prop_assert!(idle == Some(Idle::Found) || !idled, "idle, and not found");
                        let silent = truth.lingers_until.is_none()
                            && truth.heard + SILENT_AFTER <= sweep;
                        prop_assert!(truth.reported || !(reports && silent), "silent, and not told");
                    }
                }
                (_, None) => {}
            }
            let live = truths.iter().flatten();
            prop_assert_eq!(leases.len(), live.clone().count());
            prop_assert_eq!(leases.connected(), live.clone().filter(|it| it.connected).count());
            for truth in live {
                let standing = leases.get(truth.conn);
                prop_assert_eq!(standing.map(|it| it.heard), Some(truth.heard));
                prop_assert_eq!(standing.and_then(|it| it.lingers_until), truth.lingers_until);
            }
        }
    }
}
