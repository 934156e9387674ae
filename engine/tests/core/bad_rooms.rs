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

#[test]
fn the_application_says_who_may_join_and_its_silence_is_no() {
    let mut rig = Rig::with(Settings { asks_rooms: true, ..settings() }, Start::Fresh);
    let ana = rig.connect("ana", "1");
    rig.hear(ana);
    rig.frame(ana, &join(1, "open"));
    rig.frame(ana, &join(2, "closed"));
    rig.frame(ana, &join(3, "silent"));
    let asked: Vec<_> = rig.joins.iter().map(|it| (it.0, it.2.to_string())).collect();
    for (ask, room) in asked.into_iter().filter(|it| it.1 != "silent") {
        rig.node.handle_may_join(rig.now, ask, room == "open");
        rig.drain();
    }
    assert_eq!(
        rig.hear(ana),
        [
            Heard::Error(ErrorCode::NotAllowed, 2),
            Heard::Room(1, vec![("ana".into(), State::Online)]),
        ]
    );
    rig.until(3.0);
    assert_eq!(rig.hear(ana), [Heard::Error(ErrorCode::NotAllowed, 3)]);
    // An answer that comes later is none, nor one after the connection has gone.
    rig.node.handle_may_join(rig.now, rig.joins[2].0, true);
    rig.frame(ana, &join(4, "late"));
    rig.drop_conn(ana);
    rig.node.handle_may_join(rig.now, rig.joins[3].0, true);
    assert_eq!(rig.node.roster("late").count, 0);
    assert_eq!(rig.node.counts().joins, 0);
}

#[test]
fn a_right_that_was_taken_back_takes_its_holder_out_of_the_room() {
    let mut rig = Rig::with(Settings { asks_rooms: true, ..settings() }, Start::Fresh);
    let ana = rig.connect("ana", "1");
    rig.frame(ana, &join(1, "page"));
    rig.node.handle_may_join(rig.now, rig.joins[0].0, true);
    assert_eq!(rig.node.roster("page").count, 1);
    rig.drop_conn(ana);
    let ana = rig.connect("ana", "1");
    assert_eq!(rig.node.roster("page").count, 1);
    rig.frame(ana, &join(1, "page"));
    rig.node.handle_may_join(rig.now, rig.joins[1].0, false);
    assert_eq!(rig.node.roster("page").count, 0);
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
