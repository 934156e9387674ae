//! Readers that do not read, and servers that do not either.

use std::time::Duration;

use greendot_engine::protocol::limits::NOTE_BYTES;
use greendot_engine::protocol::{Beat, ClientFrame, CloseCode, State, WatchItem, binary};
use tokio_tungstenite::MaybeTlsStream;

use crate::common::{Heard, Row, Server, builder, short_lived, until};

#[tokio::test]
async fn a_reader_that_takes_nothing_holds_up_nobody_and_gets_the_newest() {
    const CHANGES: usize = 150;
    const USERS: usize = 400;
    let server = Server::start(builder()).await;
    let mut stalled = server.connect("stalled", "1").await;
    let mut ana = server.connect("ana", "1").await;
    let names: Vec<String> = (0..USERS).map(|it| format!("bo{it}")).collect();
    let mut there = Vec::new();
    for name in &names {
        there.push(server.connect(name, "1").await);
    }
    let users: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(ana.watch(&users[..1]).await, [Row::of(1, State::Online)]);
    assert_eq!(stalled.watch(&users).await.len(), USERS);
    // With long notes, one change of all is some 100 KB for the stalled, and all of them were more than the kernel holds.
    for change in 0..CHANGES {
        let note = format!("{change:0NOTE_BYTES$}");
        for user in users.iter().rev() {
            server.presence.set_note(user, &note).unwrap();
        }
        assert_eq!(ana.hear_event().await.note, note);
    }
    let mut heard = 0;
    let mut newest = 0;
    while newest != CHANGES - 1 {
        let Heard::Events(rows) = stalled.hear().await else { panic!("no events") };
        let Some(first) = rows.iter().find(|it| it.number == 1) else { continue };
        heard += 1;
        newest = first.note.parse().unwrap();
    }
    assert!(heard < CHANGES / 2, "{heard} of {CHANGES} changes were sent to one who did not read");
}

#[tokio::test]
async fn a_reader_that_takes_nothing_is_closed_all_the_same() {
    let server = Server::start(builder()).await;
    let stalled = server.connect("stalled", "1").await;
    assert_eq!(server.presence.open_connections(), 1);
    server.presence.revoke("stalled");
    // It never reads its close, and never answers.
    until(|| server.presence.open_connections() == 0).await;
    drop(stalled);
    let mut again = server.open().await;
    again.hello("stalled", "1").await;
    again.hear_close(CloseCode::Revoked).await;
}

/// The client's frames arrive while the server's only thread does not run: they count (rule 1).
#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the server is to stand still for a while")]
async fn what_arrived_while_the_server_stood_still_counts() {
    let server = Server::start(builder().settings(short_lived())).await;
    let mut ana = server.connect("ana", "1").await;
    let mut bo = server.connect("bo", "1").await;
    assert_eq!(ana.watch(&["bo"]).await, [Row::of(1, State::Online)]);
    let mut beat = Vec::new();
    binary::encode_client(&ClientFrame::Beat(Beat { number: 7, input_age_secs: None }), &mut beat);
    for client in [&mut ana, &mut bo] {
        write_unheard(client, &beat);
    }
    std::thread::sleep(Duration::from_millis(short_lived().ttl.as_millis() + 500));
    for client in [&mut ana, &mut bo] {
        assert_eq!(client.hear().await, Heard::BeatAnswer(7));
    }
    // And nobody was told that anybody was gone.
    ana.beat(8).await;
}

/// The deadline passes while the server's only thread is busy for a moment, too short to count as
/// standing still: what the client sent just before is read first (rule 1).
#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the server is to be late for a moment")]
async fn what_arrived_just_before_the_deadline_counts() {
    let server = Server::start(builder().settings(short_lived())).await;
    let mut beat = Vec::new();
    binary::encode_client(&ClientFrame::Beat(Beat { number: 7, input_age_secs: None }), &mut beat);
    let (mut bo, left) = loop {
        // Nobody reads here, so no pong keeps the session.
        let bo = server.connect("bo", "1").await;
        let left = || server.presence.sessions_here("bo").first().map(|it| it.ends_in);
        until(|| left().is_none_or(|it| it < Duration::from_millis(400))).await;
        // On a busy machine it may be looked for only when it is too late for a word just before.
        if let Some(left) = left() {
            break (bo, left);
        }
    };
    let mut transitions = server.presence.transitions();
    write_unheard(&mut bo, &beat);
    std::thread::sleep(left + Duration::from_millis(250));
    assert_eq!(bo.hear().await, Heard::BeatAnswer(7));
    bo.beat(8).await;
    drop(server);
    drop(bo);
    // Neither offline nor online again: the next is the end.
    if let Some(change) = transitions.next().await {
        assert_eq!(change.unwrap().state, State::Offline);
    }
}

/// Puts a frame into the kernel without giving the server's thread a turn.
fn write_unheard(client: &mut crate::common::Client, payload: &[u8]) {
    let MaybeTlsStream::Plain(stream) = client.socket.get_mut() else { panic!("not plain") };
    let len = u8::try_from(payload.len()).unwrap();
    assert!(len < 126);
    // Final, binary, masked with zeroes.
    let frame = [&[0x82, 0x80 | len, 0, 0, 0, 0], payload].concat();
    assert_eq!(stream.try_write(&frame).unwrap(), frame.len());
}

#[tokio::test]
async fn watching_again_under_the_same_number_costs_nothing_more() {
    let server = Server::start(builder()).await;
    let mut ana = server.connect("ana", "1").await;
    for request in 1..=50 {
        let users = (0..100).map(|_| WatchItem { number: 1, user: "bo" }).collect();
        ana.send(&ClientFrame::Watch { request, users }).await;
        assert_eq!(ana.hear().await, Heard::Snapshot(request, Vec::new()));
    }
    assert_eq!(server.presence.counts().watches, 1);
}
