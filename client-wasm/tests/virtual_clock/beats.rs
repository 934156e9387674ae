//! Signs of life, dead links, late timers, idle and active.

use greendot_client::core::{Client, Config, LinkState, Message, Output, Page};
use greendot_protocol::{ServerFrame, Span, State};
use proptest::{prop_assert, proptest};

use crate::rig::{Rig, secs};

fn seeded(seed: u64) -> Rig {
    let mut rig = Rig::with(&Config { session: "s1", nodes: 1, idle_after: None, seed });
    rig.act(Client::connect);
    rig
}

fn beat_times(rig: &Rig, from: f64) -> Vec<f64> {
    let beats = rig.log.iter().filter(|(at, output)| {
        *at >= secs(from) && matches!(output, Output::Send { frame: Message::Beat(_), .. })
    });
    beats.map(|(at, _)| at.as_millis() as f64 / 1000.0).collect()
}

fn last_beat(rig: &Rig) -> u8 {
    let beats = rig.outputs(0.0, |it| match it {
        Output::Send { frame: Message::Beat(beat), .. } => Some(beat.number),
        _ => None,
    });
    *beats.last().expect("a beat was sent")
}

/// Lets the time pass in a hidden page: timers run at whole minutes only.
fn run_throttled(rig: &mut Rig, from: f64, to: f64) {
    let mut at = (from / 60.0).ceil() * 60.0;
    while at <= to {
        rig.sleep(at);
        rig.act(Client::handle_timeout);
        at += 60.0;
    }
    rig.sleep(to);
}

proptest! {
    #[test]
    fn beats_are_8_to_10_s_apart_and_the_first_comes_within_10_s(seed: u64) {
        let mut rig = seeded(seed);
        rig.run(300.0);
        let beats = beat_times(&rig, 0.0);
        prop_assert!(beats[0] <= 10.0);
        for pair in beats.windows(2) {
            let gap = ((pair[1] - pair[0]) * 1000.0).round();
            prop_assert!((8_000.0..=10_000.0).contains(&gap), "{gap}");
        }
    }

    #[test]
    fn a_dead_link_is_noticed_within_a_beat_and_5_s(seed: u64, dead_at in 0.0..100.0f64) {
        let mut rig = seeded(seed);
        rig.run(dead_at);
        rig.answer = false;
        rig.serve = false;
        rig.run(dead_at + 15.0);
        prop_assert!(rig.client.stale());
        prop_assert!(rig.client.link() != LinkState::Live);
    }

    #[test]
    fn one_who_only_talks_still_notices_that_nobody_answers(seed: u64) {
        let mut rig = seeded(seed);
        rig.run(20.0);
        rig.answer = false;
        rig.serve = false;
        for n in 0..15 {
            rig.run(20.0 + f64::from(n));
            rig.act(|client, now| client.set_note(now, "still here"));
        }
        rig.run(35.0);
        prop_assert!(rig.client.link() != LinkState::Live);
    }

    #[test]
    fn one_who_only_hears_still_shows_signs_of_life(seed: u64) {
        let mut rig = seeded(seed);
        for n in 0..600 {
            rig.run(f64::from(n) / 10.0);
            rig.frame(&ServerFrame::Stale(false));
        }
        let beats = beat_times(&rig, 0.0);
        prop_assert!((6..=9).contains(&beats.len()), "{beats:?}");
    }
}

#[test]
fn an_answer_that_takes_longer_than_5_s_means_a_dead_link() {
    let mut rig = seeded(3);
    rig.answer = false;
    let first = rig.client.deadline().expect("the first beat").0;
    let asked = first.as_millis() as f64 / 1000.0;
    rig.run(asked + 4.9);
    assert_eq!(rig.client.link(), LinkState::Live);
    rig.run(asked + 5.0);
    assert_eq!(rig.client.link(), LinkState::Waiting);
    let codes = rig.outputs(asked, |it| match it {
        Output::CloseSocket { code, .. } => Some(*code),
        _ => None,
    });
    assert_eq!(codes, [4007]);
}

#[test]
fn an_open_question_of_an_old_connection_does_not_count_on_a_new_one() {
    for seed in 0..50 {
        let mut rig = seeded(seed);
        rig.run(8.0);
        rig.answer = false;
        rig.run(12.0);
        rig.answer = true;
        rig.reset();
        rig.run(60.0);
        assert_eq!(rig.dials(0.0).len(), 2, "seed {seed}");
        assert_eq!(rig.client.link(), LinkState::Live);
        let beats = beat_times(&rig, 12.0).into_iter().filter(|&at| at <= 25.5).count();
        assert!((1..=4).contains(&beats), "seed {seed}: {beats} beats");
    }
}

#[test]
fn an_hour_in_a_hidden_page_whose_timers_run_once_a_minute_costs_no_connection() {
    for seed in 0..20 {
        let mut rig = seeded(seed);
        rig.run(60.0);
        rig.act(|client, now| client.handle_page(now, Page::Hidden));
        run_throttled(&mut rig, 61.0, 3_600.0);
        assert_eq!(rig.dials(0.0).len(), 1);
        assert_eq!(rig.stales(1.0), [false; 0], "and the view is never called stale");
    }
}

#[test]
fn a_dead_link_of_a_hidden_page_is_noticed_within_three_minutes() {
    let mut rig = seeded(1);
    rig.run(60.0);
    rig.act(|client, now| client.handle_page(now, Page::Hidden));
    rig.answer = false;
    rig.serve = false;
    run_throttled(&mut rig, 61.0, 240.0);
    assert!(rig.client.stale());
}

#[test]
fn a_late_timer_makes_the_view_stale_until_a_new_question_is_answered() {
    let mut rig = Rig::live(&["ana"]);
    rig.run(20.0);
    rig.answer = false;
    rig.sleep(300.0);
    rig.act(Client::handle_timeout);
    assert!(rig.client.stale());
    assert_eq!(rig.client.link(), LinkState::Live);
    rig.run(302.0);
    let answer = ServerFrame::BeatAnswer(last_beat(&rig));
    rig.frame(&answer);
    assert_eq!(rig.stales(1.0), [true, false]);
    assert_eq!(rig.dials(0.0).len(), 1);
}

#[test]
fn an_answer_that_waited_through_a_sleep_proves_nothing() {
    let mut rig = Rig::live(&["ana"]);
    rig.answer = false;
    rig.run(10.0);
    assert!(rig.why_due() == Some(greendot_client::core::Reason::Answer));
    let old = ServerFrame::BeatAnswer(last_beat(&rig));
    rig.sleep(300.0);
    rig.frame(&old);
    assert!(rig.client.stale(), "it was sent before the sleep");
    rig.run(304.9);
    assert_eq!(rig.client.link(), LinkState::Live, "the new question has one round");
    rig.serve = false;
    rig.run(305.0);
    assert_eq!(rig.client.link(), LinkState::Waiting);
}

#[test]
fn old_events_that_waited_through_a_sleep_prove_nothing_either() {
    let mut rig = Rig::live(&["ana"]);
    rig.run(20.0);
    rig.answer = false;
    rig.sleep(300.0);
    for version in 2..10 {
        rig.event(7, "ana", if version % 2 == 0 { State::Away } else { State::Online }, version);
    }
    assert!(rig.client.stale());
    assert_eq!(rig.beats(300.0), 1, "one question is enough");
}

#[test]
fn a_page_in_which_every_timer_is_late_still_notices_a_dead_link() {
    let mut rig = Rig::live(&[]);
    rig.run(20.0);
    rig.answer = false;
    rig.serve = false;
    for n in 1..=10 {
        rig.sleep(20.0 + f64::from(n) * 12.0);
        rig.act(Client::handle_timeout);
    }
    assert_ne!(rig.client.link(), LinkState::Live);
}

#[test]
fn a_beat_says_how_long_ago_the_last_input_was() {
    let mut rig = seeded(1);
    rig.run(30.0);
    rig.act(Client::handle_input);
    rig.run(50.0);
    let ages = rig.outputs(0.0, |it| match it {
        Output::Send { frame: Message::Beat(beat), .. } => beat.input_age_secs,
        _ => None,
    });
    let times = beat_times(&rig, 0.0);
    for (age, at) in ages.iter().zip(times) {
        let last_input = if at < 30.0 { 0.0 } else { 30.0 };
        assert_eq!(*age, (at - last_input) as u32);
    }
}

#[test]
fn input_without_end_costs_no_frame_and_no_timer() {
    let mut rig = seeded(1);
    rig.welcome.idle_after = Span::from_secs(600);
    rig.reset();
    rig.act(Client::connect);
    rig.run(99.0);
    let timers = rig.client.timers();
    for n in 0..6_000 {
        rig.run(100.0 + f64::from(n) / 100.0);
        rig.act(Client::handle_input);
    }
    rig.run(161.0);
    assert_eq!(rig.client.timers(), timers);
    assert!((6..=9).contains(&rig.beats(100.0)));
    assert_eq!(rig.sent(100.0).len(), rig.beats(100.0));
}

#[test]
fn idle_is_said_once_and_active_at_the_first_input() {
    let config = Config { session: "s1", nodes: 1, idle_after: Some(Span::from_secs(20)), seed: 1 };
    let mut rig = Rig::with(&config);
    rig.act(Client::connect);
    let told = |rig: &Rig, from: f64| -> Vec<Message> {
        let mut sent = rig.sent(from);
        sent.retain(|it| matches!(it, Message::Idle | Message::Active));
        sent
    };
    rig.run(19.9);
    assert!(told(&rig, 0.0).is_empty());
    rig.run(100.0);
    assert_eq!(told(&rig, 0.0), [Message::Idle]);
    rig.act(Client::handle_input);
    rig.act(Client::handle_input);
    assert_eq!(told(&rig, 0.0), [Message::Idle, Message::Active]);
    rig.run(119.9);
    assert!(told(&rig, 100.1).is_empty());
    rig.run(120.0);
    assert_eq!(told(&rig, 100.1), [Message::Idle]);
}

#[test]
fn one_who_is_idle_says_so_in_the_hello_and_not_again() {
    let config = Config { session: "s1", nodes: 1, idle_after: Some(Span::from_secs(20)), seed: 1 };
    let mut rig = Rig::with(&config);
    rig.act(Client::connect);
    rig.run(30.0);
    rig.reset();
    rig.run(60.0);
    let sent = rig.sent(30.1);
    let Message::Hello(hello) = &sent[0] else { panic!("{sent:?}") };
    assert!(hello.idle && hello.input_age_secs >= 30);
    assert_eq!(hello.idle_after_secs, Some(20));
    assert!(!sent.contains(&Message::Idle));
    rig.act(Client::handle_input);
    assert_eq!(rig.sent(60.0), [Message::Active]);
}

#[test]
fn with_idle_off_nobody_is_ever_idle() {
    let config = Config { session: "s1", nodes: 1, idle_after: Some(Span::ZERO), seed: 1 };
    let mut rig = Rig::with(&config);
    rig.welcome.idle_after = Span::from_secs(20);
    rig.act(Client::connect);
    rig.run(1_000.0);
    assert!(!rig.sent(0.0).contains(&Message::Idle));
}
