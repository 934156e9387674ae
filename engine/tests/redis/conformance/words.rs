//! What is said about a user, by whom and when (rules 5, 9 and 18).

use greendot_engine::core::LastSeen;
use greendot_engine::protocol::{Mode, ModeChoice, Revision, Span, State};
use greendot_engine::store::{Departed, HeldBy, Notice, Register, Request, Speaker};

use super::stage::{Node, Stage, name, register};

async fn mode(node: &mut Node, mode: Mode, ago: u64) {
    let ago = Span::from_millis(ago);
    node.ask(Request::SetMode { user: "ana".into(), mode, ago, by: None }).await;
}

async fn note(node: &mut Node, note: &str, ago: u64) {
    let ago = Span::from_millis(ago);
    node.ask(Request::SetNote { user: "ana".into(), note: note.into(), ago, by: None }).await;
}

async fn revoke(node: &mut Node, revoked: bool, ago: u64) {
    let ago = Span::from_millis(ago);
    node.ask(Request::Revoke { user: "ana".into(), revoked, ago }).await;
}

pub(super) async fn a_mode_reaches_all_sessions_and_outlives_them(stage: &Stage) {
    let (mut one, mut other) = (stage.node().await, stage.node().await);
    one.connect("ana", "1", 1).await;
    other.connect("ana", "2", 2).await;
    mode(&mut one, Mode::Dnd, 0).await;
    let revision = Revision(1);
    assert_eq!(one.hear().await, Notice::Mode { seat: 1, mode: Mode::Dnd, revision });
    assert_eq!(other.hear().await, Notice::Mode { seat: 2, mode: Mode::Dnd, revision });
    assert_eq!(one.state_of("ana").await, State::Dnd);
    // The same choice again is none.
    mode(&mut other, Mode::Dnd, 0).await;
    one.hears_no_more().await;
    for (session, seat, node) in [("1", 1, &mut one), ("2", 2, &mut other)] {
        let it = Departed {
            name: name("ana", session),
            seat,
            connected_ago: Span::ZERO,
            heard_ago: Span::ZERO,
            passive: false,
            bye: true,
        };
        node.ask(Request::End(it)).await;
    }
    assert_eq!(one.state_of("ana").await, State::Offline);
    let held = one.connect("ana", "3", 3).await;
    assert!(matches!(held, HeldBy::You { mode: Mode::Dnd, .. }), "{held:?}");
    assert_eq!(one.state_of("ana").await, State::Dnd);
}

pub(super) async fn a_repeated_mode_does_not_beat_a_choice(stage: &Stage) {
    let mut one = stage.node().await;
    let with = |mode, revision, fresh, seat: u64| Register {
        mode: Some(ModeChoice { mode, revision: Revision(revision), fresh }),
        ..register("ana", &seat.to_string(), seat)
    };
    // Nobody has chosen in this epoch: what is repeated counts, the newest of it.
    let held = one.register(with(Mode::Invisible, 4, false, 1)).await;
    assert!(matches!(held, HeldBy::You { mode: Mode::Invisible, .. }), "{held:?}");
    let held = one.register(with(Mode::Dnd, 3, false, 2)).await;
    assert!(matches!(held, HeldBy::You { mode: Mode::Invisible, .. }), "{held:?}");
    let held = one.register(with(Mode::Away, 4, true, 3)).await;
    assert!(matches!(held, HeldBy::You { mode: Mode::Away, .. }), "{held:?}");
    let held = one.register(with(Mode::Dnd, 9, false, 4)).await;
    assert!(matches!(held, HeldBy::You { mode: Mode::Away, .. }), "{held:?}");
}

pub(super) async fn what_was_said_earlier_and_told_later_does_not_count(stage: &Stage) {
    let (mut one, mut other) = (stage.node().await, stage.node().await);
    one.connect("ana", "1", 1).await;
    mode(&mut one, Mode::Dnd, 0).await;
    mode(&mut other, Mode::Away, 60_000).await;
    assert_eq!(one.state_of("ana").await, State::Dnd);
    note(&mut one, "now", 0).await;
    note(&mut other, "then", 60_000).await;
    assert_eq!(&*one.read("ana").await.expect("known").note, "now");
    revoke(&mut one, true, 0).await;
    revoke(&mut other, false, 60_000).await;
    assert_eq!(one.connect("ana", "2", 2).await, HeldBy::Revoked);
    // What was said last of those that come late counts.
    let wish = |wish, ago| {
        let ago = Span::from_millis(ago);
        Request::SetLastSeen { user: "bo".into(), wish, ago }
    };
    one.ask(wish(LastSeen::Never, 20_000)).await;
    other.ask(wish(LastSeen::Words, 60_000)).await;
    assert_eq!(one.read("bo").await.expect("known").wish, LastSeen::Never);
    other.ask(wish(LastSeen::Words, 10_000)).await;
    assert_eq!(one.read("bo").await.expect("known").wish, LastSeen::Words);
}

pub(super) async fn words_of_a_connect_that_was_taken_over_have_no_effect(stage: &Stage) {
    let (mut one, mut other) = (stage.node().await, stage.node().await);
    one.register(Register { connected_ago: Span::from_millis(9_000), ..register("ana", "1", 1) })
        .await;
    let by = |seat, connected| {
        let connected_ago = Span::from_millis(connected);
        Some(Speaker { session: "1".into(), seat, connected_ago })
    };
    let mode = |mode, by| Request::SetMode { user: "ana".into(), mode, ago: Span::ZERO, by };
    let note = |note: &str, by| Request::SetNote {
        user: "ana".into(),
        note: note.into(),
        ago: Span::ZERO,
        by,
    };
    one.ask(mode(Mode::Busy, by(1, 9_000))).await;
    one.ask(note("first", by(1, 9_000))).await;
    assert_eq!(one.state_of("ana").await, State::Busy);
    // The node of the first has not read yet that it moved on.
    other
        .register(Register { connected_ago: Span::from_millis(2_000), ..register("ana", "1", 5) })
        .await;
    other.ask(mode(Mode::Dnd, by(5, 2_000))).await;
    one.ask(mode(Mode::Away, by(1, 9_000))).await;
    one.ask(note("late", by(1, 9_000))).await;
    assert_eq!(one.state_of("ana").await, State::Dnd);
    assert_eq!(&*one.read("ana").await.expect("known").note, "first");
    // Nor when what moved on is over.
    let it = Departed {
        name: name("ana", "1"),
        seat: 5,
        connected_ago: Span::from_millis(2_000),
        heard_ago: Span::ZERO,
        passive: false,
        bye: true,
    };
    other.ask(Request::End(it)).await;
    one.ask(mode(Mode::Away, by(1, 9_000))).await;
    let held = other.connect("ana", "2", 6).await;
    assert!(matches!(held, HeldBy::You { mode: Mode::Dnd, .. }), "{held:?}");
    // Of a session that the store has lost nothing is known to the contrary.
    one.ask(mode(
        Mode::Busy,
        Some(Speaker { session: "9".into(), seat: 9, connected_ago: Span::ZERO }),
    ))
    .await;
    assert_eq!(one.state_of("ana").await, State::Busy);
}

pub(super) async fn a_note_shows_while_the_user_is_there(stage: &Stage) {
    let (mut one, mut other) = (stage.node().await, stage.node().await);
    other.subscribe(&["ana"]).await;
    note(&mut one, "away", 0).await;
    one.connect("ana", "1", 1).await;
    let report = other.hear_of("ana").await;
    assert_eq!((report.public.version.0, &*report.note), (1, "away"), "no version for it alone");
    note(&mut one, "here", 0).await;
    let report = other.hear_of("ana").await;
    assert_eq!((report.public.version.0, &*report.note), (2, "here"));
    note(&mut one, "here", 0).await;
    other.hears_no_more().await;
}

pub(super) async fn a_wish_is_told_and_counted(stage: &Stage) {
    let (mut one, mut other) = (stage.node().await, stage.node().await);
    other.subscribe(&["ana"]).await;
    one.connect("ana", "1", 1).await;
    let before = other.hear_of("ana").await;
    for _ in 0..2 {
        let (user, ago) = ("ana".into(), Span::ZERO);
        one.ask(Request::SetLastSeen { user, wish: LastSeen::Never, ago }).await;
    }
    let after = other.hear_of("ana").await;
    assert_eq!((after.wish, after.wishes), (LastSeen::Never, before.wishes + 1));
    assert_eq!(after.public, before.public, "no change that anybody is shown");
    other.hears_no_more().await;
}

pub(super) async fn a_revoked_account_ends_everywhere_in_one_change(stage: &Stage) {
    let (mut one, mut other) = (stage.node().await, stage.node().await);
    let idle = Register { idle: Some(true), ..register("ana", "1", 1) };
    one.register(idle).await;
    other.connect("ana", "2", 2).await;
    let before = one.subscribe(&["ana"]).await.remove(0).public.version.0;
    let reply = other.ask(Request::Revoke { user: "ana".into(), revoked: true, ago: Span::ZERO });
    assert_eq!(reply.await.turned.len(), 1);
    assert_eq!(other.hear().await, Notice::Revoked { seat: 2 });
    let told = [one.hear().await, one.hear().await];
    assert!(told.contains(&Notice::Revoked { seat: 1 }), "{told:?}");
    let of = |it: &Notice| match it {
        Notice::Changed { report, .. } => Some(report.public),
        _ => None,
    };
    let face = told.iter().find_map(of).expect("a change");
    assert_eq!((face.state, face.version.0), (State::Offline, before + 1));
    assert_eq!(one.connect("ana", "3", 3).await, HeldBy::Revoked);
    revoke(&mut one, false, 0).await;
    assert!(matches!(other.connect("ana", "3", 3).await, HeldBy::You { .. }));
}

pub(super) async fn what_ended_after_a_revocation_is_of_nobody(stage: &Stage) {
    let mut one = stage.node().await;
    let heard = Span::from_millis(1_500);
    one.register(Register { connected_ago: heard, heard_ago: heard, ..register("ana", "1", 1) })
        .await;
    revoke(&mut one, true, 0).await;
    let seen = |it: Option<greendot_engine::store::Report>| it.expect("known").seen_ago;
    assert!(seen(one.read("ana").await) >= Some(heard));
    let it = |seat: u64, connected: u64| {
        Request::End(Departed {
            name: name("ana", &seat.to_string()),
            seat,
            connected_ago: Span::from_millis(connected),
            heard_ago: Span::ZERO,
            passive: false,
            bye: true,
        })
    };
    // It connected after the revocation, and was refused.
    one.ask(it(7, 0)).await;
    assert!(seen(one.read("ana").await) >= Some(heard));
    // This one was there before.
    one.ask(it(8, 60_000)).await;
    assert!(seen(one.read("ana").await) < Some(heard));
}
