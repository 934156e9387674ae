//! How sessions and connections end.

use greendot_engine::core::{Ending, Settings, Start};
use greendot_engine::protocol::{ClientFrame, CloseCode, Mode, Span, State, Time};

use crate::rig::{Heard, Rig, settings};

const ENDED: Ending = Ending::Code(CloseCode::Ended);

#[test]
fn a_silent_session_ends_at_the_first_sweep_at_or_after_its_deadline() {
    let mut rig = Rig::new();
    let bo = rig.connect("bo", "1");
    rig.until(29.999);
    assert_eq!(rig.state("bo"), State::Online);
    rig.until(30.0);
    assert_eq!(rig.state("bo"), State::Offline);
    assert_eq!(rig.closed, [(bo, ENDED)]);
}

#[test]
fn nobody_is_ended_before_what_waits_on_the_connection_has_been_read() {
    let mut rig = Rig::new();
    rig.reads = false;
    let bo = rig.connect("bo", "1");
    rig.until(31.0);
    assert_eq!(rig.to_read, [bo]);
    assert_eq!(rig.state("bo"), State::Online);
    // A beat had waited: the lease lives on, and is asked about again when that one runs out.
    rig.beat(bo);
    rig.node.handle_read(rig.now, bo);
    rig.until(60.0);
    assert_eq!(rig.to_read, [bo]);
    rig.until(61.0);
    assert_eq!(rig.to_read, [bo, bo]);
    // Nothing had waited.
    rig.node.handle_read(rig.now, bo);
    rig.drain();
    assert_eq!(rig.state("bo"), State::Offline);
    assert_eq!(rig.closed, [(bo, ENDED)]);
}

#[test]
fn what_waits_is_read_too_before_a_session_that_said_closing_is_ended() {
    let mut rig = Rig::new();
    rig.reads = false;
    let bo = rig.connect("bo", "1");
    rig.frame(bo, &ClientFrame::Closing);
    rig.until(5.0);
    assert_eq!(rig.to_read, [bo]);
    rig.beat(bo);
    rig.node.handle_read(rig.now, bo);
    rig.until(20.0);
    assert_eq!(rig.state("bo"), State::Online);
    // And if nothing had waited, it ends then.
    rig.frame(bo, &ClientFrame::Closing);
    rig.until(25.0);
    assert_eq!(rig.to_read, [bo, bo]);
    rig.node.handle_read(rig.now, bo);
    rig.drain();
    assert_eq!(rig.state("bo"), State::Offline);
    assert_eq!(rig.closed, [(bo, ENDED)]);
}

#[test]
fn what_ran_out_with_its_extra_wait_in_a_standstill_ends_in_one_sweep() {
    let span = Span::from_secs;
    let mut rig = Rig::with(Settings { expiry_grace: span(2), ..settings() }, Start::Fresh);
    let bo = rig.connect("bo", "1");
    let other = rig.connect("bo", "2");
    rig.until(0.5);
    let late = rig.connect("cy", "1");
    rig.until(25.0);
    rig.beat(late);
    rig.stand_still_until(55.3);
    rig.until(56.3);
    // The wait behind cy's lease goes on.
    assert_eq!((rig.state("bo"), rig.state("cy")), (State::Offline, State::Online));
    let mut closed = rig.closed.clone();
    closed.sort_by_key(|it| it.0);
    assert_eq!(closed, [(bo, ENDED), (other, ENDED), (late, ENDED)]);
    rig.until(57.0);
    assert_eq!(rig.state("cy"), State::Offline);
}

#[test]
fn a_driver_that_never_says_it_has_read_is_not_waited_for_for_ever() {
    let mut rig = Rig::new();
    rig.reads = false;
    let bo = rig.connect("bo", "1");
    rig.until(34.9);
    assert_eq!(rig.state("bo"), State::Online);
    assert_eq!(rig.to_read, [bo]);
    rig.until(36.0);
    assert_eq!(rig.state("bo"), State::Offline);
}

#[test]
fn a_node_that_stood_still_ends_nobody_before_the_driver_had_a_turn() {
    let mut rig = Rig::new();
    rig.reads = false;
    let bo = rig.connect("bo", "1");
    let cy = rig.connect("cy", "1");
    rig.until(20.0);
    rig.beat(bo);
    rig.beat(cy);
    rig.drop_conn(cy);
    rig.stand_still_until(70.0);
    // The timer fires first, as it may.
    rig.node.handle_timeout(rig.now);
    rig.drain();
    assert_eq!((rig.state("bo"), rig.state("cy")), (State::Online, State::Online));
    // Now the driver reads what arrived meanwhile: bo has beaten all along, cy has come back.
    rig.beat(bo);
    rig.connect("cy", "1");
    rig.until(99.0);
    assert!(rig.transitions.iter().all(|it| it.state == State::Online));
}

#[test]
fn expiry_grace_is_an_extra_wait_in_which_a_return_is_silent() {
    let grace = Span::from_secs(8);
    let mut rig = Rig::with(Settings { expiry_grace: grace, ..settings() }, Start::Fresh);
    let bo = rig.connect("bo", "1");
    rig.until(37.9);
    assert_eq!(rig.closed, [(bo, ENDED)]);
    assert_eq!(rig.state("bo"), State::Online);
    rig.drop_conn(bo);
    let bo = rig.connect("bo", "1");
    assert_eq!(rig.transitions.len(), 1);
    rig.until(37.9 + 30.0 + 7.9);
    assert_eq!(rig.state("bo"), State::Online);
    rig.until(37.9 + 30.0 + 9.0);
    assert_eq!(rig.state("bo"), State::Offline);
    assert_eq!(rig.closed.last(), Some(&(bo, ENDED)));
    // A bye needs no such wait.
    let bo = rig.connect("bo", "1");
    rig.frame(bo, &ClientFrame::Bye);
    assert_eq!(rig.state("bo"), State::Offline);
}

#[test]
fn a_token_that_runs_out_closes_the_connection_and_the_session_lingers() {
    let mut rig = Rig::new();
    let at = Time::from_millis(7_250);
    let bo = rig.try_connect("bo", "1", Some(at)).unwrap();
    rig.until(7.249);
    assert_eq!(rig.closed, []);
    rig.until(7.25);
    assert_eq!(rig.closed, [(bo, Ending::Code(CloseCode::TokenExpired))]);
    // What the old connection still says has no effect.
    rig.beat(bo);
    rig.frame(bo, &ClientFrame::Mode(Mode::Dnd));
    assert_eq!(rig.state("bo"), State::Online);
    rig.drop_conn(bo);
    rig.until(9.0);
    rig.connect("bo", "1");
    rig.until(20.0);
    assert_eq!(rig.transitions.len(), 1);
}

#[test]
fn a_token_that_runs_out_and_stays_away_ends_after_grace() {
    let mut rig = Rig::new();
    let bo = rig.try_connect("bo", "1", Some(Time::from_millis(7_000))).unwrap();
    rig.until(11.9);
    assert_eq!(rig.state("bo"), State::Online);
    rig.until(12.0);
    assert_eq!(rig.state("bo"), State::Offline);
    rig.drop_conn(bo);
    assert_eq!(rig.node.counts(), Default::default());
}

#[test]
fn a_connection_is_closed_once_whatever_comes_up_later() {
    let mut rig = Rig::new();
    let old = rig.try_connect("bo", "1", Some(Time::from_millis(5_000))).unwrap();
    let new = rig.connect("bo", "1");
    rig.until(6.0);
    rig.node.revoke(rig.now, "bo");
    rig.drain();
    let replaced = Ending::Code(CloseCode::Replaced);
    assert_eq!(rig.closed, [(old, replaced), (new, Ending::Code(CloseCode::Revoked))]);
}

#[test]
fn a_late_word_about_an_older_connection_has_no_effect() {
    let mut rig = Rig::new();
    let old = rig.connect("bo", "1");
    let new = rig.connect("bo", "1");
    rig.frame(old, &ClientFrame::Bye);
    rig.drop_conn(old);
    rig.drop_conn(old);
    rig.node.handle_read(rig.now, old);
    rig.until(25.0);
    rig.beat(new);
    rig.until(50.0);
    assert_eq!(rig.state("bo"), State::Online);
    assert_eq!(rig.hear(old), []);
}

#[test]
fn a_hang_up_lets_the_session_linger() {
    let mut rig = Rig::new();
    let bo = rig.connect("bo", "1");
    rig.until(2.0);
    rig.node.hang_up(rig.now, bo, CloseCode::BadFrame);
    rig.drain();
    assert_eq!(rig.closed, [(bo, Ending::Code(CloseCode::BadFrame))]);
    rig.until(6.9);
    assert_eq!(rig.state("bo"), State::Online);
    rig.until(7.0);
    assert_eq!(rig.state("bo"), State::Offline);
}

#[test]
fn a_silent_connection_is_pinged_once_a_beat_and_its_pongs_keep_it() {
    let mut rig = Rig::new();
    let bo = rig.connect("bo", "1");
    rig.until(11.9);
    assert_eq!(rig.pings, []);
    rig.until(12.0);
    assert_eq!(rig.pings, [bo]);
    rig.node.handle_pong(rig.now, bo);
    rig.until(23.9);
    assert_eq!(rig.pings, [bo]);
    rig.until(36.0);
    assert_eq!(rig.pings, [bo, bo, bo]);
    rig.until(41.9);
    assert_eq!(rig.state("bo"), State::Online);
    rig.until(42.0);
    assert_eq!(rig.state("bo"), State::Offline);
}

#[test]
fn a_revoked_user_may_not_come_in_until_reinstated() {
    let mut rig = Rig::new();
    let bo = rig.connect("bo", "1");
    let watcher = rig.connect("ana", "1");
    rig.watch(bo, 1, &[(1, "ana")]);
    rig.hear(bo);
    rig.node.revoke(rig.now, "bo");
    rig.drain();
    assert_eq!(rig.closed, [(bo, Ending::Code(CloseCode::Revoked))]);
    // Its watches end at once, not when the socket is gone.
    assert_eq!(rig.node.counts().watches, 0);
    rig.frame(watcher, &ClientFrame::Idle);
    assert_eq!(rig.hear(bo), []);
    let refusal = rig.try_connect("bo", "1", None).unwrap_err();
    assert_eq!(refusal.code, CloseCode::Revoked);
    rig.node.reinstate(rig.now, "bo");
    let bo = rig.connect("bo", "1");
    assert_eq!(rig.hear(bo), [Heard::Welcome(Mode::Auto)]);
}
