//! Users with very many watchers (rule 15).

use std::collections::BTreeMap;

use greendot_engine::core::{ConnId, Settings, Start};
use greendot_engine::protocol::{ClientFrame, State};

use crate::rig::{Heard, Rig, settings};

const MANY: usize = 200_000;

/// A star and so many who watch it, each told of all there was so far.
fn crowd(rig: &mut Rig, many: usize) -> (ConnId, Vec<ConnId>) {
    let star = rig.connect("star", "1");
    let fans = fans(rig, many);
    rig.hear(star);
    (star, fans)
}

fn fans(rig: &mut Rig, many: usize) -> Vec<ConnId> {
    let fans: Vec<ConnId> = (0..many)
        .map(|fan| {
            let conn = rig.connect(&format!("f{fan}"), "1");
            rig.watch(conn, 1, &[(1, "star")]);
            conn
        })
        .collect();
    for &fan in &fans {
        rig.hear(fan);
    }
    fans
}

#[test]
fn one_change_to_two_hundred_thousand_is_spread_over_the_interval() {
    let mut rig = Rig::with(settings(), Start::Fresh);
    let (star, fans) = crowd(&mut rig, MANY);
    rig.frame(star, &ClientFrame::Idle);
    assert!(rig.ready.is_empty(), "nobody is told at once");
    let mut told: BTreeMap<u64, usize> = BTreeMap::new();
    let mut at_tenths: Vec<usize> = Vec::new();
    for tenth in 1..=115 {
        rig.until(f64::from(tenth) / 10.0);
        let ready = std::mem::take(&mut rig.ready);
        at_tenths.push(ready.len());
        for conn in ready {
            rig.node.transmit(rig.now, conn, &mut |frame| {
                *told.entry(conn_key(conn)).or_default() += 1;
                assert!(matches!(
                    frame,
                    greendot_engine::protocol::ServerFrame::Events { entries, .. }
                        if entries.len() == 1 && entries[0].state == State::Away
                ));
            });
        }
    }
    assert_eq!(told.len(), fans.len(), "everybody is told");
    assert!(told.values().all(|it| *it == 1), "and once");
    // The held second, then a ninetieth of them each tenth of a second.
    let busiest = at_tenths.iter().max().copied().unwrap_or_default();
    assert!(busiest <= MANY / 90 + 1, "{busiest} in one tenth of a second");
    let last = 1 + at_tenths.iter().rposition(|it| *it > 0).unwrap_or_default();
    assert!(last <= 100, "the last is told within the interval, and not after {last} tenths");
}

fn conn_key(conn: ConnId) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    conn.hash(&mut hasher);
    hasher.finish()
}

#[test]
fn what_reverses_within_the_hold_costs_nobody_a_byte_and_others_are_told_at_once() {
    let limit = Settings { crowd_limit: 10, ..settings() };
    let mut rig = Rig::with(limit, Start::Fresh);
    let (star, fans) = crowd(&mut rig, 11);
    let few = rig.connect("few", "1");
    rig.watch(fans[0], 9, &[(2, "few")]);
    rig.hear(fans[0]);
    rig.frame(star, &ClientFrame::Idle);
    rig.frame(few, &ClientFrame::Idle);
    rig.until(0.5);
    rig.frame(star, &ClientFrame::Active);
    assert_eq!(rig.hear(fans[0]), [Heard::Events(vec![(2, State::Away, 2)])]);
    rig.until(9.0);
    for &fan in &fans {
        assert_eq!(rig.hear(fan), []);
    }
}

#[test]
fn few_who_are_a_crowd_hear_no_more_often_either() {
    let limit = Settings { crowd_limit: 1, ..settings() };
    let mut rig = Rig::with(limit, Start::Fresh);
    let (star, fans) = crowd(&mut rig, 2);
    rig.frame(star, &ClientFrame::Idle);
    let mut told: BTreeMap<ConnId, Vec<u64>> = BTreeMap::new();
    for tenth in 1..=250 {
        rig.until(f64::from(tenth) / 10.0);
        if tenth == 75 {
            // All have been told, and the interval is not over.
            rig.frame(star, &ClientFrame::Active);
        }
        for &fan in &fans {
            if rig.hear(fan).iter().any(|it| matches!(it, Heard::Events(_))) {
                told.entry(fan).or_default().push(rig.now.as_millis());
            }
        }
    }
    assert_eq!(told.len(), 2);
    for times in told.values() {
        assert!(times.len() == 2 && times[1] - times[0] >= 9_900, "told at {times:?}");
    }
}

#[test]
fn nobody_hears_of_one_user_more_than_once_an_interval() {
    let limit = Settings { crowd_limit: 50, ..settings() };
    let mut rig = Rig::with(limit, Start::Fresh);
    let (star, mut fans) = crowd(&mut rig, 200);
    let mut last: BTreeMap<ConnId, u64> = BTreeMap::new();
    for tenth in 1..=1_200 {
        rig.until(f64::from(tenth) / 10.0);
        // She flips all the time; fans leave in between, and once many do.
        if tenth % 7 == 0 {
            let idle = tenth % 2 == 0;
            rig.frame(star, if idle { &ClientFrame::Idle } else { &ClientFrame::Active });
        }
        let leave = if tenth == 605 { 30 } else { usize::from(tenth % 30 == 10) };
        for _ in 0..leave {
            let gone = fans.swap_remove(tenth as usize % fans.len());
            last.remove(&gone);
            rig.frame(gone, &ClientFrame::Bye);
        }
        for &fan in &fans {
            if tenth % 90 == 0 {
                rig.beat(fan);
            }
            let heard = rig.hear(fan);
            if heard.iter().any(|it| matches!(it, Heard::Events(_))) {
                let now = rig.now.as_millis();
                if let Some(before) = last.insert(fan, now) {
                    assert!(now - before >= 10_000, "told at {before} and {now}");
                }
            }
        }
    }
    assert!(last.len() > 80, "{} were told", last.len());
}

#[test]
fn nobody_hears_of_a_change_later_than_an_interval_after_it() {
    let limit = Settings { crowd_limit: 50, ..settings() };
    // Within the hold of the first change, while its round goes on, when it is just over, and after the interval.
    for later in [3, 15, 40, 89, 95, 99, 104, 150, 270] {
        let mut rig = Rig::with(limit, Start::Fresh);
        let (star, fans) = crowd(&mut rig, 100);
        let mut shown: BTreeMap<ConnId, State> = BTreeMap::new();
        for tenth in 1..=later + 130 {
            rig.until(f64::from(tenth) / 10.0);
            match tenth {
                20 => rig.frame(star, &ClientFrame::Idle),
                _ if tenth == 20 + later => rig.frame(star, &ClientFrame::Active),
                _ => {}
            }
            for &fan in &fans {
                for heard in rig.hear(fan) {
                    let Heard::Events(rows) = heard else { panic!("{heard:?}") };
                    shown.insert(fan, rows[0].1);
                }
                if tenth % 90 == 0 {
                    rig.beat(fan);
                    assert!(matches!(rig.hear(fan)[..], [.., Heard::BeatAnswer(_)]));
                }
            }
            let of = |it: &ConnId| shown.get(it).copied().unwrap_or(State::Online);
            if tenth == 120 && later > 100 {
                assert!(fans.iter().all(|it| of(it) == State::Away), "{later}");
            }
            if tenth == 20 + later + 100 {
                assert!(fans.iter().all(|it| of(it) == State::Online), "{later}");
            }
        }
    }
}

#[test]
fn from_afar_one_is_there_for_an_hour_after_it_went() {
    let afar = Settings { crowd_limit: 3, afar_limit: Some(5), ..settings() };
    let mut rig = Rig::with(afar, Start::Fresh);
    let (star, fans) = crowd(&mut rig, 6);
    let live_on = |rig: &mut Rig, to: u64| {
        let mut heard = Vec::new();
        while rig.now.as_millis() < to * 1000 {
            let at = rig.now.as_millis() as f64 / 1000.0;
            rig.until(at + 5.0);
            for &fan in &fans {
                rig.beat(fan);
                let events =
                    rig.hear(fan).into_iter().filter(|it| !matches!(it, Heard::BeatAnswer(_)));
                heard.extend(events);
            }
        }
        heard
    };
    rig.frame(star, &ClientFrame::Mode(greendot_engine::protocol::Mode::Dnd));
    assert_eq!(live_on(&mut rig, 20), [], "what she does there is not told");
    rig.frame(star, &ClientFrame::Bye);
    assert_eq!(live_on(&mut rig, 3_610), []);
    let gone = live_on(&mut rig, 3_640);
    assert_eq!(gone.len(), fans.len());
    assert!(gone.iter().all(|it| matches!(it, Heard::Events(rows) if rows[0].1 == State::Offline)));
}
