//! An audience behind an address: the application is asked over HTTP.
//!
//! What is to be asked while questions are under way is gathered, and goes in one. So however many people come at once, the application
//! has no more than a few questions to answer at a time.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, Request, Uri, header};
use greendot_protocol::{Span, Time};
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tracing::{info, warn};

use super::{Audience, Pair};
use crate::clock::{Clock, timeout};
use crate::core::Fineness;
use crate::server::http::Caller;

/// Questions under way at a time.
const AT_ONCE: usize = 4;

/// Pairs and joins in one question; what was asked together stays together, and may be as many itself.
const BATCH: usize = 1_000;

/// Pairs and joins that may wait to be asked; more have failed.
const WAITING: usize = 200_000;

/// The largest answer, in bytes.
const SIZE: usize = 1024 * 1024;

/// How often a failure is told of.
const TELL: Span = Span::from_secs(60);

/// Asks an application over HTTP who may see whom, and who may be in which room. Only `http` is spoken, without TLS: the
/// application is on the same machine, or in the same closed network.
///
/// ```text
/// POST /may-see HTTP/1.1
/// Authorization: Bearer s3cret
///
/// {"look":[{"viewer":"bo","user":"ana"},{"viewer":"bo","user":"cy"}],"join":[{"user":"bo","room":"page"}]}
///
/// HTTP/1.1 200 OK
///
/// {"look":["live","nothing"],"join":[true]}
/// ```
///
/// Both lists are answered in their order. The words are `live`, `last_seen` and `nothing` ([`Fineness`]), and for joins true and
/// false. An answer that has anything else in it, that is short or late, or whose status is not 200, has failed: nothing is shown of
/// whom it was about, the log says so, and it is asked again. What was said is kept as
/// [`AudienceRule`](crate::core::AudienceRule) says.
#[derive(Clone, Debug)]
pub struct HttpAudience(Arc<Inner>);

/// Why an application cannot be asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallbackError {
    /// The address is no `http` address with a host.
    #[error(
        "{0:?} is no address to ask: give one as in http://127.0.0.1:8000/may-see. Only http:// is spoken \
         here, without TLS; where the application is elsewhere, put a proxy between that does"
    )]
    Address(String),
    /// The secret cannot be sent in a header.
    #[error("the secret for the application has characters that a header cannot have")]
    Secret,
}

#[derive(Debug)]
struct Inner {
    address: Uri,
    secret: Option<HeaderValue>,
    patience: Duration,
    clock: Clock,
    queue: Mutex<Queue>,
    /// One for each question that may be under way.
    permits: Arc<Semaphore>,
    /// Connections at rest.
    resting: Mutex<Vec<Caller>>,
    fails: AtomicBool,
    told: Mutex<Option<Time>>,
}

#[derive(Debug, Default)]
struct Queue {
    asked: VecDeque<Asked>,
    weight: usize,
}

#[derive(Debug)]
enum Asked {
    Look(Vec<Pair>, oneshot::Sender<Vec<Fineness>>),
    Join { user: String, room: String, answer: oneshot::Sender<Option<bool>> },
}

impl Asked {
    fn weight(&self) -> usize {
        match self {
            Self::Look(pairs, _) => pairs.len(),
            Self::Join { .. } => 1,
        }
    }
}

impl HttpAudience {
    /// Asks at this address, with a secret as the bearer if there is one; each question may take so long. Nothing is asked
    /// yet.
    ///
    /// # Errors
    ///
    /// If the address or the secret cannot be used.
    pub fn new(
        address: &str,
        secret: Option<&str>,
        patience: Duration,
    ) -> Result<Self, CallbackError> {
        let no_address = || CallbackError::Address(address.into());
        let uri: Uri = address.parse().map_err(|_| no_address())?;
        if uri.scheme_str() != Some("http") || uri.host().is_none_or(str::is_empty) {
            return Err(no_address());
        }
        let bearer = |secret: &str| {
            let mut value = HeaderValue::from_str(&format!("Bearer {secret}"))
                .map_err(|_| CallbackError::Secret)?;
            value.set_sensitive(true);
            Ok(value)
        };
        Ok(Self(Arc::new(Inner {
            address: uri,
            secret: secret.map(bearer).transpose()?,
            patience,
            clock: Clock::start(),
            queue: Mutex::default(),
            permits: Arc::new(Semaphore::new(AT_ONCE)),
            resting: Mutex::default(),
            fails: AtomicBool::new(false),
            told: Mutex::default(),
        })))
    }

    fn put(&self, asked: Asked) {
        {
            let mut queue = self.0.queue.lock().unwrap_or_else(PoisonError::into_inner);
            if queue.weight + asked.weight() > WAITING {
                // Its asker learns of it by the end of its channel.
                return;
            }
            queue.weight += asked.weight();
            queue.asked.push_back(asked);
        }
        self.begin();
    }

    /// Begins to ask what waits, if as much more may be under way.
    #[expect(clippy::disallowed_methods, reason = "the driver is where tasks are started")]
    fn begin(&self) {
        if let Ok(permit) = Arc::clone(&self.0.permits).try_acquire_owned() {
            tokio::spawn(self.clone().run(permit));
        }
    }

    async fn run(self, permit: OwnedSemaphorePermit) {
        loop {
            let batch = self.0.take();
            if batch.is_empty() {
                break;
            }
            self.0.ask(batch).await;
        }
        drop(permit);
        // What came after the last look found no permit.
        if !self.0.is_idle() {
            self.begin();
        }
    }
}

impl Audience for HttpAudience {
    async fn look(&self, pairs: &[Pair]) -> Vec<Fineness> {
        let (answer, answered) = oneshot::channel();
        self.put(Asked::Look(pairs.to_vec(), answer));
        answered.await.unwrap_or_default()
    }

    async fn may_join(&self, user: &str, room: &str) -> Option<bool> {
        let (answer, answered) = oneshot::channel();
        self.put(Asked::Join { user: user.into(), room: room.into(), answer });
        answered.await.ok().flatten()
    }
}

impl Inner {
    fn is_idle(&self) -> bool {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).asked.is_empty()
    }

    /// As much as one question holds.
    fn take(&self) -> Vec<Asked> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let mut batch = Vec::new();
        let mut weight = 0;
        while let Some(next) = queue.asked.front()
            && (batch.is_empty() || weight + next.weight() <= BATCH)
        {
            weight += next.weight();
            batch.extend(queue.asked.pop_front());
        }
        queue.weight -= weight;
        batch
    }

    async fn ask(&self, batch: Vec<Asked>) {
        let mut look = Vec::new();
        let mut join = Vec::new();
        for asked in &batch {
            match asked {
                Asked::Look(pairs, _) => {
                    look.extend(
                        pairs.iter().map(|it| json!({ "viewer": *it.viewer, "user": *it.user })),
                    );
                }
                Asked::Join { user, room, .. } => {
                    join.push(json!({ "user": user, "room": room }));
                }
            }
        }
        let (looks, joins) = (look.len(), join.len());
        let body = json!({ "look": look, "join": join }).to_string();
        let said = timeout(self.patience, self.call(body)).await;
        let said = said.unwrap_or_else(|| Err(format!("no answer within {:?}", self.patience)));
        let said = said.and_then(|text| Said::read(&text, looks, joins));
        self.tell(said.as_ref().err());
        let Ok(said) = said else { return };
        let (mut look, mut join) = (said.look.into_iter(), said.join.into_iter());
        for asked in batch {
            match asked {
                Asked::Look(pairs, answer) => {
                    // Whoever asked may have given up: no error.
                    _ = answer.send(look.by_ref().take(pairs.len()).collect());
                }
                Asked::Join { answer, .. } => _ = answer.send(join.next()),
            }
        }
    }

    /// One question, on a connection at rest if there is one.
    async fn call(&self, body: String) -> Result<String, String> {
        let rested = self.resting.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(mut caller) = rested.filter(|it| !it.is_closed())
            && let Ok(said) = self.call_on(&mut caller, body.clone()).await
        {
            self.rest(caller);
            return Ok(said);
        }
        // One that has rested may have been closed at that moment: once more on one that is new.
        let mut caller = Caller::connect(&self.address).await?;
        let said = self.call_on(&mut caller, body).await?;
        self.rest(caller);
        Ok(said)
    }

    async fn call_on(&self, caller: &mut Caller, body: String) -> Result<String, String> {
        let mut request = Request::post(self.address.clone())
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(body))
            .map_err(|error| error.to_string())?;
        if let Some(secret) = &self.secret {
            request.headers_mut().insert(header::AUTHORIZATION, secret.clone());
        }
        caller.ask(request, SIZE).await
    }

    fn rest(&self, caller: Caller) {
        self.resting.lock().unwrap_or_else(PoisonError::into_inner).push(caller);
    }

    /// Says in the log what has failed, now and then, and that it is well again.
    fn tell(&self, failure: Option<&String>) {
        let Some(failure) = failure else {
            if self.fails.swap(false, Ordering::Relaxed) {
                info!("the audience at {} answers again", self.address);
            }
            return;
        };
        let now = self.clock.now();
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let first = !self.fails.swap(true, Ordering::Relaxed);
        if first || told.is_none_or(|at| now >= at + TELL) {
            *told = Some(now);
            warn!(
                "the audience at {} fails: {failure}. Nothing is shown of whom it was asked about, and it is asked \
                 again",
                self.address
            );
        }
    }
}

/// What an application said.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    look: Vec<Fineness>,
    join: Vec<bool>,
}

impl Said {
    /// Reads an answer to so many looks and joins: all of it is good, or none.
    fn read(text: &str, looks: usize, joins: usize) -> Result<Self, String> {
        let said: Value = serde_json::from_str(text)
            .map_err(|error| format!("the answer is no JSON object with look and join: {error}"))?;
        let list = |name: &str, many: usize| match said.get(name).and_then(Value::as_array) {
            Some(list) if list.len() == many => Ok(list.clone()),
            Some(list) => Err(format!("{name} has {} answers to {many} questions", list.len())),
            None if many == 0 => Ok(Vec::new()),
            None => Err(format!("the answer has no list named {name}")),
        };
        let (look, join) = (list("look", looks)?, list("join", joins)?);
        let fineness = |it: &Value| match it.as_str() {
            Some("live") => Ok(Fineness::Live),
            Some("last_seen") => Ok(Fineness::LastSeen),
            Some("nothing") => Ok(Fineness::Nothing),
            _ => Err(format!("look has {it}; it may have live, last_seen and nothing")),
        };
        let may = |it: &Value| {
            it.as_bool().ok_or_else(|| format!("join has {it}; it may have true and false"))
        };
        Ok(Self {
            look: look.iter().map(fineness).collect::<Result<_, _>>()?,
            join: join.iter().map(may).collect::<Result<_, _>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_whole_or_not_at_all() {
        let text = r#"{"look":["live","last_seen","nothing"],"join":[true,false]}"#;
        let look = vec![Fineness::Live, Fineness::LastSeen, Fineness::Nothing];
        assert_eq!(Said::read(text, 3, 2), Ok(Said { look, join: vec![true, false] }));
        assert!(Said::read("{}", 0, 0).is_ok());
        for (text, looks, joins, why) in [
            ("", 1, 0, "no JSON"),
            ("[]", 1, 0, "no list named look"),
            (r#"{"look":"live"}"#, 1, 0, "no list named look"),
            (r#"{"look":["live"]}"#, 2, 0, "1 answers to 2"),
            (r#"{"look":["live"]}"#, 1, 1, "no list named join"),
            (r#"{"look":["live","all"]}"#, 2, 0, "look has \"all\""),
            (r#"{"look":[null]}"#, 1, 0, "look has null"),
            (r#"{"join":[1]}"#, 0, 1, "join has 1"),
        ] {
            let error = Said::read(text, looks, joins).expect_err(text);
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn addresses_that_cannot_be_asked_are_refused() {
        for address in ["", "127.0.0.1:80", "https://app.example/", "http://", "ftp://a/"] {
            let refused =
                HttpAudience::new(address, None, Duration::from_secs(1)).expect_err(address);
            assert!(refused.to_string().contains("http://"), "{refused}");
        }
        let secret = HttpAudience::new("http://a/", Some("a\nb"), Duration::from_secs(1));
        assert_eq!(secret.expect_err("a line"), CallbackError::Secret);
    }
}
