//! The application says who may see whom, over real sockets.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use greendot_engine::core::{AudienceRule, Fineness, Settings};
use greendot_engine::protocol::{ClientFrame, CloseCode, ErrorCode, Span, State};
use greendot_engine::server::{Audience, Contacts, ContactsExcept, Nobody, Pair, RoomMembers};

use crate::common::{Heard, Row, Server, builder, quick};

#[tokio::test]
async fn contacts_are_seen_and_changes_count_at_once() {
    let contacts = Contacts::default();
    let server = Server::start(builder().audience(contacts.clone())).await;
    let mut ana = server.connect("ana", "1").await;
    let _bo = server.connect("bo", "1").await;
    assert_eq!(ana.watch(&["bo"]).await, []);
    contacts.add("bo", "ana");
    server.presence.audience_changed(Some("bo"), Some("ana"));
    assert_eq!(ana.hear_event().await, Row::of(1, State::Online));
    contacts.remove("bo", "ana");
    server.presence.audience_changed(Some("bo"), None);
    assert_eq!(ana.hear_event().await, Row::of(1, State::Offline).seen());
    assert_eq!(server.presence.audience_counts().failures, 0);
}

/// Hangs, panics, or answers short until it is told to be well.
#[derive(Clone)]
struct Sick {
    well: Arc<AtomicBool>,
    hangs: bool,
}

impl Audience for Sick {
    async fn look(&self, pairs: &[Pair]) -> Vec<Fineness> {
        if self.well.load(Ordering::Relaxed) {
            return vec![Fineness::Live; pairs.len()];
        }
        if self.hangs {
            std::future::pending::<()>().await;
        }
        Vec::new()
    }
}

#[tokio::test]
async fn a_sick_audience_shows_nothing_delays_no_beat_and_heals() {
    for hangs in [true, false] {
        let audience = Some(AudienceRule {
            deadline: Span::from_millis(100),
            lifetime: Span::from_secs(30),
            ..AudienceRule::default()
        });
        let well = Arc::new(AtomicBool::new(false));
        let sick = Sick { well: Arc::clone(&well), hangs };
        let settings = Settings { audience, ..quick() };
        let server = Server::start(builder().settings(settings).audience(sick)).await;
        let mut ana = server.connect("ana", "1").await;
        let mut bo = server.connect("bo", "1").await;
        bo.beat(1).await;
        assert_eq!(ana.watch(&["bo"]).await, []);
        ana.beat(2).await;
        assert!(server.presence.audience_counts().failures >= 1);
        well.store(true, Ordering::Relaxed);
        assert_eq!(ana.hear_event().await, Row::of(1, State::Online));
    }
}

#[tokio::test]
async fn a_block_and_a_sign_out_reach_the_sockets() {
    let server = Server::start(builder()).await;
    let mut ana = server.connect("ana", "1").await;
    let mut bo = server.connect("bo", "1").await;
    assert_eq!(ana.watch(&["bo"]).await, [Row::of(1, State::Online)]);
    server.presence.set_block("bo", "ana", true);
    assert_eq!(ana.hear_event().await, Row::of(1, State::Offline).seen());
    server.presence.set_block("bo", "ana", false);
    assert_eq!(ana.hear_event().await, Row::of(1, State::Online));
    server.presence.end_session("bo", "1");
    bo.hear_close(CloseCode::SignedOut).await;
}

#[tokio::test]
async fn who_may_not_join_is_told_so_and_nothing_else() {
    let server = Server::start(builder().audience(Nobody)).await;
    let mut ana = server.connect("ana", "1").await;
    ana.send(&ClientFrame::Join { number: 3, room: "page" }).await;
    match tokio::time::timeout(Duration::from_secs(20), ana.hear()).await {
        Ok(Heard::Error(ErrorCode::NotAllowed, 3, _)) => {}
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_exception_counts_for_a_contact_and_for_no_other() {
    let audience = ContactsExcept::new(Contacts::default());
    for viewer in ["ana", "cy"] {
        audience.contacts.add("bo", viewer);
    }
    audience.hide("bo", "ana");
    let server = Server::start(builder().audience(audience.clone())).await;
    let _bo = server.connect("bo", "1").await;
    let mut ana = server.connect("ana", "1").await;
    let mut cy = server.connect("cy", "1").await;
    assert_eq!(ana.watch(&["bo"]).await, []);
    assert_eq!(cy.watch(&["bo"]).await, [Row::of(1, State::Online)]);
    audience.show("bo", "ana");
    server.presence.audience_changed(Some("bo"), Some("ana"));
    assert_eq!(ana.hear_event().await, Row::of(1, State::Online));
}

#[tokio::test]
async fn members_of_a_room_see_each_other_until_one_leaves_it() {
    let audience = RoomMembers::default();
    for user in ["ana", "bo"] {
        audience.add("team", user);
    }
    audience.add("hall", "cy");
    let server = Server::start(builder().audience(audience.clone())).await;
    let _bo = server.connect("bo", "1").await;
    let _cy = server.connect("cy", "1").await;
    let mut ana = server.connect("ana", "1").await;
    assert_eq!(ana.watch(&["bo", "cy"]).await, [Row::of(1, State::Online)]);
    ana.send(&ClientFrame::Join { number: 3, room: "hall" }).await;
    assert!(matches!(ana.hear().await, Heard::Error(ErrorCode::NotAllowed, 3, _)));
    audience.remove("team", "bo");
    server.presence.audience_changed(Some("bo"), None);
    assert_eq!(ana.hear_event().await, Row::of(1, State::Offline).seen());
}
