//! The link: dials, waits, stops, and one dial at a time.

use greendot_client::core::{Client, Config, Dial, LinkState, Message, Output, Page, TokenFailure};
use greendot_protocol::{
    CloseCode, Entry, Epoch, Mode, ModeChoice, Retry, Revision, ServerFrame, Span, State, Version,
};
use proptest::{prop_assert, prop_assert_eq, proptest};

use crate::rig::{BEAT, Rig};

fn seeded(seed: u64, nodes: u32) -> Rig {
    Rig::with(&Config { session: "s1", nodes, idle_after: None, seed })
}

/// Milliseconds until the next deadline.
fn wait(rig: &Rig) -> u64 {
    let (at, _) = rig.client.deadline().expect("waits for something");
    at.since(rig.now).as_millis()
}

#[test]
fn the_first_connect_dials_at_once() {
    let mut rig = Rig::new();
    rig.act(Client::connect);
    assert_eq!(rig.dials(0.0), [0]);
    assert_eq!(rig.links(0.0), [LinkState::Connecting, LinkState::Live]);
    assert_eq!(rig.stales(0.0), [false]);
}

#[test]
fn hello_and_watches_go_out_before_the_welcome() {
    let mut rig = Rig::new();
    rig.serve = false;
    rig.subscribe(1, "ana");
    rig.client.set_device("phone");
    rig.act(Client::connect);
    rig.act(|client, now| client.handle_token(now, Dial(1), "t1"));
    rig.act(|client, now| client.handle_opened(now, Dial(1)));
    let sent = rig.sent(0.0);
    let [Message::Hello(hello), Message::Watch { request: 1, users }, Message::Leave { number: 0 }] =
        &sent[..]
    else {
        panic!("{sent:?}")
    };
    assert_eq!((&*hello.session, &*hello.token, hello.idle), ("s1", "t1", false));
    assert_eq!(&*hello.device, "phone");
    assert_eq!(users[..], [(1, "ana".into())]);
    assert_eq!(rig.client.link(), LinkState::Connecting);
}

#[test]
fn live_waits_for_the_snapshot_of_what_is_watched() {
    let mut rig = Rig::new();
    rig.subscribe(1, "ana");
    rig.act(Client::connect);
    assert_eq!(rig.client.link(), LinkState::Connecting);
    rig.snapshot(7, &[("ana", State::Online, 1)]);
    let told = rig.outputs(0.0, |it| match it {
        Output::Changed { .. } => Some("changed"),
        Output::Link { state: LinkState::Live, .. } => Some("live"),
        Output::Stale(false) => Some("fresh"),
        _ => None,
    });
    assert_eq!(told, ["changed", "live", "fresh"]);
}

#[test]
fn a_snapshot_that_never_comes_is_not_waited_for_for_ever() {
    let mut rig = Rig::new();
    rig.subscribe(1, "ana");
    rig.act(Client::connect);
    rig.run(29.9);
    assert_eq!(rig.dials(0.0).len(), 1);
    rig.run(34.0);
    assert_eq!(rig.dials(0.0).len(), 2);
}

proptest! {
    #[test]
    fn waits_grow_from_3_s_to_30_s_and_each_dial_asks_for_a_token_afresh(seed: u64) {
        let mut rig = seeded(seed, 1);
        rig.serve = false;
        rig.act(Client::connect);
        for most in [3_000, 6_000, 12_000, 24_000, 30_000, 30_000] {
            let dial = Dial(rig.outputs(0.0, |it| match it {
                Output::NeedToken { dial } => Some(dial.0),
                _ => None,
            }).len() as u32);
            rig.act(|client, now| client.handle_token(now, dial, "t"));
            rig.closed(1006);
            prop_assert!(wait(&rig) <= most, "{} > {most}", wait(&rig));
            let (at, _) = rig.client.deadline().expect("a retry");
            rig.now = at;
            rig.act(Client::handle_timeout);
        }
        let tokens = rig.outputs(0.0, |it| matches!(it, Output::NeedToken { .. }).then_some(()));
        prop_assert_eq!(tokens.len(), 7);
        prop_assert_eq!(rig.dials(0.0).len(), 6);
    }

    #[test]
    fn a_named_delay_is_waited_for_and_jitter_added(seed: u64) {
        let mut rig = seeded(seed, 1);
        rig.act(Client::connect);
        rig.run(20.0);
        let retry_after = Span::from_secs(10);
        rig.frame(&ServerFrame::Close { code: CloseCode::Full, retry_after });
        prop_assert!((10_000..=13_000).contains(&wait(&rig)));
        rig.act(|client, now| client.handle_page(now, Page::Online));
        prop_assert!((10_000..=11_000).contains(&wait(&rig)));
    }

    #[test]
    fn only_a_link_that_held_for_a_beat_starts_the_waits_again(seed: u64) {
        let mut rig = seeded(seed, 1);
        rig.act(Client::connect);
        rig.run(10.0);
        rig.reset();
        prop_assert!(wait(&rig) <= 3_000);
        rig.run(13.0);
        prop_assert_eq!(rig.client.link(), LinkState::Live);
        rig.run(30.0);
        rig.reset();
        prop_assert!(wait(&rig) <= 3_000);
    }
}

#[test]
fn a_link_that_breaks_again_and_again_is_dialled_ever_later() {
    let longest = (0..200).map(|seed| {
        let mut rig = seeded(seed, 1);
        rig.act(Client::connect);
        for _ in 0..3 {
            rig.run(rig.now.as_millis() as f64 / 1000.0 + wait(&rig) as f64 / 1000.0);
            rig.reset();
        }
        wait(&rig)
    });
    assert!(longest.max() > Some(9_000));
}

#[test]
fn a_drained_or_full_or_unreachable_node_is_followed_by_the_next() {
    for code in [CloseCode::Drain, CloseCode::Full] {
        let mut rig = seeded(1, 3);
        rig.act(Client::connect);
        rig.run(20.0);
        rig.closed_by(code);
        rig.run(24.0);
        assert_eq!(rig.dials(0.0), [0, 1], "{code:?}");
    }
    let mut rig = seeded(1, 3);
    rig.serve = false;
    rig.act(Client::connect);
    for n in 1..5 {
        rig.act(|client, now| client.handle_token(now, Dial(n), "t"));
        rig.closed(1006);
        rig.act(Client::connect);
    }
    assert_eq!(rig.dials(0.0), [0, 1, 2, 0]);
}

#[test]
fn a_link_that_was_live_and_broke_is_dialled_at_the_same_node_first() {
    let mut rig = seeded(1, 3);
    rig.act(Client::connect);
    rig.run(20.0);
    rig.reset();
    rig.run(24.0);
    assert_eq!(rig.dials(0.0), [0, 0]);
}

#[test]
fn codes_that_say_stop_stop_it_and_say_why() {
    for &code in CloseCode::ALL.iter().filter(|it| it.retry() == Retry::No) {
        let mut rig = Rig::live(&["ana"]);
        rig.run(5.0);
        rig.closed_by(code);
        rig.run(2_000.0);
        assert_eq!(rig.dials(0.0).len(), 1, "{code:?}");
        assert_eq!((rig.client.link(), rig.client.why()), (LinkState::Stopped, code.number()));
        assert!(rig.client.stale());
        assert_eq!(rig.shown("ana").0, State::Unknown);
    }
}

#[test]
fn every_other_code_is_a_loss_like_any_other() {
    let codes = CloseCode::ALL.iter().filter(|it| it.retry() == Retry::Yes);
    for code in codes.map(|it| it.number()).chain([0, 1000, 1006, 1011, 4399, 4999, u16::MAX]) {
        let mut rig = Rig::live(&[]);
        rig.run(15.0);
        rig.closed(code);
        assert_eq!((rig.client.link(), rig.client.why()), (LinkState::Waiting, code));
        rig.run(19.0);
        assert_eq!(rig.client.link(), LinkState::Live);
    }
}

#[test]
fn the_app_can_start_a_stopped_link_again() {
    let mut rig = Rig::live(&[]);
    rig.closed_by(CloseCode::Replaced);
    rig.act(Client::connect);
    assert_eq!((rig.client.link(), rig.client.why()), (LinkState::Live, 0));
}

#[test]
fn a_close_frame_ends_the_link_even_if_the_connection_never_does() {
    let mut rig = Rig::live(&[]);
    let dial = rig.dial;
    rig.frame(&ServerFrame::Close { code: CloseCode::Revoked, retry_after: Span::ZERO });
    assert_eq!(rig.client.link(), LinkState::Stopped);
    let closed = rig.outputs(0.0, |it| match it {
        Output::CloseSocket { dial, .. } => Some(*dial),
        _ => None,
    });
    assert_eq!(closed, [dial]);
    rig.closed(1006);
    assert_eq!(rig.client.why(), CloseCode::Revoked.number());
}

#[test]
fn connect_cuts_a_wait_and_does_nothing_else() {
    let mut rig = Rig::live(&[]);
    rig.act(Client::connect);
    assert_eq!(rig.dials(0.0).len(), 1);
    rig.reset();
    rig.act(Client::connect);
    rig.act(Client::connect);
    assert_eq!(rig.dials(0.0).len(), 2);
}

#[test]
fn a_token_that_cannot_be_had_is_asked_for_again_and_a_refusal_stops() {
    let mut rig = Rig::new();
    rig.serve = false;
    rig.act(Client::connect);
    rig.act(|client, now| client.handle_token_failed(now, Dial(1), TokenFailure::Failed));
    assert_eq!(rig.client.link(), LinkState::Waiting);
    rig.run(3.0);
    assert_eq!(rig.client.link(), LinkState::Connecting);
    rig.act(|client, now| client.handle_token_failed(now, Dial(1), TokenFailure::NotAllowed));
    assert_eq!(rig.client.link(), LinkState::Connecting, "that was the first dial's");
    rig.act(|client, now| client.handle_token_failed(now, Dial(2), TokenFailure::NotAllowed));
    assert_eq!(rig.client.link(), LinkState::Stopped);
    assert_eq!(rig.client.why(), CloseCode::NotAllowed.number());
}

#[test]
fn an_attempt_that_hangs_at_any_stage_is_given_up_after_10_s() {
    for stage in 0..3 {
        let mut rig = Rig::new();
        rig.serve = false;
        rig.act(Client::connect);
        rig.run(1.0);
        if stage > 0 {
            rig.act(|client, now| client.handle_token(now, Dial(1), "t"));
        }
        if stage > 1 {
            rig.act(|client, now| client.handle_opened(now, Dial(1)));
        }
        rig.run(9.999);
        assert_eq!(rig.client.link(), LinkState::Connecting);
        rig.run(10.0);
        assert_eq!(rig.client.link(), LinkState::Waiting);
        let called_off =
            rig.outputs(10.0, |it| matches!(it, Output::CloseSocket { .. }).then_some(()));
        assert_eq!(called_off.len(), usize::from(stage > 0));
    }
}

#[test]
fn a_dial_that_was_called_off_and_opens_late_is_closed() {
    let mut rig = Rig::new();
    rig.serve = false;
    rig.act(Client::connect);
    rig.act(|client, now| client.handle_token(now, Dial(1), "t"));
    rig.act(Client::disconnect);
    rig.act(Client::connect);
    rig.act(|client, now| client.handle_token(now, Dial(2), "t"));
    rig.act(|client, now| client.handle_opened(now, Dial(2)));
    rig.act(|client, now| client.handle_opened(now, Dial(1)));
    let closed = rig.outputs(0.0, |it| match it {
        Output::CloseSocket { dial, .. } => Some(dial.0),
        _ => None,
    });
    assert_eq!(closed, [1, 1]);
    let sent = rig.sent(0.0);
    let hellos = sent.iter().filter(|it| matches!(it, Message::Hello(_))).count();
    assert_eq!(hellos, 1, "on the second dial");
}

#[test]
fn mounted_unmounted_and_mounted_again_leaves_one_connection() {
    let mut rig = Rig::new();
    rig.serve = false;
    rig.act(Client::connect);
    rig.act(|client, now| client.handle_token(now, Dial(1), "t"));
    rig.run(0.001);
    rig.act(Client::disconnect);
    rig.run(0.002);
    rig.serve = true;
    rig.act(Client::connect);
    let order = rig.outputs(0.0, |it| match it {
        Output::Dial { dial, .. } => Some(("dial", dial.0)),
        Output::CloseSocket { dial, .. } => Some(("close", dial.0)),
        _ => None,
    });
    assert_eq!(order, [("dial", 1), ("close", 1), ("dial", 2)]);
    assert_eq!(rig.client.link(), LinkState::Live);
}

#[test]
fn what_the_app_calls_inside_a_callback_is_done_in_order() {
    use LinkState::{Closed, Connecting, Live};
    for nested in [Connecting, Live] {
        let mut rig = Rig::new();
        rig.on_link = Some((nested, |client, now| {
            client.disconnect(now);
            client.connect(now);
        }));
        rig.act(Client::connect);
        let expected: &[LinkState] = match nested {
            Connecting => &[Connecting, Closed, Connecting, Live],
            _ => &[Connecting, Live, Closed, Connecting, Live],
        };
        assert_eq!(rig.links(0.0), expected);
        assert!(!rig.client.stale());
        let (mut open, mut most) = (0, 0);
        for (_, output) in &rig.log {
            match output {
                Output::Dial { .. } => open += 1,
                Output::CloseSocket { .. } => open -= 1,
                _ => {}
            }
            most = most.max(open);
        }
        assert_eq!((open, most), (1, 1));
    }
}

#[test]
fn what_is_said_of_an_earlier_dial_has_no_effect() {
    let mut rig = Rig::live(&["ana"]);
    let old = rig.dial;
    rig.run(15.0);
    rig.reset();
    rig.act(Client::connect);
    rig.snapshot(7, &[("ana", State::Online, 1)]);
    let entry = Entry { number: 1, state: State::Away, version: Version(9), ..Entry::default() };
    let event = ServerFrame::Events { epoch: Epoch(7), entries: vec![entry] };
    rig.act(|client, now| client.handle_frame(now, old, &event));
    rig.act(|client, now| client.handle_closed(now, old, 4409));
    rig.act(|client, now| client.handle_token(now, old, "t"));
    rig.act(|client, now| client.handle_unreadable(now, old));
    assert_eq!(rig.client.link(), LinkState::Live);
    assert_eq!(rig.shown("ana"), (State::Online, 1));
}

#[test]
fn disconnecting_says_closing_and_signing_out_says_bye() {
    for (call, farewell) in [
        (Client::disconnect as fn(&mut Client, _), Message::Closing),
        (Client::sign_out, Message::Bye),
    ] {
        let mut rig = Rig::live(&["ana"]);
        rig.run(1.0);
        rig.act(call);
        assert_eq!(rig.sent(1.0), [farewell]);
        assert_eq!(rig.client.link(), LinkState::Closed);
        assert!(rig.client.stale());
        rig.run(3.0);
        rig.act(Client::connect);
        let sent = rig.sent(3.0);
        assert!(matches!(&sent[1], Message::Watch { users, .. } if &*users[0].1 == "ana"));
        assert_eq!(rig.shown("ana"), (State::Online, 1));
    }
}

#[test]
fn a_frame_that_cannot_be_read_ends_the_connection_and_not_the_client() {
    let mut rig = Rig::live(&[]);
    rig.run(15.0);
    let dial = rig.dial;
    rig.act(|client, now| client.handle_unreadable(now, dial));
    assert_eq!(rig.client.link(), LinkState::Waiting);
    rig.run(19.0);
    assert_eq!(rig.client.link(), LinkState::Live);
}

#[test]
fn a_mode_chosen_while_away_is_said_in_the_hello_and_then_repeated() {
    let mut rig = Rig::new();
    rig.act(|client, now| client.set_mode(now, Mode::Invisible));
    rig.welcome.mode = Mode::Invisible;
    rig.act(Client::connect);
    rig.run(15.0);
    rig.reset();
    rig.run(19.0);
    let told = rig.outputs(0.0, |it| match it {
        Output::Send { frame: Message::Hello(hello), .. } => {
            hello.mode.map(|it| (it.mode, it.fresh))
        }
        _ => None,
    });
    assert_eq!(told, [(Mode::Invisible, true), (Mode::Invisible, false)]);
    let modes = rig.outputs(0.0, |it| match it {
        Output::Mode { mode, .. } => Some(*mode),
        _ => None,
    });
    assert_eq!(modes, [Mode::Invisible], "the app is told once");
}

#[test]
fn the_mode_of_one_who_signs_out_is_shown_no_more_and_repeated_for_its_server_to_weigh() {
    let mut rig = Rig::new();
    rig.welcome.mode = Mode::Invisible;
    rig.welcome.revision = Revision(7);
    rig.act(Client::connect);
    rig.act(|client, now| client.set_note(now, "private"));
    rig.act(Client::sign_out);
    rig.run(1.0);
    assert_eq!(rig.client.mode(), None);
    rig.act(Client::connect);
    let sent = rig.sent(1.0);
    let [Message::Hello(hello)] = &sent[..] else { panic!("{sent:?}") };
    let told = ModeChoice { mode: Mode::Invisible, revision: Revision(7), fresh: false };
    assert_eq!(hello.mode, Some(told));
}

#[test]
fn what_an_earlier_page_was_told_of_the_mode_is_repeated_and_not_shown() {
    let mut rig = Rig::new();
    rig.client.remember_mode(Mode::Invisible, Revision(7));
    assert_eq!(rig.client.mode(), None);
    rig.act(Client::connect);
    let sent = rig.sent(0.0);
    let [Message::Hello(hello), Message::Leave { number: 0 }] = &sent[..] else {
        panic!("{sent:?}")
    };
    let told = ModeChoice { mode: Mode::Invisible, revision: Revision(7), fresh: false };
    assert_eq!(hello.mode, Some(told));
    assert_eq!(rig.client.mode(), Some(Mode::Auto), "as the server says");
}

#[test]
fn the_timers_of_a_link_are_as_many_after_many_reconnects_as_before() {
    let mut rig = Rig::live(&["ana"]);
    rig.run(29.0);
    let before = (rig.client.timers(), rig.client.listeners());
    for n in 1..=20 {
        rig.run(f64::from(n) * 30.0);
        rig.reset();
        rig.run(f64::from(n) * 30.0 + 3.0);
        rig.snapshot(7, &[("ana", State::Online, 1)]);
    }
    rig.run(629.0);
    assert_eq!((rig.client.timers(), rig.client.listeners()), before);
    assert_eq!(rig.changes(1, 1.0), 0);
    assert!(BEAT > Span::ZERO);
}
