//! The ready server: presence at `/presence`, alone in memory, or with others by a shared Redis.

mod control;
mod metrics;
mod options;
mod probe;

use std::error::Error;
use std::future::IntoFuture;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use axum::Router;
use axum::http::Uri;
use axum::routing::get;
use clap::Parser;
use greendot_engine::protocol::Span;
use greendot_engine::server::{self, DevAuth, HttpAudience, JwtAuth, KeysError, Presence};
use tokio::sync::oneshot;
use tracing::{info, warn};

use options::Options;
use probe::{Believes, Pass, Probe};

/// How long an HTTP answer may still take after that.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// The shortest secret between server and application, in bytes.
const SECRET: usize = 16;

/// A disconnect that shows later than this after all periods it may take is counted as a failure.
const PROBE_SLACK: Span = Span::from_secs(60);

/// How long clients have to take their goodbye at a stop.
const DRAIN: Duration = Duration::from_secs(3);

fn main() -> ExitCode {
    let options = Options::parse();
    tracing_subscriber::fmt()
        .with_max_level(options.log)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()))
        .init();
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(refused) => {
            // Not by the log, which may be off.
            eprintln!("greendot-server: {refused}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    options.check()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(serve(options))
}

async fn serve(options: &Options) -> Result<(), Box<dyn Error>> {
    let settings = options.settings();
    // Before the engine, which registers what it counts.
    let metrics = options.metrics.map(metrics::Listener::open).transpose()?;
    let pass = options.probe.map(|_| Pass::draw()).transpose()?;
    let builder = match signed_tokens(options).await? {
        Some(who) => Presence::builder(Believes { pass: pass.clone(), who }),
        None => Presence::builder(Believes { pass: pass.clone(), who: DevAuth }),
    };
    let mut builder =
        builder.settings(settings).limits(options.limits()).allow_origins(&options.allow_origin);
    if let Some(url) = &options.audience_url {
        let secret = options.audience_secret.as_deref().map(secret_in).transpose()?;
        let patience = Duration::from_millis(options.audience_rule().deadline.as_millis());
        builder = builder.audience(HttpAudience::new(url, secret.as_deref(), patience)?);
    }
    if let Some(store) = options.store() {
        builder = builder.redis(store);
    }
    let presence = builder.open().await?;
    if options.dev {
        warn!(
            "--dev: any client is whoever it says it is, no token is checked. For your own \
             machine only, never for people's data"
        );
    }
    if !options.dev && options.jwt_audience.is_empty() {
        info!("tokens that name an audience (`aud`) are refused: give it with --jwt-audience");
    }
    if let Some(doubt) = settings.doubt() {
        warn!("{doubt} (--warmup)");
    }
    let app = Router::new()
        .route("/", get("Greendot presence server. Open a WebSocket at /presence.\n"))
        .nest("/presence", presence.router());
    let listener = tokio::net::TcpListener::bind(options.listen).await.map_err(|error| {
        let listen = options.listen;
        format!("cannot listen on {listen}: {error}; choose another port with --listen")
    })?;
    let address = listener.local_addr()?;
    let control = match options.control {
        Some(at) => {
            let secret = options.control_secret.as_deref().map(secret_in).transpose()?;
            let app = control::router(presence.clone(), secret);
            let listener = tokio::net::TcpListener::bind(at).await.map_err(|error| {
                format!("cannot listen on {at}: {error}; choose another port with --control")
            })?;
            Some((listener.local_addr()?, axum::serve(listener, app).into_future()))
        }
        None => None,
    };
    let metrics_at = metrics
        .as_ref()
        .map_or(String::new(), |it| format!("metrics at http://{}/metrics\n", it.address()));
    if let Some(metrics) = metrics {
        metrics.serve(presence.clone());
    }
    // In one piece: who reads only the first line may be gone before a second one.
    let token = if options.dev { "user's name, as in \"ana\"" } else { "signed JWT" };
    let mut started = format!(
        "listening on http://{address}\npresence at ws://{address}/presence, where a token is a \
         {token}\n{metrics_at}"
    );
    if let Some((address, _)) = &control {
        started += &format!("the application's side at http://{address}\n");
    }
    std::io::stdout().write_all(started.as_bytes())?;
    if let (Some(every), Some(pass)) = (options.probe, pass) {
        let late = settings.ttl + settings.grace + settings.expiry_grace + PROBE_SLACK;
        let [every, patience] = [every, late].map(|it| Duration::from_millis(it.as_millis()));
        Probe { address, pass, every, patience }.start();
    }
    let (drained, stop) = oneshot::channel::<()>();
    let serving = async {
        tokio::select! {
            never = server::serve(listener, app, options.limits()) => match never {},
            _ = stop => std::future::pending::<()>().await,
        }
    };
    let controlled = async {
        match control {
            Some((_, serving)) => serving.await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = serving => {}
        served = controlled => served?,
        () = stopping(&presence, drained) => {}
    }
    Ok(())
}

/// The secret in a file, without the line's end.
fn secret_in(file: &Path) -> Result<String, String> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        format!("the secret in {} can't be read: {error}; check the path", file.display())
    })?;
    let secret = text.trim_end();
    if secret.len() < SECRET {
        return Err(format!(
            "the secret in {} has {} bytes; at least {SECRET} are needed, as from `openssl rand -hex 16`",
            file.display(),
            secret.len()
        ));
    }
    Ok(secret.to_owned())
}

/// Who checks tokens, if they are signed ones.
async fn signed_tokens(options: &Options) -> Result<Option<JwtAuth>, Box<dyn Error>> {
    let Some(mut auth) = keys(options).await? else { return Ok(None) };
    for audience in &options.jwt_audience {
        auth = auth.audience(audience);
    }
    for issuer in &options.jwt_issuer {
        auth = auth.issuer(issuer);
    }
    if let Some(claim) = &options.jwt_user_claim {
        auth = auth.user_claim(claim);
    }
    if let Some(leeway) = options.jwt_leeway {
        auth = auth.leeway(Duration::from_millis(leeway.as_millis()));
    }
    Ok(Some(auth))
}

/// The keys that were given, from wherever they are.
async fn keys(options: &Options) -> Result<Option<JwtAuth>, KeysError> {
    if let Some(file) = &options.jwt_key {
        return JwtAuth::key_file(file).map(Some);
    }
    if let Some(file) = &options.jwt_secret {
        return JwtAuth::secret_file(file).map(Some);
    }
    let Some(set) = &options.jwks else { return Ok(None) };
    match set.parse::<Uri>() {
        Ok(address) if set.contains("://") => {
            let auth = JwtAuth::key_set_at(address).await?;
            warn!(
                "the keys at {set} come without TLS: whoever can change them on the way can be anybody"
            );
            Ok(Some(auth))
        }
        _ => JwtAuth::key_set_file(set).map(Some),
    }
}

/// Waits to be asked, tells the clients, and gives the last answers under way a moment.
#[expect(clippy::disallowed_methods, reason = "the driver is where waiting is done")]
async fn stopping(presence: &Presence, drained: oneshot::Sender<()>) {
    asked_to_stop().await;
    info!("stopping: {} connections are told so", presence.open_connections());
    presence.drain(DRAIN).await;
    drop(drained);
    tokio::time::sleep(LAST_ANSWERS).await;
}

/// Until Ctrl-C, or SIGTERM where there is such a thing.
async fn asked_to_stop() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}
