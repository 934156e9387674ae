//! A user whom somebody on this node watches.

use std::sync::Arc;

use crate::core::directory::Record;
use crate::core::slab::Id;

#[derive(Debug)]
pub(super) struct Subject {
    pub(super) name: Arc<str>,
    /// The watches of this user; each knows its place in here.
    pub(super) watchers: Vec<Id>,
    /// The newest that was published of the user; none while the shared store is being asked.
    pub(super) record: Option<Record>,
}

impl Subject {
    pub(super) fn new(name: Arc<str>, record: Option<Record>) -> Self {
        Self { name, watchers: Vec::new(), record }
    }
}
