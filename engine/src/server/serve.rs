//! Takes connections, and gives up those that ask for nothing.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tracing::debug;

use super::limits::Limits;
use crate::clock::{sleep, spawn};

/// Connections that may be open beyond those that presence takes: of those turned away, of polls and of visitors.
const MORE: usize = 1_024;

/// How long a client may take with the head of a request, from the connection's begin or the request before.
const HEAD: Duration = Duration::from_secs(10);

/// The most that a head may have, in bytes, and what hyper then holds for it.
const HEAD_BYTES: usize = 16 * 1024;

/// How long is waited after a connection could not be taken: for a descriptor, most likely.
const AGAIN: Duration = Duration::from_millis(100);

/// Serves an app's connections over HTTP/1.1 and WebSocket, until dropped, as the ready server does.
///
/// [`axum::serve()`] waits for a request as long as its client likes, with as many clients as there are descriptors. Here a
/// client has 10 s for a request's head, from the connection's begin or the request before; a head may have 16 KB; and 1,024
/// connections may be open beyond the [`Limits::connections`] that presence takes, for all else that the app serves. Beyond
/// these the kernel keeps clients waiting. Frames go out at once (`TCP_NODELAY`).
///
/// Behind a proxy that does all that, or where you need what `axum::serve` has (another listener, the client's address,
/// graceful shutdown), take that one with [`no_delay`](super::no_delay). TLS is a proxy's part in both.
pub async fn serve(listener: TcpListener, app: Router, limits: Limits) -> Infallible {
    let open = Arc::new(Semaphore::new((limits.connections + MORE).min(Semaphore::MAX_PERMITS)));
    loop {
        // Beyond that many the kernel keeps them waiting, and refuses those for whom it has no room.
        let place = Arc::clone(&open).acquire_owned().await;
        match listener.accept().await {
            Ok((stream, _)) => {
                let app = app.clone();
                spawn(async move {
                    speak(stream, app).await;
                    drop(place);
                });
            }
            Err(error) => {
                debug!(%error, "a connection could not be taken");
                sleep(AGAIN).await;
            }
        }
    }
}

/// HTTP on one connection, to its end or its upgrade.
async fn speak(stream: TcpStream, app: Router) {
    if let Err(error) = stream.set_nodelay(true) {
        debug!(%error, "TCP_NODELAY could not be set");
    }
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(HEAD_BYTES);
    let speaking = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(app));
    if let Err(error) = speaking.with_upgrades().await {
        debug!(%error, "a connection broke before it was upgraded");
    }
}
