//! What one process takes on.

use std::time::Duration;

use futures_util::future::join_all;
use greendot_engine::protocol::{
    Beat, ClientFrame, CloseCode, SUBPROTOCOL_BINARY, Span, WatchItem,
};
use greendot_engine::server::Limits;
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::common::{Heard, Server, builder, until};

#[tokio::test]
async fn a_connection_too_many_is_told_to_come_back_later() {
    let limits = Limits { connections: 2, ..Limits::default() };
    let server = Server::start(builder().limits(limits)).await;
    let first = server.connect("ana", "1").await;
    let _second = server.connect("ana", "2").await;
    let mut third = server.open().await;
    let heard = third.hear().await;
    assert_eq!(heard, Heard::CloseFrame(CloseCode::Full, Span::from_secs(10)));
    third.hear_close(CloseCode::Full).await;
    drop(first);
    until(|| server.presence.open_connections() == 1).await;
    let _third = server.connect("ana", "3").await;
}

#[tokio::test]
async fn a_flood_of_connections_is_not_even_upgraded() {
    let limits = Limits { connections: 1, ..Limits::default() };
    let server = Server::start(builder().limits(limits)).await;
    let mut ana = server.connect("ana", "1").await;
    let dials = (0..300).map(|_| connect_async(server.request(Some(SUBPROTOCOL_BINARY))));
    let refused = join_all(dials).await.into_iter().filter_map(Result::err);
    let refused: Vec<_> = refused
        .map(|error| match error {
            Error::Http(answer) => {
                assert_eq!(answer.headers()["retry-after"], "10");
                answer.status().as_u16()
            }
            other => panic!("{other}"),
        })
        .collect();
    assert!(!refused.is_empty() && refused.iter().all(|&it| it == 503), "{refused:?}");
    ana.beat(1).await;
}

#[tokio::test]
async fn a_crowd_that_says_no_hello_does_not_shut_out_those_who_did() {
    let limits = Limits { unauthenticated: 3, ..Limits::default() };
    let server = Server::start(builder().limits(limits)).await;
    let mut ana = server.connect("ana", "1").await;
    let mut silent = Vec::new();
    for _ in 0..3 {
        silent.push(server.open().await);
    }
    let mut late = server.open().await;
    assert!(matches!(late.hear().await, Heard::CloseFrame(CloseCode::Full, _)));
    ana.beat(1).await;
}

#[tokio::test]
async fn who_says_no_hello_in_time_is_closed() {
    let limits = Limits { hello_timeout: Duration::from_millis(200), ..Limits::default() };
    let server = Server::start(builder().limits(limits)).await;
    let mut silent = server.open().await;
    silent.send_message(Message::Ping(Vec::new().into())).await;
    silent.hear_close(CloseCode::HelloTimeout).await;
}

#[tokio::test]
async fn who_sends_too_much_is_closed_and_nobody_else() {
    let limits = Limits { frames_per_second: 1, burst: 10, ..Limits::default() };
    let server = Server::start(builder().limits(limits)).await;
    let mut ana = server.connect("ana", "1").await;
    let mut eve = server.connect("eve", "1").await;
    for number in 0..30 {
        eve.send(&ClientFrame::Beat(Beat { number, input_age_secs: None })).await;
    }
    loop {
        match eve.hear().await {
            Heard::BeatAnswer(_) => {}
            other => {
                let code = CloseCode::TooFast;
                assert_eq!(other, Heard::Closed(code.number(), code.name().into()));
                break;
            }
        }
    }
    ana.beat(1).await;
}

#[tokio::test]
async fn pings_count_as_frames() {
    let limits = Limits { frames_per_second: 1, burst: 5, ..Limits::default() };
    let server = Server::start(builder().limits(limits)).await;
    let mut eve = server.connect("eve", "1").await;
    for _ in 0..20 {
        eve.send_message(Message::Ping(Vec::new().into())).await;
    }
    eve.hear_close(CloseCode::TooFast).await;
}

#[tokio::test]
async fn nobody_goes_through_all_names_however_many_connections_it_has() {
    let limits = Limits { names_per_second: 1, name_burst: 1_500, ..Limits::default() };
    let server = Server::start(builder().limits(limits)).await;
    let names: Vec<_> = (0..800).map(|it| format!("u{it}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let mut eve = server.connect("eve", "1").await;
    assert_eq!(eve.watch(&names).await, []);
    let mut other = server.connect("eve", "2").await;
    let users = names.iter().map(|user| WatchItem { number: 1, user }).collect();
    other.send(&ClientFrame::Watch { request: 1, users }).await;
    other.hear_close(CloseCode::TooFast).await;
    // What she watches already she goes on watching, and others are not concerned.
    eve.beat(1).await;
    let mut bo = server.connect("bo", "1").await;
    assert_eq!(bo.watch(&names).await, []);
}
