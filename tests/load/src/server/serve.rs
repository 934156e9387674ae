//! Our server, as the bench starts it: the shipped one but for the rate at which one connection may speak, since one
//! changes a user far more often than any person could.

use std::io;

use greendot_engine::core::Start;
use greendot_engine::server::{DevAuth, Limits, Presence};

/// Serves on a free port of loopback until it is killed.
///
/// # Errors
///
/// If it cannot listen.
pub fn serve() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let limits = Limits { frames_per_second: 1_000_000, burst: 1_000_000, ..Limits::default() };
        let presence = Presence::builder(DevAuth).limits(limits).start(Start::Fresh).build();
        let presence = presence.map_err(io::Error::other)?;
        let app = axum::Router::new().nest("/presence", presence.router());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        println!("listening on {}", listener.local_addr()?);
        match greendot_engine::server::serve(listener, app, limits).await {}
    })
}
