//! How soon watchers see how things stand once the shared store is in reach again, on a busy node.

use std::collections::BTreeMap;

use greendot_engine::core::Settings;
use greendot_engine::protocol::{ClientFrame, Mode, ServerFrame, Span, State, binary};

use crate::cluster::{Cluster, Line};
use crate::rig::settings;

const TICK: u64 = 20;
/// How often a node asks whether the store is back.
const BEAT: u64 = 1_000;

/// What one who looks has been told by the end of a run.
#[derive(Default)]
struct View {
    states: BTreeMap<u32, State>,
    stale: bool,
    /// When each was told to be away.
    away: BTreeMap<u32, u64>,
}

fn view(cluster: &Cluster, name: &str) -> View {
    let mut view = View::default();
    for (at, _, bytes) in cluster.transcript.iter().filter(|it| it.1 == name) {
        match binary::decode_server(bytes) {
            Ok(Some(ServerFrame::Welcome(welcome))) => view.stale = welcome.stale,
            Ok(Some(ServerFrame::Stale(stale))) => {
                assert_ne!(stale, view.stale, "{name} knows that");
                view.stale = stale;
            }
            Ok(Some(
                ServerFrame::Snapshot { entries, .. } | ServerFrame::Events { entries, .. },
            )) => {
                for it in entries {
                    view.states.insert(it.number, it.state);
                    if it.state == State::Away {
                        view.away.entry(it.number).or_insert(*at);
                    }
                }
            }
            _ => {}
        }
    }
    view
}

fn cluster(lag: u64) -> Cluster {
    let settings = Settings { tick: Span::from_millis(TICK), ..settings() };
    let mut cluster = Cluster::new(settings, 2, true);
    cluster.lag = lag;
    cluster
}

/// Users at the first node.
fn come(cluster: &mut Cluster, users: usize) -> Vec<String> {
    let names: Vec<String> = (0..users).map(|it| format!("user {it}")).collect();
    for it in &names {
        cluster.connect(0, it, "1", false);
    }
    cluster.pass(1_000);
    names
}

#[test]
fn a_node_is_good_again_once_its_refresh_is_answered_however_busy_it_is() {
    const LAG: u64 = 30;
    const WATCHERS: usize = 200;
    let mut cluster = cluster(LAG);
    let users = come(&mut cluster, 5_000);
    let mut lines = Vec::new();
    for watcher in 0..WATCHERS {
        let name = format!("watcher {watcher}");
        let line = cluster.connect(1, &name, "1", false);
        cluster.listen(line, &name);
        let mine: Vec<(u32, &str)> = (0..100)
            .map(|it| (it as u32, users[(watcher * 25 + it) % users.len()].as_str()))
            .collect();
        cluster.watch(line, 1, &mine);
        lines.push(line);
    }
    cluster.pass(1_000);
    cluster.outage = true;
    cluster.pass(10_000);
    assert!(cluster.nodes[1].is_stale());
    cluster.outage = false;
    let back = cluster.millis();
    let mut good = None;
    // Somebody always begins to watch somebody of whom nothing is known here.
    for step in 0..500u32 {
        let line = lines[step as usize % WATCHERS];
        let name = format!("new {step}");
        cluster.watch(line, 2 + step, &[(1_000 + step, name.as_str())]);
        cluster.pass(10);
        if good.is_none() && !cluster.nodes[1].is_stale() {
            good = Some(cluster.millis() - back);
        }
        assert!(good.is_none() || !cluster.nodes[1].is_stale(), "once good it stays so");
    }
    // The beat that finds the store there, and two portions of what is asked then.
    let bound = BEAT + 3 * LAG + 2 * TICK;
    assert!(good.is_some_and(|it| it <= bound), "{good:?}, {bound} at most");
    for watcher in 0..WATCHERS {
        let view = view(&cluster, &format!("watcher {watcher}"));
        assert!(!view.stale);
        assert!((0..100).all(|it| view.states[&it] == State::Online));
    }
}

/// Whatever is said takes longer than a store in good health does: always something has not been answered.
#[test]
fn where_the_store_is_slow_only_those_are_asked_about_of_whom_something_was_skipped() {
    const LAG: u64 = 300;
    let mut cluster = cluster(LAG);
    let users = come(&mut cluster, 300);
    let line = cluster.connect(1, "watcher", "1", false);
    cluster.listen(line, "watcher");
    let all: Vec<(u32, &str)> =
        users.iter().enumerate().map(|(number, it)| (number as u32, it.as_str())).collect();
    cluster.watch(line, 1, &all);
    for outage in [0, 10_000] {
        cluster.outage = outage > 0;
        cluster.pass(outage);
        cluster.outage = false;
        let back = cluster.millis();
        let mut said = Vec::new();
        let mut good = None;
        let half = if outage == 0 { &users[..150] } else { &users[150..] };
        for (step, user) in half.iter().enumerate() {
            let number = (if outage == 0 { step } else { 150 + step }) as u32;
            said.push((number, cluster.millis()));
            cluster.set_mode(0, user, Mode::Away);
            let mode = if step % 2 == 0 { Mode::Busy } else { Mode::Auto };
            cluster.set_mode(1, &format!("other {step}"), mode);
            cluster.pass(100);
            let is_good = !cluster.nodes[1].is_stale();
            assert!(is_good || good.is_none(), "{step}: it was good, and is asking again");
            good = good.or(is_good.then(|| cluster.millis() - back));
        }
        cluster.pass(2_000);
        let bound = BEAT + 3 * LAG + 2 * TICK;
        assert!(good.is_some_and(|it| it <= bound), "{good:?}, {bound} at most");
        let view = view(&cluster, "watcher");
        assert!(!view.stale);
        for (number, at) in said {
            let told = view.away.get(&number).map(|it| it - at);
            // The word itself, the one before it that is waited for, and the question behind that.
            let bound = 3 * LAG + 2 * TICK + good.unwrap_or_default();
            assert!(told.is_some_and(|it| it <= bound), "{number}: {told:?}");
        }
    }
}

/// To register all and to ask about all takes longer than a store may be silent.
#[test]
fn a_store_that_is_busy_with_what_all_ask_anew_is_not_out_of_reach() {
    const USERS: usize = 12_000;
    const EFFORT: u64 = 500;
    let mut cluster = cluster(1);
    let there = come(&mut cluster, 4_000);
    let mut lines = Vec::new();
    for watcher in 0..USERS / 1_000 {
        let name = format!("watcher {watcher}");
        let line = cluster.connect(1, &name, "1", false);
        cluster.listen(line, &name);
        let names: Vec<String> =
            (0..1_000).map(|it| format!("user {}", watcher * 1_000 + it)).collect();
        let mine: Vec<(u32, &str)> =
            names.iter().enumerate().map(|(number, it)| (number as u32, it.as_str())).collect();
        cluster.watch(line, 1, &mine);
        lines.push(line);
    }
    cluster.pass(1_000);
    cluster.effort = EFFORT;
    cluster.outage = true;
    cluster.pass(10_000);
    cluster.outage = false;
    let back = cluster.millis();
    let takes = (there.len() + USERS) as u64 * EFFORT / 1_000;
    while cluster.nodes.iter().any(|it| it.is_stale()) {
        cluster.pass(100);
        let lasts = cluster.millis() - back;
        assert!(lasts <= 2 * BEAT + takes * 5 / 4, "stale for {lasts} ms");
    }
    let told = cluster.transcript.len();
    cluster.set_mode(0, &there[7], Mode::Away);
    cluster.pass(10_000);
    assert!(!cluster.nodes[1].is_stale());
    assert!(cluster.transcript.len() > told);
    let view = view(&cluster, "watcher 0");
    assert!(!view.stale && view.states[&7] == State::Away);
    assert!((10..1_000).all(|it| view.states[&it] == State::Online));
}

/// So many sessions a node registers at a time.
const PORTION: usize = 2_000;

/// A node with very many sessions, and their lines; one in ten is watched at the other node.
fn crowded(sessions: usize) -> (Cluster, Vec<Line>) {
    // Nobody is asked for a sign of life meanwhile: that would go to the store, too.
    let (beat, ttl) = (Span::from_secs(60), Span::from_secs(180));
    let tick = Span::from_millis(TICK);
    let mut cluster = Cluster::new(Settings { beat, ttl, tick, ..settings() }, 2, true);
    let line =
        |it: usize, cluster: &mut Cluster| cluster.connect(0, &format!("user {it}"), "1", false);
    let lines: Vec<Line> = (0..sessions).map(|it| line(it, &mut cluster)).collect();
    let watcher = cluster.connect(1, "watcher", "1", true);
    cluster.listen(watcher, "watcher");
    // Some of each portion.
    let names: Vec<String> = (0..sessions).step_by(10).map(|it| format!("user {it}")).collect();
    let mine: Vec<(u32, &str)> =
        names.iter().enumerate().map(|(it, name)| (10 * it as u32, name.as_str())).collect();
    cluster.watch(watcher, 1, &mine);
    cluster.pass(1_000);
    (cluster, lines)
}

/// Whom the watcher was shown to be gone.
fn gone(cluster: &Cluster) -> Vec<u32> {
    let told = cluster.transcript.iter().filter(|it| it.1 == "watcher");
    let entries = told.flat_map(|it| match binary::decode_server(&it.2) {
        Ok(Some(ServerFrame::Snapshot { entries, .. } | ServerFrame::Events { entries, .. })) => {
            entries.into_iter().map(|it| (it.number, it.state)).collect()
        }
        _ => Vec::new(),
    });
    let mut gone: Vec<u32> = entries.filter(|it| it.1 == State::Offline).map(|it| it.0).collect();
    gone.sort_unstable();
    gone
}

#[test]
fn very_many_sessions_are_registered_in_portions_and_each_as_it_is_then() {
    const SESSIONS: usize = 7_000;
    const EFFORT: u64 = 500;
    let (mut cluster, lines) = crowded(SESSIONS);
    let room = ClientFrame::Join { number: 1, room: "r" };
    cluster.say(lines[6_000], &room);
    cluster.say(lines[6_010], &room);
    cluster.pass(1_000);
    cluster.outage = true;
    cluster.pass(6_000);
    cluster.say(lines[6_000], &ClientFrame::Leave { number: 1 });
    cluster.pass(1_000);
    cluster.outage = false;
    cluster.effort = EFFORT;
    let back = cluster.millis();
    let mut busy = 0;
    for step in 0.. {
        cluster.pass(50);
        busy = busy.max(cluster.nodes[0].store_waiting());
        match step {
            // Their portion is the last one.
            40 => cluster.say(lines[6_020], &ClientFrame::Bye),
            41 => cluster.say(lines[6_030], &ClientFrame::Idle),
            42 => cluster.set_mode(0, "user 6040", Mode::Invisible),
            43 => cluster.hang_up(lines[6_050]),
            44 => cluster.say(lines[6_010], &ClientFrame::Leave { number: 1 }),
            45 => cluster.say(lines[6_000], &room),
            _ => {}
        }
        if !cluster.nodes[0].is_stale() && step > 45 {
            break;
        }
        let takes = (SESSIONS + 1_000) as u64 * EFFORT / 1_000;
        assert!(cluster.millis() - back <= 2 * BEAT + takes * 5 / 4, "still stale");
    }
    assert!((PORTION..PORTION + 50).contains(&busy), "{busy} at a time");
    cluster.pass(8_000);
    assert_eq!(gone(&cluster), [6_020, 6_040, 6_050]);
    assert_eq!(view(&cluster, "watcher").states[&6_030], State::Away);
    assert_eq!((cluster.members("r"), cluster.sessions("user 6010")), (1, 1));
    let held: usize = (0..SESSIONS).map(|it| cluster.sessions(&format!("user {it}"))).sum();
    assert_eq!(held, SESSIONS - 2);
}

#[test]
fn a_second_outage_while_sessions_are_registered_loses_nothing() {
    const SESSIONS: usize = 7_000;
    let (mut cluster, lines) = crowded(SESSIONS);
    cluster.say(lines[6_000], &ClientFrame::Join { number: 1, room: "r" });
    cluster.block(0, "user 6500", "watcher", true);
    cluster.pass(1_000);
    cluster.effort = 500;
    cluster.outage = true;
    cluster.pass(6_000);
    // What waits for the sessions.
    cluster.say(lines[6_000], &ClientFrame::Leave { number: 1 });
    cluster.block(0, "user 6500", "watcher", false);
    for _ in 0..3 {
        cluster.confirm(0, 1, "user 6000");
        assert_eq!(cluster.stored.remove(&1), Some(false));
        cluster.outage = false;
        cluster.pass(2_000);
        assert!(cluster.nodes[0].is_stale());
        cluster.outage = true;
        cluster.pass(5_000);
    }
    cluster.outage = false;
    cluster.pass(8_000);
    assert!(cluster.nodes.iter().all(|it| !it.is_stale()));
    assert_eq!(gone(&cluster), [6_500]);
    assert_eq!(view(&cluster, "watcher").states[&6_500], State::Online);
    assert_eq!((cluster.members("r"), cluster.sessions("user 6000")), (0, 1));
    cluster.confirm(0, 2, "user 6000");
    cluster.pass(100);
    assert_eq!(cluster.stored.remove(&2), Some(true));
}

#[test]
fn who_moved_in_an_outage_to_a_node_with_very_many_sessions_never_left() {
    let (mut cluster, _) = crowded(7_000);
    let before = cluster.connect(1, "mover", "1", false);
    let watcher = cluster.connect(1, "looks", "1", true);
    cluster.listen(watcher, "watcher");
    cluster.watch(watcher, 1, &[(1, "mover")]);
    cluster.pass(1_000);
    cluster.effort = 500;
    cluster.outage = true;
    cluster.pass(6_000);
    cluster.connect(0, "mover", "2", false);
    cluster.pass(1_000);
    cluster.say(before, &ClientFrame::Bye);
    cluster.pass(1_000);
    cluster.outage = false;
    cluster.pass(10_000);
    assert!(cluster.nodes.iter().all(|it| !it.is_stale()));
    assert_eq!(gone(&cluster), [] as [u32; 0]);
    assert_eq!(cluster.sessions("mover"), 1);
}

/// These say goodbye.
fn leave(cluster: &mut Cluster, lines: &[Line]) {
    for line in lines {
        cluster.say(*line, &ClientFrame::Bye);
    }
}

/// Those of the first so many who are watched.
fn watched_of(first: u32) -> Vec<u32> {
    (0..first).step_by(10).collect()
}

#[test]
fn goodbyes_of_very_many_in_an_outage_are_told_in_portions() {
    const SESSIONS: usize = 9_000;
    const LEAVE: usize = 7_000;
    let (mut cluster, lines) = crowded(SESSIONS);
    cluster.outage = true;
    cluster.pass(6_000);
    leave(&mut cluster, &lines[..LEAVE]);
    cluster.pass(1_000);
    cluster.outage = false;
    cluster.effort = 200;
    let (back, asked) = (cluster.millis(), cluster.nodes[0].totals().store_requests);
    let mut busy = 0;
    while cluster.sessions(&format!("user {}", LEAVE - 1)) > 0 {
        // Others come meanwhile; and one speaks whose goodbye over another connection is yet to be told.
        let step = (cluster.millis() - back) / 50;
        cluster.connect(0, &format!("new {step}"), "1", false);
        if step == 22 {
            cluster.connect(0, "user 6990", "2", false);
        }
        cluster.pass(50);
        busy = busy.max(cluster.nodes[0].store_waiting());
        assert!(cluster.millis() - back <= 10_000, "goodbyes are not told");
    }
    cluster.pass(1_000);
    // The last sessions may not have been answered when the first goodbyes are told.
    assert!((PORTION / 2..2 * PORTION + 200).contains(&busy), "{busy} at a time");
    assert!(cluster.nodes.iter().all(|it| !it.is_stale()));
    // Those left are registered once, and those gone told of once.
    let said = (cluster.nodes[0].totals().store_requests - asked) as usize;
    assert!((SESSIONS..SESSIONS + 500).contains(&said), "{said} requests");
    assert_eq!(cluster.sessions("user 6990"), 1);
    let gone = gone(&cluster);
    assert_eq!(
        gone,
        watched_of(LEAVE as u32).into_iter().filter(|it| *it != 6_990).collect::<Vec<_>>()
    );
    let held: usize = (0..SESSIONS).map(|it| cluster.sessions(&format!("user {it}"))).sum();
    assert_eq!(held, SESSIONS - LEAVE + 1);
}

#[test]
fn goodbyes_of_very_many_at_once_are_told_once_however_long_that_takes() {
    const SESSIONS: usize = 7_000;
    const LEAVE: usize = 5_000;
    let (mut cluster, lines) = crowded(SESSIONS);
    cluster.effort = 250;
    let asked = cluster.nodes[0].totals().store_requests;
    leave(&mut cluster, &lines[..LEAVE]);
    for step in 0..60 {
        cluster.connect(0, &format!("new {step}"), "1", false);
        cluster.pass(50);
        assert!(!cluster.nodes[0].is_stale(), "a store that has much to do is in reach");
    }
    let said = (cluster.nodes[0].totals().store_requests - asked) as usize;
    // Each that leaves is renewed for what it says, and ended.
    assert!((2 * LEAVE + 60..2 * LEAVE + 200).contains(&said), "{said} requests");
    assert_eq!(gone(&cluster), watched_of(LEAVE as u32));
}
