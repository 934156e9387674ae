//! The shared store: what is live, when one node is not enough (rule 10).
//!
//! A node asks with a [`Request`], is answered with a [`Reply`], and is told unasked with
//! [`Notice`]s. Times travel as ages and the store goes by its own clock alone; what it says is
//! dated by that clock, so that ages in a message that comes late can be put right. Every request
//! may be repeated or lost: a session is spoken for by a [`Claim`], and what is said under an old
//! claim has no effect.
//!
//! [`MemoryStore`] is the store in memory: the twin that tests and simulations play, and the
//! measure of what any other store must do. Another is Redis, under the feature `redis`.

mod memory;
mod messages;
#[cfg(feature = "redis")]
pub mod redis;

pub use memory::{Counts as MemoryCounts, Journal, MemoryStore};
pub use messages::{
    BarReport, Claim, Departed, HeldBy, NodeId, Notice, OutlookReport, Place, Register, Reply,
    Report, Request, ScreenReport, SessionName, Silent, Speaker,
};

use greendot_protocol::{Span, Time};

/// What a store that answers later says to a node, in this order.
#[derive(Clone, Debug)]
pub enum FromStore {
    /// The answer to the request of this number.
    Reply(u64, Box<Reply>),
    /// The notice of this number.
    Notice(u64, Notice),
}

/// A shared store, as the rules see it: one request at a time, each whole or not at all.
pub trait Store {
    /// Carries out a request of a node. `now` is the store's own clock.
    fn handle(&mut self, now: Time, node: NodeId, request: &Request) -> Reply {
        self.handle_late(now, Span::ZERO, node, request)
    }

    /// The same so long after the request was made: the store stood still, or the way to it was long. All that the request
    /// tells of is that much older, and what the node has told anew since may have come before it.
    fn handle_late(&mut self, now: Time, late: Span, node: NodeId, request: &Request) -> Reply;

    /// The next notice that is to go to a node, if any waits, with its number: those to one run
    /// of a node are counted from 1.
    fn poll_notice(&mut self) -> Option<(NodeId, u64, Notice)>;
}
