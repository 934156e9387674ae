//! Pages that are hidden, frozen, cached, offline.

use greendot_client::core::{Client, Dial, LinkState, Message, Output, Page};
use greendot_protocol::State::{Online, Unknown};

use crate::rig::Rig;

fn page(rig: &mut Rig, page: Page) {
    rig.act(|client, now| client.handle_page(now, page));
}

#[test]
fn thawed_the_view_is_stale_until_the_link_has_answered() {
    let mut rig = Rig::live(&["ana"]);
    rig.run(60.0);
    page(&mut rig, Page::Hidden);
    page(&mut rig, Page::Frozen);
    rig.sleep(1_000.0);
    rig.answer = false;
    page(&mut rig, Page::Resumed);
    assert!(rig.client.stale());
    assert_eq!(rig.beats(1_000.0), 1);
    rig.answer = true;
    page(&mut rig, Page::Resumed);
    assert_eq!(rig.stales(1.0), [true, false]);
    assert_eq!(rig.dials(0.0).len(), 1);
    assert_eq!(rig.shown("ana"), (Online, 1));
}

#[test]
fn a_page_that_leaves_says_closing_and_waits_until_it_is_back() {
    let mut rig = Rig::live(&["bo"]);
    rig.run(20.0);
    page(&mut rig, Page::Left);
    assert_eq!(rig.sent(20.0), [Message::Closing]);
    let last = rig.outputs(20.0, |it| match it {
        Output::Link { state, retry, .. } => Some((*state, *retry)),
        _ => None,
    });
    assert_eq!(last, [(LinkState::Waiting, None)]);
    rig.run(23.5);
    assert_eq!(rig.dials(20.0), [0; 0]);
    page(&mut rig, Page::Shown);
    rig.run(24.0);
    assert_eq!(rig.dials(20.0).len(), 1);
    assert!(rig.client.stale(), "the snapshot is not there yet");
    rig.snapshot(7, &[("bo", Online, 1)]);
    assert!(!rig.client.stale());
    assert_eq!(rig.changes(1, 19.0), 0);
}

#[test]
fn an_attempt_is_not_given_up_for_time_in_which_the_page_was_frozen() {
    let mut rig = Rig::new();
    rig.serve = false;
    rig.act(Client::connect);
    rig.act(|client, now| client.handle_token(now, Dial(1), "token"));
    page(&mut rig, Page::Frozen);
    rig.sleep(12.0);
    page(&mut rig, Page::Resumed);
    rig.run(21.9);
    assert_eq!(rig.links(0.0), [LinkState::Connecting], "it has the 10 s that were left");
    rig.serve = true;
    rig.act(|client, now| client.handle_opened(now, Dial(1)));
    assert_eq!(rig.client.link(), LinkState::Live);
    assert_eq!(rig.dials(0.0).len(), 1);
}

#[test]
fn what_an_attempt_waits_for_may_wait_unread_behind_a_late_timer_once() {
    let mut rig = Rig::new();
    rig.serve = false;
    rig.act(Client::connect);
    rig.sleep(60.0);
    rig.act(Client::handle_timeout);
    assert_eq!(rig.client.link(), LinkState::Connecting, "one round more");
    rig.sleep(120.0);
    rig.act(Client::handle_timeout);
    assert_eq!(rig.client.link(), LinkState::Waiting, "and no third");
}

#[test]
fn snapshots_that_waited_through_a_freeze_are_in_time() {
    let mut rig = Rig::new();
    rig.subscribe(1, "bo");
    rig.act(Client::connect);
    page(&mut rig, Page::Frozen);
    rig.sleep(100.0);
    page(&mut rig, Page::Resumed);
    rig.run(100.0);
    rig.snapshot(7, &[("bo", Online, 1)]);
    assert_eq!(rig.client.link(), LinkState::Live);
    assert_eq!(rig.dials(0.0).len(), 1);
}

#[test]
fn time_in_the_page_cache_is_not_time_cut_off() {
    let mut rig = Rig::live(&["bo"]);
    rig.run(20.0);
    page(&mut rig, Page::Left);
    page(&mut rig, Page::Frozen);
    rig.sleep(620.0);
    rig.serve = false;
    page(&mut rig, Page::Shown);
    assert_eq!(rig.shown("bo").0, Online);
    rig.run(654.9);
    assert_eq!(rig.shown("bo").0, Online);
    rig.run(655.0);
    assert_eq!(rig.shown("bo").0, Unknown);
}

#[test]
fn time_asleep_is_not_time_cut_off() {
    let mut rig = Rig::live(&["bo"]);
    rig.run(20.0);
    rig.serve = false;
    rig.reset();
    rig.run(30.0);
    let (due, _) = rig.client.deadline().expect("it waits");
    rig.sleep(1_000.0);
    rig.act(Client::handle_timeout);
    let awake = due.as_millis() as f64 / 1000.0 - 20.0;
    rig.run(1_000.0 + 35.0 - awake - 0.1);
    assert_eq!(rig.shown("bo").0, Online);
    rig.run(1_000.0 + 35.0 - awake);
    assert_eq!(rig.shown("bo").0, Unknown);
}

#[test]
fn a_page_that_did_not_leave_after_all_is_back_with_the_first_input() {
    let mut rig = Rig::live(&[]);
    rig.run(20.0);
    page(&mut rig, Page::Left);
    rig.run(50.0);
    rig.act(Client::handle_input);
    rig.run(50.5);
    assert_eq!(rig.client.link(), LinkState::Live);
}

#[test]
fn becoming_visible_cuts_a_wait_short() {
    let mut rig = Rig::live(&[]);
    rig.serve = false;
    rig.reset();
    rig.run(100.0);
    rig.serve = true;
    while rig.client.link() != LinkState::Waiting {
        rig.run(rig.now.as_millis() as f64 / 1000.0 + 0.1);
    }
    let now = rig.now.as_millis() as f64 / 1000.0;
    page(&mut rig, Page::Visible);
    rig.run(now + 0.5);
    assert_eq!(rig.client.link(), LinkState::Live);
}

#[test]
fn offline_makes_the_view_stale_at_once_and_online_brings_the_link_back_within_a_second() {
    for (offline, online) in [(5.0, 6.0), (5.0, 10.0), (5.0, 12.0), (5.0, 300.0)] {
        let mut rig = Rig::live(&["ana"]);
        rig.run(offline);
        rig.answer = false;
        rig.serve = false;
        page(&mut rig, Page::Offline);
        assert!(rig.client.stale());
        rig.run(online);
        rig.answer = true;
        rig.serve = true;
        page(&mut rig, Page::Online);
        rig.run(online + 1.0);
        rig.snapshot(7, &[("ana", Online, 1)]);
        assert_eq!(rig.client.link(), LinkState::Live, "{offline} to {online}");
        assert!(!rig.client.stale());
    }
}

#[test]
fn a_link_that_answers_while_offline_is_kept() {
    let mut rig = Rig::live(&["ana"]);
    rig.run(5.0);
    page(&mut rig, Page::Offline);
    assert_eq!(rig.stales(1.0), [true, false]);
    rig.run(60.0);
    page(&mut rig, Page::Online);
    rig.run(70.0);
    assert_eq!(rig.dials(0.0).len(), 1);
    assert!(!rig.client.stale());
}

#[test]
fn a_dial_that_was_begun_offline_is_begun_anew_online() {
    let mut rig = Rig::live(&[]);
    rig.run(15.0);
    rig.serve = false;
    page(&mut rig, Page::Offline);
    rig.reset();
    rig.act(Client::connect);
    let hung = rig.client.deadline().expect("an attempt").0;
    rig.serve = true;
    rig.run(20.0);
    assert!(hung > rig.now);
    page(&mut rig, Page::Online);
    rig.run(21.0);
    assert_eq!(rig.client.link(), LinkState::Live);
}

#[test]
fn a_page_that_becomes_visible_after_a_long_silence_asks_before_it_says_that_all_is_well() {
    let mut rig = Rig::live(&["ana"]);
    rig.run(60.0);
    page(&mut rig, Page::Hidden);
    rig.sleep(110.0);
    rig.answer = false;
    page(&mut rig, Page::Visible);
    assert!(rig.client.stale());
    assert_eq!(rig.beats(110.0), 1);
    rig.serve = false;
    rig.run(115.0);
    assert_eq!(rig.client.link(), LinkState::Waiting);
}

#[test]
fn a_visible_page_that_has_just_heard_something_asks_nothing() {
    let mut rig = Rig::live(&["ana"]);
    rig.run(20.0);
    rig.event(7, "ana", greendot_protocol::State::Away, 2);
    page(&mut rig, Page::Hidden);
    page(&mut rig, Page::Visible);
    assert_eq!(rig.beats(20.0), 0);
    assert_eq!(rig.stales(1.0), [false; 0]);
}

#[test]
fn page_events_before_the_app_connects_do_nothing() {
    let mut rig = Rig::new();
    for event in [
        Page::Hidden,
        Page::Visible,
        Page::Frozen,
        Page::Resumed,
        Page::Offline,
        Page::Online,
        Page::Left,
        Page::Shown,
    ] {
        page(&mut rig, event);
    }
    rig.run(100.0);
    assert!(rig.log.is_empty(), "{:?}", rig.log);
    assert_eq!(rig.client.link(), LinkState::Closed);
}

fn beacons(rig: &Rig, from: f64) -> Vec<(u32, Box<str>)> {
    rig.outputs(from, |it| match it {
        Output::Beacon { node, ticket } => Some((*node, ticket.clone())),
        _ => None,
    })
}

/// As [`Rig::live`], with a ticket in the welcome.
fn ticketed() -> Rig {
    let mut rig = Rig::new();
    rig.welcome.ticket = "ticket";
    rig.act(Client::connect);
    assert_eq!(rig.client.link(), LinkState::Live);
    rig
}

#[test]
fn over_a_good_link_closing_is_a_frame_and_no_beacon() {
    let mut rig = ticketed();
    rig.run(20.0);
    page(&mut rig, Page::Left);
    assert_eq!(rig.sent(20.0), [Message::Closing]);
    assert_eq!(beacons(&rig, 0.0), []);
}

#[test]
fn over_a_link_in_doubt_closing_is_said_by_a_beacon_too_once() {
    for leave in [|c: &mut Client, now| c.handle_page(now, Page::Left), Client::disconnect] {
        let mut rig = ticketed();
        rig.run(20.0);
        rig.answer = false;
        page(&mut rig, Page::Offline);
        rig.act(leave);
        assert_eq!(beacons(&rig, 0.0), [(0, "ticket".into())]);
        rig.act(leave);
        assert_eq!(beacons(&rig, 0.0).len(), 1);
    }
}

#[test]
fn a_page_that_leaves_while_its_link_is_lost_says_so_by_a_beacon() {
    let mut rig = ticketed();
    rig.run(20.0);
    rig.serve = false;
    rig.reset();
    page(&mut rig, Page::Left);
    assert_eq!(beacons(&rig, 0.0), [(0, "ticket".into())]);
}

#[test]
fn a_session_that_is_no_more_sends_no_beacon() {
    for code in [greendot_protocol::CloseCode::Replaced, greendot_protocol::CloseCode::Revoked] {
        let mut rig = ticketed();
        rig.closed_by(code);
        page(&mut rig, Page::Left);
        rig.act(Client::disconnect);
        assert_eq!(beacons(&rig, 0.0), []);
    }
}

#[test]
fn input_in_another_page_counts_but_does_not_thaw_this_one() {
    let mut rig = Rig::live(&[]);
    rig.welcome.idle_after = greendot_protocol::Span::from_secs(60);
    rig.reset();
    rig.run(80.0);
    assert_eq!(rig.sent(60.0).iter().filter(|it| **it == Message::Idle).count(), 1);
    rig.act(Client::handle_input_elsewhere);
    assert_eq!(rig.sent(80.0), [Message::Active]);
    page(&mut rig, Page::Left);
    rig.run(90.0);
    rig.act(Client::handle_input_elsewhere);
    rig.run(99.0);
    assert_eq!(rig.client.link(), LinkState::Waiting);
}
