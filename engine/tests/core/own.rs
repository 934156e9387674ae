//! A user's own sessions: seen by each other, and ended by one another.

use greendot_engine::core::{Connect, Ending, SelfReport, Settings, Start};
use greendot_engine::protocol::{Beat, ClientFrame, CloseCode, Mode, ServerFrame, Span, State};

use crate::cluster::Cluster;
use crate::rig::{Heard, Rig, settings};

type Row = (String, String, bool, bool, bool);

fn row(session: &str, device: &str, idle: bool, lingering: bool, this: bool) -> Row {
    (session.into(), device.into(), idle, lingering, this)
}

fn connect(rig: &mut Rig, session: &str, device: &str) -> greendot_engine::core::ConnId {
    let connect = Connect {
        user: "ana",
        session,
        passive: false,
        report: SelfReport::default(),
        token_until: None,
        device,
    };
    let conn = rig.node.handle_connect(rig.now, &connect).expect("may connect");
    rig.drain();
    conn
}

#[test]
fn sessions_are_told_whole_and_whenever_they_change() {
    let mut rig = Rig::new();
    let phone = connect(&mut rig, "p", "phone");
    rig.hear(phone);
    rig.until(2.0);
    let laptop = connect(&mut rig, "l", &"ö".repeat(100));
    assert_eq!(rig.hear(phone), [], "who does not ask is not told");
    rig.frame(phone, &ClientFrame::Own(true));
    let long = "ö".repeat(32);
    let told = vec![row("p", "phone", false, false, true), row("l", &long, false, false, false)];
    assert_eq!(rig.hear(phone), [Heard::Sessions(told)]);
    rig.frame(laptop, &ClientFrame::Idle);
    let told = vec![row("p", "phone", false, false, true), row("l", &long, true, false, false)];
    assert_eq!(rig.hear(phone), [Heard::Sessions(told)]);
    rig.drop_conn(laptop);
    let told = vec![row("p", "phone", false, false, true), row("l", &long, true, true, false)];
    assert_eq!(rig.hear(phone), [Heard::Sessions(told)]);
    rig.frame(phone, &ClientFrame::Own(false));
    rig.until(8.0);
    assert_eq!(rig.hear(phone), []);
    assert_eq!(rig.node.counts().owners, 0);
}

#[test]
fn one_whose_lease_has_run_out_is_told_to_linger_while_its_extra_wait_runs() {
    let settings = Settings { expiry_grace: Span::from_secs(10), ..settings() };
    let mut rig = Rig::with(settings, Start::Fresh);
    let phone = connect(&mut rig, "p", "");
    let laptop = connect(&mut rig, "l", "");
    rig.frame(phone, &ClientFrame::Own(true));
    rig.hear(phone);
    rig.until(20.0);
    rig.frame(phone, &ClientFrame::Beat(Beat::default()));
    rig.hear(phone);
    rig.until(35.0);
    assert_eq!(rig.closed, [(laptop, Ending::Code(CloseCode::Ended))]);
    let told = vec![row("l", "", false, true, false), row("p", "", false, false, true)];
    assert_eq!(rig.hear(phone), [Heard::Sessions(told)]);
}

#[test]
fn one_session_ends_another_and_never_itself_or_a_strangers() {
    let mut rig = Rig::new();
    let phone = connect(&mut rig, "p", "");
    let laptop = connect(&mut rig, "l", "");
    let bo = rig.connect("bo", "p");
    rig.hear(laptop);
    for session in ["p", "nowhere", ""] {
        rig.frame(phone, &ClientFrame::End { session });
    }
    assert!(rig.closed.is_empty());
    rig.frame(phone, &ClientFrame::End { session: "l" });
    assert_eq!(rig.closed, [(laptop, Ending::Code(CloseCode::SignedOut))]);
    assert!(rig.node.is_open(phone) && rig.node.is_open(bo));
    assert_eq!(rig.node.sessions("ana").len(), 1);
}

#[test]
fn the_true_state_and_the_sessions_are_seen_while_hidden() {
    let mut rig = Rig::new();
    let phone = connect(&mut rig, "p", "");
    rig.frame(phone, &ClientFrame::Mode(Mode::Invisible));
    rig.watch(phone, 1, &[(1, "ana")]);
    rig.frame(phone, &ClientFrame::Own(true));
    let heard = rig.hear(phone);
    assert!(heard.contains(&Heard::Snapshot(1, vec![(1, State::Online, 1)])), "{heard:?}");
    assert!(heard.contains(&Heard::Sessions(vec![row("p", "", false, false, true)])), "{heard:?}");
}

#[test]
fn sessions_on_other_nodes_are_seen_and_ended_too() {
    let mut world = Cluster::new(settings(), 2, true);
    let phone = world.connect(0, "ana", "p", false);
    world.listen(phone, "phone");
    world.say(phone, &ClientFrame::Own(true));
    world.pass(1_000);
    let laptop = world.connect(1, "ana", "l", false);
    world.listen(laptop, "laptop");
    world.pass(1_000);
    let sessions = |world: &Cluster| {
        let last = world.transcript.iter().rev().find(|it| it.1 == "phone" && it.2[0] == 13);
        let bytes = last.map(|it| it.2.clone()).expect("it was told");
        match greendot_engine::protocol::binary::decode_server(&bytes) {
            Ok(Some(ServerFrame::Sessions(all))) => {
                all.iter().map(|it| (it.session.to_owned(), it.this)).collect::<Vec<_>>()
            }
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(sessions(&world), [("p".to_owned(), true), ("l".to_owned(), false)]);
    world.say(phone, &ClientFrame::End { session: "l" });
    world.pass(1_000);
    assert_eq!(sessions(&world), [("p".to_owned(), true)]);
    assert!(!world.nodes[1].is_open(laptop.1));
    world.say(phone, &ClientFrame::Bye);
    world.pass(1_000);
    assert_eq!(world.nodes[0].counts(), Default::default());
}
