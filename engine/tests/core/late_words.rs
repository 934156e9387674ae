//! What the store is told late: of words about one thing the latest said counts, in whichever order they come.

use std::collections::BTreeMap;
use std::sync::Arc;

use greendot_engine::core::{LastSeen, Settings};
use greendot_engine::protocol::{ClientFrame, Epoch, Mode, ModeChoice, Revision, Span, Time};
use greendot_engine::store::{
    Departed, HeldBy, MemoryStore, NodeId, Register, Reply, Request, Speaker, Store,
};
use proptest::prelude::{Just, Strategy, any};
use proptest::{collection, prop_assert_eq, proptest, sample};

use crate::cluster::Cluster;
use crate::register::register;

const START: u64 = 1_000_000;

fn store() -> MemoryStore {
    MemoryStore::new(Settings::default(), true, Time::from_millis(START), Epoch(1), 1, false)
}

fn ana() -> Arc<str> {
    "ana".into()
}

fn bo() -> Arc<str> {
    "bo".into()
}

/// A word: what it says, when it was said and how much later it is carried out, by which node it is told, and whether that told
/// it at once and it waited at the store.
#[derive(Clone, Debug)]
struct Word {
    said: u64,
    late: u64,
    waited: bool,
    node: u64,
    mode: Mode,
    wish: LastSeen,
    blocked: bool,
}

impl Word {
    fn requests(&self) -> [Request; 4] {
        let ago = self.late() - self.waited();
        [
            Request::SetMode { user: ana(), mode: self.mode, ago, by: None },
            Request::SetNote { user: ana(), note: self.note(), ago, by: None },
            Request::SetLastSeen { user: ana(), wish: self.wish, ago },
            Request::SetBlock { user: ana(), viewer: bo(), blocked: self.blocked, ago: Some(ago) },
        ]
    }

    fn late(&self) -> Span {
        Span::from_millis(self.late)
    }

    /// How long it waited at the store. Less than it takes any answer to come shows nowhere.
    fn waited(&self) -> Span {
        if self.waited && self.late >= 50 { self.late() } else { Span::ZERO }
    }

    fn note(&self) -> Arc<str> {
        self.said.to_string().into()
    }
}

fn words() -> impl Strategy<Value = Vec<Word>> {
    const WISHES: [LastSeen; 3] = [LastSeen::Exact, LastSeen::Rounded, LastSeen::Never];
    let late = proptest::prop_oneof![Just(0), 0..5_000u64];
    let (mode, wish) = (sample::select(&Mode::ALL[..]), sample::select(&WISHES[..]));
    let word = (late, any::<bool>(), 0..3u64, mode, wish, any::<bool>());
    collection::vec((0..500u64, word), 1..12).prop_map(|words| {
        let word = |(index, (said, (late, waited, node, mode, wish, blocked)))| {
            // No two at one moment: then the one that is told in time counts.
            let said = START + said * 16 + index as u64;
            Word { said, late, waited, node, mode, wish, blocked }
        };
        words.into_iter().enumerate().map(word).collect()
    })
}

/// How ana stands, and what is between her and bo.
fn read(store: &mut MemoryStore, now: u64) -> Reply {
    let request = Request::Read { viewer: bo(), users: vec![ana()] };
    store.handle(Time::from_millis(now), NodeId(9), &request)
}

fn is_blocked(reply: &Reply) -> bool {
    reply.outlooks[0].bars.iter().any(|it| it.screen.is_some())
}

proptest! {
    #[test]
    fn the_latest_said_counts_in_whichever_order_it_is_told(mut words in words()) {
        let mut store = store();
        words.sort_by_key(|it| it.said + it.late);
        for word in &words {
            for request in word.requests() {
                let now = Time::from_millis(word.said + word.late);
                store.handle_late(now, word.waited(), NodeId(word.node), &request);
            }
        }
        let latest = words.iter().max_by_key(|it| it.said).expect("one at least");
        let reply = read(&mut store, START + 20_000);
        let user = store.directory().find("ana").expect("heard of");
        prop_assert_eq!(store.directory().mode(user).0, latest.mode);
        prop_assert_eq!(&reply.reports[0].note, &latest.note());
        prop_assert_eq!(reply.reports[0].wish, latest.wish);
        prop_assert_eq!(is_blocked(&reply), latest.blocked);
    }
}

#[test]
fn a_connect_that_waited_at_the_store_does_not_outlive_its_end() {
    let (mut store, node) = (store(), NodeId(1));
    let now = Time::from_millis(START + 10_000);
    let mode = Some(ModeChoice { mode: Mode::Dnd, revision: Revision(1), fresh: true });
    let register = Register { mode, ..register("ana", "tab", 1) };
    let name = register.name.clone();
    let connect = Request::Connect(register);
    let (ago, late) = (Span::from_secs(3), Span::from_secs(4));
    // The node told all of it over another line, and that came first.
    let by = Speaker { session: "tab".into(), seat: 1, connected_ago: late };
    let mode = Request::SetMode { user: ana(), mode: Mode::Away, ago, by: Some(by) };
    store.handle(now, node, &mode);
    let end = |seat| {
        let (connected_ago, heard_ago) = (late, ago);
        let name = name.clone();
        Request::End(Departed { name, seat, connected_ago, heard_ago, passive: false, bye: true })
    };
    store.handle(now, node, &end(1));
    assert_eq!(store.handle_late(now, late, node, &connect).held, HeldBy::Over);
    assert_eq!(store.counts().sessions, 0);
    // What the store has yet to hear of is there, and its choice is as old as it is.
    let other = NodeId(2);
    let HeldBy::You { mode, .. } = store.handle_late(now, late, other, &connect).held else {
        panic!("nobody else has it");
    };
    assert_eq!(mode, Mode::Away);
}

#[test]
fn a_block_of_before_the_epoch_yields_to_whatever_was_said_in_it() {
    let block = |blocked, ago| Request::SetBlock { user: ana(), viewer: bo(), blocked, ago };
    let now = Time::from_millis(START);
    let mut quiet = store();
    quiet.handle(now, NodeId(1), &block(true, None));
    assert!(is_blocked(&read(&mut quiet, START)), "nobody has said anything else");
    let mut told = store();
    told.handle(now, NodeId(2), &block(false, Some(Span::ZERO)));
    told.handle(now, NodeId(1), &block(true, None));
    assert!(!is_blocked(&read(&mut told, START)));
}

#[test]
fn a_choice_that_waited_on_a_connection_that_was_taken_over_has_no_effect() {
    let mut cluster = Cluster::new(Settings::default(), 2, true);
    cluster.pass(5_000);
    let old = cluster.connect(0, "ana", "tab", false);
    // The node stands still: what its client says, and what the store tells it, waits.
    cluster.hold_notices(0);
    cluster.pass(3_000);
    let new = cluster.connect(1, "ana", "tab", false);
    cluster.say(new, &ClientFrame::Mode(Mode::Dnd));
    cluster.pass(1_000);
    // It goes on, and reads from the client first.
    cluster.say(old, &ClientFrame::Mode(Mode::Away));
    cluster.say(old, &ClientFrame::Note("of then"));
    cluster.release_notices();
    cluster.pass(2_000);
    assert_eq!(cluster.mode("ana"), Some(Mode::Dnd));
    // What the person chooses where it is counts as before.
    cluster.say(new, &ClientFrame::Mode(Mode::Busy));
    assert_eq!(cluster.mode("ana"), Some(Mode::Busy));
}

#[test]
fn it_is_told_whether_the_store_has_what_was_said() {
    let mut world = Cluster::new(Settings::default(), 2, true);
    world.pass(1_000);
    world.block(0, "ana", "bo", true);
    world.confirm(0, 1, "ana");
    assert_eq!(world.stored.remove(&1), Some(true));
    // Nobody has noticed yet that the store is out of reach.
    world.outage = true;
    world.block(0, "ana", "bo", false);
    world.confirm(0, 2, "ana");
    assert_eq!(world.stored.get(&2), None);
    world.pass(5_000);
    assert_eq!(world.stored.remove(&2), Some(false));
    // Now it is known.
    world.confirm(0, 3, "ana");
    assert_eq!(world.stored.remove(&3), Some(false));
    world.outage = false;
    world.pass(2_000);
    world.confirm(0, 4, "ana");
    assert_eq!(world.stored.remove(&4), Some(true));
    // One that works alone keeps it itself.
    let mut alone = Cluster::new(Settings::default(), 1, false);
    alone.confirm(0, 5, "ana");
    assert_eq!(alone.stored.remove(&5), Some(true));
}

#[test]
fn what_was_lost_on_the_way_is_not_said_to_be_stored() {
    let mut world = Cluster::new(Settings::default(), 1, true);
    world.pass(1_000);
    world.outage = true;
    world.block(0, "ana", "bo", true);
    world.outage = false;
    world.confirm(0, 1, "ana");
    assert_eq!(world.stored.remove(&1), Some(false));
    // It has been said again.
    world.confirm(0, 2, "ana");
    assert_eq!(world.stored.remove(&2), Some(true));
}

#[test]
fn a_sign_out_that_waited_at_the_store_ends_nobody_who_came_since() {
    let mut store = store();
    let now = Time::from_millis(START + 10_000);
    let (said, late) = (NodeId(1), Span::from_secs(4));
    let connected = |ago, seat| {
        let connected_ago = Span::from_millis(ago);
        Request::Connect(Register { connected_ago, ..register("ana", "tab", seat) })
    };
    let sign_out = |seat| {
        let name = register("ana", "tab", 0).name;
        Request::SignOut { name, seat, ago: Span::ZERO }
    };
    store.handle(now, NodeId(2), &connected(3_900, 1));
    store.handle_late(now, late, said, &sign_out(1));
    assert_eq!(store.counts().sessions, 1);
    store.handle(now, NodeId(2), &connected(3_900, 1));
    store.handle_late(now, late, said, &sign_out(2));
    assert_eq!(store.counts().sessions, 1);
    // One that was there before, whether it is known already or not.
    for node in [2, 3] {
        let mut store = self::store();
        if node == 2 {
            store.handle(now, NodeId(node), &connected(4_100, 1));
        }
        store.handle_late(now, late, said, &sign_out(1));
        let held = store.handle(now, NodeId(node), &connected(4_100, 1)).held;
        assert_eq!((held, store.counts().sessions), (HeldBy::Another, 0));
    }
}

#[test]
fn who_is_signed_out_while_the_store_is_away_is_gone_when_it_is_back() {
    let mut cluster = Cluster::new(Settings::default(), 2, true);
    cluster.pass(1_000);
    let mut lines = BTreeMap::new();
    let mut come = |cluster: &mut Cluster, node, session: &'static str| {
        let line = cluster.connect(node, "ana", session, false);
        cluster.listen(line, session);
        lines.insert(session, line);
    };
    let closed = |cluster: &Cluster, session: &str| {
        let told = cluster.transcript.iter().filter(|it| it.1 == session);
        told.filter(|it| String::from_utf8_lossy(&it.2).contains("SignedOut")).count()
    };
    come(&mut cluster, 0, "here");
    come(&mut cluster, 1, "there");
    cluster.outage = true;
    cluster.pass(10_000);
    come(&mut cluster, 1, "of the outage");
    for session in ["here", "there", "of the outage"] {
        cluster.pass(1_000);
        cluster.end_session(0, "ana", session);
    }
    assert_eq!(closed(&cluster, "here"), 1, "for that no store is needed");
    cluster.confirm(0, 1, "ana");
    assert_eq!(cluster.stored.remove(&1), Some(false));
    cluster.pass(1_000);
    for (node, session) in [(0, "here"), (1, "there")] {
        let line = cluster.connect(node, "ana", session, false);
        cluster.listen(line, &format!("{session} again"));
    }
    cluster.outage = false;
    cluster.pass(5_000);
    assert_eq!(closed(&cluster, "of the outage"), 1);
    for session in ["here again", "there again"] {
        assert_eq!(closed(&cluster, session), 0, "it came since");
    }
    assert_eq!(cluster.sessions("ana"), 2);
}
