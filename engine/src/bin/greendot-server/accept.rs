//! Takes connections, and gives them up that ask for nothing.
//!
//! [`axum::serve()`] waits for a request as long as the client likes, with as many clients as there are descriptors.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use greendot_engine::server::Limits;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tracing::debug;

/// Connections that may be open beyond those that presence takes: of those turned away, of polls and of visitors.
const MORE: usize = 1_024;

/// How long a client may take with the head of a request, from the connection's begin or the request before.
const HEAD: Duration = Duration::from_secs(10);

/// The most that a head may have, in bytes, and what hyper then holds for it.
const HEAD_BYTES: usize = 16 * 1024;

/// How long is waited after a connection could not be taken: for a descriptor, most likely.
const AGAIN: Duration = Duration::from_millis(100);

/// Serves the app's connections, until dropped.
#[expect(
    clippy::disallowed_methods,
    reason = "the driver is where tasks are started, and where waiting is done"
)]
pub(crate) async fn serve(listener: TcpListener, app: Router, limits: Limits) -> Infallible {
    let open = Arc::new(Semaphore::new((limits.connections + MORE).min(Semaphore::MAX_PERMITS)));
    loop {
        // Beyond that many the kernel keeps them waiting, and refuses those for whom it has no room.
        let place = Arc::clone(&open).acquire_owned().await;
        match listener.accept().await {
            Ok((stream, _)) => {
                let app = app.clone();
                tokio::spawn(async move {
                    speak(stream, app).await;
                    drop(place);
                });
            }
            Err(error) => {
                debug!(%error, "a connection could not be taken");
                tokio::time::sleep(AGAIN).await;
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
