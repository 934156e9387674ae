//! Messages between two people, kept in memory while the demo runs.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::routing::get;
use axum::{Json, Router};
use futures_util::{Stream, StreamExt, stream};
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};

use super::{Refusal, Who, known};

/// Messages kept for pages whose line breaks for a moment.
const KEPT: usize = 200;

/// Bytes of text in one message.
const TEXT_BYTES: usize = 4 * 1024;

pub(super) fn router(stopped: watch::Receiver<()>) -> Router {
    let (sent, _) = broadcast::channel(KEPT);
    let log = Mutex::new(Log { kept: VecDeque::new(), last: wall_clock_millis() });
    Router::new().route("/api/messages", get(listen).post(send)).with_state(Arc::new(Chat {
        log,
        sent,
        stopped,
    }))
}

struct Chat {
    log: Mutex<Log>,
    sent: broadcast::Sender<Arc<Message>>,
    /// Ends when the demo stops.
    stopped: watch::Receiver<()>,
}

struct Log {
    kept: VecDeque<Arc<Message>>,
    /// The number of the newest message; starts at the time of day, so that a page that was there
    /// before a restart is not told of numbers it knows.
    last: u64,
}

#[derive(Debug, Serialize)]
struct Message {
    #[serde(skip)]
    number: u64,
    from: &'static str,
    to: &'static str,
    text: String,
    /// Milliseconds since 1970.
    at: u64,
}

#[derive(Debug, Deserialize)]
struct Draft {
    from: String,
    to: String,
    text: String,
}

impl Message {
    fn concerns(&self, user: &str) -> bool {
        self.from == user || self.to == user
    }

    fn event(&self) -> Event {
        let event = Event::default().id(self.number.to_string());
        event.json_data(self).unwrap_or_default()
    }
}

async fn send(
    State(chat): State<Arc<Chat>>,
    Json(draft): Json<Draft>,
) -> Result<StatusCode, Refusal> {
    let (from, to) = (known(&draft.from)?, known(&draft.to)?);
    if draft.text.trim().is_empty() || draft.text.len() > TEXT_BYTES {
        let text = format!("a message has 1 to {TEXT_BYTES} bytes of text");
        return Err((StatusCode::BAD_REQUEST, text));
    }
    let mut log = chat.log.lock().unwrap_or_else(PoisonError::into_inner);
    log.last += 1;
    let at = wall_clock_millis();
    let message = Arc::new(Message { number: log.last, from, to, text: draft.text, at });
    log.kept.push_back(Arc::clone(&message));
    if log.kept.len() > KEPT {
        log.kept.pop_front();
    }
    // Under the lock, so that nobody who starts to listen misses it or gets it twice.
    let _ = chat.sent.send(message);
    Ok(StatusCode::NO_CONTENT)
}

/// What is said from now on, and after a lost line what was said since then.
async fn listen(
    State(chat): State<Arc<Chat>>,
    Query(who): Query<Who>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Refusal> {
    let user = known(&who.user)?;
    let seen = headers.get("last-event-id").and_then(|it| it.to_str().ok()?.parse().ok());
    let seen: u64 = seen.unwrap_or(u64::MAX);
    let (before, sent): (Vec<_>, _) = {
        let log = chat.log.lock().unwrap_or_else(PoisonError::into_inner);
        let missed = log.kept.iter().filter(|it| it.number > seen);
        (missed.cloned().collect(), chat.sent.subscribe())
    };
    let live = stream::unfold(sent, |mut sent| async move {
        loop {
            match sent.recv().await {
                Ok(message) => return Some((message, sent)),
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
    });
    let mut stopped = chat.stopped.clone();
    let messages = stream::iter(before)
        .chain(live)
        .filter(move |it| std::future::ready(it.concerns(user)))
        .map(|it| Ok(it.event()))
        .take_until(async move { _ = stopped.changed().await });
    Ok(Sse::new(messages).keep_alive(KeepAlive::default()))
}

#[expect(clippy::disallowed_methods, reason = "people are shown the time of day")]
fn wall_clock_millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(0)
}
