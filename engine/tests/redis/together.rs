//! What servers behind one Redis make of people together.

use std::time::Duration;

use greendot_engine::protocol::{ClientFrame, CloseCode, Mode, State};
use greendot_engine::server::{Contacts, RedisStore};

use crate::common::{Heard, Row, Server, builder};
use crate::rig::{cluster, redis, share, share_with};

/// A revocation reaches every server within this.
const REVOKED_WITHIN: Duration = Duration::from_secs(1);

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
    one.presence.revoke("ana");
    let closed = tokio::time::timeout(REVOKED_WITHIN, ana.hear_close(CloseCode::Revoked)).await;
    assert!(closed.is_ok(), "not within {REVOKED_WITHIN:?}");
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
    assert_ne!(one.presence.node(), other.presence.node());
    assert_eq!(one.presence.where_is("ana").await, Ok(vec![]));
    let _tab = one.connect("ana", "tab").await;
    let phone = other.connect("ana", "phone").await;
    for server in [&one, &other] {
        let mut places = server.presence.where_is("ana").await.expect("the store answers");
        places.sort_by(|one, other| one.session.cmp(&other.session));
        let found: Vec<_> = places.iter().map(|it| (it.node, it.session.as_str())).collect();
        let (here, there) = (one.presence.node(), other.presence.node());
        assert_eq!(found, [(there, "phone"), (here, "tab")]);
    }
    // A message goes to the node that is named, which knows the session.
    assert_eq!(other.presence.sessions("ana")[0].id, "phone");
    drop(phone);
    loop {
        let places = one.presence.where_is("ana").await.expect("the store answers");
        if places.len() == 1 {
            assert_eq!(places[0].session, "tab");
            break;
        }
        tokio::task::yield_now().await;
    }
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
