//! What servers behind one Redis make of people together.

use std::time::Duration;

use greendot_engine::protocol::{ClientFrame, CloseCode, Mode, State};
use greendot_engine::server::{Contacts, RedisStore};

use crate::common::{Heard, Row, Server, builder, quick};
use crate::machine::now;
use crate::rig::{cluster, redis, share, share_with};

/// A revocation reaches every server within this, in ms.
const REVOKED_WITHIN: u128 = 1_000;

/// Two servers over one store.
async fn two(url: &str) -> (Server, Server) {
    let store = RedisStore::new(url);
    (share(store.clone()).await, share(store).await)
}

/// Plays with a single Redis and with a cluster of three masters.
macro_rules! over_both {
    ($($name:ident),* $(,)?) => {
        mod single {
            $(#[tokio::test]
            async fn $name() {
                let redis = super::redis(&[]);
                super::$name(&redis.url()).await;
            })*
        }
        mod cluster {
            $(#[tokio::test]
            async fn $name() {
                let cluster = super::cluster();
                super::$name(&cluster.servers[1].url()).await;
            })*
        }
    };
}

over_both!(
    users_of_one_server_are_seen_at_the_other,
    the_newest_connect_wins_wherever_it_comes,
    a_choice_reaches_all_sessions_of_the_user,
    a_revoked_user_is_turned_away_everywhere,
    who_blocks_looks_like_who_has_left,
    many_users_are_watched_at_once,
    a_user_is_found_at_every_server,
    how_a_user_stands_is_known_at_every_server,
    who_is_in_a_room_is_told_at_every_server,
    what_the_application_takes_back_is_taken_back_at_every_server,
);

async fn users_of_one_server_are_seen_at_the_other(url: &str) {
    let (one, other) = two(url).await;
    let mut ana = one.connect("ana", "1").await;
    assert_eq!(ana.watch(&["bo", "ana"]).await, [Row::of(2, State::Online)]);
    let mut bo = other.connect("bo", "1").await;
    assert_eq!(ana.hear_event().await, Row::of(1, State::Online));
    bo.send(&ClientFrame::Idle).await;
    assert_eq!(ana.hear_event().await, Row::of(1, State::Away));
    bo.send(&ClientFrame::Note("writing")).await;
    assert_eq!(ana.hear_event().await.note, "writing");
    bo.send(&ClientFrame::Bye).await;
    assert_eq!(ana.hear_event().await, Row::of(1, State::Offline).seen());
    // A drop shows after grace, a moment later.
    let bo = other.connect("bo", "2").await;
    assert_eq!(ana.hear_event().await.state, State::Online);
    drop(bo);
    assert_eq!(ana.hear_event().await.state, State::Offline);
}

async fn the_newest_connect_wins_wherever_it_comes(url: &str) {
    let (one, other) = two(url).await;
    let mut ana = one.connect("ana", "1").await;
    ana.watch(&["bo"]).await;
    let mut old = one.connect("bo", "tab").await;
    assert_eq!(ana.hear_event().await, Row::of(1, State::Online));
    let mut new = other.connect("bo", "tab").await;
    old.hear_close(CloseCode::Replaced).await;
    new.send(&ClientFrame::Idle).await;
    // Nothing came of the old one's end.
    assert_eq!(ana.hear_event().await, Row::of(1, State::Away));
}

async fn a_choice_reaches_all_sessions_of_the_user(url: &str) {
    let (one, other) = two(url).await;
    let mut here = one.connect("ana", "1").await;
    let mut there = other.connect("ana", "2").await;
    let mut bo = other.connect("bo", "1").await;
    assert_eq!(bo.watch(&["ana"]).await, [Row::of(1, State::Online)]);
    here.send(&ClientFrame::Mode(Mode::Invisible)).await;
    assert_eq!(here.hear().await, Heard::Mode(Mode::Invisible));
    assert_eq!(there.hear().await, Heard::Mode(Mode::Invisible));
    assert_eq!(bo.hear_event().await, Row::of(1, State::Offline).seen());
}

async fn a_revoked_user_is_turned_away_everywhere(url: &str) {
    let (one, other) = two(url).await;
    let mut ana = other.connect("ana", "1").await;
    let revoked = now();
    one.presence.revoke("ana");
    ana.hear_close(CloseCode::Revoked).await;
    revoked.within(&(0..=REVOKED_WITHIN));
    let mut again = other.open().await;
    again.hello("ana", "1").await;
    again.hear_close(CloseCode::Revoked).await;
}

async fn who_blocks_looks_like_who_has_left(url: &str) {
    let (one, other) = two(url).await;
    let _ana = one.connect("ana", "1").await;
    let mut bo = other.connect("bo", "1").await;
    let mut cy = other.connect("cy", "1").await;
    assert_eq!(bo.watch(&["ana"]).await, [Row::of(1, State::Online)]);
    assert_eq!(cy.watch(&["ana"]).await, [Row::of(1, State::Online)]);
    one.presence.set_block("ana", "bo", true);
    one.presence.stored("ana").await.expect("Redis has it");
    assert_eq!(bo.hear_event().await, Row::of(1, State::Offline).seen());
    // From another connection of bo's, too, and wherever it is.
    let mut again = one.connect("bo", "2").await;
    assert_eq!(again.watch(&["ana"]).await, [Row::of(1, State::Offline).seen()]);
    one.presence.set_block("ana", "bo", false);
    assert_eq!(bo.hear_event().await, Row::of(1, State::Online));
    assert_eq!(again.hear_event().await, Row::of(1, State::Online));
    // Nothing of it was anybody else's.
    cy.beat(1).await;
}

async fn many_users_are_watched_at_once(url: &str) {
    let (one, other) = two(url).await;
    let names: Vec<String> = (0..60).map(|it| format!("user {it}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut all = Vec::new();
    for name in &names {
        all.push(other.connect(name, "1").await);
    }
    let mut ana = one.connect("ana", "1").await;
    let rows = ana.watch(&names).await;
    assert_eq!(rows.len(), names.len());
    assert!(rows.iter().all(|it| it.state == State::Online), "{rows:?}");
    for client in &mut all {
        client.send(&ClientFrame::Bye).await;
    }
    let mut gone = 0;
    while gone < names.len() {
        let Heard::Events(rows) = ana.hear().await else { panic!("no events") };
        assert!(rows.iter().all(|it| it.state == State::Offline), "{rows:?}");
        gone += rows.len();
    }
}

async fn a_user_is_found_at_every_server(url: &str) {
    let (one, other) = two(url).await;
    let (here, there) = (one.presence.node(), other.presence.node());
    assert_ne!(here, there);
    assert_eq!(one.presence.where_is("ana").await, Ok(vec![]));
    let _tab = one.connect("ana", "tab").await;
    let phone = other.connect("ana", "phone").await;
    // Its node names it once, however many it holds.
    let tablet = other.connect("ana", "tablet").await;
    let mut both = vec![here, there];
    both.sort();
    for server in [&one, &other] {
        assert_eq!(server.presence.where_is("ana").await, Ok(both.clone()));
        let sessions = server.presence.sessions("ana").await.expect("the store answers");
        let mut found: Vec<_> = sessions.iter().map(|it| (it.id.as_str(), it.node)).collect();
        found.sort();
        assert_eq!(found, [("phone", there), ("tab", here), ("tablet", there)]);
        // A covered session ends by its node's lease, up to a renewal after its ttl.
        let ttl = Duration::from_millis(quick().ttl.as_millis());
        let in_time = |it: Duration| it > ttl / 2 && it <= ttl + Duration::from_secs(1);
        assert!(sessions.iter().all(|it| in_time(it.ends_in)), "{sessions:?}");
    }
    // A message goes to the node that is named, which knows its sessions.
    let held = |server: &Server| {
        let mut ids: Vec<_> =
            server.presence.sessions_here("ana").into_iter().map(|it| it.id).collect();
        ids.sort();
        ids
    };
    assert_eq!(held(&one), ["tab"]);
    assert_eq!(held(&other), ["phone", "tablet"]);
    drop((phone, tablet));
    while one.presence.where_is("ana").await != Ok(vec![here]) {
        tokio::task::yield_now().await;
    }
}

async fn how_a_user_stands_is_known_at_every_server(url: &str) {
    let (one, other) = two(url).await;
    let shown = async |server: &Server| server.presence.state("ana").await;
    assert_eq!(shown(&other).await.state, State::Offline);
    assert_eq!(shown(&other).await.last_seen, None);
    let mut tab = one.connect("ana", "tab").await;
    for server in [&one, &other] {
        // Nobody watches her there.
        assert_eq!(shown(server).await.state, State::Online);
    }
    other.presence.set_note("ana", "in a meeting").expect("short enough");
    other.presence.stored("ana").await.expect("Redis has it");
    assert_eq!(shown(&one).await.note, "in a meeting");
    one.presence.set_mode("ana", Mode::Invisible);
    assert_eq!(shown(&one).await.state, State::Offline);
    // What everybody may see is not all that there is.
    assert_eq!(other.presence.sessions("ana").await.expect("the store answers").len(), 1);
    one.presence.set_mode("ana", Mode::Dnd);
    assert_eq!(shown(&one).await.state, State::Dnd);
    tab.send(&ClientFrame::Bye).await;
    while shown(&other).await.state != State::Offline {
        tokio::task::yield_now().await;
    }
    assert!(shown(&one).await.last_seen.is_some());
}

async fn who_is_in_a_room_is_told_at_every_server(url: &str) {
    let (one, other) = two(url).await;
    let room = |names: &[&str]| Heard::Room(1, names.iter().map(ToString::to_string).collect());
    let join = ClientFrame::Join { number: 1, room: "page" };
    let mut ana = one.connect("ana", "1").await;
    ana.send(&join).await;
    assert_eq!(ana.hear().await, room(&["ana"]));
    let mut bo = other.connect("bo", "1").await;
    bo.send(&join).await;
    let Heard::Room(1, mut both) = bo.hear().await else { panic!("no room") };
    both.sort();
    assert_eq!(both, ["ana", "bo"]);
    let told = |state| Heard::RoomEvents(1, vec![("bo".into(), state)]);
    assert_eq!(ana.hear().await, told(State::Online));
    bo.send(&ClientFrame::Idle).await;
    assert_eq!(ana.hear().await, told(State::Away));
    bo.send(&ClientFrame::Bye).await;
    assert_eq!(ana.hear().await, told(State::Offline));
}

async fn what_the_application_takes_back_is_taken_back_at_every_server(url: &str) {
    let store = RedisStore::new(url);
    let contacts = Contacts::default();
    contacts.add("ana", "bo");
    let one = share(store.clone()).await;
    let other = share_with(store, builder().audience(contacts.clone())).await;
    let _ana = one.connect("ana", "1").await;
    let mut bo = other.connect("bo", "1").await;
    assert_eq!(bo.watch(&["ana"]).await, [Row::of(1, State::Online)]);
    contacts.remove("ana", "bo");
    // Said at one server, and true at the other.
    one.presence.audience_changed(Some("ana"), None);
    assert_eq!(bo.hear_event().await, Row::of(1, State::Offline).seen());
}
