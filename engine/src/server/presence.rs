//! The handle that an application holds.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::routing::{any, post};
use greendot_protocol::limits::NOTE_BYTES;
use greendot_protocol::{Mode, State};
use thiserror::Error;
use tokio::sync::{Notify, Semaphore, broadcast};

use super::auth::{AnyAuthenticate, Authenticate};
use super::beacon::closing;
use super::builder::Builder;
use super::driver::Driver;
use super::limits::Limits;
use super::meter::Meter;
use super::origin::Origins;
use super::poll::poll;
use super::transitions::Transitions;
use super::upgrade::upgrade;
use crate::clock::{Clock, timeout};
use crate::core::{AudienceCounts, LastSeen, NodeCounts, Transition};
use crate::store::{NodeId, Place as Whereabouts};

/// A store that has not answered by then is out of reach, and the node knows by itself.
const ANSWERED_WITHIN: Duration = Duration::from_secs(5);

/// A presence engine that runs: the application's handle to it. Cheap to clone; the engine stops
/// when the last handle, router and connection are gone.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), greendot_engine::server::BuildError> {
/// use greendot_engine::server::{DevAuth, Presence};
///
/// let presence = Presence::builder(DevAuth).build()?;
/// let app: axum::Router = axum::Router::new().nest("/presence", presence.router());
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Presence {
    shared: Arc<Shared>,
}

/// What the handle, the router and the connections share.
pub(super) struct Shared {
    pub(super) clock: Clock,
    pub(super) driver: Arc<Driver>,
    pub(super) authenticator: Box<dyn AnyAuthenticate>,
    /// Which pages may connect; none: any.
    pub(super) origins: Option<Origins>,
    pub(super) limits: Limits,
    /// How fast each user polls, and names others to watch.
    pub(super) pollers: Meter,
    pub(super) namers: Meter,
    /// Open connections.
    pub(super) open: AtomicUsize,
    /// Told whenever one has ended.
    pub(super) ended: Notify,
    /// One permit a connection whose token has not been checked.
    pub(super) unauthenticated: Arc<Semaphore>,
    /// One permit a connection that is being turned away.
    pub(super) overflow: Arc<Semaphore>,
    pub(super) transitions: broadcast::Sender<Transition>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// What everybody may see of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// The state.
    pub state: State,
    /// How long ago the user was last seen; only while offline, and none if never.
    pub last_seen: Option<Duration>,
    /// The user's note; empty if there is none, and while offline.
    pub note: String,
}

/// One session of a user, as it really is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Session {
    /// The node that holds it, as its own [`Presence::node`] names it.
    pub node: NodeId,
    /// Its id.
    pub id: String,
    /// Tells the connects of one id apart; a later one is higher.
    pub generation: u64,
    /// Whether its connection has ended and it still counts: nothing reaches it now.
    pub lingering: bool,
    /// Whether the person has not touched the device for a while.
    pub idle: bool,
    /// Whether it counts for nothing but itself, as one that only takes messages.
    pub passive: bool,
    /// When it ends if nothing more is heard of it. What another node has heard since it last told the shared store, at
    /// most two beats, is not in it.
    pub ends_in: Duration,
}

/// The shared store is out of reach: nobody can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "the shared store is out of reach, so nobody can say where a user is: ask again in a second"
)]
pub struct OutOfReach;

/// The shared store has not taken what was said of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "the shared store has not taken what was said of the user: this node keeps it and tells it when the store is back, but if \
     this node dies before, it is lost: say it again until it is taken"
)]
pub struct NotStored;

/// A note longer than the limit; the old one stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the note has {bytes} bytes; at most {NOTE_BYTES} are allowed: shorten it")]
pub struct NoteTooLong {
    /// Its length in bytes of UTF-8.
    pub bytes: usize,
}

impl Presence {
    /// Begins an engine that asks `authenticator` who a token's user is.
    pub fn builder(authenticator: impl Authenticate) -> Builder {
        Builder::new(Box::new(authenticator))
    }

    pub(super) fn new(shared: Shared) -> Self {
        Self { shared: Arc::new(shared) }
    }

    /// The routes, to be nested into an application: the WebSocket is at the nested root, and
    /// below it `closing`, for the beacon of a page that goes away, and `poll`, for those who cannot
    /// hold a connection.
    pub fn router<S: Clone + Send + Sync + 'static>(&self) -> Router<S> {
        Router::new()
            .route("/", any(upgrade))
            .route("/closing", post(closing))
            .route("/poll", any(poll))
            .with_state(Arc::clone(&self.shared))
    }

    /// What everybody may see of a user now, whichever node it is at.
    ///
    /// While the shared store is out of reach a node knows whom somebody there watches and who is connected there, and
    /// says [`State::Unknown`] of all others: that is not offline. An answer takes a round trip to the store, and no
    /// longer than 5 s; a node that works alone answers at once.
    pub async fn state(&self, user: &str) -> Status {
        match self.shared.driver.show(ANSWERED_WITHIN, user).await {
            Some(it) => {
                Status { state: it.state, last_seen: it.seen_ago.map(millis), note: it.note.into() }
            }
            None => Status { state: State::Unknown, last_seen: None, note: String::new() },
        }
    }

    /// A user's sessions over all nodes, live and lingering. Not for other users' eyes: it tells of the invisible.
    ///
    /// # Errors
    ///
    /// If the shared store cannot be asked now.
    pub async fn sessions(&self, user: &str) -> Result<Vec<Session>, OutOfReach> {
        let places = self.shared.driver.locate(ANSWERED_WITHIN, user).await.ok_or(OutOfReach)?;
        let session = |it: Whereabouts| Session {
            node: it.node,
            id: it.session.into(),
            generation: it.generation,
            lingering: it.lingering,
            idle: it.idle,
            passive: it.passive,
            ends_in: millis(it.ends_in),
        };
        Ok(places.into_iter().map(session).collect())
    }

    /// A user's sessions at this node, live and lingering: for who has a message to hand over here. It asks nobody. Not
    /// for other users' eyes: it tells of the invisible.
    pub fn sessions_here(&self, user: &str) -> Vec<Session> {
        let (now, node, held) = self
            .shared
            .driver
            .look(|now, node| (now, node.id().unwrap_or_default(), node.sessions(user)));
        held.into_iter()
            .map(|it| Session {
                node,
                id: it.view.session.into(),
                generation: it.view.generation,
                lingering: it.view.lingering,
                idle: it.view.idle,
                passive: it.view.passive,
                ends_in: millis(it.deadline.since(now)),
            })
            .collect()
    }

    /// This run of this node, as [`Self::where_is`] names it; 0 for a node that works alone.
    pub fn node(&self) -> NodeId {
        self.shared.driver.look(|_, node| node.id().unwrap_or_default())
    }

    /// Which nodes hold a connection of the user, each once: for those who deliver messages. An empty list says that
    /// nothing reaches the user now. Not for other users' eyes: it tells of the invisible.
    ///
    /// What it says may be over when it is read: hand a message to the nodes it names, and let each look into
    /// [`Self::sessions_here`] whether somebody is still there.
    ///
    /// # Errors
    ///
    /// If the shared store cannot be asked now.
    pub async fn where_is(&self, user: &str) -> Result<Vec<NodeId>, OutOfReach> {
        let sessions = self.sessions(user).await?;
        let connected = sessions.iter().filter(|it| !it.lingering).map(|it| it.node);
        Ok(connected.collect::<BTreeSet<_>>().into_iter().collect())
    }

    /// Waits until all that was said of a user at this node so far (a block, a revocation, a mode, a note, a wish about last
    /// seen) is in the shared store, and so holds at every node. At once on a node that works alone, which keeps it itself.
    ///
    /// While the store is out of reach this node keeps what was said, and tells the store, dated right, when it is back. If the
    /// node dies before, it is lost: nobody else knows of it. So an application that closes an account or blocks somebody asks
    /// this, and says it again, at any node, until it is taken; to say it twice does no harm.
    ///
    /// ```
    /// # use greendot_engine::server::{NotStored, Presence};
    /// # async fn ana_blocks_bo(presence: &Presence) -> Result<(), NotStored> {
    /// presence.set_block("ana", "bo", true);
    /// presence.stored("ana").await
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If the store has not taken it within 5 s, or is known to be out of reach.
    pub async fn stored(&self, user: &str) -> Result<(), NotStored> {
        let stored = self.shared.driver.confirm(ANSWERED_WITHIN, user).await;
        if stored { Ok(()) } else { Err(NotStored) }
    }

    /// Chooses how a user appears, as the user could do it.
    pub fn set_mode(&self, user: &str, mode: Mode) {
        self.shared.driver.with(|now, node| node.set_mode(now, user, mode));
    }

    /// Sets a user's note; empty takes it away.
    ///
    /// # Errors
    ///
    /// If it is too long.
    pub fn set_note(&self, user: &str, note: &str) -> Result<(), NoteTooLong> {
        self.shared
            .driver
            .with(|now, node| node.set_note(now, user, note))
            .map_err(|_| NoteTooLong { bytes: note.len() })
    }

    /// The account or its tokens are no longer good: the user's sessions end at once, their
    /// connections are closed with `revoked`, and none opens until [`Self::reinstate`]. With a shared store:
    /// see [`Self::stored`].
    pub fn revoke(&self, user: &str) {
        self.shared.driver.with(|now, node| node.revoke(now, user));
    }

    /// Takes a revocation back.
    pub fn reinstate(&self, user: &str) {
        self.shared.driver.with(|now, node| node.reinstate(now, user));
    }

    /// The user hides from the viewer from now on (true), or shows itself again. The engine keeps it
    /// while it runs; blocks that outlive it are the audience's. With a shared store: see [`Self::stored`].
    pub fn set_block(&self, user: &str, viewer: &str, blocked: bool) {
        self.shared.driver.with(|now, node| node.set_block(now, user, viewer, blocked));
    }

    /// How exactly others may see when the user was there last.
    pub fn set_last_seen(&self, user: &str, wish: LastSeen) {
        self.shared.driver.with(|now, node| node.set_last_seen(now, user, wish));
    }

    /// What the audience said of who may see whom holds no more: of this user (none: all) and this
    /// viewer (none: all). Nothing newer is shown until it has been asked again. Nor does it hold what it said of
    /// the rooms in which any of the two is: whoever may not be there any more is put out.
    pub fn audience_changed(&self, user: Option<&str>, viewer: Option<&str>) {
        self.shared.driver.with(|now, node| node.audience_changed(now, user, viewer));
    }

    /// How the audience's answers fare: what has failed shows nothing, and is asked for again.
    pub fn audience_counts(&self) -> AudienceCounts {
        self.shared.driver.look(|_, node| node.audience_counts())
    }

    /// Brings the metrics up to date, which else happens once a second: before they are read.
    pub fn update_metrics(&self) {
        self.shared.driver.update_metrics();
    }

    /// Ends a session of a user: its connection is closed with `signed_out`, and its client stops.
    pub fn end_session(&self, user: &str, session: &str) {
        self.shared.driver.with(|now, node| node.end_session(now, user, session));
    }

    /// The changes of what others see of users, from now on: to push a notification, to write a
    /// log. A reader that falls more than the builder's buffer behind is told how many it missed.
    pub fn transitions(&self) -> Transitions {
        Transitions::new(self.shared.transitions.subscribe())
    }

    /// How much the engine holds.
    pub fn counts(&self) -> NodeCounts {
        self.shared.driver.look(|_, node| node.counts())
    }

    /// Connections that are open: those being authenticated and those being closed included.
    pub fn open_connections(&self) -> usize {
        self.shared.open.load(Ordering::Relaxed)
    }

    /// Says goodbye to every connection with `drain`, so that clients go to another node or come
    /// back later, and takes no more. Returns when all are gone, at most after `limit`.
    pub async fn drain(&self, limit: Duration) {
        self.shared.driver.drain();
        let gone = async {
            loop {
                let ended = self.shared.ended.notified();
                tokio::pin!(ended);
                // Before the look, or an end right after it would be missed.
                ended.as_mut().enable();
                if self.open_connections() == 0 {
                    return;
                }
                ended.await;
            }
        };
        if timeout(limit, gone).await.is_none() {
            let left = self.open_connections();
            tracing::warn!(left, ?limit, "connections had not ended when the drain was over");
        }
    }
}

/// One connection's place among those that are allowed.
#[derive(Debug)]
pub(super) struct Place(Arc<Shared>);

impl Place {
    /// A place, if there is one left.
    pub(super) fn take(shared: &Arc<Shared>) -> Option<Self> {
        let limit = shared.limits.connections;
        shared
            .open
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |open| {
                (open < limit).then_some(open + 1)
            })
            .ok()
            .map(|_| Self(Arc::clone(shared)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
        self.0.ended.notify_waiters();
    }
}

fn millis(span: greendot_protocol::Span) -> Duration {
    Duration::from_millis(span.as_millis())
}
