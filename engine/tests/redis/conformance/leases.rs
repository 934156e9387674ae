//! Deadlines, by the store's clock alone, and who sweeps (rules 1, 3, 10 and 12).

use greendot_engine::core::Settings;
use greendot_engine::protocol::{Span, State, Time};
use greendot_engine::store::{HeldBy, Notice, Register, Request};

use super::stage::{Node, Stage, name, pause, register, settings, silent};

/// Two nodes that beat and sweep, as nodes do, until the first is told that this user has changed; when that was said,
/// by the store's clock.
async fn sweep_until_told(user: &str, nodes: &mut [&mut Node]) -> (Time, State) {
    loop {
        for it in nodes.iter_mut() {
            it.beat().await;
            it.sweep().await;
        }
        let of_user =
            |it: &Notice| matches!(it, Notice::Changed { report, .. } if &*report.user == user);
        let told = nodes[0].hear_until(of_user);
        let told = tokio::time::timeout(std::time::Duration::from_millis(50), told).await;
        if let Ok(Notice::Changed { at, report, .. }) = told {
            return (at, report.public.state);
        }
    }
}

/// They beat and sweep for so long, and the first is told nothing.
async fn sweep_in_silence(millis: u64, nodes: &mut [&mut Node]) {
    let begin = nodes[0].beat().await.at;
    loop {
        for it in nodes.iter_mut() {
            it.sweep().await;
            it.beat().await;
        }
        nodes[0].hears_no_more().await;
        if nodes[0].beat().await.at.since(begin) >= Span::from_millis(millis) {
            return;
        }
        pause(50).await;
    }
}

async fn connect(node: &mut Node, user: &str, session: &str, seat: u64) -> Time {
    node.ask(Request::Connect(register(user, session, seat))).await.at
}

/// When the user's one session is to end, by the store's clock; whoever sweeps may be late.
async fn ends(node: &mut Node, user: &str) -> Time {
    let reply = node.ask(Request::Locate { user: user.into() }).await;
    reply.at + reply.places[0].ends_in
}

fn linger(user: &str, seat: u64, lasts: u64) -> Request {
    let (heard_ago, lasts) = (Span::ZERO, Span::from_millis(lasts));
    Request::Linger { name: name(user, "1"), seat, heard_ago, lasts }
}

pub(super) async fn who_lingers_ends_then_and_not_sooner(stage: &Stage) {
    let (mut one, mut other) = (stage.node().await, stage.node().await);
    connect(&mut one, "ana", "1", 1).await;
    other.subscribe(&["ana"]).await;
    let dropped = one.ask(linger("ana", 1, 700)).await.at;
    assert_eq!(other.state_of("ana").await, State::Online);
    let (at, state) = sweep_until_told("ana", &mut [&mut other, &mut one]).await;
    assert_eq!(state, State::Offline);
    assert!(at.since(dropped) >= Span::from_millis(700), "{at:?} {dropped:?}");
    assert_eq!(one.hear().await, Notice::Ended { seat: 1 });
    let seen = other.read("ana").await.expect("known").seen_ago.expect("seen");
    assert!(seen >= Span::from_millis(700), "seen when it was heard, not when it was swept");
}

pub(super) async fn who_comes_back_in_time_never_left(stage: &Stage) {
    let (mut one, mut other) = (stage.node().await, stage.node().await);
    for (seat, user) in ["ana", "bo", "cy"].into_iter().enumerate() {
        connect(&mut one, user, "1", seat as u64).await;
    }
    other.subscribe(&["ana", "bo", "cy"]).await;
    for (seat, user) in ["ana", "bo", "cy"].into_iter().enumerate() {
        one.ask(linger(user, seat as u64, 3_000)).await;
    }
    // Heard after all, come back elsewhere, or with another session.
    one.ask(Request::Revive(silent("ana", "1", 0, 0))).await;
    connect(&mut other, "bo", "1", 7).await;
    connect(&mut other, "cy", "2", 8).await;
    sweep_in_silence(3_500, &mut [&mut other, &mut one]).await;
}

pub(super) async fn who_is_silent_ends_at_a_deadline_of_its_own(stage: &Stage) {
    let (mut one, mut other) = (stage.node().await, stage.node().await);
    let heard = connect(&mut one, "ana", "1", 1).await;
    other.subscribe(&["ana"]).await;
    pause(600).await;
    let now = one.beat().await.at;
    one.beat_with(vec![silent("ana", "1", 1, now.since(heard).as_millis())], Vec::new()).await;
    let (at, state) = sweep_until_told("ana", &mut [&mut other, &mut one]).await;
    assert_eq!(state, State::Offline);
    // Between asking and being asked some time may pass.
    let lasted = at.since(heard);
    let ttl = settings().ttl;
    assert!(lasted + Span::from_millis(50) >= ttl, "{lasted:?}");
}

pub(super) async fn who_is_heard_again_is_covered_again(stage: &Stage) {
    let (mut one, mut other) = (stage.node().await, stage.node().await);
    connect(&mut one, "ana", "1", 1).await;
    other.subscribe(&["ana"]).await;
    one.beat_with(vec![silent("ana", "1", 1, 600)], Vec::new()).await;
    one.beat_with(Vec::new(), vec![(name("ana", "1"), 1)]).await;
    sweep_in_silence(3_000, &mut [&mut other, &mut one]).await;
}

pub(super) async fn a_node_s_beats_cover_its_sessions_and_end_with_it(stage: &Stage) {
    let (mut one, mut other) = (stage.node().await, stage.node().await);
    connect(&mut one, "ana", "1", 1).await;
    connect(&mut one, "bo", "1", 2).await;
    other.subscribe(&["ana", "bo"]).await;
    sweep_in_silence(2_500, &mut [&mut other, &mut one]).await;
    let last = one.beat().await.at;
    // It dies. One of its sessions comes to another node in time.
    connect(&mut other, "bo", "1", 2).await;
    let (at, state) = sweep_until_told("ana", &mut [&mut other]).await;
    assert_eq!(state, State::Offline);
    let Settings { ttl, beat, .. } = settings();
    assert!(at.since(last) >= ttl - beat, "{at:?} {last:?}");
    sweep_in_silence(500, &mut [&mut other]).await;
    assert_eq!(other.state_of("bo").await, State::Online);
}

pub(super) async fn behind_a_gap_the_second_beat_covers_but_not_who_was_silent(stage: &Stage) {
    // Long beside the gap: what ends in it would be no fault.
    let stage = stage.with(Settings { ttl: Span::from_millis(6_000), ..settings() });
    let Settings { ttl, beat, .. } = stage.settings();
    let (mut one, mut other) = (stage.node().await, stage.node().await);
    connect(&mut one, "ana", "1", 1).await;
    let heard = connect(&mut one, "bo", "1", 2).await;
    other.subscribe(&["ana", "bo"]).await;
    // It stands still, longer than it is taken to be there without a word; and dies when it has said that it is back.
    sweep_in_silence(3_000, &mut [&mut other]).await;
    let now = one.beat().await.at;
    let of_bo = silent("bo", "1", 2, now.since(heard).as_millis());
    let last = one.beat_with(vec![of_bo], Vec::new()).await.at;
    let ends = ends(&mut other, "bo").await;
    assert!(ends.since(last) < ttl - beat, "{ends:?} {last:?}");
    sweep_until_told("bo", &mut [&mut other]).await;
    let (at, state) = sweep_until_told("ana", &mut [&mut other]).await;
    assert_eq!(state, State::Offline);
    assert!(at.since(last) >= ttl - beat, "{at:?} {last:?}");
}

/// With a long wait behind the lease, the end comes long after the node has died.
pub(super) async fn what_goes_by_a_dead_node_s_lease_ends_by_it_however_late(stage: &Stage) {
    let Settings { beat, ttl, sweep, .. } = settings();
    let expiry_grace = Span::from_millis(3_500);
    let stage = stage.with(Settings { expiry_grace, ..settings() });
    let (mut one, mut other) = (stage.node().await, stage.node().await);
    let connected = connect(&mut one, "ana", "1", 1).await;
    other.subscribe(&["ana"]).await;
    sweep_in_silence(2_500, &mut [&mut other, &mut one]).await;
    let last = one.beat().await.at;
    // Covered up to then, it was heard shortly before at least. Servers of a cluster are told one behind the other.
    let heard = last - beat - sweep - Span::from_millis(500);
    assert!(heard > connected);
    // Others end before, so that nodes sweep everywhere when the dead one has been silent for two ttl.
    for seat in 0..40 {
        let user = format!("other {seat}");
        connect(&mut other, &user, "1", seat).await;
        other.ask(linger(&user, seat, (ttl + ttl).as_millis() + 700)).await;
    }
    let (at, state) = sweep_until_told("ana", &mut [&mut other]).await;
    assert_eq!(state, State::Offline);
    assert!(at.since(last) >= ttl + expiry_grace - beat, "{at:?} {last:?}");
    let report = other.ask(Request::Read { viewer: "bo".into(), users: vec!["ana".into()] }).await;
    let seen = report.at - report.reports[0].seen_ago.expect("seen");
    assert!(seen >= heard && seen <= last, "{heard:?} {seen:?} {last:?}");
}

pub(super) async fn a_node_that_was_taken_for_dead_covers_again_and_dies_again(stage: &Stage) {
    let Settings { beat, ttl, .. } = settings();
    let (mut one, mut other) = (stage.node().await, stage.node().await);
    connect(&mut one, "ana", "1", 1).await;
    other.subscribe(&["ana", "bo"]).await;
    // It stands still, and its session ends.
    let (_, state) = sweep_until_told("ana", &mut [&mut other]).await;
    assert_eq!(state, State::Offline);
    other.sweep().await;
    // It goes on, and dies before it has beaten.
    let connected = connect(&mut one, "bo", "1", 2).await;
    assert!(matches!(other.hear_of("bo").await.public.state, State::Online));
    let (at, state) = sweep_until_told("bo", &mut [&mut other]).await;
    assert_eq!(state, State::Offline);
    assert!(at.since(connected) >= ttl - beat, "{at:?} {connected:?}");
}

pub(super) async fn a_node_that_was_silent_for_long_sees_that_it_was_forgotten(stage: &Stage) {
    let Settings { ttl, .. } = settings();
    let (mut one, mut other) = (stage.node().await, stage.node().await);
    // What is still to come of what it said does not keep it: the count tells it that something is missing.
    connect(&mut one, "ana", "1", 1).await;
    one.ask(linger("ana", 1, 60_000)).await;
    let told = one.beat().await.told;
    sweep_in_silence((ttl + ttl).as_millis() + 1_000, &mut [&mut other]).await;
    assert!(one.beat().await.told > told + 1_000, "its next notice is not the next it had");
}

pub(super) async fn sessions_of_one_user_end_in_one_change(stage: &Stage) {
    let (mut one, mut other) = (stage.node().await, stage.node().await);
    // The active one ends first, or last: nobody may see which.
    for (seat, idle) in [(0, true), (1, false), (2, true), (3, false)] {
        let it = Register { idle: Some(idle), ..register("ana", &seat.to_string(), seat) };
        one.register(it).await;
    }
    let before = other.subscribe(&["ana"]).await.remove(0).public.version.0;
    for seat in 0..4 {
        let name = name("ana", &seat.to_string());
        let lasts = Span::from_millis(300);
        one.ask(Request::Linger { name, seat, heard_ago: Span::ZERO, lasts }).await;
    }
    pause(600).await;
    let (_, state) = sweep_until_told("ana", &mut [&mut other]).await;
    let now = other.read("ana").await.expect("known").public;
    assert_eq!((state, now.version.0), (State::Offline, before + 1));
    other.hears_no_more().await;
}

pub(super) async fn whoever_sweeps_each_end_is_told_once(stage: &Stage) {
    const USERS: u64 = 300;
    let mut one = stage.node().await;
    let mut sweepers = [stage.node().await, stage.node().await, stage.node().await];
    let users: Vec<String> = (0..USERS).map(|it| format!("user {it}")).collect();
    let names: Vec<&str> = users.iter().map(String::as_str).collect();
    for (seat, user) in names.iter().enumerate() {
        one.connect(user, "1", seat as u64).await;
    }
    for names in names.chunks(100) {
        one.subscribe(names).await;
    }
    for (seat, user) in names.iter().enumerate() {
        one.ask(linger(user, seat as u64, 300)).await;
    }
    pause(400).await;
    for it in &mut sweepers {
        it.beat().await;
    }
    let mut turned = 0;
    let mut ended = std::collections::BTreeMap::<String, u64>::new();
    let mut seats = std::collections::BTreeSet::new();
    while ended.len() < USERS as usize || seats.len() < USERS as usize {
        let [first, second, third] = &mut sweepers;
        let (a, b, c) = tokio::join!(first.sweep(), second.sweep(), third.sweep());
        turned += a.turned.len() + b.turned.len() + c.turned.len();
        let _ = tokio::join!(first.beat(), second.beat(), third.beat(), one.beat());
        while let Ok(notice) =
            tokio::time::timeout(std::time::Duration::from_millis(5), one.hear()).await
        {
            match notice {
                Notice::Changed { report, .. } => {
                    assert_eq!(report.public.state, State::Offline);
                    *ended.entry(report.user.to_string()).or_default() += 1;
                }
                Notice::Ended { seat } => assert!(seats.insert(seat), "{seat} ended twice"),
                other => panic!("{other:?}"),
            }
        }
    }
    assert!(ended.values().all(|it| *it == 1), "{ended:?}");
    // What a sweep goes on to by itself is told with the next answer.
    for it in &mut sweepers {
        turned += it.beat().await.turned.len();
    }
    assert_eq!(turned as u64, USERS);
    one.hears_no_more().await;
}

pub(super) async fn after_an_outage_nobody_is_swept_for_one_ttl(stage: &Stage) {
    let (mut one, mut other) = (stage.node().await, stage.node().await);
    connect(&mut one, "ana", "1", 1).await;
    other.subscribe(&["ana"]).await;
    // No node reaches the store, for longer than its lease.
    pause(3_500).await;
    let away = Span::from_millis(3_500);
    let (silent, heard) = (Vec::new(), Vec::new());
    let back = other.ask(Request::Beat { away, silent, heard }).await.at;
    let (at, state) = sweep_until_told("ana", &mut [&mut other]).await;
    assert_eq!(state, State::Offline);
    assert!(at.since(back) >= settings().ttl, "{at:?} {back:?}");
}

pub(super) async fn a_store_that_lost_what_it_held_begins_another_epoch(stage: &Stage) {
    let (mut one, mut other) = (stage.node().await, stage.node().await);
    let first = one.ask(Request::Connect(register("ana", "1", 1))).await;
    let HeldBy::You { generation, .. } = first.held else { panic!("{first:?}") };
    assert_eq!(first.warming, Span::ZERO);
    let before = one.beat().await.at;
    stage.lose();
    one.beat().await;
    let reply = other.beat().await;
    assert_ne!(reply.epoch, first.epoch);
    let warm = (reply.at + reply.warming).since(before);
    assert!(warm > settings().ttl, "unknown until all had time to come back: {warm:?}");
    assert_eq!(other.read("ana").await, None);
    // Registered again, however long it was silent, it goes on.
    let long = Span::from_millis(2_500);
    let again = Register {
        generation: Some(generation),
        connected_ago: long,
        heard_ago: long,
        ..register("ana", "1", 1)
    };
    match one.register(again).await {
        HeldBy::You { generation: it, .. } => assert_eq!(it, generation),
        held => panic!("{held:?}"),
    }
    let report = other.read("ana").await.expect("known again");
    assert_eq!((report.public.state, report.public.version.0), (State::Online, 1));
    // A new session comes later than all of before.
    match other.connect("bo", "1", 1).await {
        HeldBy::You { .. } => {}
        held => panic!("{held:?}"),
    }
}
