//! Who is in rooms (rule 15).

use greendot_engine::core::directory::Roster;
use greendot_engine::protocol::{Mode, Span};
use greendot_engine::store::{HeldBy, Notice, Register, Request};

use super::stage::{Node, Stage, name, pause, register, settings};

async fn look(node: &mut Node) -> Roster {
    node.ask(Request::LookInto { rooms: vec!["r".into()] }).await.rooms.remove(0)
}

async fn join(node: &mut Node, user: &str) {
    node.ask(Request::Join { name: name(user, "1"), room: "r".into() }).await;
}

async fn leave(node: &mut Node, user: &str) {
    node.ask(Request::Leave { name: name(user, "1"), room: "r".into() }).await;
}

fn roster(notice: &Notice) -> Option<&Roster> {
    match notice {
        Notice::Room { roster, .. } => Some(roster),
        _ => None,
    }
}

/// Rosters, until these are there.
async fn hear_members(node: &mut Node, members: &[&str]) {
    let sorted = |it: &Roster| {
        let mut all: Vec<String> = it.members.iter().map(ToString::to_string).collect();
        all.sort();
        all
    };
    node.hear_until(|it| roster(it).is_some_and(|it| sorted(it) == members)).await;
}

pub(super) async fn a_room_tells_who_is_there(stage: &Stage) {
    let (mut one, mut other) = (stage.node().await, stage.node().await);
    for (seat, user) in ["ana", "bo"].iter().enumerate() {
        one.connect(user, "1", seat as u64).await;
    }
    join(&mut one, "ana").await;
    let first = look(&mut other).await;
    assert_eq!((first.count, &*first.members[0]), (1, "ana"));
    join(&mut one, "bo").await;
    hear_members(&mut other, &["ana", "bo"]).await;
    // Once more is nothing more.
    join(&mut one, "bo").await;
    other.hears_no_more().await;
    leave(&mut one, "ana").await;
    hear_members(&mut other, &["bo"]).await;
    one.ask(Request::SignOut { name: name("bo", "1"), seat: 9, ago: Span::ZERO }).await;
    hear_members(&mut other, &[]).await;
    other.ask(Request::LookOut { rooms: vec!["r".into()] }).await;
    join(&mut one, "ana").await;
    other.hears_no_more().await;
    let last = look(&mut other).await;
    assert_eq!(last.count, 1);
    assert!(last.number > first.number);
}

pub(super) async fn who_is_invisible_is_in_no_room(stage: &Stage) {
    let (mut one, mut other) = (stage.node().await, stage.node().await);
    one.connect("ana", "1", 1).await;
    join(&mut one, "ana").await;
    assert_eq!(look(&mut other).await.count, 1);
    let mode = |mode| Request::SetMode { user: "ana".into(), mode, ago: Span::ZERO, by: None };
    one.ask(mode(Mode::Invisible)).await;
    hear_members(&mut other, &[]).await;
    one.ask(mode(Mode::Auto)).await;
    hear_members(&mut other, &["ana"]).await;
}

pub(super) async fn a_room_registered_again_is_the_same(stage: &Stage) {
    let (mut one, mut other) = (stage.node().await, stage.node().await);
    one.connect("ana", "1", 1).await;
    join(&mut one, "ana").await;
    look(&mut other).await;
    let again = Register { rooms: vec!["r".into()], ..register("ana", "1", 1) };
    one.register(again).await;
    other.hears_no_more().await;
    // It comes along with a connect elsewhere.
    other.connect("ana", "1", 5).await;
    assert_eq!(look(&mut other).await.count, 1);
    leave(&mut other, "ana").await;
    hear_members(&mut other, &[]).await;
}

pub(super) async fn who_is_in_no_others_has_left_them(stage: &Stage) {
    let (mut one, mut other) = (stage.node().await, stage.node().await);
    one.connect("ana", "1", 1).await;
    join(&mut one, "ana").await;
    assert_eq!(look(&mut other).await.count, 1);
    // The next page, elsewhere: it may have joined what the one before was in.
    let next = Register { rooms: vec!["r".into(), "q".into()], ..register("ana", "1", 5) };
    let alone = |it: &Register| Register { no_others: true, ..it.clone() };
    other.ask(Request::Connect(alone(&next))).await;
    assert_eq!(look(&mut other).await.count, 1);
    other.ask(Request::Connect(Register { rooms: vec!["q".into()], ..next.clone() })).await;
    assert_eq!(look(&mut other).await.count, 1);
    other.ask(Request::Connect(Register { rooms: vec!["q".into()], ..alone(&next) })).await;
    assert_eq!(look(&mut other).await.count, 0);
}

pub(super) async fn a_crowd_is_counted_at_a_bounded_rate(stage: &Stage) {
    let limit = settings().room_limit as u64;
    let (mut one, mut other) = (stage.node().await, stage.node().await);
    for seat in 0..limit + 1 {
        let user = format!("first {seat}");
        one.connect(&user, "1", seat).await;
        join(&mut one, &user).await;
    }
    let crowd = look(&mut other).await;
    assert_eq!(crowd.count as u64, limit + 1);
    assert!(!crowd.members.is_empty());
    for seat in 20..40 {
        let user = format!("later {seat}");
        one.connect(&user, "1", seat).await;
        join(&mut one, &user).await;
    }
    let all = limit + 21;
    // At most once a second and partition, however many come; in the end all are told of.
    let mut told = 0;
    loop {
        one.sweep().await;
        other.sweep().await;
        let notice = tokio::time::timeout(std::time::Duration::from_millis(50), other.hear()).await;
        if let Ok(notice) = notice {
            told += 1;
            if roster(&notice).is_some_and(|it| it.count as u64 == all) {
                break;
            }
        }
        one.beat().await;
        pause(20).await;
    }
    assert!(told < 20, "{told} words of 20 who came");
}

pub(super) async fn a_session_is_in_so_many_rooms_wherever_it_has_been(stage: &Stage) {
    const MOST: usize = greendot_engine::protocol::limits::ROOMS;
    let mut nodes = [stage.node().await, stage.node().await];
    let room = |it: usize| -> std::sync::Arc<str> { format!("room {it}").into() };
    let all: Vec<_> = (0..3 * MOST).map(room).collect();
    // Each take-over goes into others, and says nothing of where it was before.
    for (turn, rooms) in all.chunks(MOST / 2).enumerate() {
        let node = &mut nodes[turn % 2];
        let seat = turn as u64;
        assert!(matches!(node.connect("ana", "1", seat).await, HeldBy::You { .. }));
        for room in rooms {
            node.ask(Request::Join { name: name("ana", "1"), room: room.clone() }).await;
        }
    }
    let rosters = nodes[0].ask(Request::LookInto { rooms: all.clone() }).await.rooms;
    let mut held: Vec<_> =
        rosters.iter().filter(|it| it.count == 1).map(|it| it.room.clone()).collect();
    held.sort();
    let mut last = all[2 * MOST..].to_vec();
    last.sort();
    assert_eq!(held, last, "where it went last");
}
