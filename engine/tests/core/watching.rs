//! Watches: numbers, snapshots, events, own view.

use greendot_engine::core::{Settings, Start};
use greendot_engine::protocol::{ClientFrame, ErrorCode, Mode, Span, State};

use crate::rig::{Heard, Rig, settings};

#[test]
fn a_number_used_again_moves_to_the_new_user() {
    let mut rig = Rig::new();
    let ana = rig.connect("ana", "1");
    let bo = rig.connect("bo", "1");
    let cy = rig.connect("cy", "1");
    rig.watch(ana, 1, &[(7, "bo")]);
    rig.watch(ana, 2, &[(7, "cy")]);
    rig.hear(bo);
    assert_eq!(
        rig.hear(ana),
        [
            Heard::Welcome(Mode::Auto),
            Heard::Snapshot(1, vec![]),
            Heard::Snapshot(2, vec![(7, State::Online, 1)]),
        ]
    );
    rig.frame(bo, &ClientFrame::Idle);
    assert_eq!(rig.hear(ana), []);
    rig.frame(cy, &ClientFrame::Idle);
    assert_eq!(rig.hear(ana), [Heard::Events(vec![(7, State::Away, 2)])]);
    assert_eq!(rig.node.counts().watches, 1);
}

#[test]
fn the_same_number_twice_in_one_watch_stands_for_the_last_user() {
    let mut rig = Rig::new();
    let ana = rig.connect("ana", "1");
    rig.connect("bo", "1");
    rig.connect("cy", "1");
    rig.hear(ana);
    rig.watch(ana, 1, &[(1, "bo"), (1, "cy"), (2, "bo")]);
    let rows = vec![(1, State::Online, 1), (2, State::Online, 1)];
    assert_eq!(rig.hear(ana), [Heard::Snapshot(1, rows)]);
    assert_eq!(rig.node.counts().watches, 2);
}

#[test]
fn a_later_watch_of_a_user_takes_the_place_of_an_earlier_one() {
    let mut rig = Rig::new();
    let ana = rig.connect("ana", "1");
    let bo = rig.connect("bo", "1");
    rig.watch(ana, 1, &[(1, "bo")]);
    rig.hear(ana);
    rig.watch(ana, 2, &[(2, "bo"), (3, "cy"), (4, "bo")]);
    assert_eq!(rig.hear(ana), [Heard::Snapshot(2, vec![(4, State::Online, 1)])]);
    // However often it asks, a change is told to it once.
    for number in 5..1_000 {
        rig.watch(ana, number, &[(number, "bo")]);
        rig.hear(ana);
    }
    rig.frame(bo, &ClientFrame::Idle);
    assert_eq!(rig.hear(ana), [Heard::Events(vec![(999, State::Away, 2)])]);
    assert_eq!(rig.node.counts().watches, 2);
    // The numbers before stand for nobody.
    rig.frame(ana, &ClientFrame::Unwatch { numbers: vec![1, 2, 4, 998] });
    rig.frame(bo, &ClientFrame::Active);
    assert_eq!(rig.hear(ana), [Heard::Events(vec![(999, State::Online, 3)])]);
    rig.frame(ana, &ClientFrame::Unwatch { numbers: vec![999] });
    rig.frame(bo, &ClientFrame::Idle);
    assert_eq!(rig.hear(ana), []);
    assert_eq!(rig.node.counts().watches, 1);
}

#[test]
fn a_user_watched_again_before_the_answer_is_told_under_the_last_number() {
    let mut rig = Rig::new();
    let ana = rig.connect("ana", "1");
    let bo = rig.connect("bo", "1");
    rig.hear(ana);
    rig.watch(ana, 1, &[(1, "bo")]);
    rig.watch(ana, 2, &[(2, "bo")]);
    rig.frame(bo, &ClientFrame::Idle);
    let rows = vec![(2, State::Away, 2)];
    assert_eq!(rig.hear(ana), [Heard::Snapshot(1, vec![]), Heard::Snapshot(2, rows)]);
}

#[test]
fn a_number_taken_for_another_user_frees_the_one_before() {
    let mut rig = Rig::new();
    let ana = rig.connect("ana", "1");
    let bo = rig.connect("bo", "1");
    rig.watch(ana, 1, &[(1, "bo")]);
    rig.watch(ana, 2, &[(1, "cy")]);
    rig.watch(ana, 3, &[(2, "bo")]);
    rig.hear(ana);
    rig.frame(bo, &ClientFrame::Idle);
    assert_eq!(rig.hear(ana), [Heard::Events(vec![(2, State::Away, 2)])]);
    assert_eq!(rig.node.counts().watches, 2);
}

#[test]
fn nothing_comes_after_an_unwatch_and_unknown_numbers_are_passed_over() {
    let mut rig = Rig::new();
    let ana = rig.connect("ana", "1");
    let bo = rig.connect("bo", "1");
    rig.watch(ana, 1, &[(1, "bo")]);
    rig.hear(ana);
    rig.frame(ana, &ClientFrame::Unwatch { numbers: vec![99, 1, 1] });
    rig.frame(bo, &ClientFrame::Idle);
    assert_eq!(rig.hear(ana), []);
    let counts = rig.node.counts();
    assert_eq!((counts.watches, counts.watched), (0, 0));
    // And watched again, the first is a snapshot.
    rig.watch(ana, 2, &[(1, "bo")]);
    assert_eq!(rig.hear(ana), [Heard::Snapshot(2, vec![(1, State::Away, 2)])]);
}

#[test]
fn an_unwatch_takes_back_what_waits() {
    let mut rig = Rig::new();
    let ana = rig.connect("ana", "1");
    let bo = rig.connect("bo", "1");
    rig.watch(ana, 1, &[(1, "bo")]);
    rig.hear(ana);
    rig.frame(bo, &ClientFrame::Idle);
    rig.frame(ana, &ClientFrame::Unwatch { numbers: vec![1] });
    assert_eq!(rig.hear(ana), []);
}

#[test]
fn a_watch_is_answered_even_if_nobody_in_it_can_be_watched() {
    let mut rig = Rig::new();
    let ana = rig.connect("ana", "1");
    rig.hear(ana);
    let long = "u".repeat(129);
    rig.watch(ana, 4, &[(1, ""), (2, &long)]);
    assert_eq!(
        rig.hear(ana),
        [
            Heard::Error(ErrorCode::BadUser, 1),
            Heard::Error(ErrorCode::BadUser, 2),
            Heard::Snapshot(4, vec![]),
        ]
    );
    rig.watch(ana, 5, &[]);
    assert_eq!(rig.hear(ana), [Heard::Snapshot(5, vec![])]);
}

#[test]
fn a_change_before_the_snapshot_is_in_it_and_not_told_twice() {
    let mut rig = Rig::new();
    let ana = rig.connect("ana", "1");
    let bo = rig.connect("bo", "1");
    rig.hear(ana);
    rig.watch(ana, 1, &[(1, "bo")]);
    rig.frame(bo, &ClientFrame::Idle);
    assert_eq!(rig.hear(ana), [Heard::Snapshot(1, vec![(1, State::Away, 2)])]);
    assert_eq!(rig.hear(ana), []);
}

#[test]
fn within_a_tick_only_the_newest_is_sent_and_nothing_if_all_is_as_before() {
    let tick = Span::from_millis(20);
    let mut rig = Rig::with(Settings { tick, ..settings() }, Start::Fresh);
    let ana = rig.connect("ana", "1");
    let bo = rig.connect("bo", "1");
    rig.watch(ana, 1, &[(1, "bo")]);
    rig.hear(ana);
    rig.frame(bo, &ClientFrame::Idle);
    rig.frame(bo, &ClientFrame::Active);
    rig.until(0.1);
    assert_eq!(rig.hear(ana), []);
    for mode in [Mode::Busy, Mode::Away, Mode::Dnd] {
        rig.frame(bo, &ClientFrame::Mode(mode));
    }
    rig.until(0.119);
    assert_eq!(rig.hear(ana), []);
    rig.until(0.12);
    assert_eq!(rig.hear(ana), [Heard::Events(vec![(1, State::Dnd, 6)])]);
    // One of Idle and Active, two of the modes: each of them found another that had not gone out.
    let totals = rig.node.totals();
    assert_eq!((totals.marks, totals.overtaken), (2, 3));
}

#[test]
fn a_watcher_of_itself_sees_the_truth_while_others_see_nobody() {
    let mut rig = Rig::new();
    let ana = rig.connect("ana", "1");
    let phone = rig.connect("bo", "phone");
    let laptop = rig.connect("bo", "laptop");
    for conn in [ana, phone] {
        rig.watch(conn, 1, &[(1, "bo")]);
        rig.hear(conn);
    }
    rig.frame(laptop, &ClientFrame::Mode(Mode::Invisible));
    assert_eq!(rig.hear(ana), [Heard::Events(vec![(1, State::Offline, 2)])]);
    assert_eq!(rig.hear(phone), [Heard::Mode(Mode::Invisible)]);
    rig.frame(laptop, &ClientFrame::Idle);
    rig.frame(phone, &ClientFrame::Idle);
    assert_eq!(rig.hear(ana), []);
    assert_eq!(rig.hear(phone), [Heard::Events(vec![(1, State::Away, 2)])]);
    // Changes hidden from ana left no gap in her numbers.
    rig.frame(laptop, &ClientFrame::Mode(Mode::Auto));
    assert_eq!(rig.hear(ana), [Heard::Events(vec![(1, State::Away, 3)])]);
}

#[test]
fn when_the_warm_up_is_over_those_never_heard_from_turn_offline() {
    let mut rig = Rig::with(settings(), Start::AfterLoss);
    let ana = rig.connect("ana", "1");
    rig.watch(ana, 1, &[(1, "bo"), (2, "cy")]);
    let rows = vec![(1, State::Unknown, 0), (2, State::Unknown, 0)];
    assert_eq!(rig.hear(ana).last(), Some(&Heard::Snapshot(1, rows)));
    rig.until(20.0);
    rig.beat(ana);
    rig.hear(ana);
    let bo = rig.connect("bo", "1");
    assert_eq!(rig.hear(ana), [Heard::Events(vec![(1, State::Online, 1)])]);
    rig.frame(bo, &ClientFrame::Bye);
    assert_eq!(rig.hear(ana), [Heard::Events(vec![(1, State::Offline, 2)])]);
    rig.until(34.9);
    assert_eq!(rig.hear(ana), []);
    rig.until(35.0);
    let Heard::Events(rows) = &rig.hear(ana)[0] else { panic!("no events") };
    assert_eq!(rows.iter().map(|row| (row.0, row.1)).collect::<Vec<_>>(), [(2, State::Offline)]);
}
