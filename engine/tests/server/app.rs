//! The application's side: what it asks, and what it is told.

use std::time::Duration;

use greendot_engine::core::Settings;
use greendot_engine::protocol::{ClientFrame, CloseCode, Mode, Span, State};
use greendot_engine::server::{BuildError, DevAuth, Limits, Missed, Presence};

use crate::common::{Heard, Row, Server, builder};

#[tokio::test]
async fn transitions_are_told_in_order_with_rising_versions() {
    let server = Server::start(builder()).await;
    let mut transitions = server.presence.transitions();
    let mut bo = server.connect("bo", "1").await;
    bo.send(&ClientFrame::Idle).await;
    bo.send(&ClientFrame::Bye).await;
    bo.hear().await;
    let mut told = Vec::new();
    for _ in 0..3 {
        let change = transitions.next().await.expect("runs on").expect("none missed");
        told.push((change.user.to_string(), change.state, change.version.0));
    }
    let bo = |state, version| ("bo".to_owned(), state, version);
    assert_eq!(told, [bo(State::Online, 1), bo(State::Away, 2), bo(State::Offline, 3)]);
}

#[tokio::test]
async fn a_reader_of_transitions_that_lags_is_told_how_many_it_missed() {
    let server = Server::start(builder().transitions_buffer(4)).await;
    let mut transitions = server.presence.transitions();
    let mut bo = server.connect("bo", "1").await;
    for _ in 0..4 {
        bo.send(&ClientFrame::Idle).await;
        bo.send(&ClientFrame::Active).await;
    }
    bo.beat(1).await;
    // Online, then eight changes: nine, of which four are kept.
    assert_eq!(transitions.next().await, Some(Err(Missed(5))));
    let next = transitions.next().await.unwrap().unwrap();
    assert_eq!(next.version.0, 6);
}

#[tokio::test]
async fn transitions_end_with_the_engine() {
    let presence = builder().build().unwrap();
    let mut transitions = presence.transitions();
    let router: axum::Router = presence.router();
    drop(presence);
    // The router holds the engine, too.
    let next = std::future::poll_fn(|cx| {
        use futures_util::Stream;
        std::task::Poll::Ready(std::pin::Pin::new(&mut transitions).poll_next(cx).is_pending())
    });
    assert!(next.await);
    drop(router);
    assert_eq!(transitions.next().await, None);
}

#[tokio::test]
async fn the_application_can_look_and_act() {
    let server = Server::start(builder()).await;
    let presence = &server.presence;
    assert_eq!(presence.state("bo").await.state, State::Offline);
    assert_eq!(presence.state("bo").await.last_seen, None);
    let mut ana = server.connect("ana", "1").await;
    let mut bo = server.connect("bo", "phone").await;
    assert_eq!(ana.watch(&["bo"]).await, [Row::of(1, State::Online)]);

    presence.set_mode("bo", Mode::Dnd);
    assert_eq!(ana.hear_event().await, Row::of(1, State::Dnd));
    assert_eq!(bo.hear().await, Heard::Mode(Mode::Dnd));
    presence.set_note("bo", "in a meeting").unwrap();
    assert_eq!(ana.hear_event().await.note, "in a meeting");
    let error = presence.set_note("bo", &"n".repeat(257)).unwrap_err();
    assert!(error.to_string().contains("257 bytes"), "{error}");

    presence.set_mode("bo", Mode::Invisible);
    assert_eq!(ana.hear_event().await, Row::of(1, State::Offline).seen());
    assert_eq!(presence.state("bo").await.state, State::Offline);
    let sessions = presence.sessions_here("bo");
    assert_eq!(sessions.len(), 1);
    assert_eq!(sessions[0].id, "phone");
    assert!(!sessions[0].lingering && !sessions[0].idle && !sessions[0].passive);
    assert!(sessions[0].ends_in > Duration::from_secs(4));
}

#[tokio::test]
async fn a_drain_says_so_to_everybody_and_lets_nobody_in() {
    let server = Server::start(builder()).await;
    let mut ana = server.connect("ana", "1").await;
    let presence = server.presence.clone();
    let draining = async { presence.drain(Duration::from_secs(10)).await };
    let heard = async {
        ana.hear_close(CloseCode::Drain).await;
        // Who comes while others still go hears the same.
        let mut early = server.open().await;
        early.hear_close(CloseCode::Drain).await;
        drop(ana);
    };
    tokio::join!(draining, heard);
    assert_eq!(server.presence.open_connections(), 0);
    let mut late = server.open().await;
    late.hear_close(CloseCode::Drain).await;
}

#[tokio::test]
async fn settings_that_cannot_work_are_refused_naming_both() {
    let settings =
        Settings { beat: Span::from_secs(30), ttl: Span::from_secs(30), ..Settings::default() };
    let error = Presence::builder(DevAuth).settings(settings).build().unwrap_err();
    assert!(matches!(error, BuildError::Settings(_)));
    let text = error.to_string();
    assert!(text.contains("ttl") && text.contains("beat"), "{text}");
}

#[tokio::test]
async fn a_limit_of_nothing_is_refused_by_its_name() {
    let limits = Limits { connections: 0, ..Limits::default() };
    let error = Presence::builder(DevAuth).limits(limits).build().unwrap_err();
    assert!(error.to_string().contains("connections is 0"), "{error}");
}

#[test]
fn building_outside_a_runtime_is_refused() {
    let error = Presence::builder(DevAuth).build().unwrap_err();
    assert_eq!(error, BuildError::NoRuntime);
}
