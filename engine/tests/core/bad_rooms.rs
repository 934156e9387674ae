//! Rooms: what a client may not do there, and what comes of it.

use greendot_engine::core::{Settings, Start};
use greendot_engine::protocol::{ClientFrame, ErrorCode, Mode, State, limits};

use crate::rig::{Heard, Rig, settings};

fn join(number: u32, room: &str) -> ClientFrame<'_> {
    ClientFrame::Join { number, room }
}

#[test]
fn a_room_needs_an_id_of_a_length_that_is_allowed() {
    let mut rig = Rig::new();
    let ana = rig.connect("ana", "1");
    rig.hear(ana);
    rig.frame(ana, &join(3, ""));
    rig.frame(ana, &join(4, &"r".repeat(limits::ROOM_BYTES + 1)));
    let errors = [3, 4].map(|it| Heard::Error(ErrorCode::BadRoom, it));
    assert_eq!(rig.hear(ana), errors);
    rig.frame(ana, &join(5, &"r".repeat(limits::ROOM_BYTES)));
    assert_eq!(rig.hear(ana), [Heard::Room(5, vec![("ana".into(), State::Online)])]);
}

#[test]
fn a_session_is_in_so_many_rooms_and_no_more() {
    let mut rig = Rig::new();
    let ana = rig.connect("ana", "1");
    rig.hear(ana);
    for room in 0..=limits::ROOMS as u32 {
        rig.frame(ana, &join(room, &format!("r{room}")));
    }
    let heard = rig.hear(ana);
    let last = limits::ROOMS as u32;
    assert_eq!(heard.len(), limits::ROOMS + 1);
    assert!(heard.contains(&Heard::Error(ErrorCode::TooManyRooms, last)), "{heard:?}");
    // One that it is in already it may join again, and after leaving one another.
    rig.frame(ana, &join(0, "r0"));
    rig.frame(ana, &ClientFrame::Leave { number: 7 });
    rig.frame(ana, &join(last, "more"));
    let rooms: Vec<_> =
        rig.hear(ana).into_iter().filter(|it| matches!(it, Heard::Room(..))).collect();
    assert_eq!(rooms.len(), 2);
    assert_eq!(rig.node.counts().seats, limits::ROOMS);
}

#[test]
fn joining_twice_is_told_again_under_the_number_given_last() {
    let mut rig = Rig::new();
    let ana = rig.connect("ana", "1");
    let bo = rig.connect("bo", "1");
    rig.hear(ana);
    rig.frame(ana, &join(1, "page"));
    rig.frame(ana, &join(1, "page"));
    rig.frame(ana, &join(2, "page"));
    let told = Heard::Room(2, vec![("ana".into(), State::Online)]);
    assert_eq!(rig.hear(ana), [told]);
    rig.frame(bo, &join(9, "page"));
    assert_eq!(rig.hear(ana), [Heard::RoomEvents(2, vec![("bo".into(), State::Online)])]);
    // A number that stood for another room moves: the session leaves that one.
    rig.frame(bo, &join(9, "other"));
    assert_eq!(rig.hear(ana), [Heard::RoomEvents(2, vec![("bo".into(), State::Offline)])]);
    assert_eq!(rig.node.counts().seats, 2);
}

#[test]
fn leaving_what_was_not_joined_is_passed_over() {
    let mut rig = Rig::new();
    let ana = rig.connect("ana", "1");
    rig.hear(ana);
    rig.frame(ana, &ClientFrame::Leave { number: 1 });
    rig.frame(ana, &join(1, "page"));
    rig.frame(ana, &ClientFrame::Leave { number: 2 });
    rig.frame(ana, &ClientFrame::Leave { number: 1 });
    rig.frame(ana, &ClientFrame::Leave { number: 1 });
    assert_eq!(rig.hear(ana), []);
    assert_eq!(rig.node.counts().seats, 0);
    assert_eq!(rig.node.roster("page").count, 0);
}

fn asked() -> Rig {
    Rig::with(Settings { asks_rooms: true, ..settings() }, Start::Fresh)
}

/// Answers the newest question of who may be in a room.
fn say(rig: &mut Rig, may: Option<bool>) {
    let ask = rig.joins.last().expect("it asks").0;
    rig.node.handle_may_join(rig.now, ask, may);
    rig.drain();
}

fn people(number: u32, users: &[&str]) -> Heard {
    Heard::Room(number, users.iter().map(|it| ((*it).into(), State::Online)).collect())
}

#[test]
fn the_application_says_who_may_join() {
    let mut rig = asked();
    let ana = rig.connect("ana", "1");
    rig.hear(ana);
    for (number, room, may) in [(1, "open", true), (2, "closed", false)] {
        rig.frame(ana, &join(number, room));
        say(&mut rig, Some(may));
    }
    let heard = [Heard::Error(ErrorCode::NotAllowed, 2), people(1, &["ana"])];
    assert_eq!(rig.hear(ana), heard);
    // An answer that comes after the connection has gone is none.
    rig.frame(ana, &join(4, "late"));
    rig.drop_conn(ana);
    say(&mut rig, Some(true));
    assert_eq!(rig.node.roster("late").count, 0);
    assert_eq!(rig.node.counts().joins, 0);
}

#[test]
fn an_application_that_fails_or_hangs_lets_nobody_in_until_it_is_well() {
    let mut rig = asked();
    let ana = rig.connect("ana", "1");
    rig.hear(ana);
    rig.frame(ana, &join(3, "page"));
    rig.until(3.0);
    rig.beat(ana);
    assert_eq!(rig.hear(ana), [Heard::BeatAnswer(1)]);
    assert_eq!(rig.node.audience_counts().room_failures, 1);
    let late = rig.joins[0].0;
    rig.until(4.0);
    assert_eq!(rig.joins.len(), 2);
    rig.node.handle_may_join(rig.now, late, Some(true));
    assert_eq!(rig.node.roster("page").count, 0, "it is too late for that answer");
    say(&mut rig, None);
    rig.until(6.0);
    assert_eq!(rig.joins.len(), 3, "asked after one second, then after two");
    say(&mut rig, Some(true));
    assert_eq!(rig.hear(ana), [people(3, &["ana"])]);
    assert_eq!((rig.node.counts().joins, rig.node.audience_counts().room_failures), (0, 2));
    // Who has left meanwhile is asked about no more.
    rig.frame(ana, &join(4, "other"));
    rig.frame(ana, &ClientFrame::Leave { number: 4 });
    assert_eq!(rig.node.counts().joins, 0);
}

/// Ana and bo in a room, each told of the other.
fn two(rig: &mut Rig) -> [greendot_engine::core::ConnId; 2] {
    ["ana", "bo"].map(|user| {
        let conn = rig.connect(user, "1");
        rig.frame(conn, &join(1, "page"));
        say(rig, Some(true));
        conn
    })
}

#[test]
fn who_may_not_be_in_a_room_any_more_is_put_out_at_once() {
    let mut rig = asked();
    let [ana, bo] = two(&mut rig);
    let cy = rig.connect("cy", "1");
    rig.frame(cy, &join(9, "page"));
    say(&mut rig, Some(true));
    for conn in [ana, bo, cy] {
        rig.hear(conn);
    }
    rig.node.audience_changed(rig.now, Some("ana"), None);
    rig.drain();
    // Until the answer she is told nothing newer.
    rig.frame(bo, &ClientFrame::Idle);
    assert_eq!(rig.hear(ana), []);
    assert_eq!(rig.hear(cy), [Heard::RoomEvents(9, vec![("bo".into(), State::Away)])]);
    say(&mut rig, Some(false));
    assert_eq!(rig.hear(ana), [Heard::Error(ErrorCode::NotAllowed, 1), people(1, &[])]);
    assert_eq!(rig.hear(cy), [Heard::RoomEvents(9, vec![("ana".into(), State::Offline)])]);
    rig.frame(bo, &ClientFrame::Active);
    assert_eq!(rig.hear(ana), []);
    assert_eq!((rig.node.roster("page").count, rig.node.counts().seats), (2, 2));
}

#[test]
fn who_may_stay_is_told_what_was_kept_back_and_no_more() {
    let mut rig = asked();
    let [ana, bo] = two(&mut rig);
    rig.hear(ana);
    for (change, told) in [(true, true), (false, false)] {
        rig.node.audience_changed(rig.now, None, Some("ana"));
        rig.drain();
        if change {
            rig.frame(bo, &ClientFrame::Idle);
        }
        assert_eq!(rig.hear(ana), []);
        say(&mut rig, Some(true));
        let away = Heard::RoomEvents(1, vec![("bo".into(), State::Away)]);
        assert_eq!(rig.hear(ana), if told { vec![away] } else { vec![] });
    }
}

#[test]
fn while_nobody_can_say_whether_one_may_stay_it_sees_nobody() {
    let mut rig = asked();
    let [ana, bo] = two(&mut rig);
    rig.hear(ana);
    rig.hear(bo);
    rig.node.audience_changed(rig.now, Some("ana"), None);
    rig.drain();
    say(&mut rig, None);
    assert_eq!(rig.hear(ana), [people(1, &[])]);
    rig.frame(bo, &ClientFrame::Note("secret"));
    let cy = rig.connect("cy", "1");
    rig.frame(cy, &join(1, "page"));
    say(&mut rig, Some(true));
    assert_eq!(rig.hear(ana), []);
    rig.until(1.0);
    say(&mut rig, Some(true));
    assert_eq!(rig.hear(ana), [people(1, &["ana", "bo", "cy"])]);
}

#[test]
fn a_session_that_lingers_is_put_out_too_and_a_join_under_way_is_asked_again() {
    let mut rig = asked();
    let [ana, bo] = two(&mut rig);
    rig.drop_conn(ana);
    rig.frame(bo, &join(2, "hall"));
    let before = rig.joins.last().expect("it asks").0;
    rig.node.audience_changed(rig.now, None, None);
    rig.drain();
    rig.node.handle_may_join(rig.now, before, Some(true));
    assert_eq!(rig.node.roster("hall").count, 0, "that was before the change");
    let asks: Vec<_> = rig.joins[3..].iter().map(|it| (it.0, it.2.to_string())).collect();
    assert_eq!(asks.len(), 3);
    for (ask, room) in asks {
        rig.node.handle_may_join(rig.now, ask, Some(room == "hall"));
        rig.drain();
    }
    assert_eq!((rig.node.roster("page").count, rig.node.roster("hall").count), (0, 1));
}

#[test]
fn a_right_that_was_taken_back_takes_its_holder_out_of_the_room() {
    let mut rig = asked();
    let ana = rig.connect("ana", "1");
    rig.frame(ana, &join(1, "page"));
    say(&mut rig, Some(true));
    assert_eq!(rig.node.roster("page").count, 1);
    // On a new connection, and under another number on the same one.
    rig.drop_conn(ana);
    let ana = rig.connect("ana", "1");
    assert_eq!(rig.node.roster("page").count, 1);
    rig.frame(ana, &join(1, "page"));
    say(&mut rig, Some(true));
    rig.hear(ana);
    rig.frame(ana, &join(2, "page"));
    say(&mut rig, Some(false));
    assert_eq!(rig.hear(ana), [Heard::Error(ErrorCode::NotAllowed, 2), people(1, &[])]);
    assert_eq!((rig.node.roster("page").count, rig.node.counts().seats), (0, 0));
}

#[test]
fn a_reader_that_reads_nothing_is_kept_one_change_a_member() {
    let mut rig = Rig::new();
    let ana = rig.connect("ana", "1");
    let bo = rig.connect("bo", "1");
    rig.frame(ana, &join(1, "page"));
    rig.hear(ana);
    for _ in 0..1_000 {
        rig.frame(bo, &join(1, "page"));
        rig.frame(bo, &ClientFrame::Idle);
        rig.frame(bo, &ClientFrame::Active);
        rig.frame(bo, &ClientFrame::Leave { number: 1 });
    }
    assert_eq!(rig.hear(ana), [], "who came and went while nobody read was never told of");
    rig.frame(bo, &join(1, "page"));
    rig.frame(bo, &ClientFrame::Mode(Mode::Dnd));
    assert_eq!(rig.hear(ana), [Heard::RoomEvents(1, vec![("bo".into(), State::Dnd)])]);
}
