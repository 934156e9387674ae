//! How users stand, and who is told (rules 5, 6 and 7).

use std::collections::BTreeSet;

use greendot_engine::protocol::{Mode, Span, State};
use greendot_engine::store::{Notice, Register, Request};

use super::stage::{Node, Stage, name, register};

pub(super) async fn idle_and_active_sessions_are_merged(stage: &Stage) {
    let (mut one, mut other) = (stage.node().await, stage.node().await);
    let idle = Register { idle: Some(true), ..register("ana", "1", 1) };
    one.register(idle).await;
    assert_eq!(one.state_of("ana").await, State::Away);
    other.connect("ana", "2", 2).await;
    assert_eq!(one.state_of("ana").await, State::Online);
    let reply = other.ask(Request::SetIdle { name: name("ana", "2"), seat: 2, idle: true }).await;
    assert_eq!(reply.turned[0].public.state, State::Away);
    let reply = one.ask(Request::SetIdle { name: name("ana", "1"), seat: 1, idle: false }).await;
    assert_eq!(reply.turned[0].public.state, State::Online);
    // Another session's flag changes nothing any more.
    let reply = other.ask(Request::SetIdle { name: name("ana", "2"), seat: 2, idle: false }).await;
    assert!(reply.turned.is_empty());
}

pub(super) async fn each_change_is_one_version(stage: &Stage) {
    let (mut one, mut other) = (stage.node().await, stage.node().await);
    other.subscribe(&["ana"]).await;
    one.connect("ana", "1", 1).await;
    let mut version = other.hear_of("ana").await.public.version.0;
    for idle in [true, true, false, false, true] {
        one.ask(Request::SetIdle { name: name("ana", "1"), seat: 1, idle }).await;
    }
    for state in [State::Away, State::Online, State::Away] {
        let face = other.hear_of("ana").await.public;
        version += 1;
        assert_eq!((face.state, face.version.0), (state, version));
    }
    other.hears_no_more().await;
}

pub(super) async fn who_is_invisible_has_two_faces(stage: &Stage) {
    let (mut one, mut other) = (stage.node().await, stage.node().await);
    one.connect("ana", "1", 1).await;
    other.subscribe(&["ana"]).await;
    let hide =
        Request::SetMode { user: "ana".into(), mode: Mode::Invisible, ago: Span::ZERO, by: None };
    one.ask(hide).await;
    let hidden = other.hear_of("ana").await;
    assert_eq!((hidden.public.state, hidden.own.state), (State::Offline, State::Online));
    one.ask(Request::SetIdle { name: name("ana", "1"), seat: 1, idle: true }).await;
    let idle = other.hear_of("ana").await;
    assert_eq!(idle.public, hidden.public, "no gap where it is hidden");
    assert_eq!(idle.own.state, State::Away);
    assert!(idle.own.version.0 > hidden.own.version.0);
}

pub(super) async fn nobody_else_is_told(stage: &Stage) {
    let (mut one, mut other) = (stage.node().await, stage.node().await);
    other.subscribe(&["ana", "bo"]).await;
    one.connect("cy", "1", 1).await;
    other.hears_no_more().await;
    one.connect("bo", "1", 2).await;
    assert_eq!(other.hear_of("bo").await.public.state, State::Online);
    other.ask(Request::Unsubscribe { users: vec!["ana".into(), "bo".into()] }).await;
    one.connect("ana", "1", 3).await;
    other.hears_no_more().await;
    one.hears_no_more().await;
}

pub(super) async fn who_lets_go_of_all_is_told_of_nothing(stage: &Stage) {
    let (mut one, mut other) = (stage.node().await, stage.node().await);
    one.connect("ana", "1", 1).await;
    other.subscribe(&["ana"]).await;
    other.ask(Request::Look { viewers: vec!["ana".into()] }).await;
    other.ask(Request::LookInto { rooms: vec!["r".into()] }).await;
    other.ask(Request::Own { users: vec!["ana".into()] }).await;
    assert!(matches!(other.hear().await, Notice::Sessions { .. }));
    other.ask(Request::HearNothing).await;
    one.ask(Request::SetIdle { name: name("ana", "1"), seat: 1, idle: true }).await;
    one.ask(Request::Join { name: name("ana", "1"), room: "r".into() }).await;
    let (user, viewer, ago) = ("bo".into(), "ana".into(), Some(Span::ZERO));
    one.ask(Request::SetBlock { user, viewer, blocked: true, ago }).await;
    other.hears_no_more().await;
    // And is told again of what it asks for anew.
    other.subscribe(&["ana"]).await;
    one.ask(Request::SetIdle { name: name("ana", "1"), seat: 1, idle: false }).await;
    assert_eq!(other.hear_of("ana").await.public.state, State::Online);
}

pub(super) async fn those_who_are_present_are_listed(stage: &Stage) {
    let mut one = stage.node().await;
    for (seat, user) in ["ana", "bo", "cy", "dee"].iter().enumerate() {
        one.connect(user, "1", seat as u64).await;
    }
    let hide =
        Request::SetMode { user: "dee".into(), mode: Mode::Invisible, ago: Span::ZERO, by: None };
    one.ask(hide).await;
    let all = one.ask(Request::List { viewer: "ana".into(), at_most: 10 }).await;
    let mut users: Vec<_> = all.reports.iter().map(|it| it.user.to_string()).collect();
    users.sort();
    assert_eq!(users, ["ana", "bo", "cy"]);
    assert_eq!(&*all.outlooks[0].viewer, "ana");
    let few = one.ask(Request::List { viewer: "dee".into(), at_most: 2 }).await;
    assert_eq!(few.reports.len(), 2);
    assert!(few.outlooks[0].hides);
}

pub(super) async fn notices_are_counted_without_a_gap(stage: &Stage) {
    let (mut one, mut other) = (stage.node().await, stage.node().await);
    let users: Vec<String> = (0..40).map(|it| format!("user {it}")).collect();
    let names: Vec<&str> = users.iter().map(String::as_str).collect();
    let before = other.beat().await.told;
    other.subscribe(&names).await;
    for (seat, user) in names.iter().enumerate() {
        one.connect(user, "1", seat as u64).await;
    }
    // That none is skipped is held wherever notices are heard. Those of different masters come in any order.
    let mut heard = BTreeSet::new();
    while heard.len() < names.len() {
        if let Notice::Changed { report, .. } = other.hear().await {
            heard.insert(report.user);
        }
    }
    assert_eq!(other.beat().await.told, before + 40);
}

pub(super) async fn watchers_are_counted_over_all_nodes(stage: &Stage) {
    let mut nodes = [stage.node().await, stage.node().await, stage.node().await];
    let [one, other, third] = &mut nodes;
    let count = |many: u32| Request::Count { users: vec![("ana".into(), many), ("bo".into(), 7)] };
    one.connect("ana", "1", 1).await;
    one.connect("bo", "1", 2).await;
    one.subscribe(&["ana"]).await;
    other.subscribe(&["ana"]).await;
    one.ask(count(40)).await;
    other.ask(count(2)).await;
    // Nobody there wants to hear of her.
    third.ask(count(1_000)).await;
    let watchers = async |node: &mut Node, user| node.read(user).await.expect("known").watchers;
    assert_eq!(watchers(third, "ana").await, 42);
    assert_eq!(watchers(third, "bo").await, 0);
    // It comes with what is told of her, and what a node has said once counts until it says otherwise.
    other.ask(count(3)).await;
    other.subscribe(&["ana"]).await;
    one.ask(Request::SetIdle { name: name("ana", "1"), seat: 1, idle: true }).await;
    assert_eq!(other.hear_of("ana").await.watchers, 43);
    one.ask(Request::Unsubscribe { users: vec!["ana".into()] }).await;
    assert_eq!(watchers(third, "ana").await, 3);
    other.ask(Request::HearNothing).await;
    assert_eq!(watchers(third, "ana").await, 0);
    other.subscribe(&["ana"]).await;
    assert_eq!(watchers(third, "ana").await, 0);
}
