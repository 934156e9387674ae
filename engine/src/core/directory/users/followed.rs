//! Whose sessions change, for one who wants to know.

use super::Directory;
use crate::core::directory::people::UserId;

impl Directory {
    /// Whether it is noted from now on whose sessions change.
    pub(crate) fn follow_sessions(&mut self, follow: bool) {
        if !follow {
            self.followed = None;
        } else if self.followed.is_none() {
            self.followed = Some(Vec::new());
        }
    }

    /// Whether [`Self::take_followed`] has something to tell.
    pub(crate) fn has_followed(&self) -> bool {
        self.followed.as_ref().is_some_and(|it| !it.is_empty())
    }

    /// Users whose sessions have changed since the last call.
    pub(crate) fn take_followed(&mut self) -> Vec<UserId> {
        let mut users = self.followed.as_mut().map(std::mem::take).unwrap_or_default();
        users.sort_unstable();
        users.dedup();
        users
    }

    pub(super) fn sessions_changed(&mut self, user: UserId) {
        if let Some(followed) = self.followed.as_mut() {
            followed.push(user);
        }
    }
}
