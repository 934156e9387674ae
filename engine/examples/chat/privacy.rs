//! Each person's choices of who sees them, and how exactly: told to the engine, and remembered for
//! the page to show.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use greendot_engine::core::LastSeen;
use greendot_engine::server::Presence;
use serde::{Deserialize, Serialize};

use super::{Refusal, Who, known};

pub(super) fn router(presence: Presence) -> Router {
    Router::new()
        .route("/api/privacy", get(shown))
        .route("/api/privacy/hide", post(hide))
        .route("/api/privacy/last-seen", post(last_seen))
        .with_state(Arc::new(Desk { presence, choices: Mutex::default() }))
}

struct Desk {
    presence: Presence,
    choices: Mutex<HashMap<&'static str, Choices>>,
}

/// What one person has chosen; as long as the engine remembers it, which is as long as this runs.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Choices {
    last_seen: Wish,
    hidden_from: BTreeSet<&'static str>,
}

/// How exactly others see when one was there last.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Wish {
    #[default]
    Exact,
    Delayed,
    Rounded,
    Words,
    Never,
}

impl From<Wish> for LastSeen {
    fn from(wish: Wish) -> Self {
        match wish {
            Wish::Exact => Self::Exact,
            Wish::Delayed => Self::Delayed,
            Wish::Rounded => Self::Rounded,
            Wish::Words => Self::Words,
            Wish::Never => Self::Never,
        }
    }
}

#[derive(Debug, Deserialize)]
struct Hide {
    user: String,
    from: String,
    hidden: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct HowSeen {
    user: String,
    last_seen: Wish,
}

impl Desk {
    /// Changes a person's choices and tells the engine, both under one lock: two changes at once
    /// end alike in both.
    fn change(&self, user: &'static str, change: impl FnOnce(&mut Choices, &Presence)) -> Choices {
        let mut all = self.choices.lock().unwrap_or_else(PoisonError::into_inner);
        let choices = all.entry(user).or_default();
        change(choices, &self.presence);
        choices.clone()
    }
}

async fn shown(
    State(desk): State<Arc<Desk>>,
    Query(who): Query<Who>,
) -> Result<Json<Choices>, Refusal> {
    Ok(Json(desk.change(known(&who.user)?, |_, _| {})))
}

async fn hide(
    State(desk): State<Arc<Desk>>,
    Json(asked): Json<Hide>,
) -> Result<Json<Choices>, Refusal> {
    let (user, from) = (known(&asked.user)?, known(&asked.from)?);
    if user == from {
        return Err((StatusCode::BAD_REQUEST, "nobody hides from themselves".into()));
    }
    Ok(Json(desk.change(user, |choices, presence| {
        if asked.hidden {
            choices.hidden_from.insert(from);
        } else {
            choices.hidden_from.remove(from);
        }
        presence.set_block(user, from, asked.hidden);
    })))
}

async fn last_seen(
    State(desk): State<Arc<Desk>>,
    Json(asked): Json<HowSeen>,
) -> Result<Json<Choices>, Refusal> {
    Ok(Json(desk.change(known(&asked.user)?, |choices, presence| {
        choices.last_seen = asked.last_seen;
        presence.set_last_seen(&asked.user, asked.last_seen.into());
    })))
}
