//! A fresh token in time, on the connection that stands (rule 18).

use greendot_client::core::{Client, Config, Dial, LinkState, Message, Output, TokenFailure};
use greendot_protocol::{CloseCode, ServerFrame, Span};
use proptest::{prop_assert, prop_assert_eq, proptest};

use crate::rig::Rig;

/// A live client whose token lasts so long, and which gets no other unless the test gives it.
fn lasting(secs: u64, seed: u64) -> Rig {
    let mut rig = Rig::with(&Config { session: "s1", nodes: 1, idle_after: None, seed });
    rig.welcome.token = Span::from_secs(secs);
    rig.act(Client::connect);
    assert_eq!(rig.client.link(), LinkState::Live);
    rig.serve = false;
    rig
}

/// When tokens were asked for since then, in ms.
fn asked(rig: &Rig, from: f64) -> Vec<u64> {
    let late = rig.log.iter().filter(|(at, _)| at.as_millis() as f64 >= from * 1000.0);
    let asked = late.filter(|(_, output)| matches!(output, Output::NeedToken { .. }));
    asked.map(|(at, _)| at.as_millis()).collect()
}

fn tokens(rig: &Rig) -> Vec<Message> {
    let all = rig.sent(0.0).into_iter();
    all.filter(|it| matches!(it, Message::Token(_))).collect()
}

proptest! {
    #[test]
    fn it_is_asked_for_after_80_to_90_percent(seed: u64, secs in 10u64..100_000) {
        let mut rig = lasting(secs, seed);
        rig.run(secs as f64 * 0.9 + 0.001);
        let asked = asked(&rig, 0.001);
        prop_assert!(!asked.is_empty());
        prop_assert!(asked[0] >= secs * 800 && asked[0] <= secs * 900, "{asked:?}");
        prop_assert_eq!(rig.dials(0.001).len(), 0);
    }

    #[test]
    fn one_that_cannot_be_had_is_asked_for_again_at_a_bounded_rate(seed: u64, secs in 1u64..4_000) {
        let mut rig = lasting(secs, seed);
        let mut told = 0;
        for second in 1..=2 * secs {
            rig.run(second as f64);
            if asked(&rig, 0.001).len() > told {
                told += 1;
                rig.act(|it, now| it.handle_token_failed(now, Dial(1), TokenFailure::Failed));
            }
        }
        let asked = asked(&rig, 0.001);
        prop_assert!(asked.windows(2).all(|it| it[1] - it[0] >= 4_000), "{asked:?}");
        // Several times before it ends, where there is time for that.
        let before = asked.iter().filter(|&&it| it < secs * 1000).count();
        prop_assert!(before >= if secs > 200 { 3 } else { 0 }, "{asked:?}");
        prop_assert_eq!(rig.client.link(), LinkState::Live);
    }
}

#[test]
fn it_is_handed_in_and_the_next_one_is_asked_for_in_its_time() {
    let mut rig = lasting(1_000, 1);
    rig.run(901.0);
    rig.act(|client, now| client.handle_token(now, Dial(1), "t2"));
    assert_eq!(tokens(&rig), [Message::Token("t2".into())]);
    // Nobody asked for this one.
    rig.act(|client, now| client.handle_token(now, Dial(1), "t3"));
    assert_eq!(tokens(&rig).len(), 1);
    rig.frame(&ServerFrame::Token { lasts: Span::from_secs(1_000) });
    rig.run(1_700.0);
    assert!(asked(&rig, 901.0).is_empty());
    rig.run(1_802.0);
    assert_eq!(asked(&rig, 901.0).len(), 1);
    rig.act(|client, now| client.handle_token(now, Dial(1), "t4"));
    rig.frame(&ServerFrame::Token { lasts: Span::ZERO });
    rig.run(100_000.0);
    assert!(asked(&rig, 1_802.001).is_empty());
    assert_eq!((rig.dials(0.001).len(), rig.client.link()), (0, LinkState::Live));
}

#[test]
fn one_that_is_not_answered_is_followed_by_another() {
    let mut rig = lasting(1_000, 1);
    rig.run(901.0);
    rig.act(|client, now| client.handle_token(now, Dial(1), "t2"));
    rig.run(935.0);
    assert_eq!(asked(&rig, 901.001).len(), 1);
}

#[test]
fn when_it_ends_all_the_same_the_next_dial_brings_a_fresh_one() {
    let mut rig = lasting(1_000, 1);
    rig.run(1_000.0);
    rig.serve = true;
    rig.closed_by(CloseCode::TokenExpired);
    rig.run(1_004.0);
    assert_eq!((rig.dials(0.001).len(), rig.client.link()), (1, LinkState::Live));
    // What was asked for on the old connection is no use any more.
    rig.act(|client, now| client.handle_token(now, Dial(1), "late"));
    assert_eq!(tokens(&rig), []);
}

#[test]
fn an_app_that_has_none_for_this_user_is_not_asked_again() {
    let mut rig = lasting(1_000, 1);
    rig.run(901.0);
    let before = asked(&rig, 0.0).len();
    rig.act(|client, now| client.handle_token_failed(now, Dial(1), TokenFailure::NotAllowed));
    rig.run(1_000.0);
    assert_eq!((asked(&rig, 0.0).len(), rig.client.link()), (before, LinkState::Live));
}

#[test]
fn a_token_that_does_not_end_is_never_renewed() {
    let mut rig = lasting(0, 1);
    rig.run(1_000_000.0);
    assert!(asked(&rig, 0.001).is_empty());
}
