//! Who hides from everybody sees nobody, where the product turns that on (rule 13, reciprocity).

use greendot_protocol::Mode;

use super::Oracle;
use super::blocks::Sight;
use super::user::User;

impl Oracle<'_> {
    /// What a viewer's own hiding leaves it to see of a user, as far as a node may know.
    pub(super) fn hiding(&self, node: usize, viewer: Option<usize>, user: usize) -> Sight {
        let reciprocal = self.scenario.settings.engine.reciprocal;
        let Some(viewer) = viewer.filter(|it| reciprocal && *it != user) else {
            return Sight::CLEAR;
        };
        let viewer = &self.users[viewer];
        let (may, must) = viewer.hides_since(self.behind_since(node));
        // A node that cannot ask does not know of a choice that was made elsewhere.
        let must = must && !viewer.murky && self.cluster.is_settled(node);
        Sight { open: !must, shut: may || viewer.murky }
    }
}

impl User {
    /// Whether it may hide from everybody, and must.
    fn is_hiding(&self) -> (bool, bool) {
        let hidden = |it: &Mode| *it == Mode::Invisible;
        let mut modes = self.other_modes.iter().chain([&self.mode]);
        (modes.clone().any(hidden), modes.all(hidden))
    }

    /// Remembers whether it hides from now on.
    pub(super) fn derive_hiding(&mut self, now: u64) -> bool {
        let is = self.is_hiding();
        let changed = self.hid.last().map_or((false, false), |it| it.1) != is;
        if changed {
            self.hid.push((now, is));
        }
        changed
    }

    /// Whether it may be taken to hide from everybody, and must be, by one who may be behind since then.
    fn hides_since(&self, since: Option<u64>) -> (bool, bool) {
        let since = since.unwrap_or(u64::MAX);
        let (mut may, mut must, mut end) = (false, true, u64::MAX);
        for &(at, it) in self.hid.iter().rev() {
            if end < since {
                return (may, must);
            }
            (may, must, end) = (may || it.0, must && it.1, at);
        }
        (may, must && !self.hid.is_empty() && end < since)
    }
}
