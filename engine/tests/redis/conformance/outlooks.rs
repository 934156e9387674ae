//! What stands between viewers and users (rule 13).

use greendot_engine::protocol::{Span, State, Time};
use greendot_engine::store::{BarReport, Notice, OutlookReport, Request};

use super::stage::{Node, Stage};

async fn block(node: &mut Node, blocked: bool, ago: Option<u64>) {
    let ago = ago.map(Span::from_millis);
    node.ask(Request::SetBlock { user: "ana".into(), viewer: "bo".into(), blocked, ago }).await;
}

/// What the store says stands between bo and ana, now.
async fn bar(node: &mut Node) -> Option<BarReport> {
    let reply = node.ask(Request::Read { viewer: "bo".into(), users: vec!["ana".into()] }).await;
    assert_eq!(reply.outlooks.len(), 1);
    reply.outlooks[0].bars.iter().find(|it| &*it.user == "ana").cloned()
}

async fn hear_outlook(node: &mut Node) -> (Time, OutlookReport) {
    match node.hear_until(|it| matches!(it, Notice::Outlook { .. })).await {
        Notice::Outlook { at, outlook, .. } => (at, outlook),
        _ => unreachable!("as asked"),
    }
}

pub(super) async fn a_block_stands_between_two(stage: &Stage) {
    let (mut one, mut other) = (stage.node().await, stage.node().await);
    one.connect("ana", "1", 1).await;
    let reply = other.ask(Request::Look { viewers: vec!["bo".into()] }).await;
    assert_eq!(reply.outlooks[0].bars, []);
    block(&mut one, true, Some(0)).await;
    let (at, outlook) = hear_outlook(&mut other).await;
    assert!(outlook.number > reply.outlooks[0].number);
    let screen = outlook.bars[0].screen.expect("it hides");
    // It looks like one who left then: the next version, seen just now.
    assert_eq!((screen.version.0, screen.heard), (2, true));
    let seen = at - screen.seen_ago.expect("seen");
    assert!(seen + Span::from_millis(1_000) > reply.at, "{seen:?} {:?}", reply.at);
    assert_eq!(bar(&mut one).await.expect("it stands").behind, 0);
    // Others see it as before.
    assert_eq!(one.state_of("ana").await, State::Online);
    block(&mut one, false, Some(0)).await;
    let (_, outlook) = hear_outlook(&mut other).await;
    assert_eq!(outlook.bars[0].screen, None);
    // What it was shown meanwhile counts in its numbers: one version more than others were.
    assert_eq!(outlook.bars[0].behind, -2);
    block(&mut one, false, Some(0)).await;
    block(&mut other, true, Some(60_000)).await;
    other.ask(Request::LookAway { viewers: vec!["bo".into()] }).await;
    block(&mut one, true, Some(0)).await;
    other.hears_no_more().await;
    assert!(bar(&mut other).await.expect("it stands").screen.is_some());
}

pub(super) async fn a_lost_block_is_restored_unless_something_newer_was_said(stage: &Stage) {
    let mut one = stage.node().await;
    one.connect("ana", "1", 1).await;
    block(&mut one, true, None).await;
    let screen = bar(&mut one).await.expect("it stands").screen.expect("it hides");
    // Since when nobody knows: it sees one never heard from.
    assert_eq!((screen.version.0, screen.seen_ago, screen.heard), (0, None, false));
    block(&mut one, false, Some(0)).await;
    block(&mut one, true, None).await;
    assert_eq!(bar(&mut one).await.and_then(|it| it.screen), None);
}

pub(super) async fn each_change_of_what_stands_between_has_a_higher_number(stage: &Stage) {
    let (mut one, mut other, mut third) =
        (stage.node().await, stage.node().await, stage.node().await);
    let look = || Request::Look { viewers: vec!["bo".into()] };
    let mut last = other.ask(look()).await.outlooks[0].number;
    // More than there are partitions, so that some share one.
    for blocked in [true, false] {
        for user in 0..20 {
            let (user, viewer) = (format!("user {user}").into(), "bo".into());
            one.ask(Request::SetBlock { user, viewer, blocked, ago: Some(Span::ZERO) }).await;
            let (_, told) = hear_outlook(&mut other).await;
            assert!(told.number > last, "{told:?} after {last}");
            // Who has missed the notice learns it by asking, and takes it for as new.
            let asked = &third.ask(look()).await.outlooks[0];
            assert!(asked.number >= told.number, "{asked:?} after {told:?}");
            last = told.number.max(asked.number);
            third.ask(Request::LookAway { viewers: vec!["bo".into()] }).await;
        }
    }
}

pub(super) async fn an_application_s_change_reaches_every_node_once(stage: &Stage) {
    let (mut one, mut other) = (stage.node().await, stage.node().await);
    let pairs = [(None, None), (Some("ana"), None), (None, Some("bo")), (Some("ana"), Some("bo"))];
    for (user, viewer) in pairs {
        let user = user.map(Into::into);
        let viewer = viewer.map(Into::into);
        one.ask(Request::AudienceChanged { user: user.clone(), viewer: viewer.clone() }).await;
        let notice = Notice::AudienceChanged { user, viewer };
        assert_eq!(one.hear().await, notice);
        assert_eq!(other.hear().await, notice);
        one.hears_no_more().await;
        other.hears_no_more().await;
    }
}
