//! Steps of nodes and of the store they share.

use super::draft::Draft;
use crate::file::{Kind, Stands, Verb};

impl Draft {
    pub(super) fn node_step(&mut self) {
        let node = self.rng.below(self.nodes.len());
        let several = self.nodes.len() > 1;
        match self.rng.below(12) {
            0..=3 => self.pause_or_resume(node),
            4..=5 => self.kill_or_start(node),
            6..=7 if several => self.cut_or_heal(node),
            8..=9 if several => {
                self.down = !self.down;
                let stands = match self.down {
                    true if self.rng.one_in(2) => Stands::Still,
                    true => Stands::Down,
                    false => Stands::Up,
                };
                self.step(Verb::Store { stands });
            }
            10 if several && self.kind == Kind::Engine => {
                let node = self.nodes[node].name.clone();
                let until = self.now + 500 * (1 + self.rng.below(20)) as u64;
                self.busy_until = self.busy_until.max(until);
                self.step(Verb::Hold { node, until });
            }
            _ => {
                let who = self.nodes[node].name.clone();
                let by = [3_600_000, -120_000][self.rng.below(2)];
                self.step(Verb::Skew { who, by });
            }
        }
    }

    fn pause_or_resume(&mut self, node: usize) {
        let row = &mut self.nodes[node];
        if row.up {
            row.paused = !row.paused;
            let paused = row.paused;
            let verb = Verb::Pause { node: row.name.clone(), paused };
            self.step(verb);
            if paused {
                self.renew_unread(node);
            }
        }
    }

    /// Of the tokens that may end while the node stands still, some have a fresh one waiting by then.
    fn renew_unread(&mut self, node: usize) {
        let now = self.now;
        for watcher in 0..self.watchers.len() {
            let row = &self.watchers[watcher];
            let ends = row.token_until.is_some_and(|it| it > now);
            if ends && !row.lost && row.node == node && self.more.one_in(2) {
                let watcher = row.name.to_owned();
                self.step(Verb::Renew { watcher });
            }
        }
    }

    fn cut_or_heal(&mut self, node: usize) {
        let row = &mut self.nodes[node];
        if row.up {
            row.cut = !row.cut;
            let verb = Verb::Cut { node: row.name.clone(), cut: row.cut };
            self.step(verb);
        }
    }

    fn kill_or_start(&mut self, node: usize) {
        let several = self.nodes.len() > 1;
        let name = self.nodes[node].name.clone();
        if !self.nodes[node].up {
            self.nodes[node].up = true;
            let empty = !several || self.rng.one_in(4);
            return self.step(Verb::Start { node: name, empty });
        }
        let drains = several && !self.nodes[node].paused && self.rng.one_in(2);
        self.step(if drains { Verb::Drain { node: name } } else { Verb::Kill { node: name } });
        let row = &mut self.nodes[node];
        (row.up, row.paused, row.cut) = (false, false, false);
        for watcher in self.watchers.iter_mut().filter(|it| it.node == node) {
            watcher.lost = true;
            watcher.watched.clear();
        }
        self.raws.retain(|it| it.node != node);
    }
}
