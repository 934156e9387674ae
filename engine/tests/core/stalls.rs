//! Sweeps under load: sliced, and not busy for nothing.

use greendot_engine::protocol::{State, Time};

use crate::rig::Rig;

#[test]
fn a_crowd_that_is_due_at_once_is_ended_in_slices() {
    let mut rig = Rig::new();
    for user in 0..10_000 {
        let conn = rig.connect(&format!("u{user}"), "1");
        rig.drop_conn(conn);
    }
    rig.transitions.clear();
    rig.until(4.999);
    rig.now = Time::from_millis(5_000);
    let mut steps = Vec::new();
    while rig.node.deadline() <= rig.now {
        let before = rig.transitions.len();
        rig.node.handle_timeout(rig.now);
        rig.drain();
        steps.push(rig.transitions.len() - before);
    }
    assert_eq!(rig.transitions.len(), 10_000);
    assert!(steps.len() >= 3 && steps.iter().all(|&it| it <= 4096), "{steps:?}");
    assert_eq!(rig.state("u9999"), State::Offline);
}

#[test]
fn a_session_that_waits_to_be_read_keeps_no_timer_busy() {
    let mut rig = Rig::new();
    rig.reads = false;
    let bo = rig.connect("bo", "1");
    rig.until(30.0);
    assert_eq!(rig.to_read, [bo]);
    assert!(rig.node.deadline() > rig.now);
}

#[test]
fn a_word_about_time_that_has_not_come_changes_nothing() {
    let mut rig = Rig::new();
    rig.connect("bo", "1");
    for millis in 0..1000 {
        rig.node.handle_timeout(Time::from_millis(millis));
        assert_eq!(rig.node.poll_output(), (millis == 0).then_some(()).and(None));
    }
    assert!(rig.node.deadline() >= Time::from_millis(1000));
}
