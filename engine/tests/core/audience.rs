//! An application that is asked who may see whom: until it has answered nothing is shown.

use greendot_engine::core::{AudienceRule, ConnId, Fineness, Settings, Start};
use greendot_engine::protocol::{ClientFrame, Mode, Span, State};

use crate::rig::{Heard, Rig, settings};

fn rig() -> Rig {
    let audience = Some(AudienceRule::default());
    Rig::with(Settings { audience, ..settings() }, Start::Fresh)
}

fn live(_: &str, _: &str) -> Option<Fineness> {
    Some(Fineness::Live)
}

/// Ana watches bo, and cy where there is one; nothing has been answered yet.
fn watching(rig: &mut Rig, users: &[(u32, &str)]) -> ConnId {
    let ana = rig.connect("ana", "1");
    for (_, user) in users {
        rig.connect(user, "1");
    }
    rig.hear(ana);
    rig.watch(ana, 1, users);
    ana
}

#[test]
fn one_frame_is_one_question_and_the_snapshot_waits_for_the_answer() {
    let mut rig = rig();
    let ana = rig.connect("ana", "1");
    rig.connect("bo", "1");
    rig.connect("cy", "1");
    rig.watch(ana, 1, &[(1, "bo"), (2, "cy"), (3, "ana")]);
    assert_eq!(rig.hear(ana), [Heard::Welcome(Mode::Auto)]);
    let (_, pairs) = &rig.questions[0];
    let pairs: Vec<_> = pairs.iter().map(|it| (&*it.0, &*it.1)).collect();
    // Nobody is asked whether one may see oneself.
    assert_eq!(pairs, [("ana", "bo"), ("ana", "cy")]);
    rig.allow(|_, user| Some(if user == "bo" { Fineness::Live } else { Fineness::Nothing }));
    let online = |number| (number, State::Online, 1);
    assert_eq!(rig.hear(ana), [Heard::Snapshot(1, vec![online(1), online(3)])]);
    // What is known is not asked again.
    rig.watch(ana, 2, &[(4, "bo"), (5, "bo")]);
    assert_eq!(rig.hear(ana), [Heard::Snapshot(2, vec![online(5)])]);
    assert!(rig.questions.is_empty());
}

#[test]
fn an_answer_that_hangs_delays_no_heartbeat_and_shows_nothing_at_its_deadline() {
    let mut rig = rig();
    let ana = watching(&mut rig, &[(1, "bo")]);
    rig.until(2.0);
    rig.beat(ana);
    assert_eq!(rig.hear(ana), [Heard::BeatAnswer(1)]);
    rig.until(2.9);
    assert_eq!(rig.hear(ana), []);
    rig.until(3.0);
    assert_eq!(rig.hear(ana), [Heard::Snapshot(1, vec![])]);
    assert_eq!(rig.node.audience_counts().failures, 1);
    // It heals: asked again after a second, and the late answer to the first question is none.
    rig.until(4.0);
    assert_eq!(rig.questions.len(), 2);
    rig.allow(|_, _| Some(Fineness::Live));
    assert_eq!(rig.hear(ana), []);
    rig.allow(live);
    assert_eq!(rig.hear(ana), [Heard::Events(vec![(1, State::Online, 1)])]);
}

#[test]
fn a_short_answer_is_none_for_those_it_leaves_out() {
    let mut rig = rig();
    let ana = watching(&mut rig, &[(1, "bo"), (2, "cy")]);
    let (number, _) = rig.questions.remove(0);
    rig.node.handle_audience(rig.now, number, &[Some(Fineness::Live)]);
    rig.drain();
    assert_eq!(rig.hear(ana), [Heard::Snapshot(1, vec![(1, State::Online, 1)])]);
    assert_eq!(rig.node.audience_counts().failures, 1);
    rig.until(1.0);
    let (_, pairs) = &rig.questions[0];
    assert_eq!(pairs.len(), 1);
    rig.allow(live);
    assert_eq!(rig.hear(ana), [Heard::Events(vec![(2, State::Online, 1)])]);
}

#[test]
fn an_answer_holds_for_its_lifetime_and_is_asked_for_again_at_half_of_it() {
    let mut rig = rig();
    let ana = rig.connect("ana", "1");
    let bo = rig.connect("bo", "1");
    rig.watch(ana, 1, &[(1, "bo")]);
    rig.allow(live);
    rig.hear(ana);
    let live_on = |rig: &mut Rig, to: u32| {
        for second in 0..to {
            if second % 10 == 9 {
                rig.beat(ana);
                rig.beat(bo);
            }
            let at = rig.now.as_millis() as f64 / 1000.0;
            rig.until(at + 1.0);
        }
    };
    live_on(&mut rig, 29);
    assert!(rig.questions.is_empty());
    live_on(&mut rig, 1);
    // The application is dead from now on; what it said lasts to the minute.
    assert_eq!(rig.questions.len(), 1);
    live_on(&mut rig, 29);
    rig.hear(ana);
    live_on(&mut rig, 1);
    let heard = rig.hear(ana);
    assert!(heard.contains(&Heard::Events(vec![(1, State::Offline, 2)])), "{heard:?}");
    let asked = rig.questions.len();
    assert!((2..8).contains(&asked), "asked {asked} times in half a minute");
    // It lives again: the present state.
    let mut heard = Vec::new();
    for _ in 0..70 {
        live_on(&mut rig, 1);
        while !rig.questions.is_empty() {
            rig.allow(live);
        }
        heard.extend(rig.hear(ana));
    }
    assert!(heard.contains(&Heard::Events(vec![(1, State::Online, 3)])), "{heard:?}");
}

#[test]
fn from_a_change_on_nothing_newer_is_told_until_the_answer() {
    let mut rig = rig();
    let ana = rig.connect("ana", "1");
    let bo = rig.connect("bo", "1");
    rig.watch(ana, 1, &[(1, "bo")]);
    rig.allow(live);
    rig.hear(ana);
    rig.node.audience_changed(rig.now, Some("bo"), None);
    rig.drain();
    rig.frame(bo, &ClientFrame::Idle);
    rig.until(1.0);
    rig.frame(bo, &ClientFrame::Active);
    rig.frame(bo, &ClientFrame::Note("secret"));
    assert_eq!(rig.hear(ana), []);
    rig.allow(|_, _| Some(Fineness::Nothing));
    assert_eq!(rig.hear(ana), [Heard::Events(vec![(1, State::Offline, 2)])]);
    rig.frame(bo, &ClientFrame::Idle);
    assert_eq!(rig.hear(ana), []);
    // Sight is regained: the present state, and no gap.
    rig.node.audience_changed(rig.now, None, Some("ana"));
    rig.drain();
    rig.allow(live);
    assert_eq!(rig.hear(ana), [Heard::Events(vec![(1, State::Away, 3)])]);
    rig.frame(bo, &ClientFrame::Bye);
    assert_eq!(rig.hear(ana), [Heard::Events(vec![(1, State::Offline, 4)])]);
}

#[test]
fn a_question_of_before_a_change_does_not_answer_it() {
    let mut rig = rig();
    let ana = watching(&mut rig, &[(1, "bo")]);
    rig.node.audience_changed(rig.now, Some("bo"), Some("ana"));
    rig.drain();
    rig.allow(live);
    assert_eq!(rig.hear(ana), []);
    rig.allow(|_, _| Some(Fineness::Nothing));
    assert_eq!(rig.hear(ana), [Heard::Snapshot(1, vec![])]);
}

#[test]
fn who_may_see_only_when_one_was_there_sees_no_more() {
    let mut rig = rig();
    let ana = rig.connect("ana", "1");
    let bo = rig.connect("bo", "1");
    rig.hear(ana);
    rig.watch(ana, 1, &[(1, "bo")]);
    rig.allow(|_, _| Some(Fineness::LastSeen));
    assert_eq!(rig.hear(ana), [Heard::Snapshot(1, vec![(1, State::Offline, 0)])]);
    let size = |rig: &mut Rig, request| {
        rig.watch(ana, request, &[(1, "bo")]);
        rig.hear_bytes(ana)
    };
    let there = size(&mut rig, 2);
    rig.frame(bo, &ClientFrame::Idle);
    assert_eq!(rig.hear(ana), []);
    rig.frame(bo, &ClientFrame::Bye);
    assert_eq!(rig.hear(ana), []);
    // Gone a moment ago, it looks as it did while it was there.
    assert_eq!(size(&mut rig, 3), there);
}

#[test]
fn polls_and_lists_wait_for_the_answer_too() {
    let mut rig = rig();
    rig.connect("bo", "1");
    rig.connect("cy", "1");
    rig.node.ask(rig.now, 1, "eve", &["bo", "cy", "eve"], None);
    rig.drain();
    assert!(rig.answers.is_empty());
    rig.allow(|_, user| (user == "bo").then_some(Fineness::Live));
    let states: Vec<_> = rig.answers[0].2.iter().map(|it| it.state).collect();
    assert_eq!(states, [State::Online, State::Offline, State::Offline]);
    // One that hangs is answered at the deadline, with nothing.
    rig.node.ask(rig.now, 2, "mallory", &["bo"], None);
    rig.drain();
    rig.until(3.0);
    assert_eq!(rig.answers[1].2[0].state, State::Offline);
    assert_eq!(rig.node.counts().looks, 0);
}

#[test]
fn what_nobody_watches_any_more_is_asked_no_more() {
    let mut rig = rig();
    let ana = rig.connect("ana", "1");
    rig.connect("bo", "1");
    rig.watch(ana, 1, &[(1, "bo")]);
    rig.allow(live);
    rig.frame(ana, &ClientFrame::Unwatch { numbers: vec![1] });
    for second in 1..=120 {
        rig.until(f64::from(second));
        if second % 10 == 0 {
            rig.beat(ana);
        }
    }
    assert!(rig.questions.is_empty());
}

#[test]
fn a_lifetime_that_ends_before_an_answer_can_come_is_refused_at_start() {
    let audience = Some(AudienceRule { lifetime: Span::from_secs(5), ..AudienceRule::default() });
    let error = Settings { audience, ..settings() }.check().unwrap_err();
    assert_eq!(error.names, ["audience.lifetime", "audience.deadline"]);
}
