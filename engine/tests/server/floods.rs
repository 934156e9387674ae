//! Clients that want to bring the server down: each kind is bounded in memory and work by a limit, and those who do nothing
//! wrong notice nothing.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use futures_util::future::join_all;
use greendot_engine::protocol::limits::WATCHES;
use greendot_engine::protocol::{Beat, ClientFrame, CloseCode, WatchItem};
use greendot_engine::server::Limits;
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Error;

use crate::common::{Client, Heard};
use crate::running::Running;

/// What memory may grow by while nothing piles up, in KB: the allocator's own, of several threads.
const SLACK: u64 = 8 * 1024;

/// A server's growth in memory since then, in KB; 0 where the system does not tell.
fn grown(server: &Running, before: Option<u64>) -> u64 {
    server.resident().zip(before).map_or(0, |(now, before)| now.saturating_sub(before))
}

/// Limit: `connections`, 256 more that are told so, and beyond them an HTTP error.
#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_connections_leaves_nothing_behind() {
    const ROOM: usize = 20;
    const WAVE: usize = 400;
    let server = Running::start(&["--max-connections", "20"]);
    let mut seated = Vec::new();
    for number in 0..ROOM {
        seated.push(server.connect(&format!("u{number}"), "1").await);
    }
    let mut before = None;
    for wave in 0..6 {
        let dials = join_all((0..WAVE).map(|_| connect_async(server.request()))).await;
        for dialled in dials {
            match dialled {
                Ok((socket, _)) => {
                    let heard = Client::over(socket).hear().await;
                    assert!(matches!(heard, Heard::CloseFrame(CloseCode::Full, _)), "{heard:?}");
                }
                Err(Error::Http(answer)) => assert_eq!(answer.status(), 503),
                Err(other) => panic!("{other}"),
            }
        }
        if wave == 0 {
            before = server.resident();
        }
    }
    assert!(grown(&server, before) < SLACK, "{} KB", grown(&server, before));
    assert_eq!(server.values()["greendot_connections"], ROOM as f64);
    for client in &mut seated {
        client.beat(1).await;
    }
}

/// Limit: 10 s for the head of a request.
#[tokio::test(flavor = "multi_thread")]
async fn who_opens_and_asks_for_nothing_is_given_up() {
    let server = Running::start(&[]);
    let before = server.resident();
    let mut lines = Vec::new();
    for number in 0..300 {
        let mut line = TcpStream::connect(server.presence).unwrap();
        line.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        if number % 2 == 0 {
            line.write_all(b"GET /presence HTTP/1.1\r\nhost: x\r\nx-endless: ").unwrap();
        }
        lines.push(line);
    }
    let mut ana = server.connect("ana", "1").await;
    let each = grown(&server, before) / 300;
    assert!(each < 64, "{each} KB each");
    for mut line in lines {
        // Perhaps it is told why; then it ends.
        let mut answer = Vec::new();
        line.read_to_end(&mut answer).unwrap();
        assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 408"), "{answer:?}");
    }
    ana.beat(1).await;
}

/// Limits: `unauthenticated` at a time, each for `hello_timeout`.
#[tokio::test(flavor = "multi_thread")]
async fn who_opens_and_never_says_hello_is_given_up() {
    const SILENT: usize = 300;
    let server = Running::start(&[]);
    let _first = server.connect("ana", "1").await;
    let before = server.resident();
    let mut silent = Vec::new();
    for _ in 0..SILENT {
        silent.push(Client::over(connect_async(server.request()).await.unwrap().0));
    }
    let each = grown(&server, before) / SILENT as u64;
    assert!(each < 32, "{each} KB each");
    for client in &mut silent {
        client.hear_close(CloseCode::HelloTimeout).await;
    }
    let closes = "greendot_closes_total{reason=\"hello_timeout\"}";
    server.values_when(closes, SILENT as f64).await;
}

/// Limits: `frames_per_second` and `burst`.
#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::disallowed_methods, reason = "what the rate allows depends on how long it takes")]
async fn a_flood_of_frames_is_worked_on_as_far_as_the_rate_allows_and_no_further() {
    const FRAMES: u32 = 20_000;
    let server = Running::start(&[]);
    let mut ana = server.connect("ana", "1").await;
    let limits = Limits::default();
    let began = std::time::SystemTime::now();
    for round in 1..=3 {
        let mut eve = server.connect("eve", &round.to_string()).await;
        for _ in 0..FRAMES {
            eve.send(&ClientFrame::Beat(Beat { number: 0, input_age_secs: None })).await;
        }
        let closes = "greendot_closes_total{reason=\"too_fast\"}";
        let values = server.values_when(closes, f64::from(round)).await;
        let seconds = began.elapsed().unwrap().as_secs() as u32 + 1;
        let most = round * limits.burst + seconds * limits.frames_per_second;
        let beats = values["greendot_beats_total"];
        assert!(beats <= f64::from(most), "{beats} beats in {seconds} s");
        assert!(most < round * FRAMES, "the machine is too slow for this test to tell");
    }
    ana.beat(1).await;
}

/// Limits: the protocol's 1,000 watches of a connection; `names_per_second` and `name_burst` of a user.
#[tokio::test(flavor = "multi_thread")]
async fn who_watches_the_most_and_churns_is_stopped_and_leaves_nothing_behind() {
    let server = Running::start(&[]);
    let mut ana = server.connect("ana", "1").await;
    assert_eq!(ana.watch(&["bo"]).await, []);
    let mut before = None;
    for round in 1..=4 {
        let mut eve = server.connect(&format!("eve{round}"), "1").await;
        let mut turns = 0;
        loop {
            let names: Vec<_> = (0..WATCHES).map(|it| format!("r{round}-t{turns}-{it}")).collect();
            let items = (0..).zip(&names);
            let users = items.map(|(number, user)| WatchItem { number, user }).collect();
            eve.send(&ClientFrame::Watch { request: 1, users }).await;
            eve.send(&ClientFrame::Unwatch { numbers: (0..WATCHES as u32).collect() }).await;
            match eve.hear().await {
                Heard::Snapshot(1, rows) => assert_eq!(rows, []),
                closed => {
                    let code = CloseCode::TooFast;
                    assert_eq!(closed, Heard::Closed(code.number(), code.name().into()));
                    break;
                }
            }
            assert!(server.values()["greendot_watches"] <= (WATCHES + 1) as f64);
            turns += 1;
        }
        // 20,000 names at once, and some that came back meanwhile.
        assert!((10..60).contains(&turns), "{turns} times a thousand names");
        server.values_when("greendot_closes_total{reason=\"too_fast\"}", f64::from(round)).await;
        if round == 1 {
            before = server.resident();
        }
    }
    assert!(grown(&server, before) < SLACK, "{} KB", grown(&server, before));
    assert_eq!(server.values()["greendot_watched_users"], 1.0);
    drop(ana);
}
