//! How an engine is put together.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::{SystemTime, UNIX_EPOCH};

use greendot_protocol::Epoch;
use thiserror::Error;
use tokio::sync::{Notify, Semaphore, broadcast, mpsc};

use super::audience::{AnyAudience, Audience};
use super::auth::AnyAuthenticate;
use super::driver::{Asks, Driver};
use super::limits::Limits;
use super::meter::Meter;
use super::origin::Origins;
use super::presence::{Presence, Shared};
use super::upgrade::OVERFLOW;
use crate::clock::Clock;
use crate::core::{Node, Settings, SettingsError, Start};
use crate::store::FromStore;
#[cfg(feature = "redis")]
use crate::store::{NodeId, redis::RedisStore};

/// Settings of an engine to be. See [`Presence::builder`].
pub struct Builder {
    authenticator: Box<dyn AnyAuthenticate>,
    settings: Settings,
    limits: Limits,
    start: Start,
    transitions: usize,
    audience: Option<Arc<dyn AnyAudience>>,
    origins: Vec<String>,
    #[cfg(feature = "redis")]
    redis: Option<RedisStore>,
}

/// Why an engine could not be started.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The periods contradict each other.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// A limit is zero or too large to count to.
    #[error("the limit {name} is {value}; it must be from 1 to {most}")]
    Limit {
        /// The field of [`Limits`].
        name: &'static str,
        /// Its value.
        value: usize,
        /// The most it can be.
        most: usize,
    },
    /// Users are known by headers, and nobody said which pages may connect.
    #[error(
        "the authenticator looks at the request's headers, and a browser sends a site's cookies \
         along with any page's request: say by allow_origins which pages may connect"
    )]
    NoOrigins,
    /// What was to be allowed is no origin.
    #[error("{0:?} is no origin: give scheme and host alone, as in \"https://chat.example\"")]
    Origin(String),
    /// A shared store is named, and not opened.
    #[error("a shared store is named: start the engine with open().await")]
    Unopened,
    /// There is no tokio runtime to run on.
    #[error("no tokio runtime: build the engine inside one, as in a function under #[tokio::main]")]
    NoRuntime,
}

/// Why an engine that shares its users could not be started.
#[cfg(feature = "redis")]
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// What was asked for cannot be.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The shared store could not be opened.
    #[error(transparent)]
    Store(#[from] crate::store::redis::OpenError),
}

impl Builder {
    pub(super) fn new(authenticator: Box<dyn AnyAuthenticate>) -> Self {
        Self {
            authenticator,
            settings: Settings::default(),
            limits: Limits::default(),
            start: Start::AfterLoss,
            transitions: 1024,
            audience: None,
            origins: Vec::new(),
            #[cfg(feature = "redis")]
            redis: None,
        }
    }

    /// The periods. Default: [`Settings::default`].
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// The bounds on what strangers can do. Default: [`Limits::default`].
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// What may be assumed of the time before. By default that somebody may have been there: users
    /// not heard from are `unknown` until `ttl + grace` have passed. [`Start::Fresh`] is for the
    /// first start ever, and for tests.
    #[must_use]
    pub fn start(mut self, start: Start) -> Self {
        self.start = start;
        self
    }

    /// Who says who may see whom, and who may join which room. Without one everybody sees everybody
    /// who does not hide.
    #[must_use]
    pub fn audience(mut self, audience: impl Audience) -> Self {
        self.audience = Some(Arc::new(audience));
        self
    }

    /// Which pages may connect, by their origin (`https://chat.example`, with the port if it is not
    /// the usual one): others are answered 403. Needed where users are known by cookies; without
    /// it any page may, as its token says who it is. Programs that are no browsers send no origin,
    /// and are let pass.
    #[must_use]
    pub fn allow_origins<O: Into<String>>(mut self, origins: impl IntoIterator<Item = O>) -> Self {
        self.origins.extend(origins.into_iter().map(Into::into));
        self
    }

    /// How many transitions a reader of [`Presence::transitions`] may fall behind. Default 1,024.
    #[must_use]
    pub fn transitions_buffer(mut self, transitions: usize) -> Self {
        self.transitions = transitions;
        self
    }

    /// Shares users with other nodes through a Redis. Start the engine with [`Self::open`] then.
    #[cfg(feature = "redis")]
    #[must_use]
    pub fn redis(mut self, store: RedisStore) -> Self {
        self.redis = Some(store);
        self
    }

    /// Opens the shared store, if one is named, and starts the engine on the current tokio runtime.
    ///
    /// # Errors
    ///
    /// If the store cannot be opened, or as [`Self::build`].
    #[cfg(feature = "redis")]
    pub async fn open(mut self) -> Result<Presence, OpenError> {
        let Some(store) = self.redis.take() else { return Ok(self.build()?) };
        let settings = self.checked_settings()?;
        let id = NodeId(draw());
        let fresh = self.start == Start::Fresh;
        let (handle, said) = store.open(id, &settings, fresh).await?;
        let clock = Clock::start();
        let node =
            Node::with_store(settings, clock.now(), id, true, draw()).map_err(BuildError::from)?;
        let asks: Asks = Box::new(move |now, number, request| {
            if !handle.ask(clock.moment_of(now).into_std(), number, request) {
                super::metrics::dropped();
            }
        });
        Ok(self.start_with(clock, node, Some((asks, said)))?)
    }

    /// Starts the engine on the current tokio runtime.
    ///
    /// # Errors
    ///
    /// If the settings or limits cannot work, there is no runtime, or a shared store is named.
    pub fn build(self) -> Result<Presence, BuildError> {
        #[cfg(feature = "redis")]
        if self.redis.is_some() {
            return Err(BuildError::Unopened);
        }
        let settings = self.checked_settings()?;
        let clock = Clock::start();
        let node = Node::new(
            settings,
            clock.now(),
            Epoch(draw() as u32),
            wall_clock_micros(),
            draw(),
            self.start,
        )?;
        self.start_with(clock, node, None)
    }

    /// The settings of the node to be, as far as they can be checked before it starts.
    fn checked_settings(&self) -> Result<Settings, BuildError> {
        let limits = self.limits;
        check("connections", limits.connections, u32::MAX as usize)?;
        check("unauthenticated", limits.unauthenticated, Semaphore::MAX_PERMITS)?;
        check("transitions_buffer", self.transitions, usize::MAX / 4)?;
        let mut settings = self.settings;
        if self.audience.is_some() {
            settings.audience.get_or_insert_default();
            settings.asks_rooms = true;
        }
        settings.check()?;
        if tokio::runtime::Handle::try_current().is_err() {
            return Err(BuildError::NoRuntime);
        }
        Ok(settings)
    }

    fn start_with(
        self,
        clock: Clock,
        node: Node,
        store: Option<(Asks, mpsc::UnboundedReceiver<FromStore>)>,
    ) -> Result<Presence, BuildError> {
        let limits = self.limits;
        let origins = Origins::new(&self.origins).map_err(BuildError::Origin)?;
        let origins = (!self.origins.is_empty()).then_some(origins);
        if origins.is_none() && self.authenticator.looks_at_headers() {
            return Err(BuildError::NoOrigins);
        }
        let (transitions, _) = broadcast::channel(self.transitions);
        Ok(Presence::new(Shared {
            clock,
            driver: Driver::start(clock, node, transitions.clone(), self.audience, store),
            authenticator: self.authenticator,
            origins,
            limits,
            pollers: Meter::new(limits.polls_per_second, limits.poll_burst),
            namers: Meter::new(limits.names_per_second, limits.name_burst),
            open: AtomicUsize::new(0),
            ended: Notify::new(),
            unauthenticated: Arc::new(Semaphore::new(limits.unauthenticated)),
            overflow: Arc::new(Semaphore::new(OVERFLOW)),
            transitions,
        }))
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("settings", &self.settings)
            .field("limits", &self.limits)
            .field("start", &self.start)
            .finish_non_exhaustive()
    }
}

fn check(name: &'static str, value: usize, most: usize) -> Result<(), BuildError> {
    if value == 0 || value > most {
        return Err(BuildError::Limit { name, value, most });
    }
    Ok(())
}

/// A number that nobody can guess: it keys the hashes, and tells this start's epoch from others'.
#[expect(clippy::disallowed_methods, reason = "the driver draws the seed that the core takes")]
fn draw() -> u64 {
    RandomState::new().hash_one(0u8)
}

/// Generations start here: above those of any earlier start, as long as fewer than a million
/// sessions a second connected all along.
#[expect(clippy::disallowed_methods, reason = "the driver is where time comes from")]
fn wall_clock_micros() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(0)
}
