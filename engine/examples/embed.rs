//! Presence in an axum app of your own.

use axum::{Router, routing::get};
use greendot_engine::server::{AuthError, Identity, Limits, Presence, Token, serve};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Who is this token? Ask your session store here.
    let who = |token: Token| async move {
        token.as_str().strip_prefix("session-of-").map(Identity::new).ok_or(AuthError::BadToken)
    };
    let presence = Presence::builder(who).build()?;
    let app = Router::new()
        .route("/", get("My app, with green dots at /presence."))
        .nest("/presence", presence.router());
    // Who came, who went: for push notifications, logs and the like.
    let mut transitions = presence.transitions();
    let log = async move {
        while let Some(Ok(change)) = transitions.next().await {
            println!("{} is now {}", change.user, change.state.name());
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    tokio::select! {
        never = serve(listener, app, Limits::default()) => match never {},
        () = log => Ok(()),
    }
}
