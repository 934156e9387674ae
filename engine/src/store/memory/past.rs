//! What the store remembers of what is over, so that late words do no harm.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use foldhash::quality::SeedableRandomState;
use greendot_protocol::sabotage::{Fault, on};
use greendot_protocol::{Span, Time};

use super::NodeId;
use crate::store::{Claim, SessionName};

/// The latest words about users, and sessions that have ended lately.
#[derive(Debug)]
pub(super) struct Past {
    said: HashMap<Arc<str>, Said, SeedableRandomState>,
    /// Sessions that ended.
    ended: HashMap<SessionName, Ended, SeedableRandomState>,
    /// When each of them ended, in that order.
    order: VecDeque<(Time, SessionName)>,
}

/// When each thing about a user was said last, and by which node.
#[derive(Clone, Debug, Default)]
pub(super) struct Said {
    pub(super) mode: Dated,
    pub(super) note: Dated,
    pub(super) revoked: Dated,
    pub(super) wish: Dated,
    /// By the viewer's name: whether the user hides from it.
    blocks: BTreeMap<Arc<str>, Dated>,
}

/// When a thing was said last, and by which node.
type Dated = Option<(Time, NodeId)>;

/// A session that has ended.
#[derive(Clone, Copy, Debug)]
struct Ended {
    /// When its last connect was, and whose that was.
    connected: Time,
    claim: Claim,
    at: Time,
}

impl Said {
    pub(super) fn block(&mut self, viewer: &Arc<str>) -> &mut Dated {
        self.blocks.entry(Arc::clone(viewer)).or_default()
    }
}

impl Past {
    pub(super) fn new(hasher: SeedableRandomState) -> Self {
        Self {
            said: HashMap::with_hasher(hasher.clone()),
            ended: HashMap::with_hasher(hasher),
            order: VecDeque::new(),
        }
    }

    /// Whether nothing newer of the kind has been said about the user than what was said so long
    /// ago. A word that could not be told at once must be newer than what came in time.
    pub(super) fn is_latest(
        &mut self,
        now: Time,
        user: &Arc<str>,
        node: NodeId,
        ago: Span,
        of: impl FnOnce(&mut Said) -> &mut Dated,
    ) -> bool {
        let last = of(self.said.entry(Arc::clone(user)).or_default());
        let at = now - ago;
        // A node says its own words in order.
        let latest = on(Fault::LateWordWins)
            || ago == Span::ZERO
            || last.is_none_or(|it| at > it.0 || it == (at, node));
        if latest {
            *last = Some((at, node));
        }
        latest
    }

    /// Whether nothing has been said in this epoch of whether the user hides from the viewer.
    pub(super) fn is_silent_on(&self, user: &Arc<str>, viewer: &Arc<str>) -> bool {
        on(Fault::LateWordWins)
            || self.said.get(user).is_none_or(|it| !it.blocks.contains_key(viewer))
    }

    /// Whether the account's latest revocation, or its end, was told by then.
    pub(super) fn was_revoked_by(&self, user: &str, at: Time) -> bool {
        self.said.get(user).and_then(|it| it.revoked).is_some_and(|it| it.0 <= at)
    }

    /// A session ends whose last connect was this claim's, then.
    pub(super) fn ended(&mut self, now: Time, name: SessionName, claim: Claim, connected: Time) {
        self.order.push_back((now, name.clone()));
        self.ended.insert(name, Ended { connected, claim, at: now });
    }

    /// Whether a later connect of the session than this claim, made by then, is over already: then nothing about this one has
    /// any effect (rule 4).
    pub(super) fn has_ended_since(
        &self,
        name: &SessionName,
        claim: Claim,
        connected: Time,
        by: Time,
    ) -> bool {
        self.outdone_at(name, claim, connected, by).is_some()
    }

    /// When that later connect was made. A node knows the order of its own: told anew, when one of them connected is a little
    /// off by the time that messages take.
    pub(super) fn outdone_at(
        &self,
        name: &SessionName,
        claim: Claim,
        connected: Time,
        by: Time,
    ) -> Option<Time> {
        let ended = self.ended.get(name).filter(|it| it.connected <= by)?;
        let later = if ended.claim.node == claim.node {
            ended.claim.seat > claim.seat
        } else {
            ended.connected > connected
        };
        later.then_some(ended.connected)
    }

    /// Whether it is known already that this connect of the session has ended.
    pub(super) fn knows_end_of(&self, name: &SessionName, claim: Claim) -> bool {
        self.ended.get(name).is_some_and(|it| it.claim == claim)
    }

    /// Forgets sessions that ended so long ago.
    pub(super) fn forget(&mut self, now: Time, keep: Span) {
        while let Some((at, name)) = self.order.pop_front_if(|it| it.0 + keep <= now) {
            // It may have ended again since.
            if self.ended.get(&name).is_some_and(|it| it.at == at) {
                self.ended.remove(&name);
            }
        }
    }
}
