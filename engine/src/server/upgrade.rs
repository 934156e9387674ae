//! The way in: the HTTP request that becomes a WebSocket.

use std::sync::Arc;

use axum::extract::State;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use greendot_protocol::{CloseCode, SUBPROTOCOL_BINARY, Span};

use super::connection;
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
    let mut upgrade = Socket::configure(upgrade).protocols([SUBPROTOCOL_BINARY]);
    if upgrade.selected_protocol().is_none() {
        // A browser drops a connection that agrees to none of its protocols without telling its
        // script why. So one is agreed to, and the close code tells.
        let offered = upgrade.requested_protocols().next().cloned();
        if let Some(offered) = offered {
            upgrade.set_selected_protocol(offered);
        }
        return turn_away(&shared, upgrade, CloseCode::WrongVersion, Span::ZERO);
    }
    if shared.driver.drains() {
        return turn_away(&shared, upgrade, CloseCode::Drain, Span::ZERO);
    }
    let Some(place) = Place::take(&shared) else {
        return full(&shared, upgrade);
    };
    let Ok(unauthenticated) = Arc::clone(&shared.unauthenticated).try_acquire_owned() else {
        return full(&shared, upgrade);
    };
    upgrade.on_upgrade(move |socket| async move {
        connection::run(shared, Socket::new(socket), unauthenticated).await;
        drop(place);
    })
}

fn full(shared: &Arc<Shared>, upgrade: WebSocketUpgrade) -> Response {
    let millis = shared.limits.full_retry_after.as_millis();
    let retry_after = Span::from_millis(u64::try_from(millis).unwrap_or(u64::MAX));
    turn_away(shared, upgrade, CloseCode::Full, retry_after)
}

fn turn_away(
    shared: &Shared,
    upgrade: WebSocketUpgrade,
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
        connection::turn_away(&mut Socket::new(socket), code, retry_after).await;
        drop(place);
    })
}

fn upgrade_required() -> Response {
    let text = format!(
        "This is a Greendot presence endpoint: open a WebSocket here, with the subprotocol \
         {SUBPROTOCOL_BINARY}.\n"
    );
    (
        StatusCode::UPGRADE_REQUIRED,
        [(header::UPGRADE, "websocket"), (header::CONNECTION, "upgrade")],
        text,
    )
        .into_response()
}
