//! The backend of the demo: a small chat app for five people, with presence nested into it.
//!
//! For a developer's own machine: whoever asks as `ana` is ana, so it binds loopback only.

mod messages;
mod privacy;
#[cfg(test)]
mod tests;

use std::error::Error;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use axum::extract::{DefaultBodyLimit, Query};
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use clap::Parser;
use greendot_engine::core::Settings;
use greendot_engine::protocol::Span;
use greendot_engine::server::{Builder, DevAuth, Limits, Presence, serve};
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tower_http::services::ServeDir;

/// Everybody there is.
const PEOPLE: [&str; 5] = ["ana", "bo", "cy", "dee", "eli"];

/// Not ttl + grace: a page that was cut off for long dials every 30 s or less, and a dial may take
/// 10 s. Nobody is called offline before every open page has had its turn.
const WARMUP_SECS: u64 = 45;

/// The demo's chat backend.
#[derive(Debug, Parser)]
struct Args {
    /// The port; 0 takes any that is free.
    #[arg(long, default_value_t = 4747)]
    port: u16,
    /// The address; loopback only, since nobody is asked for a password.
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    host: IpAddr,
    /// The folder with the built page.
    #[arg(long)]
    assets: Option<PathBuf>,
    /// After how many seconds without input a device counts as idle; 0: never.
    #[arg(long, default_value_t = 600)]
    idle_after: u64,
    /// For how many seconds after a start nobody is called offline who may be on the way back.
    #[arg(long, default_value_t = WARMUP_SECS)]
    warmup: u64,
    /// Whoever is invisible sees nobody.
    #[arg(long)]
    reciprocal: bool,
    /// Share the users with other servers through the Redis at this URL.
    #[cfg(feature = "redis")]
    #[arg(long)]
    redis: Option<String>,
}

/// Whose view is asked for.
#[derive(Debug, Deserialize)]
struct Who {
    user: String,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(&Args::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(refused) => {
            eprintln!("chat: {refused}");
            ExitCode::FAILURE
        }
    }
}

async fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    if !args.host.is_loopback() {
        return Err(format!("--host {} is not a loopback address: use 127.0.0.1", args.host).into());
    }
    let settings = Settings {
        idle_after: Span::from_secs(args.idle_after),
        warmup: Some(Span::from_secs(args.warmup)),
        reciprocal: args.reciprocal,
        ..settings()
    };
    let presence = open(args, Presence::builder(DevAuth).settings(settings)).await?;
    let (stop, stopped) = watch::channel(());
    let mut app = api(presence.clone(), stopped).nest("/presence", presence.router());
    if let Some(assets) = &args.assets {
        check_assets(assets)?;
        app = app.fallback_service(ServeDir::new(assets));
    }
    let listener = listen(args.host, args.port).await?;
    println!("listening on http://{}", listener.local_addr()?);
    let stopping = async {
        asked_to_stop().await;
        // Ends the streams of messages, and tells the pages that this server goes.
        drop(stop);
        presence.drain(Duration::from_secs(2)).await;
    };
    tokio::select! {
        never = serve(listener, app, Limits::default()) => match never {},
        () = stopping => {}
    }
    last_answers().await;
    Ok(())
}

#[cfg(feature = "redis")]
async fn open(args: &Args, builder: Builder) -> Result<Presence, Box<dyn Error>> {
    let builder = match &args.redis {
        Some(url) => builder.redis(greendot_engine::server::RedisStore::new(url)),
        None => builder,
    };
    Ok(builder.open().await?)
}

#[cfg(not(feature = "redis"))]
async fn open(_: &Args, builder: Builder) -> Result<Presence, Box<dyn Error>> {
    Ok(builder.build()?)
}

/// Short, so that a person can watch it work.
fn settings() -> Settings {
    Settings {
        beat: Span::from_secs(3),
        ttl: Span::from_secs(12),
        grace: Span::from_secs(3),
        warmup: Some(Span::from_secs(WARMUP_SECS)),
        ..Settings::default()
    }
}

fn check_assets(assets: &Path) -> Result<(), String> {
    if assets.join("index.html").is_file() {
        return Ok(());
    }
    Err(format!(
        "--assets {}: there is no index.html in it; `cargo xtask demo` builds the page and serves it",
        assets.display()
    ))
}

async fn listen(host: IpAddr, port: u16) -> Result<TcpListener, String> {
    TcpListener::bind((host, port)).await.map_err(|error| {
        let other = port.checked_add(1).unwrap_or_default();
        let next = match error.kind() {
            ErrorKind::AddrInUse => "something listens there already",
            _ => "it cannot be had",
        };
        format!("port {port} on {host}: {next} ({error}); choose another with --port {other}")
    })
}

/// Gives answers under way a moment; a browser may hold a connection open that it never used.
#[expect(clippy::disallowed_methods, reason = "a server's main is where waiting is done")]
async fn last_answers() {
    tokio::time::sleep(Duration::from_millis(500)).await;
}

/// What the page asks for; its streams end with `stopped`.
fn api(presence: Presence, stopped: watch::Receiver<()>) -> Router {
    Router::new()
        .route("/api/contacts", get(contacts))
        .merge(messages::router(stopped))
        .merge(privacy::router(presence))
        .layer(DefaultBodyLimit::max(16 * 1024))
}

async fn contacts(Query(who): Query<Who>) -> Result<Json<Vec<&'static str>>, Refusal> {
    known(&who.user)?;
    Ok(Json(PEOPLE.into_iter().filter(|&it| it != who.user).collect()))
}

type Refusal = (StatusCode, String);

fn known(user: &str) -> Result<&'static str, Refusal> {
    PEOPLE.into_iter().find(|&it| it == user).ok_or_else(|| {
        (StatusCode::BAD_REQUEST, format!("nobody here has that name; there are {PEOPLE:?}"))
    })
}

/// Until Ctrl-C or SIGTERM.
async fn asked_to_stop() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        },
        Err(_) => _ = tokio::signal::ctrl_c().await,
    }
}
