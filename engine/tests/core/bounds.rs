//! What a client can make a node hold or send.

use greendot_engine::core::Ending;
use greendot_engine::protocol::limits::{NOTE_BYTES, SERVER_FRAME_BYTES, WATCHES};
use greendot_engine::protocol::{ClientFrame, CloseCode, ErrorCode, State};

use crate::rig::{Heard, Rig};

const TOO_FAST: Ending = Ending::Code(CloseCode::TooFast);

#[test]
fn one_watch_more_than_the_limit_is_an_error_and_a_freed_number_makes_room() {
    let mut rig = Rig::new();
    let ana = rig.connect("ana", "1");
    rig.hear(ana);
    let names: Vec<_> = (0..WATCHES as u32).map(|it| (it, format!("u{it}"))).collect();
    let users: Vec<_> = names.iter().map(|(number, name)| (*number, &**name)).collect();
    rig.watch(ana, 1, &users);
    assert_eq!(rig.hear(ana), [Heard::Snapshot(1, vec![])]);
    rig.watch(ana, 2, &[(5000, "one more")]);
    let error = Heard::Error(ErrorCode::TooManyWatches, 5000);
    assert_eq!(rig.hear(ana), [error, Heard::Snapshot(2, vec![])]);
    // A number in use may move, and one that is free again may be used.
    rig.watch(ana, 3, &[(5, "another")]);
    assert_eq!(rig.hear(ana), [Heard::Snapshot(3, vec![])]);
    // Nor is a user that is watched already one more under another number.
    rig.watch(ana, 3, &[(7000, "another")]);
    assert_eq!(rig.hear(ana), [Heard::Snapshot(3, vec![])]);
    rig.frame(ana, &ClientFrame::Unwatch { numbers: vec![6] });
    rig.watch(ana, 4, &[(5000, "one more")]);
    assert_eq!(rig.hear(ana), [Heard::Snapshot(4, vec![])]);
    assert_eq!(rig.node.counts().watches, WATCHES);
}

#[test]
fn the_largest_snapshot_and_the_largest_events_fit_a_frame() {
    let mut rig = Rig::new();
    let ana = rig.connect("ana", "1");
    let names: Vec<_> = (0..WATCHES as u32).map(|it| (u32::MAX - it, format!("u{it}"))).collect();
    let users: Vec<_> = names.iter().map(|(number, name)| (*number, &**name)).collect();
    for (_, name) in &users {
        rig.connect(name, "1");
        rig.node.set_note(rig.now, name, &"n".repeat(NOTE_BYTES)).unwrap();
    }
    rig.hear(ana);
    rig.watch(ana, u32::MAX, &users);
    let snapshot = rig.hear_bytes(ana);
    assert_eq!(snapshot.len(), 1);
    for (_, name) in &users {
        rig.node.set_note(rig.now, name, &"m".repeat(NOTE_BYTES)).unwrap();
    }
    rig.drain();
    let events = rig.hear_bytes(ana);
    assert_eq!(events.len(), 1);
    for size in [snapshot[0], events[0]] {
        assert!(size > WATCHES * NOTE_BYTES && size <= SERVER_FRAME_BYTES, "{size}");
    }
}

#[test]
fn a_client_that_causes_errors_and_takes_none_is_closed_and_leaves_nothing_behind() {
    let mut rig = Rig::new();
    let eve = rig.connect("eve", "1");
    let mut users = vec![(0, ""); 70];
    users.extend((1..200).map(|number| (number, "bo")));
    rig.watch(eve, 1, &users);
    assert_eq!(rig.closed, [(eve, TOO_FAST)]);
    let counts = rig.node.counts();
    assert_eq!((counts.watches, counts.watched, counts.viewers), (0, 0, 0));
    rig.drop_conn(eve);
    rig.until(10.0);
    assert_eq!(rig.node.counts(), Default::default());
}

#[test]
fn a_client_that_asks_and_takes_no_answers_is_closed() {
    let mut rig = Rig::new();
    let eve = rig.connect("eve", "1");
    for request in 1..=256 {
        rig.watch(eve, request, &[(1, "bo")]);
    }
    assert_eq!(rig.closed, []);
    rig.watch(eve, 257, &[(1, "bo")]);
    assert_eq!(rig.closed, [(eve, TOO_FAST)]);
}

#[test]
fn questions_taken_back_and_asked_again_fill_no_memory() {
    let mut rig = Rig::new();
    let eve = rig.connect("eve", "1");
    let users = vec![(1, "bo"); 10_000];
    rig.watch(eve, 1, &users);
    assert_eq!(rig.closed, []);
    rig.watch(eve, 2, &users);
    assert_eq!(rig.closed, [(eve, TOO_FAST)]);
    assert_eq!(rig.node.counts().watches, 0);
}

#[test]
fn one_user_has_256_sessions_at_most() {
    let mut rig = Rig::new();
    for session in 0..256 {
        rig.connect("bo", &format!("s{session}"));
    }
    let refusal = rig.try_connect("bo", "s256", None).unwrap_err();
    assert_eq!(refusal.code, CloseCode::Full);
    // Those that are there may come back, and others are not concerned.
    rig.connect("bo", "s17");
    rig.connect("cy", "1");
}

#[test]
fn a_stalled_viewer_holds_one_entry_a_user_and_gets_the_newest() {
    let mut rig = Rig::new();
    let ana = rig.connect("ana", "1");
    let bo = rig.connect("bo", "1");
    let cy = rig.connect("cy", "1");
    rig.watch(ana, 1, &[(1, "bo"), (2, "cy")]);
    rig.hear(ana);
    for _ in 0..10_000 {
        rig.frame(bo, &ClientFrame::Idle);
        rig.frame(bo, &ClientFrame::Active);
        assert!(rig.node.waiting(ana) <= 1);
    }
    rig.frame(bo, &ClientFrame::Idle);
    rig.frame(cy, &ClientFrame::Idle);
    assert_eq!(rig.node.waiting(ana), 2);
    let rows = vec![(1, State::Away, 20_002), (2, State::Away, 2)];
    assert_eq!(rig.hear(ana), [Heard::Events(rows)]);
    assert_eq!(rig.node.waiting(ana), 0);
}

#[test]
fn of_many_beats_the_latest_is_answered() {
    let mut rig = Rig::new();
    let ana = rig.connect("ana", "1");
    rig.hear(ana);
    for number in 0..=255 {
        let beat = greendot_engine::protocol::Beat { number, input_age_secs: None };
        rig.frame(ana, &ClientFrame::Beat(beat));
    }
    assert_eq!(rig.hear(ana), [Heard::BeatAnswer(255)]);
}

#[test]
fn when_everybody_has_gone_nothing_is_left() {
    let mut rig = Rig::new();
    for user in 0..200 {
        let conn = rig.connect(&format!("u{user}"), "1");
        let all: Vec<_> = (0..50).map(|it| (it, format!("u{}", user + it))).collect();
        let users: Vec<_> = all.iter().map(|(number, name)| (*number, &**name)).collect();
        rig.watch(conn, 1, &users);
        if user % 3 == 0 {
            rig.frame(conn, &ClientFrame::Bye);
        }
        if user % 2 == 0 {
            rig.drop_conn(conn);
        }
    }
    rig.until(40.0);
    let left: Vec<_> = rig.closed.iter().map(|it| it.0).collect();
    for conn in left {
        rig.drop_conn(conn);
    }
    assert_eq!(rig.node.counts(), Default::default());
}
