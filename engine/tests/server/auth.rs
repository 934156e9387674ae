//! Who is let in, and what a check that fails or hangs does to the others.

use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderMap;
use axum::http::header::{COOKIE, ORIGIN};
use greendot_engine::core::Start;
use greendot_engine::protocol::{
    ClientFrame, CloseCode, ErrorCode, SUBPROTOCOL_BINARY, Span, State,
};
use greendot_engine::server::{
    AuthError, Authenticate, BuildError, Builder, Identity, Limits, Presence, Token, WithHeaders,
};
use tokio::sync::Notify;
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Error;

use crate::common::{Client, Heard, Row, Server, lingering, quick, until};

fn with(check: impl Authenticate) -> Builder {
    Presence::builder(check).settings(quick()).start(Start::Fresh)
}

#[tokio::test]
async fn the_user_is_who_the_token_says() {
    let check = |token: Token| async move {
        token.as_str().strip_prefix("secret-of-").map(Identity::new).ok_or(AuthError::BadToken)
    };
    let server = Server::start(with(check)).await;
    let _ana = server.connect("secret-of-ana", "1").await;
    assert_eq!(server.presence.state("ana").await.state, State::Online);
    let mut eve = server.open().await;
    eve.hello("guess-of-ana", "1").await;
    eve.hear_close(CloseCode::BadToken).await;
}

#[tokio::test]
async fn each_way_to_say_no_has_its_code() {
    let check = |token: Token| async move {
        match token.as_str() {
            "banned" => Err(AuthError::NotAllowed),
            "down" => Err(AuthError::check_failed("the directory is down")),
            "panics" => panic!("on purpose"),
            _ => Err(AuthError::BadToken),
        }
    };
    let server = Server::start(with(check)).await;
    for (token, code) in [
        ("banned", CloseCode::NotAllowed),
        ("down", CloseCode::CheckFailed),
        ("panics", CloseCode::CheckFailed),
        ("forged", CloseCode::BadToken),
    ] {
        let mut client = server.open().await;
        client.hello(token, "1").await;
        client.hear_close(code).await;
    }
    assert_eq!(server.presence.counts().conns, 0);
}

#[tokio::test]
async fn a_check_that_hangs_delays_nobody_else_and_its_client_may_try_again() {
    let check = |token: Token| async move {
        if token.as_str() == "slow" {
            std::future::pending::<()>().await;
        }
        Ok(Identity::new(token.as_str()))
    };
    let limits = Limits { auth_timeout: Duration::from_millis(300), ..Limits::default() };
    let server = Server::start(with(check).limits(limits)).await;
    let mut slow = server.open().await;
    slow.hello("slow", "1").await;
    let mut ana = server.connect("ana", "1").await;
    ana.beat(1).await;
    assert_eq!(ana.watch(&["slow"]).await, []);
    slow.hear_close(CloseCode::CheckFailed).await;
}

#[tokio::test]
async fn a_client_that_left_while_its_token_was_checked_was_never_there() {
    let release = Arc::new(Notify::new());
    let gate = Arc::clone(&release);
    let check = move |token: Token| {
        let gate = Arc::clone(&gate);
        async move {
            if token.as_str() == "bo" {
                gate.notified().await;
            }
            Ok(Identity::new(token.as_str()))
        }
    };
    let server = Server::start(with(check)).await;
    let mut ana = server.connect("ana", "1").await;
    assert_eq!(ana.watch(&["bo"]).await, []);
    let mut bo = server.open().await;
    bo.hello("bo", "1").await;
    drop(bo);
    // The server's side of the socket has been closed by the kernel once this connect is through.
    let _other = server.connect("other", "1").await;
    release.notify_one();
    until(|| server.presence.open_connections() == 2).await;
    ana.beat(1).await;
    assert_eq!(server.presence.state("bo").await.last_seen, None);
}

#[tokio::test]
async fn a_token_that_runs_out_closes_its_connection_and_a_fresh_one_goes_on() {
    let check = |token: Token| async move {
        let (user, time) = token.as_str().split_once(' ').ok_or(AuthError::BadToken)?;
        let millis = time.parse().map_err(|_| AuthError::BadToken)?;
        Ok(Identity::new(user).valid_for(Duration::from_millis(millis)))
    };
    // A connection that its token ends leaves a session that lingers: for longer than bo takes to come back.
    let server = Server::start(with(check).settings(lingering())).await;
    let mut ana = server.connect("ana 100000", "1").await;
    let mut bo = server.connect("bo 300", "1").await;
    assert_eq!(ana.watch(&["bo"]).await, [Row::of(1, State::Online)]);
    bo.hear_close(CloseCode::TokenExpired).await;
    let mut bo = server.connect("bo 100000", "1").await;
    bo.beat(1).await;
    ana.beat(2).await;
}

#[tokio::test]
async fn a_revoked_user_is_put_out_and_kept_out_until_reinstated() {
    let server = Server::start(crate::common::builder()).await;
    let mut ana = server.connect("ana", "1").await;
    let mut bo = server.connect("bo", "1").await;
    assert_eq!(ana.watch(&["bo"]).await, [Row::of(1, State::Online)]);
    server.presence.revoke("bo");
    bo.hear_close(CloseCode::Revoked).await;
    assert_eq!(ana.hear_event().await, Row::of(1, State::Offline).seen());
    let mut again = server.open().await;
    again.hello("bo", "1").await;
    again.hear_close(CloseCode::Revoked).await;
    server.presence.reinstate("bo");
    let mut again = server.open().await;
    again.hello("bo", "1").await;
    assert!(matches!(again.hear().await, Heard::Welcome(_)));
}

/// Tokens of the form "user millis"; those of "slow" are checked once the gate opens.
fn lasting(gate: Arc<Notify>) -> impl Authenticate {
    move |token: Token| {
        let gate = Arc::clone(&gate);
        async move {
            let (user, time) = token.as_str().split_once(' ').ok_or(AuthError::BadToken)?;
            if time == "slow" {
                gate.notified().await;
                return Ok(Identity::new(user));
            }
            let millis = time.parse().map_err(|_| AuthError::BadToken)?;
            Ok(Identity::new(user).valid_for(Duration::from_millis(millis)))
        }
    }
}

#[tokio::test]
async fn a_fresh_token_is_taken_on_the_open_connection() {
    let server = Server::start(with(lasting(Arc::default()))).await;
    let mut bo = server.open().await;
    // Time for two answers on a machine however busy.
    bo.hello("bo 5000", "1").await;
    match bo.hear().await {
        Heard::Welcome(it) => assert!(it.token > Span::ZERO && it.token <= Span::from_secs(5)),
        other => panic!("{other:?}"),
    }
    bo.send(&ClientFrame::Token("forged")).await;
    match bo.hear().await {
        Heard::Error(ErrorCode::TokenRefused, 0, text) => assert!(text.contains("stays in force")),
        other => panic!("{other:?}"),
    }
    bo.send(&ClientFrame::Token("bo 500000")).await;
    match bo.hear().await {
        Heard::Token(lasts) => assert!(lasts > Span::from_secs(400), "{lasts:?}"),
        other => panic!("{other:?}"),
    }
    // The one that ends soon was bo's first; another connection shows that it has passed.
    let mut other = server.connect("other 5000", "1").await;
    other.hear_close(CloseCode::TokenExpired).await;
    bo.beat(1).await;
}

#[tokio::test]
async fn a_slow_check_of_a_fresh_token_holds_up_nothing_and_a_later_token_takes_its_place() {
    let gate = Arc::<Notify>::default();
    let server = Server::start(with(lasting(Arc::clone(&gate)))).await;
    let mut bo = server.connect("bo 500000", "1").await;
    bo.send(&ClientFrame::Token("bo slow")).await;
    bo.beat(1).await;
    assert_eq!(bo.watch(&["ana"]).await, []);
    gate.notify_one();
    assert_eq!(bo.hear().await, Heard::Token(Span::ZERO));
    bo.send(&ClientFrame::Token("bo slow")).await;
    bo.send(&ClientFrame::Token("eve 1000")).await;
    bo.hear_close(CloseCode::NotAllowed).await;
}

#[tokio::test]
async fn who_hands_in_token_after_token_is_closed() {
    let server = Server::start(with(lasting(Arc::default()))).await;
    let mut bo = server.connect("bo 500000", "1").await;
    for _ in 0..25 {
        bo.send(&ClientFrame::Token("bo slow")).await;
    }
    bo.hear_close(CloseCode::TooFast).await;
}

/// Who is it, by the cookie alone or by a token beside it.
fn by_cookie() -> impl Authenticate {
    WithHeaders(|token: Token, headers: Arc<HeaderMap>| async move {
        let cookie = headers.get("cookie").and_then(|it| it.to_str().ok()).unwrap_or_default();
        let user = cookie.strip_prefix("session=").ok_or(AuthError::BadToken)?;
        match token.as_str() {
            "" => Ok(Identity::new(user)),
            "fresh" => Ok(Identity::new(user).valid_for(Duration::from_secs(1000))),
            _ => Err(AuthError::NotAllowed),
        }
    })
}

/// Opens a connection from a page of this origin, with this cookie; the status and text if it is refused.
async fn from_page(
    server: &Server,
    origin: Option<&str>,
    cookie: Option<&str>,
) -> Result<Client, (u16, String)> {
    let mut request = server.request(Some(SUBPROTOCOL_BINARY));
    let headers = request.headers_mut();
    headers.extend(origin.map(|it| (ORIGIN, it.parse().unwrap())));
    headers.extend(cookie.map(|it| (COOKIE, it.parse().unwrap())));
    match connect_async(request).await {
        Ok((socket, _)) => Ok(Client::over(socket)),
        Err(Error::Http(answer)) => {
            let body = answer.body().clone().unwrap_or_default();
            Err((answer.status().as_u16(), String::from_utf8(body).unwrap()))
        }
        Err(other) => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_cookie_says_who_it_is_to_pages_of_an_allowed_origin_alone() {
    let builder = with(by_cookie()).allow_origins(["https://chat.example"]);
    let server = Server::start(builder).await;
    let page = Some("https://chat.example");
    let mut bo = from_page(&server, page, Some("session=bo")).await.ok().unwrap();
    bo.hello("", "1").await;
    assert!(matches!(bo.hear().await, Heard::Welcome(_)));
    assert_eq!(server.presence.state("bo").await.state, State::Online);
    // On the open connection the cookie is still there.
    bo.send(&ClientFrame::Token("fresh")).await;
    assert_eq!(bo.hear().await, Heard::Token(Span::from_secs(1000)));

    for origin in ["https://evil.example", "null", "http://chat.example"] {
        let refused = from_page(&server, Some(origin), Some("session=bo")).await.err().unwrap();
        assert_eq!(refused.0, 403);
        assert!(refused.1.contains(origin) && refused.1.contains("--allow-origin"), "{refused:?}");
    }
    let mut nobody = from_page(&server, page, None).await.ok().unwrap();
    nobody.hello("", "1").await;
    nobody.hear_close(CloseCode::BadToken).await;
    let mut program = from_page(&server, None, Some("session=cy")).await.ok().unwrap();
    program.hello("", "1").await;
    assert!(matches!(program.hear().await, Heard::Welcome(_)));
}

#[tokio::test]
async fn a_list_of_origins_holds_for_tokens_too_and_without_one_any_page_may() {
    let server = Server::start(crate::common::builder().allow_origins(["https://a.example"])).await;
    assert!(from_page(&server, Some("https://b.example"), None).await.is_err());
    assert!(from_page(&server, Some("https://a.example"), None).await.is_ok());
    let open = Server::start(crate::common::builder()).await;
    assert!(from_page(&open, Some("https://b.example"), None).await.is_ok());
    let mut empty = open.open().await;
    empty.hello("", "1").await;
    empty.hear_close(CloseCode::BadToken).await;
}

#[tokio::test]
async fn cookies_without_a_list_of_origins_are_refused_at_start() {
    assert_eq!(with(by_cookie()).build().unwrap_err(), BuildError::NoOrigins);
    let wrong = with(by_cookie()).allow_origins(["*"]).build().unwrap_err();
    assert_eq!(wrong, BuildError::Origin("*".into()));
}
