//! Polls over HTTP, for those who cannot hold a connection (rule 16): one request, one look at some
//! users through the same gate as everything else.
//!
//! An answer looks the same whether anything has changed or not, but for what it tells: the same
//! status, the same headers, nothing that a cache could keep.

use std::sync::Arc;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use greendot_protocol::limits::{
    POLL_BYTES, ROOM_BYTES, ROOMS, SESSION_BYTES, USER_BYTES, WATCHES,
};
use greendot_protocol::{
    CloseCode, Member, Poll, Polled, PolledRoom, PolledUser, Span, State as Looks, Time, json,
};

use super::auth::Token;
use super::check::check;
use super::hex;
use super::origin::forbidden;
use super::presence::Shared;
use crate::clock::timeout;
use crate::core::{Answer, Connect, Mark, RoomAnswer, SelfReport};

/// How soon the next poll is expected from a client that does not say.
const INTERVAL: Span = Span::from_secs(30);

/// So many users weigh as much as one more poll, and a room as so many users.
const USERS_A_POLL: usize = 100;
const USERS_A_ROOM: usize = 10;

/// What a poll told, as the core gave it.
#[derive(Debug)]
pub(super) struct Told {
    /// When all was known that it took.
    pub(super) at: Time,
    pub(super) full: bool,
    pub(super) mark: Mark,
    pub(super) users: Vec<Answer>,
}

/// Who is in the rooms of a poll, as the core gave it.
#[derive(Debug, Default)]
pub(super) struct RoomsTold {
    /// When all was known that it took.
    pub(super) at: Time,
    pub(super) rooms: Vec<RoomAnswer>,
}

/// Takes a poll.
pub(super) async fn poll(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    if let Some(origins) = &shared.origins
        && !origins.allow(request.headers())
    {
        return forbidden(request.headers());
    }
    let origin = request.headers().get(header::ORIGIN).cloned();
    let mut response = match *request.method() {
        Method::POST => match answer(&shared, request).await {
            Ok(body) => json_response(StatusCode::OK, body),
            Err(refused) => refused.response(&shared),
        },
        // A page of an allowed origin asks first.
        Method::OPTIONS if shared.origins.is_some() => preflight(),
        _ => (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "POST")]).into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if shared.origins.is_some() {
        headers.insert(header::VARY, HeaderValue::from_static("origin"));
        if let Some(origin) = origin {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        }
        if shared.authenticator.looks_at_headers() {
            let yes = HeaderValue::from_static("true");
            headers.insert(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, yes);
        }
    }
    response
}

fn preflight() -> Response {
    let headers = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "POST"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "authorization, content-type"),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}

async fn answer(shared: &Arc<Shared>, request: Request) -> Result<Vec<u8>, Refused> {
    let Ok(unauthenticated) = Arc::clone(&shared.unauthenticated).try_acquire_owned() else {
        return Err(Refused::of(CloseCode::Full));
    };
    if shared.driver.drains() {
        return Err(Refused::of(CloseCode::Drain));
    }
    let (head, body) = request.into_parts();
    let body = read(shared, body).await?;
    let text = json::decode_poll(&body).map_err(|error| {
        Refused::because("bad_request", format!("the body is no poll: {error}"))
    })?;
    let poll = text.poll();
    examine(&poll)?;
    let looks = shared.authenticator.looks_at_headers();
    let token = Token::new(bearer(&head.headers));
    let identity = check(shared, token, looks.then(|| Arc::new(head.headers)))
        .await
        .map_err(|it| Refused::of(it.code()))?;
    drop(unauthenticated);
    let user = identity.user();
    if user.is_empty() || user.len() > USER_BYTES {
        return Err(Refused::of(CloseCode::BadToken));
    }
    if !shared.pollers.take(shared.clock.now(), user, weight(&poll)) {
        return Err(Refused::of(CloseCode::TooFast));
    }
    let since = hex::read(poll.mark).as_deref().and_then(Mark::from_bytes);
    let told = shared
        .driver
        .poll(shared.limits.auth_timeout, poll.rooms.is_some(), |now, node, ask| {
            if node.is_revoked(user) {
                return Err(CloseCode::Revoked);
            }
            if !poll.session.is_empty() {
                node.handle_poll(now, &connect(user, &poll), interval(&poll))
                    .map_err(|it| it.code)?;
            }
            node.ask(now, ask, user, &poll.users, since);
            if let Some(rooms) = &poll.rooms {
                node.ask_rooms(now, ask, user, poll.session, rooms);
            }
            Ok(())
        })
        .await
        .map_err(Refused::of)?;
    let (told, rooms) = told.ok_or_else(|| Refused::of(CloseCode::CheckFailed))?;
    let body = encode(&told, &rooms);
    // Later than all that it took to find the answer, as on a connection.
    shared.driver.reach(shared.driver.answers_at(told.at.max(rooms.at))).await;
    Ok(body)
}

fn weight(poll: &Poll<'_>) -> u64 {
    let rooms = poll.rooms.as_ref().map_or(0, Vec::len);
    1 + ((poll.users.len() + rooms * USERS_A_ROOM) / USERS_A_POLL) as u64
}

async fn read(shared: &Shared, body: Body) -> Result<Bytes, Refused> {
    match timeout(shared.limits.hello_timeout, to_bytes(body, POLL_BYTES)).await {
        Some(Ok(bytes)) => Ok(bytes),
        Some(Err(_)) => Err(Refused::because(
            "too_large",
            format!("the body has more than {POLL_BYTES} bytes, or broke off"),
        )),
        None => Err(Refused::of(CloseCode::HelloTimeout)),
    }
}

/// Whether it asks what can be answered.
fn examine(poll: &Poll<'_>) -> Result<(), Refused> {
    let count = poll.users.len();
    if count > WATCHES || (count == 0 && poll.session.is_empty()) {
        return Err(Refused::because(
            "bad_request",
            format!("it asks about {count} users; 1 to {WATCHES} are allowed in one poll"),
        ));
    }
    let wrong = |it: &&&str| it.is_empty() || it.len() > USER_BYTES;
    if let Some((at, name)) = poll.users.iter().enumerate().find(|(_, it)| wrong(it)) {
        return Err(Refused::because(
            "bad_user",
            format!(
                "the user at place {at} has a name of {} bytes; 1 to {USER_BYTES} are allowed",
                name.len()
            ),
        ));
    }
    if poll.session.len() > SESSION_BYTES {
        return Err(Refused::because(
            "bad_session",
            format!("the session's id has {} bytes; at most {SESSION_BYTES}", poll.session.len()),
        ));
    }
    let Some(rooms) = &poll.rooms else { return Ok(()) };
    if rooms.len() > ROOMS || (poll.session.is_empty() && !rooms.is_empty()) {
        return Err(Refused::because(
            "bad_request",
            format!(
                "it is in {} rooms: at most {ROOMS}, and it takes a session to be in any",
                rooms.len()
            ),
        ));
    }
    let wrong = |it: &&&str| it.is_empty() || it.len() > ROOM_BYTES;
    if let Some((at, room)) = rooms.iter().enumerate().find(|(_, it)| wrong(it)) {
        return Err(Refused::because(
            "bad_room",
            format!(
                "the room at place {at} has an id of {} bytes; 1 to {ROOM_BYTES} are allowed",
                room.len()
            ),
        ));
    }
    Ok(())
}

fn bearer(headers: &HeaderMap) -> &str {
    let value = headers.get(header::AUTHORIZATION).and_then(|it| it.to_str().ok());
    match value.and_then(|it| it.split_once(' ')) {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token.trim(),
        _ => "",
    }
}

fn interval(poll: &Poll<'_>) -> Span {
    if poll.interval == Span::ZERO { INTERVAL } else { poll.interval }
}

fn connect<'a>(user: &'a str, poll: &Poll<'a>) -> Connect<'a> {
    let report = SelfReport { idle: poll.idle, mode: poll.mode, ..SelfReport::default() };
    Connect { user, session: poll.session, passive: false, report, token_until: None, device: "" }
}

fn encode(told: &Told, rooms: &RoomsTold) -> Vec<u8> {
    // In a full answer, who is offline and was never seen is left out, as in a snapshot.
    let says = |it: &&Answer| !told.full || it.state != Looks::Offline || it.seen_ago.is_some();
    let users = told.users.iter().filter(says).map(|it| PolledUser {
        user: &it.user,
        state: it.state,
        seen_ago: it.seen_ago,
        coarse: it.coarse,
        note: &it.note,
    });
    let mark = hex::write(&told.mark.to_bytes());
    let rooms = rooms.rooms.iter().map(|it| PolledRoom {
        room: &it.room,
        refused: it.who.is_none(),
        count: it.who.as_ref().and_then(|it| it.count),
        members: it.who.iter().flat_map(|it| &it.members).map(member).collect(),
    });
    let users = users.collect();
    let polled = Polled { full: told.full, mark: &mark, users, rooms: rooms.collect() };
    let mut out = Vec::new();
    json::encode_polled(&polled, &mut out);
    out
}

fn member((user, state): &(Arc<str>, Looks)) -> Member<'_> {
    Member { user, state: *state }
}

/// Why a poll is not answered.
struct Refused {
    status: StatusCode,
    error: &'static str,
    text: String,
}

impl Refused {
    /// The poll itself is wrong.
    fn because(error: &'static str, text: String) -> Self {
        let too_large = error == "too_large";
        let status =
            if too_large { StatusCode::PAYLOAD_TOO_LARGE } else { StatusCode::BAD_REQUEST };
        Self { status, error, text }
    }

    /// For what a connection would be closed with this code.
    fn of(code: CloseCode) -> Self {
        let (status, text) = match code {
            CloseCode::BadToken => (
                StatusCode::UNAUTHORIZED,
                "the token is missing or not believed: send `Authorization: Bearer TOKEN`",
            ),
            CloseCode::NotAllowed => (StatusCode::FORBIDDEN, "this user is not allowed in"),
            CloseCode::Revoked => (StatusCode::FORBIDDEN, "the account or its tokens were revoked"),
            CloseCode::BadSession => (StatusCode::BAD_REQUEST, "the session's id is too long"),
            CloseCode::HelloTimeout => (StatusCode::REQUEST_TIMEOUT, "the body came too slowly"),
            CloseCode::TooFast => {
                (StatusCode::TOO_MANY_REQUESTS, "more polls than allowed: poll less often")
            }
            CloseCode::CheckFailed => {
                (StatusCode::SERVICE_UNAVAILABLE, "nobody could say in time: try again later")
            }
            _ => (StatusCode::SERVICE_UNAVAILABLE, "no polls are taken here now: try again later"),
        };
        Self { status, error: code.name(), text: text.into() }
    }

    fn response(&self, shared: &Shared) -> Response {
        let mut body = Vec::new();
        json::encode_poll_refused(self.error, &self.text, &mut body);
        let mut response = json_response(self.status, body);
        let headers = response.headers_mut();
        match self.status {
            StatusCode::UNAUTHORIZED => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => {
                let secs = shared.limits.full_retry_after.as_secs().max(1);
                headers.insert(header::RETRY_AFTER, HeaderValue::from(secs));
            }
            _ => {}
        }
        response
    }
}

fn json_response(status: StatusCode, body: Vec<u8>) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}
