//! Who may see whom, and who may join which room? The application says it.

#[cfg(feature = "callback")]
mod callback;
mod ready;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

#[cfg(feature = "callback")]
pub use self::callback::{CallbackError, HttpAudience};
pub use self::ready::{Contacts, ContactsExcept, Everyone, Nobody, RoomMembers};
use crate::core::Fineness;

/// Who looks, and at whom.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Pair {
    /// The one who looks.
    pub viewer: Arc<str>,
    /// The user who would be seen.
    pub user: Arc<str>,
}

impl Pair {
    pub(super) fn new((viewer, user): (Arc<str>, Arc<str>)) -> Self {
        Self { viewer, user }
    }
}

/// Says who may see whom. Asked in batches and in advance; what it said is kept for a while
/// ([`AudienceRule`](crate::core::AudienceRule)), and asked for again before that is over. Tell
/// [`Presence::audience_changed`](super::Presence::audience_changed) what holds no more.
///
/// It may take its time: nothing waits for it but what it is asked about, and until it has answered
/// nothing of that is shown. An answer that is missing, late, or lost in a panic shows nothing,
/// either, and is asked for again.
pub trait Audience: Send + Sync + 'static {
    /// What each viewer may see of the user beside it, in the order of `pairs`. Shorter answers are
    /// no answers for the rest.
    fn look(&self, pairs: &[Pair]) -> impl Future<Output = Vec<Fineness>> + Send;

    /// Whether this user may be in this room; none if that cannot be said now: it is asked again. By default
    /// everybody may, and sees there those whom it may see anyway. Asked at each join, and again of those who
    /// are there when [`Presence::audience_changed`](super::Presence::audience_changed) names them.
    fn may_join(&self, user: &str, room: &str) -> impl Future<Output = Option<bool>> + Send {
        let _ = (user, room);
        async { Some(true) }
    }
}

/// [`Audience`] with its type forgotten.
pub(super) trait AnyAudience: Send + Sync {
    fn any_look(
        &self,
        pairs: Vec<Pair>,
    ) -> Pin<Box<dyn Future<Output = Vec<Fineness>> + Send + '_>>;
    fn any_may_join(
        &self,
        user: Arc<str>,
        room: Arc<str>,
    ) -> Pin<Box<dyn Future<Output = Option<bool>> + Send + '_>>;
}

impl<A: Audience> AnyAudience for A {
    fn any_look(
        &self,
        pairs: Vec<Pair>,
    ) -> Pin<Box<dyn Future<Output = Vec<Fineness>> + Send + '_>> {
        Box::pin(async move { self.look(&pairs).await })
    }

    fn any_may_join(
        &self,
        user: Arc<str>,
        room: Arc<str>,
    ) -> Pin<Box<dyn Future<Output = Option<bool>> + Send + '_>> {
        Box::pin(async move { self.may_join(&user, &room).await })
    }
}

impl fmt::Debug for dyn AnyAudience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("dyn Audience")
    }
}
