//! The beacon of a page that goes away.

use greendot_engine::protocol::{CloseCode, State};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::common::{Client, Heard, Row, Server, builder, lingering, until};

/// Opens a connection as [`Server::connect`] does, and returns its ticket too.
async fn connect(server: &Server, user: &str, session: &str) -> (Client, String) {
    let mut client = server.open().await;
    client.hello(user, session).await;
    match client.hear().await {
        Heard::Welcome(welcome) => (client, welcome.ticket),
        other => panic!("no welcome, but {other:?}"),
    }
}

/// Sends a beacon, and returns the whole answer but for its date.
async fn beacon(server: &Server, body: &str) -> String {
    let mut stream = TcpStream::connect(server.addr).await.expect("connects");
    let head = format!(
        "POST /presence/closing HTTP/1.1\r\nhost: x\r\ncontent-type: text/plain;charset=UTF-8\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.expect("sends");
    stream.write_all(body.as_bytes()).await.expect("sends");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("reads");
    answer.lines().filter(|it| !it.starts_with("date:")).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn a_beacon_says_closing_for_a_connection_that_still_looks_open() {
    let server = Server::start(builder()).await;
    let mut bo = server.connect("bo", "1").await;
    let (_ana, ticket) = connect(&server, "ana", "1").await;
    assert_eq!(bo.watch(&["ana"]).await, [Row::of(1, State::Online)]);
    let answer = beacon(&server, &ticket).await;
    assert!(answer.starts_with("HTTP/1.1 204"), "{answer}");
    // It lingers, or has done so by now.
    assert!(server.presence.sessions_here("ana").iter().all(|it| it.lingering));
    assert_eq!(bo.hear_event().await, Row::of(1, State::Offline).seen());
}

#[tokio::test]
async fn a_ticket_is_good_once() {
    let server = Server::start(builder().settings(lingering())).await;
    let (mut ana, ticket) = connect(&server, "ana", "1").await;
    beacon(&server, &ticket).await;
    assert!(server.presence.sessions_here("ana")[0].lingering);
    // The page is there after all.
    ana.beat(1).await;
    assert!(!server.presence.sessions_here("ana")[0].lingering);
    beacon(&server, &ticket).await;
    assert!(!server.presence.sessions_here("ana")[0].lingering);
}

#[tokio::test]
async fn a_ticket_ends_with_its_connection_and_says_nothing_of_a_later_one() {
    let server = Server::start(builder().settings(lingering())).await;
    let (mut old, before) = connect(&server, "ana", "1").await;
    let (mut new, ticket) = connect(&server, "ana", "1").await;
    assert_ne!(before, ticket);
    old.hear_close(CloseCode::Replaced).await;
    beacon(&server, &before).await;
    drop(old);
    until(|| server.presence.open_connections() == 1).await;
    beacon(&server, &before).await;
    assert!(!server.presence.sessions_here("ana")[0].lingering);
    new.beat(1).await;
}

#[tokio::test]
async fn the_answer_gives_nothing_away() {
    let server = Server::start(builder().settings(lingering())).await;
    let (_ana, ticket) = connect(&server, "ana", "1").await;
    let (_bo, other) = connect(&server, "bo", "1").await;
    assert_eq!((ticket.len(), other.len()), (32, 32));
    // Nothing of a ticket counts anything.
    let alike = ticket.bytes().zip(other.bytes()).filter(|(a, b)| a == b).count();
    assert!(alike < 16, "{ticket} and {other}");
    let long = "0".repeat(100_000);
    let guessed = "0".repeat(32);
    let mut answers = Vec::new();
    for body in [ticket.as_str(), "", &guessed, &long, "a ticket", &ticket[1..]] {
        answers.push(beacon(&server, body).await);
    }
    assert!(answers.iter().all(|it| *it == answers[0]), "{answers:?}");
    assert!(server.presence.sessions_here("ana")[0].lingering);
    assert!(!server.presence.sessions_here("bo")[0].lingering);
}
