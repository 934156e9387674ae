//! The way in: the HTTP request that becomes a WebSocket.

use std::sync::Arc;

use axum::extract::State;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use greendot_protocol::{CloseCode, Span};

use super::connection;
use super::encoding::Encoding;
use super::presence::{Place, Shared};
use super::socket::Socket;

/// Connections beyond the limit that are told so; more get an HTTP error, which a browser's
/// script can't read.
pub(super) const OVERFLOW: usize = 256;

/// Takes a WebSocket upgrade.
pub(super) async fn upgrade(
    State(shared): State<Arc<Shared>>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade,
        Err(WebSocketUpgradeRejection::MethodNotGet(rejection)) => {
            return rejection.into_response();
        }
        Err(_) => return upgrade_required(),
    };
    let mut upgrade =
        Socket::configure(upgrade).protocols(Encoding::ALL.map(|it| it.subprotocol()));
    let chosen = upgrade.selected_protocol();
    let spoken =
        Encoding::ALL.into_iter().find(|it| chosen.is_some_and(|its| its == it.subprotocol()));
    let Some(encoding) = spoken else {
        // A browser drops a connection that agrees to none of its protocols without telling its
        // script why. So one is agreed to, and the close code, which has no encoding, tells.
        let offered = upgrade.requested_protocols().next().cloned();
        if let Some(offered) = offered {
            upgrade.set_selected_protocol(offered);
        }
        return turn_away(&shared, upgrade, Encoding::Binary, CloseCode::WrongVersion, Span::ZERO);
    };
    if shared.driver.drains() {
        return turn_away(&shared, upgrade, encoding, CloseCode::Drain, Span::ZERO);
    }
    let Some(place) = Place::take(&shared) else {
        return full(&shared, upgrade, encoding);
    };
    let Ok(unauthenticated) = Arc::clone(&shared.unauthenticated).try_acquire_owned() else {
        return full(&shared, upgrade, encoding);
    };
    upgrade.on_upgrade(move |socket| async move {
        connection::run(shared, Socket::new(socket, encoding), unauthenticated).await;
        drop(place);
    })
}

fn full(shared: &Arc<Shared>, upgrade: WebSocketUpgrade, encoding: Encoding) -> Response {
    let millis = shared.limits.full_retry_after.as_millis();
    let retry_after = Span::from_millis(u64::try_from(millis).unwrap_or(u64::MAX));
    turn_away(shared, upgrade, encoding, CloseCode::Full, retry_after)
}

fn turn_away(
    shared: &Shared,
    upgrade: WebSocketUpgrade,
    encoding: Encoding,
    code: CloseCode,
    retry_after: Span,
) -> Response {
    let Ok(place) = Arc::clone(&shared.overflow).try_acquire_owned() else {
        let secs = shared.limits.full_retry_after.as_secs().max(1).to_string();
        let text = "No more connections are taken here at the moment; try again later.\n";
        return (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, secs)], text)
            .into_response();
    };
    upgrade.on_upgrade(move |socket| async move {
        connection::turn_away(&mut Socket::new(socket, encoding), code, retry_after).await;
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
