//! Where keys come from, and when they are read again.
//!
//! Nothing runs in the background: whoever checks a token looks first whether the keys are due. A file
//! is read again when it has changed, an address when its answer has grown old, and both when a token
//! names a key that is not there, all of it at a bounded rate. What can't be read leaves the old keys in
//! force: a key server that is down puts nobody out.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use axum::body::Body;
use axum::http::{Request, Uri};
use greendot_protocol::{Span, Time};
use tracing::{info, warn};

use super::keys::{BadKeys, KeySet};
use crate::clock::{Clock, timeout};
use crate::server::http::Caller;

/// How often it is looked whether a file has changed.
const LOOK: Span = Span::from_secs(5);

/// How old the answer of an address may grow.
const LIFETIME: Span = Span::from_secs(600);

/// How often an address is read because a token names a key that is not there, or because the last
/// reading failed. A file is looked at once a second: that costs next to nothing.
const ASK: Span = Span::from_secs(10);
const LOOK_AT_MOST: Span = Span::from_secs(1);

/// The largest file or answer, in bytes.
const SIZE: usize = 256 * 1024;

/// How long an address may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why keys could not be had.
#[derive(Debug, thiserror::Error)]
#[error("the {what} {from} can't be used: {reason}")]
pub struct KeysError {
    what: &'static str,
    from: String,
    reason: String,
}

/// What the file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Pem,
    Secret,
    Jwks,
}

impl Form {
    fn name(self) -> &'static str {
        match self {
            Self::Pem => "key file",
            Self::Secret => "secret file",
            Self::Jwks => "key set",
        }
    }

    fn read(self, text: &str) -> Result<KeySet, BadKeys> {
        match self {
            Self::Pem => KeySet::from_pem(text),
            Self::Secret => KeySet::from_secret(text),
            Self::Jwks => KeySet::from_jwks(text),
        }
    }
}

/// Keys and the place they come from.
#[derive(Debug)]
pub(super) struct Source {
    form: Form,
    place: Place,
    clock: Clock,
    held: Mutex<Held>,
    /// Held by whoever reads them again, so that it is done once.
    reading: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
enum Place {
    File(PathBuf),
    Address(Uri),
}

#[derive(Debug)]
struct Held {
    keys: Arc<KeySet>,
    stamp: Option<Stamp>,
    /// When it was last looked whether there are others, and when that is due again.
    looked: Time,
    due: Time,
}

/// Whether there are other keys than those that a token does not fit.
#[derive(Debug)]
pub(super) enum Others {
    New(Arc<KeySet>),
    None,
    /// It was looked for them a moment ago, or it can't be.
    NotNow,
}

/// What tells two states of a file apart without reading it.
type Stamp = (SystemTime, u64);

impl Source {
    pub(super) fn file(form: Form, path: &Path) -> Result<Self, KeysError> {
        let place = Place::File(path.into());
        let (text, stamp) = read_file(path).map_err(|reason| place.error(form, reason))?;
        Self::new(form, place, &text, Some(stamp))
    }

    pub(super) async fn address(form: Form, uri: Uri) -> Result<Self, KeysError> {
        let place = Place::Address(uri.clone());
        if uri.scheme_str() != Some("http") {
            return Err(place.error(
                form,
                "only http:// is spoken here, without TLS: for an https:// address have its answer \
                 put into a file now and then (`curl -fsS URL -o FILE.new && mv FILE.new FILE`) and \
                 give the file, which is read again when it changes"
                    .into(),
            ));
        }
        let text = fetch(&uri).await.map_err(|reason| place.error(form, reason))?;
        Self::new(form, place, &text, None)
    }

    fn new(form: Form, place: Place, text: &str, stamp: Option<Stamp>) -> Result<Self, KeysError> {
        let keys = form.read(text).map_err(|bad| place.error(form, bad.to_string()))?;
        let clock = Clock::start();
        let looked = clock.now();
        let held = Held { keys: Arc::new(keys), stamp, looked, due: looked + place.lifetime() };
        Ok(Self { form, place, clock, held: Mutex::new(held), reading: Default::default() })
    }

    /// The keys, read again if that is due.
    pub(super) async fn keys(&self) -> Arc<KeySet> {
        if self.with(|it| it.due) <= self.clock.now()
            && let Ok(_reading) = self.reading.try_lock()
        {
            // Others go on with the old ones meanwhile.
            self.read_again().await;
        }
        self.with(|it| Arc::clone(&it.keys))
    }

    /// Whether there are other keys, because a token fits none of these.
    pub(super) async fn others_than(&self, old: &Arc<KeySet>) -> Others {
        let _reading = self.reading.lock().await;
        let new = || self.with(|it| (!Arc::ptr_eq(&it.keys, old)).then(|| Arc::clone(&it.keys)));
        if let Some(keys) = new() {
            return Others::New(keys);
        }
        if self.clock.now() < self.with(|it| it.looked) + self.place.at_most() {
            return Others::NotNow;
        }
        match self.read_again().await {
            true => new().map_or(Others::None, Others::New),
            false => Others::NotNow,
        }
    }

    /// Reads the keys again, if they may have changed. Tells whether that could be done.
    async fn read_again(&self) -> bool {
        let read = match &self.place {
            Place::File(path) => {
                let stamp = self.with(|it| it.stamp);
                let path = path.clone();
                in_background(move || match stamp_of(&path) {
                    // Unchanged.
                    Ok(now) if Some(now) == stamp => Ok(None),
                    _ => read_file(&path).map(|(text, stamp)| Some((text, Some(stamp)))),
                })
                .await
            }
            Place::Address(uri) => fetch(uri).await.map(|text| Some((text, None))),
        };
        let read = read.and_then(|it| match it {
            None => Ok(None),
            Some((text, stamp)) => match self.form.read(&text) {
                Ok(keys) => Ok(Some((keys, stamp))),
                Err(bad) => Err(bad.to_string()),
            },
        });
        let now = self.clock.now();
        let wait = if read.is_ok() { self.place.lifetime() } else { self.place.at_most() };
        let done = read.is_ok();
        match read {
            Ok(Some((keys, stamp))) => {
                self.with(|it| (it.keys, it.stamp) = (Arc::new(keys), stamp));
                info!("the {} {} was read again", self.form.name(), self.place);
            }
            Ok(None) => {}
            Err(reason) => {
                let error = self.place.error(self.form, reason);
                warn!("{error}; the keys read before stay in force");
            }
        }
        self.with(|it| (it.looked, it.due) = (now, now + wait));
        done
    }

    fn with<R>(&self, look: impl FnOnce(&mut Held) -> R) -> R {
        look(&mut self.held.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Place {
    /// How old what was read may grow.
    fn lifetime(&self) -> Span {
        match self {
            Self::File(_) => LOOK,
            Self::Address(_) => LIFETIME,
        }
    }

    /// How often it is read out of turn.
    fn at_most(&self) -> Span {
        match self {
            Self::File(_) => LOOK_AT_MOST,
            Self::Address(_) => ASK,
        }
    }

    fn error(&self, form: Form, reason: String) -> KeysError {
        KeysError { what: form.name(), from: self.to_string(), reason }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Address(uri) => uri.fmt(f),
        }
    }
}

/// What is at an address now.
async fn fetch(uri: &Uri) -> Result<String, String> {
    let request = Request::get(uri.clone()).body(Body::empty()).map_err(|it| it.to_string())?;
    timeout(PATIENCE, async { Caller::connect(uri).await?.ask(request, SIZE).await })
        .await
        .unwrap_or_else(|| Err(format!("no answer within {} s", PATIENCE.as_secs())))
}

fn stamp_of(path: &Path) -> Result<Stamp, String> {
    let of = || {
        let it = std::fs::metadata(path)?;
        Ok((it.modified()?, it.len()))
    };
    of().map_err(|error: std::io::Error| format!("{error}; check the path and its permissions"))
}

fn read_file(path: &Path) -> Result<(String, Stamp), String> {
    // Taken before the text: a change in between is seen at the next look.
    let stamp = stamp_of(path)?;
    if stamp.1 > SIZE as u64 {
        return Err(format!("it has {} bytes; at most {SIZE} are read", stamp.1));
    }
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("{error}; check the path and its permissions"))?;
    Ok((text, stamp))
}

/// Does what may block where it blocks nobody.
#[expect(clippy::disallowed_methods, reason = "the driver is where tasks are started")]
async fn in_background<R: Send + 'static>(
    work: impl FnOnce() -> Result<R, String> + Send + 'static,
) -> Result<R, String> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(error.to_string()))
}
