//! The application's side: where it says what has changed, apart from where clients are.
//!
//! ```text
//! POST /audience-changed {"user":"ana","viewer":"bo"}     either may be absent: then of all
//! POST /block            {"user":"ana","viewer":"bo","blocked":true}
//! POST /last-seen        {"user":"ana","as":"rounded"}    exact, delayed, rounded, words or never
//! POST /revoke           {"user":"ana"}
//! POST /reinstate        {"user":"ana"}
//! POST /end-session      {"user":"ana","session":"tab-1"}
//! GET  /audience                                          how the application's answers fare
//! ```
//!
//! What was done is answered 204; it has taken effect by then. With a shared store, what is to be kept (a block, how last seen is
//! told, a revocation and its end) is answered when the store has it, and 503 if it has not within 5 s: this node keeps it and
//! tells it later, but if it dies before, it is lost. So say it again, at any node, until it is answered 204.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use greendot_engine::server::{LastSeen, NotStored, Presence};
use serde_json::{Map, Value, json};

/// The routes. Without the secret, if there is one, everything is answered 401.
pub(crate) fn router(presence: Presence, secret: Option<String>) -> Router {
    let routes = Router::new()
        .route("/audience-changed", post(audience_changed))
        .route("/block", post(block))
        .route("/last-seen", post(last_seen))
        .route("/revoke", post(revoke))
        .route("/reinstate", post(reinstate))
        .route("/end-session", post(end_session))
        .route("/audience", get(audience))
        .with_state(presence);
    let Some(secret) = secret.map(Arc::<str>::from) else { return routes };
    routes.layer(from_fn(move |request: Request, next: Next| {
        let secret = Arc::clone(&secret);
        async move { if knows(&request, &secret) { next.run(request).await } else { unknown() } }
    }))
}

fn unknown() -> Response {
    let text = "send the secret of --control-secret as `Authorization: Bearer SECRET`\n";
    (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")], text).into_response()
}

/// Whether it comes with the secret. How much of a wrong one is right is not in the time that it takes.
fn knows(request: &Request, secret: &str) -> bool {
    let shown = request.headers().get(header::AUTHORIZATION).map(|it| it.as_bytes());
    let shown = shown.and_then(|it| it.strip_prefix(b"Bearer ")).unwrap_or_default();
    let differs =
        shown.iter().zip(secret.as_bytes()).fold(0, |all, (one, other)| all | (one ^ other));
    shown.len() == secret.len() && differs == 0
}

/// What was said, as names and values.
struct Said(Map<String, Value>);

/// Why it is not done.
enum Wrong {
    /// It is not said right.
    Said(String),
    /// It is done here, and lost if this node dies.
    NotStored(NotStored),
}

impl IntoResponse for Wrong {
    fn into_response(self) -> Response {
        match self {
            Self::Said(text) => (StatusCode::BAD_REQUEST, text + "\n").into_response(),
            Self::NotStored(error) => {
                (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")).into_response()
            }
        }
    }
}

impl From<NotStored> for Wrong {
    fn from(error: NotStored) -> Self {
        Self::NotStored(error)
    }
}

impl Said {
    /// Reads it; only these names may stand there.
    fn read(body: &[u8], names: &[&str]) -> Result<Self, Wrong> {
        let said: Map<String, Value> = serde_json::from_slice(body)
            .map_err(|error| Wrong::Said(format!("the body is no JSON object: {error}")))?;
        match said.keys().find(|it| !names.contains(&it.as_str())) {
            Some(name) => {
                Err(Wrong::Said(format!("{name:?} is not known here; names are {names:?}")))
            }
            None => Ok(Self(said)),
        }
    }

    /// A text that may be absent.
    fn maybe(&self, name: &str) -> Result<Option<&str>, Wrong> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if !text.is_empty() => Ok(Some(text)),
            Some(other) => Err(Wrong::Said(format!("{name} is {other}; it must be a text"))),
        }
    }

    fn text(&self, name: &str) -> Result<&str, Wrong> {
        self.maybe(name)?.ok_or_else(|| Wrong::Said(format!("{name} is missing")))
    }
}

type Done = Result<StatusCode, Wrong>;

const DONE: Done = Ok(StatusCode::NO_CONTENT);

async fn audience_changed(State(presence): State<Presence>, body: Bytes) -> Done {
    let said = Said::read(&body, &["user", "viewer"])?;
    presence.audience_changed(said.maybe("user")?, said.maybe("viewer")?);
    DONE
}

async fn block(State(presence): State<Presence>, body: Bytes) -> Done {
    let said = Said::read(&body, &["user", "viewer", "blocked"])?;
    let Some(blocked) = said.0.get("blocked").and_then(Value::as_bool) else {
        return Err(Wrong::Said("blocked must be true or false".into()));
    };
    let user = said.text("user")?;
    presence.set_block(user, said.text("viewer")?, blocked);
    presence.stored(user).await?;
    DONE
}

async fn last_seen(State(presence): State<Presence>, body: Bytes) -> Done {
    let said = Said::read(&body, &["user", "as"])?;
    let wish = match said.text("as")? {
        "exact" => LastSeen::Exact,
        "delayed" => LastSeen::Delayed,
        "rounded" => LastSeen::Rounded,
        "words" => LastSeen::Words,
        "never" => LastSeen::Never,
        other => {
            return Err(Wrong::Said(format!(
                "as is {other:?}; it may be exact, delayed, rounded, words or never"
            )));
        }
    };
    let user = said.text("user")?;
    presence.set_last_seen(user, wish);
    presence.stored(user).await?;
    DONE
}

async fn revoke(State(presence): State<Presence>, body: Bytes) -> Done {
    let said = Said::read(&body, &["user"])?;
    let user = said.text("user")?;
    presence.revoke(user);
    presence.stored(user).await?;
    DONE
}

async fn reinstate(State(presence): State<Presence>, body: Bytes) -> Done {
    let said = Said::read(&body, &["user"])?;
    let user = said.text("user")?;
    presence.reinstate(user);
    presence.stored(user).await?;
    DONE
}

async fn end_session(State(presence): State<Presence>, body: Bytes) -> Done {
    let said = Said::read(&body, &["user", "session"])?;
    presence.end_session(said.text("user")?, said.text("session")?);
    DONE
}

async fn audience(State(presence): State<Presence>) -> String {
    let counts = presence.audience_counts();
    let told = json!({
        "pairs": counts.pairs,
        "failures": counts.failures,
        "room_failures": counts.room_failures,
    });
    format!("{told}\n")
}
