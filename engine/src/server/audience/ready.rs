//! Audiences that are ready made.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};

use super::{Audience, Pair};
use crate::core::Fineness;

/// Everybody sees everybody who does not hide, and may be in every room: as without an audience, where one is to be
/// chosen while the program runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Everyone;

impl Audience for Everyone {
    async fn look(&self, pairs: &[Pair]) -> Vec<Fineness> {
        vec![Fineness::Live; pairs.len()]
    }
}

/// Nobody sees anybody, nor is in any room.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Audience for Nobody {
    async fn look(&self, pairs: &[Pair]) -> Vec<Fineness> {
        vec![Fineness::Nothing; pairs.len()]
    }

    async fn may_join(&self, _: &str, _: &str) -> Option<bool> {
        Some(false)
    }
}

type ByUser = HashMap<Arc<str>, HashSet<Arc<str>>>;

/// Who may see a user, or in which rooms it is, by the user.
#[derive(Clone, Debug, Default)]
struct Links(Arc<RwLock<ByUser>>);

impl Links {
    fn add(&self, user: &str, to: &str) {
        let mut of = self.0.write().unwrap_or_else(PoisonError::into_inner);
        of.entry(user.into()).or_default().insert(to.into());
    }

    fn remove(&self, user: &str, to: &str) {
        let mut of = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(links) = of.get_mut(user) {
            links.remove(to);
            if links.is_empty() {
                of.remove(user);
            }
        }
    }

    fn has(&self, user: &str, to: &str) -> bool {
        let of = self.0.read().unwrap_or_else(PoisonError::into_inner);
        of.get(user).is_some_and(|it| it.contains(to))
    }
}

/// Users see those whose contacts they are, kept in memory. Cheap to clone; all clones are one.
///
/// After a change tell [`Presence::audience_changed`](crate::server::Presence::audience_changed).
#[derive(Clone, Debug, Default)]
pub struct Contacts {
    of: Links,
}

impl Contacts {
    /// `user` lets `viewer` see it from now on.
    pub fn add(&self, user: &str, viewer: &str) {
        self.of.add(user, viewer);
    }

    /// `user` does not let `viewer` see it any more.
    pub fn remove(&self, user: &str, viewer: &str) {
        self.of.remove(user, viewer);
    }

    /// Whether `user` lets `viewer` see it.
    pub fn has(&self, user: &str, viewer: &str) -> bool {
        self.of.has(user, viewer)
    }
}

impl Audience for Contacts {
    async fn look(&self, pairs: &[Pair]) -> Vec<Fineness> {
        live_where(pairs, |it| self.has(&it.user, &it.viewer))
    }
}

/// [`Contacts`], except those from whom a user hides. Cheap to clone; all clones are one.
///
/// After a change tell [`Presence::audience_changed`](crate::server::Presence::audience_changed). A user who hides
/// so looks to a new connection as if it had never been there; where it shall look as if it had just
/// left, use [`Presence::set_block`](crate::server::Presence::set_block).
#[derive(Clone, Debug, Default)]
pub struct ContactsExcept {
    /// Who may see whom, but for the exceptions.
    pub contacts: Contacts,
    except: Contacts,
}

impl ContactsExcept {
    /// These, and no exceptions yet.
    pub fn new(contacts: Contacts) -> Self {
        Self { contacts, except: Contacts::default() }
    }

    /// `user` hides from `viewer`, whether that is a contact or becomes one.
    pub fn hide(&self, user: &str, viewer: &str) {
        self.except.add(user, viewer);
    }

    /// `user` hides from `viewer` no more.
    pub fn show(&self, user: &str, viewer: &str) {
        self.except.remove(user, viewer);
    }

    /// Whether `viewer` may see `user`.
    pub fn sees(&self, user: &str, viewer: &str) -> bool {
        self.contacts.has(user, viewer) && !self.except.has(user, viewer)
    }
}

impl Audience for ContactsExcept {
    async fn look(&self, pairs: &[Pair]) -> Vec<Fineness> {
        live_where(pairs, |it| self.sees(&it.user, &it.viewer))
    }
}

/// Users see those with whom they are members of a room, and only members may join it. Cheap to clone; all clones
/// are one.
///
/// After a change tell [`Presence::audience_changed`](crate::server::Presence::audience_changed).
#[derive(Clone, Debug, Default)]
pub struct RoomMembers {
    /// The rooms of each user.
    of: Links,
}

impl RoomMembers {
    /// `user` is a member of `room` from now on.
    pub fn add(&self, room: &str, user: &str) {
        self.of.add(user, room);
    }

    /// `user` is a member of `room` no more. Its pages that are in the room leave it once
    /// [`Presence::audience_changed`](crate::server::Presence::audience_changed) names the user.
    pub fn remove(&self, room: &str, user: &str) {
        self.of.remove(user, room);
    }

    /// Whether `user` is a member of `room`.
    pub fn has(&self, room: &str, user: &str) -> bool {
        self.of.has(user, room)
    }

    /// Whether the two share a room.
    pub fn share(&self, one: &str, other: &str) -> bool {
        let of = self.of.0.read().unwrap_or_else(PoisonError::into_inner);
        match (of.get(one), of.get(other)) {
            // Goes through the fewer.
            (Some(one), Some(other)) if one.len() <= other.len() => !one.is_disjoint(other),
            (Some(one), Some(other)) => !other.is_disjoint(one),
            _ => false,
        }
    }
}

impl Audience for RoomMembers {
    async fn look(&self, pairs: &[Pair]) -> Vec<Fineness> {
        live_where(pairs, |it| self.share(&it.user, &it.viewer))
    }

    async fn may_join(&self, user: &str, room: &str) -> Option<bool> {
        Some(self.has(room, user))
    }
}

fn live_where(pairs: &[Pair], sees: impl Fn(&Pair) -> bool) -> Vec<Fineness> {
    pairs.iter().map(|it| if sees(it) { Fineness::Live } else { Fineness::Nothing }).collect()
}
