//! Who speaks for which session.

use std::sync::Arc;

/// A run of a node: a new one at each start; 0 where a node works alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u64);

/// Who speaks for a session: which connect, on which run of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Claim {
    /// The node.
    pub node: NodeId,
    /// The node's number for the connect; used once.
    pub seat: u64,
}

/// A session's full name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionName {
    /// The user.
    pub user: Arc<str>,
    /// The session's id.
    pub session: Arc<str>,
}
