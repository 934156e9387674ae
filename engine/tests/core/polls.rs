//! Polls: marks, and sessions without a connection (rule 16).

use greendot_engine::core::{Connect, Mark, SelfReport};
use greendot_engine::protocol::{ClientFrame, Span, State};

use crate::rig::Rig;

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
