//! The application's own database: what the script told it, which no engine can lose for it.

use std::collections::BTreeSet;

/// Who hides from whom, and whose accounts are closed.
#[derive(Debug, Default)]
pub(super) struct App {
    /// (user, viewer)
    blocks: BTreeSet<(String, String)>,
    revoked: BTreeSet<String>,
    /// Whom the engine may have forgotten. It is to be seen turning the others away by itself.
    forgotten: BTreeSet<String>,
    /// Something was chosen while there was no node to tell.
    untold: bool,
}

impl App {
    /// The user hides from the viewer from now on, or shows itself again; `told` if there is a node
    /// that is told so.
    pub(super) fn set_block(&mut self, user: &str, viewer: &str, blocked: bool, told: bool) {
        let pair = (user.to_owned(), viewer.to_owned());
        if blocked {
            self.blocks.insert(pair)
        } else {
            self.blocks.remove(&pair)
        };
        self.untold |= !told;
    }

    /// The account is closed; `told` if there is a node that is told so.
    pub(super) fn revoke(&mut self, user: &str, told: bool) {
        self.revoked.insert(user.to_owned());
        self.untold |= !told;
    }

    /// Whether the check of a token says no, because the account is closed.
    pub(super) fn turns_away(&self, user: &str) -> bool {
        self.forgotten.contains(user)
    }

    /// A node starts, and maybe the engine's data is `lost`. Tells who hides from whom, as far as
    /// the application has to say so again.
    pub(super) fn tells_again(&mut self, lost: bool) -> Vec<(String, String)> {
        if !(std::mem::take(&mut self.untold) || lost) {
            return Vec::new();
        }
        self.forgotten.clone_from(&self.revoked);
        self.blocks.iter().cloned().collect()
    }
}
