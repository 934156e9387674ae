//! Polls: marks, and sessions without a connection (rule 16).

use greendot_engine::core::{Connect, Fineness, Mark, SelfReport, Settings, Start};
use greendot_engine::protocol::{ClientFrame, Mode, Span, State};

use crate::rig::{Heard, Rig, settings};

fn poll(rig: &mut Rig, interval: u64) {
    let connect = Connect {
        user: "ana",
        session: "p",
        passive: false,
        report: SelfReport::default(),
        token_until: None,
        device: "",
    };
    rig.node.handle_poll(rig.now, &connect, Span::from_secs(interval)).expect("may poll");
    rig.drain();
}

#[test]
fn a_poll_keeps_its_session_for_two_intervals() {
    let mut rig = Rig::new();
    poll(&mut rig, 20);
    assert_eq!(rig.state("ana"), State::Online);
    rig.until(39.0);
    poll(&mut rig, 20);
    rig.until(78.0);
    assert_eq!(rig.state("ana"), State::Online);
    rig.until(80.0);
    assert_eq!(rig.state("ana"), State::Offline);
    assert_eq!(rig.transitions.len(), 2, "it was there all the time");
    assert_eq!(rig.node.counts(), Default::default());
}

#[test]
fn a_poll_takes_nothing_from_a_connection_of_its_session() {
    let mut rig = Rig::new();
    let conn = rig.connect("ana", "p");
    rig.until(25.0);
    poll(&mut rig, 20);
    assert!(rig.node.is_open(conn) && rig.closed.is_empty());
    rig.until(54.0);
    assert_eq!(rig.state("ana"), State::Online, "it was a sign of life");
    rig.until(56.0);
    assert_eq!(rig.state("ana"), State::Offline);
}

#[test]
fn a_mark_goes_through_the_hands_of_the_one_who_polls() {
    let mut rig = Rig::new();
    let bo = rig.connect("bo", "1");
    rig.node.ask(rig.now, 1, "ana", &["bo", "cy"], None);
    rig.drain();
    let (full, mark, _) = rig.answers.remove(0);
    assert!(full);
    let mark = Mark::from_bytes(&mark.to_bytes()).expect("what was written is read");
    rig.frame(bo, &ClientFrame::Idle);
    rig.node.ask(rig.now, 2, "ana", &["bo", "cy"], Some(mark));
    rig.drain();
    let (full, _, users) = rig.answers.remove(0);
    assert!(!full);
    assert_eq!(users.iter().map(|it| &*it.user).collect::<Vec<_>>(), ["bo"]);
    for bytes in [&[][..], &[1, 2, 3], &[1; 7]] {
        assert_eq!(Mark::from_bytes(bytes), None);
    }
    // One that was made up is of no epoch: everything is told.
    rig.node.ask(rig.now, 3, "ana", &["bo", "cy"], Mark::from_bytes(&[9; 12]));
    rig.drain();
    assert!(rig.answers.remove(0).0);
}

/// A poll of ana's session that is in these rooms; who is there, none where she may not be.
fn rooms(rig: &mut Rig, rooms: &[&str]) -> Vec<Option<Vec<(String, State)>>> {
    begin(rig, rooms);
    told(rig)
}

fn begin(rig: &mut Rig, rooms: &[&str]) {
    poll(rig, 20);
    rig.rooms.clear();
    rig.node.ask_rooms(rig.now, 1, "ana", "p", rooms);
    rig.drain();
}

fn told(rig: &mut Rig) -> Vec<Option<Vec<(String, State)>>> {
    let members = |it: &greendot_engine::core::RoomAnswer| {
        let who = it.who.as_ref()?;
        Some(who.members.iter().map(|(user, state)| (user.to_string(), *state)).collect())
    };
    std::mem::take(&mut rig.rooms).iter().map(members).collect()
}

fn online(users: &[&str]) -> Option<Vec<(String, State)>> {
    Some(users.iter().map(|it| ((*it).into(), State::Online)).collect())
}

#[test]
fn a_poll_is_in_the_rooms_that_it_names_and_in_no_others() {
    let mut rig = Rig::new();
    let bo = rig.connect("bo", "1");
    let cy = rig.connect("cy", "1");
    rig.frame(bo, &ClientFrame::Join { number: 1, room: "page" });
    rig.frame(cy, &ClientFrame::Join { number: 1, room: "page" });
    rig.frame(cy, &ClientFrame::Mode(Mode::Invisible));
    rig.hear(bo);
    // Cy hides; the same room twice is one.
    assert_eq!(
        rooms(&mut rig, &["page", "hall", "page"]),
        [online(&["ana", "bo"]), online(&["ana"])]
    );
    assert_eq!(rig.hear(bo), [Heard::RoomEvents(1, vec![("ana".into(), State::Online)])]);
    assert_eq!(rooms(&mut rig, &["hall"]), [online(&["ana"])]);
    assert_eq!(rig.hear(bo), [Heard::RoomEvents(1, vec![("ana".into(), State::Offline)])]);
    // While it lives, without polling, and not after.
    assert_eq!(rig.node.roster("hall").count, 1);
    rig.beat(bo);
    rig.until(40.0);
    assert_eq!(rig.node.roster("hall").count, 0);
    // A poll beside a connection of the session moves it nowhere.
    let conn = rig.connect("ana", "p");
    rig.frame(conn, &ClientFrame::Join { number: 1, room: "desk" });
    assert_eq!(rooms(&mut rig, &["page"]).len(), 1);
    assert_eq!((rig.node.roster("desk").count, rig.node.roster("page").count), (1, 0));
}

#[test]
fn a_poll_of_a_large_room_is_told_about_how_many_there_are_and_some() {
    let mut rig = Rig::new();
    for user in 0..73 {
        let conn = rig.connect(&format!("u{user}"), "1");
        rig.frame(conn, &ClientFrame::Join { number: 1, room: "page" });
    }
    begin(&mut rig, &["page"]);
    let who = rig.rooms[0].who.clone().expect("it is open");
    assert_eq!((who.count, who.members.len()), (Some(70), 8));
}

#[test]
fn a_polls_rooms_are_asked_for_and_pass_the_gate() {
    let asks = Settings { asks_rooms: true, audience: Some(Default::default()), ..settings() };
    let mut rig = Rig::with(asks, Start::Fresh);
    for user in ["bo", "cy"] {
        let conn = rig.connect(user, "1");
        rig.frame(conn, &ClientFrame::Join { number: 1, room: "page" });
        let ask = rig.joins.pop().expect("it asks").0;
        rig.node.handle_may_join(rig.now, ask, Some(true));
        rig.drain();
    }
    rig.questions.clear();
    begin(&mut rig, &["page", "vault", "lost"]);
    for (ask, user, room) in std::mem::take(&mut rig.joins) {
        assert!((rig.rooms.is_empty(), &*user) == (true, "ana"));
        let may = [("page", Some(true)), ("vault", Some(false)), ("lost", None)];
        let may = may.into_iter().find(|it| it.0 == &*room).expect("one of them").1;
        rig.node.handle_may_join(rig.now, ask, may);
        rig.drain();
    }
    assert!(rig.rooms.is_empty(), "it has yet to be said whom she may see");
    let question = rig.questions.iter().position(|it| it.1.iter().any(|it| &*it.0 == "ana"));
    rig.questions.swap(0, question.expect("it asks"));
    rig.allow(|_, user| Some(if user == "bo" { Fineness::Live } else { Fineness::Nothing }));
    // However soon that was said: she is answered when one is who is in a room alone.
    assert!(rig.rooms.is_empty());
    let at = rig.now.as_millis() as f64 / 1_000.0;
    rig.until(at + 0.249);
    assert!(rig.rooms.is_empty());
    rig.until(at + 0.25);
    assert_eq!(told(&mut rig), [online(&["ana", "bo"]), None, online(&[])]);
    assert_eq!((rig.node.counts().looks, rig.node.counts().joins), (0, 0));
    // The right ends: she is put out between two polls.
    rig.node.audience_changed(rig.now, None, Some("ana"));
    rig.drain();
    let ask = rig.joins.pop().expect("it asks").0;
    rig.node.handle_may_join(rig.now, ask, Some(false));
    assert_eq!(rig.node.roster("page").count, 2);
}
