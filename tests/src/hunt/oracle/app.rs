//! What the application remembers when the engine's data is lost.

use std::collections::BTreeSet;

use super::Oracle;

/// Who hides from whom, and whose accounts are closed.
#[derive(Debug, Default)]
pub(super) struct App {
    /// (user, viewer)
    blocks: BTreeSet<(usize, usize)>,
    revoked: BTreeSet<usize>,
    /// Those of them of whom the engine may not know: their tokens are not believed.
    pub(super) turned_away: BTreeSet<usize>,
    /// Whose account was closed already when they connected at a node that could not ask the store: (user, node). What it holds of
    /// them it tells, should the store forget meanwhile that they are to be refused.
    pub(super) unasked: Vec<(usize, usize)>,
    /// Something was chosen while there was no node to tell.
    untold: bool,
}

impl App {
    pub(super) fn set_block(&mut self, user: usize, viewer: usize, shut: bool, told: bool) {
        let pair = (user, viewer);
        if shut {
            self.blocks.insert(pair)
        } else {
            self.blocks.remove(&pair)
        };
        self.untold |= !told;
    }

    pub(super) fn revoke(&mut self, user: usize, told: bool) {
        self.revoked.insert(user);
        self.untold |= !told;
    }
}

impl Oracle<'_> {
    /// A node starts, and maybe the engine's data is `lost`: what it does not know the application
    /// tells that node again.
    pub(super) fn app_tells_again(&mut self, node: usize, lost: bool) {
        if !(std::mem::take(&mut self.app.untold) || lost) {
            return;
        }
        self.app.turned_away.clone_from(&self.app.revoked);
        let by = (!self.cluster.is_heard(node)).then_some(node);
        for (user, viewer) in self.app.blocks.clone() {
            self.set_block(by, user, viewer, true);
        }
    }
}
