//! Who holds a session (rules 3 and 4).

use std::time::Duration;

use greendot_engine::protocol::{Mode, Revision, Span, State, Time};
use greendot_engine::store::{Departed, HeldBy, Notice, Place, Register, Request};

use super::stage::{Node, Stage, name, pause, register, silent};

/// What takes longer than this to the store has not been said just now.
const LATE: Duration = Duration::from_millis(50);

/// The generation of a session that is held.
fn generation(held: HeldBy) -> u64 {
    match held {
        HeldBy::You { generation, .. } => generation,
        other => panic!("it is held, not {other:?}"),
    }
}

fn departed(user: &str, session: &str, seat: u64) -> Departed {
    Departed {
        name: name(user, session),
        seat,
        connected_ago: Span::ZERO,
        heard_ago: Span::ZERO,
        passive: false,
        bye: true,
    }
}

fn sign_out(user: &str, session: &str, seat: u64, ago: u64) -> Request {
    Request::SignOut { name: name(user, session), seat, ago: Span::from_millis(ago) }
}

async fn two(stage: &Stage) -> (Node, Node) {
    (stage.node().await, stage.node().await)
}

pub(super) async fn a_session_that_connects_is_held_and_shows(stage: &Stage) {
    let (mut one, mut other) = two(stage).await;
    assert_eq!(other.subscribe(&["ana"]).await, []);
    let reply = one.ask(Request::Connect(register("ana", "1", 1))).await;
    let HeldBy::You { mode, revision, idle, .. } = reply.held else { panic!("{reply:?}") };
    assert_eq!((mode, revision, idle), (Mode::Auto, Revision(0), false));
    assert_eq!(reply.turned.len(), 1);
    let report = other.hear_of("ana").await;
    assert_eq!((report.public.state, report.public.version.0), (State::Online, 1));
    assert_eq!(report.own, report.public);
    assert!(report.heard);
    assert_eq!(reply.turned[0].public, report.public);
    // The same again changes nothing.
    let again = one.ask(Request::Connect(register("ana", "1", 1))).await;
    assert!(matches!(again.held, HeldBy::You { .. }) && again.turned.is_empty());
    other.hears_no_more().await;
    one.hears_no_more().await;
}

pub(super) async fn the_later_connect_takes_over_and_the_earlier_has_no_effect_any_more(
    stage: &Stage,
) {
    let (mut one, mut other) = two(stage).await;
    other.subscribe(&["ana"]).await;
    let idle = Register { idle: Some(true), ..register("ana", "1", 1) };
    let first = generation(one.register(idle).await);
    assert_eq!(other.hear_of("ana").await.public.state, State::Away);
    let held = other.connect("ana", "1", 8).await;
    assert!(matches!(held, HeldBy::You { idle: true, .. }), "the flag carries over: {held:?}");
    assert!(generation(held) > first);
    assert_eq!(one.hear().await, Notice::Replaced { seat: 1, passive: false });
    // Nothing from or about the earlier one counts.
    let name = name("ana", "1");
    one.ask(Request::SetIdle { name: name.clone(), seat: 1, idle: false }).await;
    let (heard_ago, lasts) = (Span::ZERO, Span::ZERO);
    one.ask(Request::Linger { name: name.clone(), seat: 1, heard_ago, lasts }).await;
    one.ask(Request::Join { name, room: "r".into() }).await;
    let earlier = Span::from_millis(60_000);
    let end = Departed { connected_ago: earlier, heard_ago: earlier, ..departed("ana", "1", 1) };
    one.ask(Request::End(end)).await;
    assert_eq!(one.ask(Request::Renew(silent("ana", "1", 1, 0))).await.held, HeldBy::Another);
    one.sweep().await;
    assert_eq!(one.state_of("ana").await, State::Away);
    other.hears_no_more().await;
    // At its own node the later seat is the later connect.
    assert!(matches!(other.connect("ana", "1", 9).await, HeldBy::You { .. }));
    assert_eq!(other.hear().await, Notice::Replaced { seat: 8, passive: false });
    assert_eq!(other.connect("ana", "1", 8).await, HeldBy::Another);
}

pub(super) async fn an_earlier_connect_told_late_does_not_take_over(stage: &Stage) {
    let (mut one, mut other) = two(stage).await;
    other.connect("ana", "1", 1).await;
    let late = Register { connected_ago: Span::from_millis(60_000), ..register("ana", "1", 1) };
    assert_eq!(one.register(late).await, HeldBy::Another);
    other.hears_no_more().await;
}

pub(super) async fn an_end_closes_what_was_held_of_an_earlier_connect(stage: &Stage) {
    let (mut one, mut other) = two(stage).await;
    other.subscribe(&["ana"]).await;
    let earlier = Register { connected_ago: Span::from_millis(900), ..register("ana", "1", 1) };
    one.register(earlier).await;
    assert_eq!(other.hear_of("ana").await.public.state, State::Online);
    // The store never heard of the later connect, which is over.
    let reply = other.ask(Request::End(departed("ana", "1", 5))).await;
    assert_eq!(reply.turned.len(), 1);
    assert_eq!(one.hear().await, Notice::Replaced { seat: 1, passive: false });
    assert_eq!(other.hear_of("ana").await.public.state, State::Offline);
}

pub(super) async fn an_earlier_connect_of_an_ended_session_is_not_held(stage: &Stage) {
    let (mut one, mut other) = two(stage).await;
    one.connect("ana", "1", 1).await;
    one.ask(Request::End(departed("ana", "1", 1))).await;
    assert_eq!(one.state_of("ana").await, State::Offline);
    let late = Register { connected_ago: Span::from_millis(60_000), ..register("ana", "1", 1) };
    assert_eq!(other.register(late).await, HeldBy::Another);
    assert_eq!(one.state_of("ana").await, State::Offline);
    // A new one is.
    let before = one.read("ana").await.expect("known").public.version;
    assert!(matches!(other.connect("ana", "1", 2).await, HeldBy::You { .. }));
    let after = one.read("ana").await.expect("known").public;
    assert_eq!((after.state, after.version.0), (State::Online, before.0 + 1));
}

pub(super) async fn a_connect_that_was_ended_is_held_again_if_it_lives_after_all(stage: &Stage) {
    let (mut one, mut other) = two(stage).await;
    one.connect("ana", "1", 3).await;
    // As a sweep does while its node is cut off.
    one.ask(Request::End(departed("ana", "1", 3))).await;
    // Messages take their time: told anew, the connect seems to be earlier than it was told first.
    let anew = Register { connected_ago: Span::from_millis(900), ..register("ana", "1", 3) };
    loop {
        let (held, took) = one.ask_timed(Request::Connect(anew.clone())).await;
        if matches!(held.held, HeldBy::You { .. }) {
            break;
        }
        // What comes late may have been said before the end: then the store cannot tell, and is asked again.
        assert!(held.held == HeldBy::Over && took >= LATE, "{held:?} after {took:?}");
    }
    assert_eq!(other.state_of("ana").await, State::Online);
    one.ask(Request::End(departed("ana", "1", 3))).await;
    // An earlier one of the same node is not, whenever it says that it connected.
    assert_eq!(one.connect("ana", "1", 2).await, HeldBy::Another);
}

pub(super) async fn whose_lease_ran_out_meanwhile_is_over(stage: &Stage) {
    let mut one = stage.node().await;
    let long_ago = Span::from_millis(2_000);
    let it = Register { connected_ago: long_ago, heard_ago: long_ago, ..register("ana", "1", 1) };
    assert_eq!(one.register(it).await, HeldBy::Over);
    assert_eq!(one.read("ana").await, None);
}

pub(super) async fn a_user_has_so_many_sessions_and_no_more(stage: &Stage) {
    let mut one = stage.node().await;
    for it in 0..256 {
        let held = one.connect("ana", &it.to_string(), it).await;
        assert!(matches!(held, HeldBy::You { .. }), "{it}: {held:?}");
    }
    assert_eq!(one.connect("ana", "one more", 300).await, HeldBy::Full);
    // One of them may connect again.
    assert!(matches!(one.connect("ana", "7", 301).await, HeldBy::You { .. }));
}

pub(super) async fn passive_sessions_do_not_count(stage: &Stage) {
    let mut one = stage.node().await;
    let passive = Register { passive: true, ..register("ana", "1", 1) };
    one.register(passive).await;
    assert_eq!(one.state_of("ana").await, State::Offline);
    one.connect("ana", "2", 2).await;
    assert_eq!(one.state_of("ana").await, State::Online);
    one.ask(Request::End(departed("ana", "2", 2))).await;
    let report = one.read("ana").await.expect("known");
    assert_eq!(report.public.state, State::Offline);
    assert!(report.seen_ago.is_some());
}

/// A session that was heard that long ago.
fn heard(user: &str, seat: u64, ago: u64) -> Register {
    let ago = Span::from_millis(ago);
    Register { connected_ago: ago, heard_ago: ago, ..register(user, "1", seat) }
}

fn passive(user: &str, seat: u64) -> Register {
    Register { passive: true, ..register(user, "1", seat) }
}

/// When the user was last seen, by the store's clock.
async fn last_seen(node: &mut Node, user: &str) -> Time {
    let reply = node.ask(Request::Read { viewer: "reader".into(), users: vec![user.into()] }).await;
    let report = &reply.reports[0];
    assert_eq!(report.public.state, State::Offline);
    reply.at - report.seen_ago.expect("it was seen")
}

pub(super) async fn who_counts_no_more_was_seen_when_it_was_heard_last(stage: &Stage) {
    const AGO: u64 = 900;
    let (mut one, mut other) = two(stage).await;
    other.subscribe(&["ana"]).await;
    let (from, ago) = (one.beat().await.at, Span::from_millis(AGO));
    one.register(heard("ana", 1, AGO)).await;
    one.register(heard("bo", 2, AGO)).await;
    let to = one.beat().await.at;
    let fits = |at: Time| (from - ago - Span::from_millis(50)..=to - ago).contains(&at);
    other.hear_of("ana").await;
    // Its connect takes the session over.
    let taken = other.ask(Request::Connect(passive("ana", 8))).await.at;
    let report = other.hear_of("ana").await;
    assert_eq!((report.public.state, report.public.version.0), (State::Offline, 2));
    assert!(report.seen_ago.is_some());
    let seen = last_seen(&mut other, "ana").await;
    assert!(fits(seen), "{seen:?}: {from:?} to {to:?}");
    assert_eq!(one.hear().await, Notice::Replaced { seat: 1, passive: true });
    // Its node knows better when it was heard; what it heard once another had the session is of nobody.
    let (bye, connected_ago) = (false, Span::from_millis(60_000));
    let told = Departed { bye, connected_ago, ..departed("ana", "1", 1) };
    pause(50).await;
    one.ask(Request::End(told)).await;
    let seen = last_seen(&mut other, "ana").await;
    assert!((to..=taken).contains(&seen), "{seen:?}: {to:?} to {taken:?}");
    // Nor did anybody see the passive one that has left: it ends what the store holds of one before.
    other.ask(Request::End(Departed { passive: true, ..departed("bo", "1", 9) })).await;
    let seen = last_seen(&mut other, "bo").await;
    assert!(fits(seen), "{seen:?}: {from:?} to {to:?}");
    assert_eq!(one.hear().await, Notice::Replaced { seat: 2, passive: true });
}

pub(super) async fn what_was_heard_before_a_passive_connect_counts_however_late_it_is_told(
    stage: &Stage,
) {
    const AGO: u64 = 900;
    let (mut one, mut other) = two(stage).await;
    other.register(passive("ana", 8)).await;
    other.register(passive("bo", 9)).await;
    other.ask(Request::End(Departed { passive: true, ..departed("bo", "1", 9) })).await;
    for user in ["ana", "bo"] {
        let (from, ago) = (one.beat().await.at, Span::from_millis(AGO));
        assert_eq!(one.register(heard(user, 1, AGO)).await, HeldBy::Another);
        let to = one.beat().await.at;
        let seen = last_seen(&mut other, user).await;
        let fits = from - ago - Span::from_millis(50)..=to - ago;
        assert!(fits.contains(&seen), "{seen:?}: {fits:?}");
    }
}

pub(super) async fn own_sessions_are_told(stage: &Stage) {
    let (mut one, mut other) = two(stage).await;
    one.connect("ana", "1", 1).await;
    let ids = |notice: Notice| match notice {
        Notice::Sessions { user, sessions, .. } if &*user == "ana" => {
            let mut ids: Vec<_> = sessions
                .iter()
                .map(|(it, _)| (it.session.to_string(), it.device.to_string(), it.idle))
                .collect();
            ids.sort();
            ids
        }
        notice => panic!("{notice:?}"),
    };
    let row = |id: &str, device: &str, idle| (id.to_owned(), device.to_owned(), idle);
    other.ask(Request::Own { users: vec!["ana".into()] }).await;
    assert_eq!(ids(other.hear().await), [row("1", "", false)]);
    let phone = Register { device: "phone".into(), ..register("ana", "2", 2) };
    one.register(phone).await;
    assert_eq!(ids(other.hear().await), [row("1", "", false), row("2", "phone", false)]);
    one.ask(Request::SetIdle { name: name("ana", "2"), seat: 2, idle: true }).await;
    assert_eq!(ids(other.hear().await), [row("1", "", false), row("2", "phone", true)]);
    one.ask(Request::End(departed("ana", "1", 1))).await;
    assert_eq!(ids(other.hear().await), [row("2", "phone", true)]);
    other.ask(Request::Disown { users: vec!["ana".into()] }).await;
    one.connect("ana", "3", 3).await;
    other.hears_no_more().await;
}

pub(super) async fn a_session_is_signed_out_at_its_node(stage: &Stage) {
    let (mut one, mut other) = two(stage).await;
    one.connect("ana", "1", 1).await;
    one.connect("ana", "2", 2).await;
    let reply = other.ask(sign_out("ana", "1", 90, 0)).await;
    assert!(reply.turned.is_empty(), "the other session goes on");
    assert_eq!(one.hear().await, Notice::SignedOut { seat: 1 });
    assert_eq!(other.ask(sign_out("ana", "2", 90, 0)).await.turned.len(), 1);
    assert_eq!(one.hear().await, Notice::SignedOut { seat: 2 });
    // Of one that is not there nothing comes.
    other.ask(sign_out("ana", "2", 90, 0)).await;
    one.hears_no_more().await;
}

pub(super) async fn what_has_connected_since_is_not_signed_out(stage: &Stage) {
    let (mut one, mut other) = two(stage).await;
    let connected = |ago, session: &str, seat| Register {
        connected_ago: Span::from_millis(ago),
        ..register("ana", session, seat)
    };
    one.register(connected(20_000, "1", 1)).await;
    other.ask(sign_out("ana", "1", 90, 30_000)).await;
    one.hears_no_more().await;
    other.ask(sign_out("ana", "1", 91, 10_000)).await;
    assert_eq!(one.hear().await, Notice::SignedOut { seat: 1 });
    // Its node has not read that, and registers it again.
    assert_eq!(one.register(connected(20_000, "1", 1)).await, HeldBy::Another);
    // A node knows the order of its own.
    one.register(connected(20_000, "2", 5)).await;
    one.ask(sign_out("ana", "2", 4, 10_000)).await;
    one.hears_no_more().await;
    one.ask(sign_out("ana", "2", 6, 30_000)).await;
    assert_eq!(one.hear().await, Notice::SignedOut { seat: 5 });
    assert_eq!(one.register(connected(20_000, "2", 5)).await, HeldBy::Another);
    // What is told later of a connect that was there by then comes too late.
    other.ask(sign_out("ana", "3", 92, 10_000)).await;
    assert_eq!(one.register(connected(20_000, "3", 7)).await, HeldBy::Another);
    generation(one.register(connected(5_000, "3", 8)).await);
}

pub(super) async fn each_session_is_found_at_its_node(stage: &Stage) {
    let (mut one, mut other) = two(stage).await;
    let locate = Request::Locate { user: "ana".into() };
    assert_eq!(other.ask(locate.clone()).await.places, []);
    let idle = Register { idle: Some(true), ..register("ana", "1", 1) };
    let first = generation(one.register(idle).await);
    let passive = Register { passive: true, ..register("ana", "2", 2) };
    let connected = other.ask(Request::Connect(passive)).await;
    let second = generation(connected.held);
    let (heard_ago, lasts) = (Span::ZERO, Span::from_millis(60_000));
    let linger = Request::Linger { name: name("ana", "1"), seat: 1, heard_ago, lasts };
    let lingered = one.ask(linger).await.at;
    one.connect("bo", "1", 3).await;
    let reply = other.ask(locate.clone()).await;
    let mut places = reply.places;
    places.sort_by(|one, other| one.session.cmp(&other.session));
    let place = |node, session: &str, generation| Place {
        node,
        session: session.into(),
        generation,
        lingering: false,
        idle: false,
        passive: false,
        ends_in: Span::ZERO,
    };
    // Who lingers ends then; others by ttl, up to a renewal of their node later.
    let within = |place: &Place, since: Time, least: u64, most: u64| {
        let lasts = (reply.at + place.ends_in).since(since).as_millis();
        assert!((least..=most).contains(&lasts), "{lasts} ms: {place:?}");
    };
    within(&places[0], lingered, 50_000, 60_000);
    within(&places[1], connected.at, 1_000, 3_000);
    let undated = |it: Vec<Place>| -> Vec<Place> {
        it.into_iter().map(|it| Place { ends_in: Span::ZERO, ..it }).collect()
    };
    assert_eq!(
        undated(places),
        [
            Place { lingering: true, idle: true, ..place(one.id, "1", first) },
            Place { passive: true, ..place(other.id, "2", second) },
        ]
    );
    // It goes where it connects, and is nowhere once it has ended.
    let third = generation(other.connect("ana", "1", 7).await);
    one.ask(sign_out("ana", "2", 90, 0)).await;
    let places = undated(one.ask(locate).await.places);
    assert_eq!(places, [Place { idle: true, ..place(other.id, "1", third) }]);
}

pub(super) async fn many_that_end_at_a_time_are_each_told_once(stage: &Stage) {
    const MANY: u64 = 300;
    let (mut one, mut other) = two(stage).await;
    let users: Vec<String> = (0..MANY).map(|it| format!("u{it}")).collect();
    other.subscribe(&users.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let connects =
        users.iter().zip(0..).map(|(user, seat)| Request::Connect(register(user, "1", seat)));
    one.ask_all(connects.collect()).await;
    for _ in 0..MANY {
        other.hear().await;
    }
    // Among them one that comes back: what is said of it stays in order.
    let end = |(user, seat): (&String, u64)| Request::End(departed(user, "1", seat));
    let mut requests: Vec<Request> = users.iter().zip(0..).map(end).collect();
    let back = requests.len() / 2;
    requests.insert(back, Request::Connect(register("u0", "1", MANY)));
    let replies = one.ask_all(requests).await;
    let turned: Vec<&str> = replies.iter().flat_map(|it| &it.turned).map(|it| &*it.user).collect();
    let mut expected: Vec<&str> = users.iter().map(String::as_str).chain(["u0"]).collect();
    let mut sorted = turned.clone();
    sorted.sort_unstable();
    expected.sort_unstable();
    assert_eq!(sorted, expected);
    let mut states = std::collections::BTreeMap::new();
    for _ in 0..=MANY {
        let notice = other.hear().await;
        let Notice::Changed { report, .. } = notice else { panic!("{notice:?}") };
        states.insert(report.user.to_string(), report.public.state);
    }
    other.hears_no_more().await;
    assert_eq!(states.remove("u0"), Some(State::Online));
    assert!(states.values().all(|it| *it == State::Offline));
}
