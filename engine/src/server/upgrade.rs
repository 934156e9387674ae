//! The way in: the HTTP request that becomes a WebSocket.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use greendot_protocol::{CloseCode, Span};

use super::connection;
use super::encoding::Encoding;
use super::handshake::{Handshake, Refused};
use super::origin::forbidden;
use super::presence::{Place, Shared};
use super::socket::Socket;

/// Connections beyond the limit that are told so; more get an HTTP error, which a browser's
/// script can't read.
pub(super) const OVERFLOW: usize = 256;

/// Takes a WebSocket upgrade.
pub(super) async fn upgrade(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    if let Some(origins) = shared.origins.as_ref().filter(|it| !it.allow(request.headers())) {
        tracing::debug!(?origins, "a page of another origin was refused");
        return forbidden(request.headers());
    }
    let looks = shared.authenticator.looks_at_headers();
    let headers = looks.then(|| Arc::new(request.headers().clone()));
    let handshake = match Handshake::read(request) {
        Ok(handshake) => handshake,
        Err(Refused::Method) => return StatusCode::METHOD_NOT_ALLOWED.into_response(),
        Err(Refused::NoUpgrade) => return upgrade_required(),
    };
    let offers = |it: &Encoding| {
        let name = it.subprotocol().as_bytes();
        handshake.offered().iter().any(|offered| offered.as_bytes() == name)
    };
    let Some(encoding) = Encoding::ALL.into_iter().find(offers) else {
        // A browser drops a connection that agrees to none of its protocols without telling its
        // script why. So one is agreed to, and the close code, which has no encoding, tells.
        let protocol = handshake.offered().first().cloned();
        let refusal = Refusal { code: CloseCode::WrongVersion, retry_after: Span::ZERO };
        return turn_away(&shared, handshake, protocol, Encoding::Binary, refusal);
    };
    let protocol = Some(HeaderValue::from_static(encoding.subprotocol()));
    if shared.driver.drains() {
        let refusal = Refusal { code: CloseCode::Drain, retry_after: Span::ZERO };
        return turn_away(&shared, handshake, protocol, encoding, refusal);
    }
    let millis = shared.limits.full_retry_after.as_millis();
    let retry_after = Span::from_millis(u64::try_from(millis).unwrap_or(u64::MAX));
    let full = Refusal { code: CloseCode::Full, retry_after };
    let Some(place) = Place::take(&shared) else {
        return turn_away(&shared, handshake, protocol, encoding, full);
    };
    let Ok(unauthenticated) = Arc::clone(&shared.unauthenticated).try_acquire_owned() else {
        return turn_away(&shared, handshake, protocol, encoding, full);
    };
    handshake.grant(protocol, move |upgraded| {
        connection::begin(shared, Socket::new(upgraded, encoding), headers, unauthenticated, place)
    })
}

/// What a connection is closed with before it has begun.
#[derive(Clone, Copy, Debug)]
struct Refusal {
    code: CloseCode,
    retry_after: Span,
}

fn turn_away(
    shared: &Shared,
    handshake: Handshake,
    protocol: Option<HeaderValue>,
    encoding: Encoding,
    refusal: Refusal,
) -> Response {
    let Ok(place) = Arc::clone(&shared.overflow).try_acquire_owned() else {
        let secs = shared.limits.full_retry_after.as_secs().max(1).to_string();
        let text = "No more connections are taken here at the moment; try again later.\n";
        return (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, secs)], text)
            .into_response();
    };
    handshake.grant(protocol, move |upgraded| async move {
        let mut socket = Socket::new(upgraded, encoding);
        connection::turn_away(&mut socket, refusal.code, refusal.retry_after).await;
        drop(place);
    })
}

fn upgrade_required() -> Response {
    let text = format!(
        "This is a Greendot presence endpoint: open a WebSocket here, with the subprotocol \
         {} or {}.\n",
        Encoding::Binary.subprotocol(),
        Encoding::Json.subprotocol(),
    );
    (
        StatusCode::UPGRADE_REQUIRED,
        [(header::UPGRADE, "websocket"), (header::CONNECTION, "upgrade")],
        text,
    )
        .into_response()
}
