//! Hello, watching, coming and going.

use greendot_engine::core::Start;
use greendot_engine::protocol::{ClientFrame, CloseCode, Hello, Mode, Span, State, WatchItem};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_tungstenite::MaybeTlsStream;

use crate::common::{Heard, Row, Server, builder, quick, short_lived};

#[tokio::test]
async fn a_hello_is_welcomed_with_the_periods_and_the_session() {
    let server = Server::start(builder()).await;
    let mut ana = server.open().await;
    ana.hello("ana", "tab-1").await;
    let Heard::Welcome(welcome) = ana.hear().await else { panic!("no welcome") };
    assert_eq!(welcome.session, "tab-1");
    assert_eq!((welcome.beat, welcome.ttl), (quick().beat, quick().ttl));
    assert_eq!(welcome.mode, Mode::Auto);
}

#[tokio::test]
async fn a_watch_is_answered_by_a_snapshot_and_then_come_events() {
    let server = Server::start(builder()).await;
    let mut ana = server.connect("ana", "1").await;
    // Who is offline and was never seen is not listed.
    assert_eq!(ana.watch(&["bo", "ana"]).await, [Row::of(2, State::Online)]);

    let mut bo = server.connect("bo", "1").await;
    assert_eq!(ana.hear_event().await, Row::of(1, State::Online));
    bo.send(&ClientFrame::Idle).await;
    assert_eq!(ana.hear_event().await, Row::of(1, State::Away));
    bo.send(&ClientFrame::Mode(Mode::Dnd)).await;
    assert_eq!(bo.hear().await, Heard::Mode(Mode::Dnd));
    assert_eq!(ana.hear_event().await, Row::of(1, State::Dnd));
    bo.send(&ClientFrame::Note("writing")).await;
    assert_eq!(ana.hear_event().await.note, "writing");
    bo.send(&ClientFrame::Bye).await;
    assert_eq!(bo.hear().await, Heard::Closed(1000, "bye".into()));
    assert_eq!(ana.hear_event().await, Row::of(1, State::Offline).seen());
}

#[tokio::test]
async fn a_drop_is_shown_only_after_grace_and_a_return_within_it_not_at_all() {
    let server = Server::start(
        builder()
            .settings(greendot_engine::core::Settings { grace: Span::from_secs(4), ..quick() }),
    )
    .await;
    let mut ana = server.connect("ana", "1").await;
    let bo = server.connect("bo", "1").await;
    assert_eq!(ana.watch(&["bo"]).await, [Row::of(1, State::Online)]);
    drop(bo);
    crate::common::until(|| server.presence.sessions_here("bo")[0].lingering).await;
    let bo = server.connect("bo", "1").await;
    assert!(!server.presence.sessions_here("bo")[0].lingering);
    // Nothing came of it: the answer to the beat is the next that ana hears.
    ana.beat(1).await;
    drop(bo);
    assert_eq!(ana.hear_event().await, Row::of(1, State::Offline).seen());
    assert!(server.presence.sessions_here("bo").is_empty());
}

#[tokio::test]
async fn a_session_that_connects_again_takes_over_from_its_old_connection() {
    let server = Server::start(builder()).await;
    let mut ana = server.connect("ana", "1").await;
    let mut old = server.connect("bo", "tab").await;
    assert_eq!(ana.watch(&["bo"]).await, [Row::of(1, State::Online)]);
    let mut new = server.connect("bo", "tab").await;
    old.hear_close(CloseCode::Replaced).await;
    drop(old);
    new.beat(7).await;
    // Neither the take-over nor the end of the old connection shows.
    ana.beat(8).await;
    assert_eq!(server.presence.sessions_here("bo").len(), 1);
}

#[tokio::test]
async fn two_tabs_of_one_user_are_one_dot() {
    let server = Server::start(builder()).await;
    let mut ana = server.connect("ana", "1").await;
    let mut first = server.connect("bo", "1").await;
    let mut second = server.connect("bo", "2").await;
    assert_eq!(ana.watch(&["bo"]).await, [Row::of(1, State::Online)]);
    first.send(&ClientFrame::Bye).await;
    assert_eq!(first.hear().await, Heard::Closed(1000, "bye".into()));
    ana.beat(1).await;
    second.send(&ClientFrame::Bye).await;
    assert_eq!(ana.hear_event().await, Row::of(1, State::Offline).seen());
}

#[tokio::test]
async fn a_silent_client_is_pinged_and_lives_on_by_its_pongs() {
    let server = Server::start(builder().settings(short_lived())).await;
    // The library answers pings while somebody reads, as a browser does for a frozen page.
    let mut bo = server.connect("bo", "1").await;
    let before = server.presence.sessions_here("bo")[0].ends_in;
    crate::common::spawn(async move {
        bo.hear().await;
    });
    crate::common::until(|| server.presence.sessions_here("bo")[0].ends_in < before / 100 * 97)
        .await;
    crate::common::until(|| server.presence.sessions_here("bo")[0].ends_in > before / 100 * 99)
        .await;
}

#[tokio::test]
async fn a_session_not_heard_from_for_a_ttl_is_ended_and_told_so() {
    let server = Server::start(builder().settings(short_lived())).await;
    let mut ana = server.connect("ana", "1").await;
    // Nobody reads here, so nobody answers the pings either.
    let mut bo = server.connect("bo", "1").await;
    assert_eq!(ana.watch(&["bo"]).await, [Row::of(1, State::Online)]);
    assert_eq!(ana.hear_event().await, Row::of(1, State::Offline).seen());
    bo.hear_close(CloseCode::Ended).await;
    // A new connect is a new start.
    let _bo = server.connect("bo", "1").await;
    assert_eq!(ana.hear_event().await, Row::of(1, State::Online));
}

#[tokio::test]
async fn the_kinds_of_later_versions_are_passed_over() {
    let server = Server::start(builder()).await;
    let mut ana = server.open().await;
    ana.send_bytes(vec![200, 1, 2, 3]).await;
    ana.hello("ana", "1").await;
    assert!(matches!(ana.hear().await, Heard::Welcome(_)));
    ana.send_bytes(vec![201]).await;
    ana.beat(1).await;
}

#[tokio::test]
async fn a_node_that_may_have_forgotten_says_unknown() {
    let server = Server::start(builder().start(Start::AfterLoss)).await;
    let mut ana = server.connect("ana", "1").await;
    assert_eq!(ana.watch(&["bo"]).await, [Row::of(1, State::Unknown)]);
    let _bo = server.connect("bo", "1").await;
    assert_eq!(ana.hear_event().await, Row::of(1, State::Online));
}

#[tokio::test]
async fn the_mode_comes_back_with_the_client_before_anybody_sees_the_user() {
    let server = Server::start(builder().start(Start::AfterLoss)).await;
    let mut ana = server.connect("ana", "1").await;
    assert_eq!(ana.watch(&["bo"]).await, [Row::of(1, State::Unknown)]);
    let mut bo = server.open().await;
    let mode = greendot_engine::protocol::ModeChoice {
        mode: Mode::Invisible,
        revision: greendot_engine::core::seal("bo", greendot_engine::protocol::Revision(3)),
        fresh: false,
    };
    let hello = Hello { session: "1", token: "bo", mode: Some(mode), ..Hello::default() };
    bo.send(&ClientFrame::Hello(hello)).await;
    let Heard::Welcome(welcome) = bo.hear().await else { panic!("no welcome") };
    assert_eq!(welcome.mode, Mode::Invisible);
    ana.beat(1).await;
    assert_eq!(server.presence.state("bo").await.state, State::Unknown);
}

#[tokio::test]
async fn what_was_sent_behind_the_hello_is_dealt_with_after_it() {
    let server = Server::start(builder()).await;
    let mut ana = server.open().await;
    ana.hello("ana", "1").await;
    let users = vec![WatchItem { number: 9, user: "ana" }];
    ana.send(&ClientFrame::Watch { request: 1, users }).await;
    assert!(matches!(ana.hear().await, Heard::Welcome(_)));
    assert_eq!(ana.hear().await, Heard::Snapshot(1, vec![Row::of(9, State::Online)]));
}

#[tokio::test]
async fn a_close_is_said_once_whatever_the_client_answers() {
    let server = Server::start(builder()).await;
    let mut ana = server.connect("ana", "1").await;
    server.presence.end_session("ana", "1");
    let MaybeTlsStream::Plain(stream) = ana.socket.get_mut() else { panic!("it is encrypted") };
    let (number, name) = (CloseCode::SignedOut.number().to_be_bytes(), CloseCode::SignedOut.name());
    let mut close = vec![0; 4 + name.len()];
    stream.read_exact(&mut close).await.unwrap();
    assert_eq!(close, [&[0x88, close.len() as u8 - 2], &number[..], name.as_bytes()].concat());
    // The answer that the standard asks for, under a mask of zeros.
    stream.write_all(&[&[0x88, 0x82, 0, 0, 0, 0], &number[..]].concat()).await.unwrap();
    let mut more = Vec::new();
    stream.read_to_end(&mut more).await.unwrap();
    assert!(more.is_empty(), "{more:x?}");
}
