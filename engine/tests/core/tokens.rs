//! A fresh token on the open connection (rule 18).

use greendot_engine::core::Ending;
use greendot_engine::protocol::{ClientFrame, CloseCode, ErrorCode, Span, State, Time};

use crate::rig::{Heard, Rig};

fn at(secs: u64) -> Option<Time> {
    Some(Time::from_millis(secs * 1000))
}

#[test]
fn a_fresh_token_moves_the_end() {
    let mut rig = Rig::new();
    let bo = rig.try_connect("bo", "1", at(7)).unwrap();
    rig.hear(bo);
    rig.until(6.0);
    rig.node.handle_token(rig.now, bo, "bo", at(20));
    rig.drain();
    assert_eq!(rig.hear(bo), [Heard::Token(Span::from_secs(14))]);
    rig.beat(bo);
    rig.until(19.9);
    assert_eq!(rig.closed, []);
    rig.until(20.0);
    assert_eq!(rig.closed, [(bo, Ending::Code(CloseCode::TokenExpired))]);
}

#[test]
fn a_fresh_token_may_end_never_or_sooner() {
    let mut rig = Rig::new();
    let bo = rig.try_connect("bo", "1", at(20)).unwrap();
    let cy = rig.try_connect("cy", "1", at(20)).unwrap();
    rig.hear(bo);
    rig.node.handle_token(rig.now, bo, "bo", None);
    rig.node.handle_token(rig.now, cy, "cy", at(5));
    rig.drain();
    assert_eq!(rig.hear(bo), [Heard::Token(Span::ZERO)]);
    rig.until(25.0);
    assert_eq!(rig.closed, [(cy, Ending::Code(CloseCode::TokenExpired))]);
    assert_eq!(rig.state("bo"), State::Online);
}

#[test]
fn a_token_of_another_user_closes_and_one_that_is_refused_changes_nothing() {
    let mut rig = Rig::new();
    let bo = rig.try_connect("bo", "1", at(7)).unwrap();
    rig.hear(bo);
    rig.node.refuse_token(rig.now, bo, "no");
    rig.drain();
    assert_eq!(rig.hear(bo), [Heard::Error(ErrorCode::TokenRefused, 0)]);
    let eve = rig.connect("eve", "1");
    rig.node.handle_token(rig.now, eve, "bo", None);
    rig.drain();
    assert_eq!(rig.closed, [(eve, Ending::Code(CloseCode::NotAllowed))]);
    // Its session lingers, as after a drop, and is still eve's.
    assert_eq!(rig.state("eve"), State::Online);
    rig.until(7.0);
    assert_eq!(rig.closed[1..], [(bo, Ending::Code(CloseCode::TokenExpired))]);
    assert_eq!(rig.state("eve"), State::Offline);
    // What comes late has no effect.
    rig.node.handle_token(rig.now, bo, "bo", None);
    rig.node.refuse_token(rig.now, bo, "no");
    rig.drain();
    assert_eq!(rig.closed.len(), 2);
}

#[test]
fn the_frame_itself_is_no_more_than_a_sign_of_life() {
    let mut rig = Rig::new();
    let bo = rig.connect("bo", "1");
    rig.until(29.0);
    rig.frame(bo, &ClientFrame::Token("anything"));
    rig.until(58.0);
    assert_eq!(rig.state("bo"), State::Online);
    rig.until(60.0);
    assert_eq!(rig.state("bo"), State::Offline);
}

#[test]
fn a_token_ends_nothing_before_what_waits_on_the_connection_has_been_read() {
    let mut rig = Rig::new();
    rig.reads = false;
    let bo = rig.try_connect("bo", "1", at(7)).unwrap();
    let cy = rig.try_connect("cy", "1", at(7)).unwrap();
    rig.until(6.0);
    rig.stand_still_until(20.0);
    rig.until(20.1);
    assert_eq!((&rig.to_read[..], &rig.closed[..]), (&[bo, cy][..], &[][..]));
    // A fresh token had waited on bo's, and nothing on cy's.
    rig.frame(bo, &ClientFrame::Token("fresh"));
    rig.node.handle_token(rig.now, bo, "bo", at(27));
    rig.node.handle_read(rig.now, bo);
    rig.node.handle_read(rig.now, cy);
    rig.drain();
    assert_eq!(rig.closed, [(cy, Ending::Code(CloseCode::TokenExpired))]);
    rig.until(27.0);
    assert_eq!(rig.to_read, [bo, cy, bo]);
    rig.node.handle_read(rig.now, bo);
    rig.drain();
    assert_eq!(rig.closed[1..], [(bo, Ending::Code(CloseCode::TokenExpired))]);
}

#[test]
fn a_fresh_token_that_is_being_checked_is_waited_for() {
    let mut rig = Rig::new();
    let bo = rig.try_connect("bo", "1", at(7)).unwrap();
    let cy = rig.try_connect("cy", "1", at(7)).unwrap();
    rig.until(6.9);
    rig.frame(bo, &ClientFrame::Token("fresh"));
    rig.frame(cy, &ClientFrame::Token("bad"));
    rig.until(8.0);
    assert_eq!(rig.closed, []);
    rig.node.handle_token(rig.now, bo, "bo", None);
    rig.node.refuse_token(rig.now, cy, "no");
    rig.drain();
    assert_eq!(rig.closed, [(cy, Ending::Code(CloseCode::TokenExpired))]);
    rig.beat(bo);
    rig.until(20.0);
    assert_eq!(rig.closed.len(), 1);
}

#[test]
fn neither_a_driver_nor_a_check_is_waited_for_for_ever() {
    let mut rig = Rig::new();
    let bo = rig.try_connect("bo", "1", at(7)).unwrap();
    rig.frame(bo, &ClientFrame::Token("slow"));
    rig.reads = false;
    let cy = rig.try_connect("cy", "1", at(7)).unwrap();
    rig.until(11.9);
    rig.node.handle_read(rig.now, bo);
    rig.frame(bo, &ClientFrame::Token("slower"));
    assert_eq!(rig.closed, []);
    rig.until(12.0);
    let expired = Ending::Code(CloseCode::TokenExpired);
    assert_eq!(rig.closed, [(bo, expired), (cy, expired)]);
}
