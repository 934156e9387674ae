//! From whom users hide: what stands between a viewer and others.

use std::sync::Arc;

use greendot_protocol::Time;

use super::Directory;
use crate::core::directory::Outlook;

impl Directory {
    /// What stands between a viewer and others.
    pub fn outlook(&self, viewer: &str) -> &Arc<Outlook> {
        self.outlooks.of(viewer)
    }

    /// The number of a viewer's outlook: it rises with each change.
    pub fn outlook_number(&self, viewer: &str) -> u64 {
        self.outlooks.number_of(viewer)
    }

    /// The user hides from the viewer, or shows itself again; `now` is when it chose so. The viewer's
    /// new outlook, if that changes anything. Nobody can hide from itself.
    pub fn set_block(
        &mut self,
        now: Time,
        user: &str,
        viewer: &str,
        blocked: bool,
    ) -> Option<Arc<Outlook>> {
        if user == viewer {
            return None;
        }
        let id = self.find(user);
        let record = id.map(|it| self.record(it)).unwrap_or_default();
        let outlook = self.outlooks.set(now, user, viewer, &record, blocked)?;
        if let Some(id) = id.filter(|_| blocked && record.public.is_present()) {
            // Becoming hidden counts as a frame heard then (rule 9): once it sees again, the viewer is
            // told of no earlier time.
            self.people.hear(id, now);
        }
        Some(outlook)
    }

    /// The same for a block of an epoch before this one.
    pub fn restore_block(&mut self, user: &str, viewer: &str) -> Option<Arc<Outlook>> {
        self.outlooks.restore(user, viewer)
    }
}
