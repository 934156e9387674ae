//! Watches: many parts, one wire, few frames, no growth.

use greendot_client::core::{Client, Message, Output, Part, Row};
use greendot_protocol::State::{Away, Busy, Online, Unknown};
use greendot_protocol::limits::WATCHES;
use greendot_protocol::{Entry, Epoch, ErrorCode, ServerFrame, Version};

use crate::rig::Rig;

fn unsubscribe(rig: &mut Rig, part: u32, row: Row) {
    rig.act(|client, now| client.unsubscribe(now, Part(part), row));
}

fn errors(rig: &Rig) -> Vec<(ErrorCode, u32)> {
    rig.outputs(0.0, |it| match it {
        Output::Error { code, about, .. } => Some((*code, *about)),
        _ => None,
    })
}

/// Names in the watch frames, and numbers in the unwatch frames, sent since then.
fn traffic(rig: &Rig, from: f64) -> (Vec<Vec<String>>, Vec<Vec<u32>>) {
    let (mut watched, mut ended) = (Vec::new(), Vec::new());
    for frame in rig.sent(from) {
        match frame {
            Message::Watch { users, .. } => {
                watched.push(users.iter().map(|(_, user)| user.to_string()).collect());
            }
            Message::Unwatch { numbers } => ended.push(numbers),
            _ => {}
        }
    }
    (watched, ended)
}

#[test]
fn two_parts_that_watch_one_user_are_one_watch() {
    let mut rig = Rig::live(&[]);
    rig.run(5.0);
    let ana = rig.subscribe(1, "ana");
    assert_eq!(rig.subscribe(2, "ana"), ana);
    rig.run(5.1);
    rig.snapshot(7, &[("ana", Online, 1)]);
    rig.run(10.0);
    rig.event(7, "ana", Away, 2);
    rig.run(20.0);
    unsubscribe(&mut rig, 1, ana);
    rig.run(30.0);
    rig.event(7, "ana", Online, 3);
    rig.run(40.0);
    assert_eq!(traffic(&rig, 5.0), (vec![vec!["ana".to_string()]], vec![]));
    unsubscribe(&mut rig, 2, ana);
    rig.run(41.0);
    assert_eq!(traffic(&rig, 40.0), (vec![], vec![vec![ana.0 + 1]]));
    assert_eq!((rig.changes(1, 9.0), rig.changes(2, 9.0)), (1, 2));
    assert_eq!((rig.client.rows(), rig.client.listeners()), (0, 0));
}

#[test]
fn the_calls_of_one_tick_are_one_frame() {
    let mut rig = Rig::live(&[]);
    rig.run(1.0);
    for n in 0..200 {
        rig.subscribe(1, &format!("u{n}"));
    }
    rig.run(1.0);
    let (watched, _) = traffic(&rig, 1.0);
    assert_eq!(watched.iter().map(Vec::len).collect::<Vec<_>>(), [200]);
}

#[test]
fn watched_and_unwatched_within_a_tick_sends_nothing() {
    let mut rig = Rig::live(&[]);
    rig.run(1.0);
    let ana = rig.subscribe(1, "ana");
    unsubscribe(&mut rig, 1, ana);
    rig.run(2.0);
    assert_eq!(traffic(&rig, 1.0), (vec![], vec![]));
    assert_eq!(rig.client.rows(), 0);
}

#[test]
fn one_who_is_back_in_sight_within_half_a_second_costs_no_frame() {
    let mut rig = Rig::live(&["ana"]);
    rig.run(1.0);
    let ana = rig.row("ana");
    unsubscribe(&mut rig, 1, ana);
    rig.run(1.4);
    assert_eq!(rig.subscribe(2, "ana"), ana);
    rig.run(9.0);
    assert_eq!(traffic(&rig, 1.0), (vec![], vec![]));
    assert_eq!(rig.changes(2, 1.0), 1, "the part is told what is known already");
    rig.event(7, "ana", Away, 2);
    assert_eq!(rig.changes(2, 1.0), 2);
}

#[test]
fn a_part_that_joins_is_told_once_and_only_of_what_is_known() {
    let mut rig = Rig::live(&["ana"]);
    rig.run(1.0);
    rig.subscribe(2, "ana");
    rig.subscribe(2, "ana");
    rig.subscribe(2, "bo");
    assert_eq!((rig.changes(1, 1.0), rig.changes(2, 1.0)), (0, 1));
}

#[test]
fn a_part_that_stops_is_told_nothing_more() {
    let mut rig = Rig::live(&["ana", "bo"]);
    rig.subscribe(1, "ana");
    rig.subscribe(2, "bo");
    rig.run(1.0);
    for user in ["ana", "bo"] {
        let row = rig.row(user);
        unsubscribe(&mut rig, 1, row);
    }
    assert_eq!(rig.client.listeners(), 1);
    rig.event(7, "ana", Away, 2);
    rig.event(7, "bo", Away, 2);
    assert_eq!((rig.changes(1, 1.0), rig.changes(2, 1.0)), (0, 1));
}

#[test]
fn stopping_what_was_never_begun_does_nothing() {
    let mut rig = Rig::live(&["ana"]);
    let ana = rig.row("ana");
    unsubscribe(&mut rig, 9, ana);
    unsubscribe(&mut rig, 1, Row(55));
    unsubscribe(&mut rig, 1, ana);
    unsubscribe(&mut rig, 1, ana);
    rig.run(1.0);
    assert_eq!(rig.client.rows(), 0);
}

#[test]
fn ten_thousand_rounds_leave_nothing_behind() {
    for pause in [0.0, 0.05, 0.7] {
        let mut rig = Rig::live(&[]);
        let before = (rig.client.timers(), format!("{:?}", rig.client).len());
        let mut at = 1.0;
        for n in 0..10_000 {
            rig.run(at);
            let row = rig.subscribe(n, &format!("user {}", n % 100));
            assert!(row.0 <= 100, "number {} in round {n}, pause {pause}", row.0);
            rig.run(at + pause);
            if pause > 0.0 {
                rig.snapshot(7, &[]);
            }
            unsubscribe(&mut rig, n, row);
            at += 2.0 * pause;
            rig.log.clear();
        }
        rig.run(at + 1.0);
        assert_eq!((rig.client.rows(), rig.client.listeners()), (0, 0));
        assert_eq!(rig.client.timers(), before.0);
        assert!(format!("{:?}", rig.client).len() < before.1 + 30_000);
    }
}

#[test]
fn a_late_event_about_an_earlier_user_of_a_number_shows_nobody_anything() {
    let mut rig = Rig::live(&["ana"]);
    let ana = rig.row("ana");
    unsubscribe(&mut rig, 1, ana);
    rig.run(1.0);
    let bo = rig.subscribe(1, "bo");
    assert_ne!(bo, ana, "nothing says yet that the server has read the unwatch");
    rig.snapshot(7, &[("bo", Online, 1)]);
    let late = Entry { number: ana.0 + 1, state: Busy, version: Version(99), ..Entry::default() };
    rig.frame(&ServerFrame::Events { epoch: Epoch(7), entries: vec![late] });
    assert_eq!(rig.shown("bo"), (Online, 1));
    // The answer to bo's watch came behind the unwatch.
    assert_eq!(rig.subscribe(1, "cy"), ana);
    assert_eq!(rig.shown("cy"), (Unknown, 0));
}

#[test]
fn what_was_asked_before_the_unwatch_frees_no_number() {
    let mut rig = Rig::live(&["ana"]);
    let ana = rig.row("ana");
    rig.subscribe(1, "bo");
    rig.run(0.0);
    unsubscribe(&mut rig, 1, ana);
    rig.run(1.0);
    rig.snapshot(7, &[("bo", Online, 1)]);
    assert_ne!(rig.subscribe(1, "cy"), ana);
}

#[test]
fn one_more_than_the_limit_is_named_and_comes_in_when_there_is_room() {
    let mut rig = Rig::live(&[]);
    for n in 0..=WATCHES {
        rig.subscribe(1, &format!("u{n}"));
    }
    rig.run(0.0);
    assert_eq!(errors(&rig), [(ErrorCode::TooManyWatches, 1_000)]);
    rig.snapshot(7, &[("u5", Online, 1)]);
    assert_eq!((rig.shown("u5").0, rig.shown("u1000").0), (Online, Unknown));
    let first = rig.row("u0");
    rig.run(1.0);
    unsubscribe(&mut rig, 1, first);
    rig.run(2.0);
    let (watched, ended) = traffic(&rig, 1.0);
    assert_eq!((watched, ended), (vec![vec!["u1000".to_string()]], vec![vec![1]]));
    rig.snapshot(7, &[("u1000", Away, 4)]);
    assert_eq!(rig.shown("u1000"), (Away, 4));
}

#[test]
fn a_name_that_no_server_takes_is_an_error_and_disturbs_nobody() {
    let mut rig = Rig::live(&["ana"]);
    let (empty, long) = (rig.subscribe(1, ""), rig.subscribe(1, &"x".repeat(129)));
    rig.run(1.0);
    assert_eq!(errors(&rig), [(ErrorCode::BadUser, empty.0), (ErrorCode::BadUser, long.0)]);
    assert_eq!(traffic(&rig, 0.1), (vec![], vec![]));
    unsubscribe(&mut rig, 1, empty);
    unsubscribe(&mut rig, 1, long);
    assert_eq!(rig.client.rows(), 1);
}

#[test]
fn a_user_whom_the_server_refuses_stays_unknown() {
    let mut rig = Rig::live(&["ana"]);
    let bo = rig.subscribe(1, "bo");
    rig.run(0.0);
    let (code, about) = (ErrorCode::TooManyWatches, bo.0 + 1);
    rig.frame(&ServerFrame::Error { code, about, text: "too many" });
    rig.snapshot(7, &[]);
    assert_eq!(rig.shown("bo").0, Unknown);
    assert_eq!(errors(&rig), [(code, bo.0)]);
}

#[test]
fn what_is_watched_while_the_link_is_down_is_asked_for_with_the_next_hello() {
    let mut rig = Rig::live(&["ana"]);
    rig.run(20.0);
    rig.reset();
    rig.subscribe(1, "bo");
    let ana = rig.row("ana");
    unsubscribe(&mut rig, 1, ana);
    assert_eq!(rig.client.rows(), 1, "nobody has to be told that ana is watched no more");
    rig.act(Client::connect);
    assert_eq!(traffic(&rig, 20.0), (vec![vec!["bo".to_string()]], vec![]));
}

#[test]
fn with_nobody_watched_there_is_nothing_to_forget() {
    let mut rig = Rig::live(&["ana"]);
    let ana = rig.row("ana");
    rig.act(Client::sign_out);
    assert_eq!(rig.client.timers(), 1);
    unsubscribe(&mut rig, 1, ana);
    assert_eq!((rig.client.timers(), rig.client.rows()), (0, 0));
}
