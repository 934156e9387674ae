//! Polls over HTTP, for those who cannot hold a connection.

use greendot_engine::protocol::{ClientFrame, State};
use greendot_engine::server::{Contacts, Limits, RoomMembers};
use serde_json::{Value, json};

use crate::common::{PATIENCE, Server, builder, exchange, until_offline};

/// An answer: status, headers (but for the date) and body.
#[derive(Debug)]
struct Answer {
    status: u16,
    headers: Vec<String>,
    body: Value,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find_map(|it| it.strip_prefix(name)?.strip_prefix(": "))
    }

    fn users(&self) -> Vec<(&str, &str)> {
        let users = self.body["users"].as_array().expect("a list");
        users
            .iter()
            .map(|it| (it["user"].as_str().unwrap(), it["state"].as_str().unwrap()))
            .collect()
    }

    fn mark(&self) -> Value {
        self.body["mark"].clone()
    }

    fn error(&self) -> (u16, &str) {
        (self.status, self.body["error"].as_str().unwrap())
    }
}

async fn request(server: &Server, method: &str, headers: &str, body: &str) -> Answer {
    let answer = exchange(server.addr, method, "/presence/poll", headers, body).await;
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer");
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers = lines.filter(|it| !it.starts_with("date:")).map(Into::into).collect();
    Answer { status, headers, body: serde_json::from_str(body).unwrap_or(Value::Null) }
}

async fn poll(server: &Server, user: &str, body: &Value) -> Answer {
    request(server, "POST", &format!("authorization: Bearer {user}\r\n"), &body.to_string()).await
}

#[tokio::test]
async fn the_first_poll_tells_everything_and_a_mark_what_changed_since() {
    let server = Server::start(builder()).await;
    let mut bo = server.connect("bo", "1").await;
    let _cy = server.connect("cy", "1").await;
    let users = json!(["bo", "cy", "nobody", "bo"]);
    let first = poll(&server, "ana", &json!({ "users": users })).await;
    assert_eq!((first.status, &first.body["full"]), (200, &json!(true)), "{first:?}");
    assert_eq!(first.users(), [("bo", "online"), ("cy", "online")]);
    let same = poll(&server, "ana", &json!({ "users": users, "mark": first.mark() })).await;
    assert_eq!((same.users(), &same.body["full"]), (vec![], &json!(false)));
    bo.send(&ClientFrame::Bye).await;
    until_offline(&server, "bo").await;
    let next = poll(&server, "ana", &json!({ "users": users, "mark": same.mark() })).await;
    assert_eq!(next.users(), [("bo", "offline")]);
    assert!(next.body["users"][0]["seen_ago_ms"].is_u64(), "{next:?}");
    // A mark of nobody knows what.
    for mark in ["00", "zz", "é", "0011223344556677889900"] {
        let all = poll(&server, "ana", &json!({ "users": users, "mark": mark })).await;
        assert_eq!((all.users().len(), &all.body["full"]), (2, &json!(true)), "{mark}");
    }
    // Nobody was there by that.
    assert_eq!(server.presence.state("ana").await.last_seen, None);
}

#[tokio::test]
async fn answers_tell_a_cache_nothing() {
    let server = Server::start(builder()).await;
    let _bo = server.connect("bo", "1").await;
    let first = poll(&server, "ana", &json!({ "users": ["bo"] })).await;
    let same = poll(&server, "ana", &json!({ "users": ["bo"], "mark": first.mark() })).await;
    for answer in [&first, &same] {
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.header("content-type"), Some("application/json"));
        assert_eq!((answer.header("etag"), answer.header("last-modified")), (None, None));
    }
    let refused = poll(&server, "", &json!({ "users": ["bo"] })).await;
    assert_eq!(refused.header("cache-control"), Some("no-store"));
}

#[tokio::test]
async fn what_cannot_be_answered_is_refused_with_the_culprit_and_the_next_step() {
    let server = Server::start(builder()).await;
    for (body, status, error, says) in [
        (json!({ "users": [] }), 400, "bad_request", "1 to 1000"),
        (json!({ "users": vec!["x"; 1001] }), 400, "bad_request", "1001"),
        (json!({ "users": ["bo", ""] }), 400, "bad_user", "place 1"),
        (json!({ "users": ["b".repeat(129)] }), 400, "bad_user", "129 bytes"),
        (json!({ "users": ["bo"], "session": "s".repeat(65) }), 400, "bad_session", "65 bytes"),
        (json!({ "user": "bo" }), 400, "bad_request", "users"),
        (json!(["bo"]), 400, "bad_request", "no poll"),
        (json!({ "users": ["bo"], "x": "y".repeat(300_000) }), 413, "too_large", "bytes"),
    ] {
        let refused = poll(&server, "ana", &body).await;
        assert_eq!(refused.error(), (status, error), "{refused:?}");
        assert!(refused.body["text"].as_str().unwrap().contains(says), "{refused:?}");
    }
    let body = json!({ "users": ["bo"] }).to_string();
    for headers in ["", "authorization: Basic YW5hOg==\r\n", "authorization: Bearer \r\n"] {
        let nobody = request(&server, "POST", headers, &body).await;
        assert_eq!(nobody.error(), (401, "bad_token"), "{headers}");
        assert_eq!(nobody.header("www-authenticate"), Some("Bearer"));
    }
    assert_eq!(request(&server, "GET", "", "").await.status, 405);
    server.presence.revoke("ana");
    let revoked = poll(&server, "ana", &json!({ "users": ["bo"] })).await;
    assert_eq!(revoked.error(), (403, "revoked"));
}

#[tokio::test]
async fn a_user_polls_at_a_bounded_rate_and_no_other_suffers_for_it() {
    let limits = Limits { poll_burst: 3, ..Limits::default() };
    let server = Server::start(builder().limits(limits)).await;
    let body = json!({ "users": ["bo"] });
    for _ in 0..3 {
        assert_eq!(poll(&server, "ana", &body).await.status, 200);
    }
    let mut refused = poll(&server, "ana", &body).await;
    // A slow machine may have earned one more.
    for _ in 0..5 {
        if refused.status == 429 {
            break;
        }
        refused = poll(&server, "ana", &body).await;
    }
    assert_eq!(refused.error(), (429, "too_fast"));
    assert!(refused.header("retry-after").is_some());
    assert_eq!(poll(&server, "eve", &body).await.status, 200);
}

#[tokio::test]
async fn a_poll_in_a_sessions_name_keeps_it_for_two_intervals() {
    let server = Server::start(builder()).await;
    let long = 300_000;
    let body = json!({ "users": ["bo"], "session": "s1", "interval_ms": long, "idle": true });
    assert_eq!(poll(&server, "ana", &body).await.status, 200);
    assert_eq!(server.presence.sessions_here("ana").len(), 1);
    assert_eq!(server.presence.state("ana").await.state, State::Away);
    let choice = |mode: &str, interval: u32| json!({ "users": [], "session": "s1", "interval_ms": interval, "mode": { "mode": mode, "fresh": true } });
    let hidden = choice("invisible", long);
    let answer = poll(&server, "ana", &hidden).await;
    assert_eq!((answer.status, answer.users()), (200, vec![]), "{answer:?}");
    assert_eq!(server.presence.state("ana").await.state, State::Offline);
    let shown = choice("auto", long);
    assert_eq!(poll(&server, "ana", &shown).await.status, 200);
    assert_ne!(server.presence.state("ana").await.state, State::Offline);
    // One that comes sooner again keeps it for less.
    let brief = json!({ "users": [], "session": "s1", "interval_ms": 100 });
    assert_eq!(poll(&server, "ana", &brief).await.status, 200);
    until_offline(&server, "ana").await;
    assert!(server.presence.state("ana").await.last_seen < Some(PATIENCE));
}

#[tokio::test]
async fn a_poll_tells_who_is_in_its_rooms() {
    let rooms = RoomMembers::default();
    for user in ["ana", "bo"] {
        rooms.add("page", user);
    }
    let server = Server::start(builder().audience(rooms)).await;
    let mut bo = server.connect("bo", "1").await;
    bo.send(&ClientFrame::Join { number: 1, room: "page" }).await;
    bo.hear().await;
    let body = json!({ "users": [], "session": "s1", "rooms": ["page", "vault"] });
    let answer = poll(&server, "ana", &body).await;
    let online = |user: &str| json!({ "user": user, "state": "online" });
    let page = json!({ "room": "page", "members": [online("ana"), online("bo")] });
    let vault = json!({ "room": "vault", "refused": true, "members": [] });
    assert_eq!(answer.body["rooms"], json!([page, vault]));
    // Who says nothing of rooms stays where it is, and is told nothing.
    let silent = json!({ "users": [], "session": "s1" });
    assert_eq!(poll(&server, "ana", &silent).await.body["rooms"], Value::Null);
    assert_eq!(poll(&server, "ana", &body).await.body["rooms"], json!([page, vault]));
    for (body, error, says) in [
        (json!({ "users": ["bo"], "rooms": ["page"] }), "bad_request", "takes a session"),
        (json!({ "users": [], "session": "s", "rooms": vec!["r"; 33] }), "bad_request", "33 rooms"),
        (json!({ "users": [], "session": "s", "rooms": ["r", ""] }), "bad_room", "place 1"),
        (json!({ "users": [], "session": "s", "rooms": ["r".repeat(129)] }), "bad_room", "129"),
    ] {
        let refused = poll(&server, "ana", &body).await;
        assert_eq!(refused.error(), (400, error), "{refused:?}");
        assert!(refused.body["text"].as_str().unwrap().contains(says), "{refused:?}");
    }
}

#[tokio::test]
async fn a_poll_shows_what_the_gate_lets_through() {
    let contacts = Contacts::default();
    contacts.add("bo", "ana");
    let server = Server::start(builder().audience(contacts)).await;
    let _bo = server.connect("bo", "1").await;
    let _cy = server.connect("cy", "1").await;
    let body = json!({ "users": ["bo", "cy", "nobody"] });
    let answer = poll(&server, "ana", &body).await;
    assert_eq!(answer.users().iter().map(|it| it.0).collect::<Vec<_>>(), ["bo"]);
    // The forbidden one does not even count for the mark.
    let swapped = json!({ "users": ["bo", "nobody", "cy"] });
    let other = poll(&server, "ana", &swapped).await;
    assert_eq!(other.users(), answer.users());
}

#[tokio::test]
async fn pages_of_listed_origins_may_poll_and_others_may_not() {
    let server = Server::start(builder().allow_origins(["https://a.example"])).await;
    let good = "origin: https://a.example\r\n";
    let asked = request(&server, "OPTIONS", good, "").await;
    assert_eq!((asked.status, asked.header("access-control-allow-methods")), (204, Some("POST")));
    assert_eq!(asked.header("access-control-allow-origin"), Some("https://a.example"));
    let body = json!({ "users": ["bo"] }).to_string();
    let headers = format!("{good}authorization: Bearer ana\r\n");
    let polled = request(&server, "POST", &headers, &body).await;
    assert_eq!(polled.status, 200);
    assert_eq!(polled.header("access-control-allow-origin"), Some("https://a.example"));
    assert_eq!(polled.header("access-control-allow-credentials"), None);
    let evil = request(
        &server,
        "POST",
        "origin: https://evil.example\r\nauthorization: Bearer ana\r\n",
        &body,
    )
    .await;
    assert_eq!((evil.status, evil.header("access-control-allow-origin")), (403, None));
}
