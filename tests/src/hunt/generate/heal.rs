//! The end of every world: all is healed, and every period passes.

use super::devices::ends;
use super::draft::{Draft, Still};
use crate::file::{FileSettings, Stands, Verb};

impl Draft {
    /// Heals everything; tells when the world ends.
    pub(super) fn heal(&mut self) -> u64 {
        self.now = self.now.max(self.busy_until) + 500;
        for node in 0..self.nodes.len() {
            let node_name = self.nodes[node].name.clone();
            if !self.nodes[node].up {
                let empty = self.nodes.len() == 1;
                self.nodes[node].up = true;
                self.step(Verb::Start { node: node_name.clone(), empty });
            }
            if self.nodes[node].cut {
                self.step(Verb::Cut { node: node_name.clone(), cut: false });
            }
            if self.nodes[node].paused {
                self.step(Verb::Pause { node: node_name, paused: false });
            }
        }
        if self.down {
            self.step(Verb::Store { stands: Stands::Up });
        }
        for device in 0..self.devices.len() {
            let client = self.devices[device].name.clone();
            if self.devices[device].blackholed {
                self.step(Verb::Clear { client: client.clone() });
            }
            if self.devices[device].offline {
                self.step(Verb::Online { client: client.clone(), online: true });
            }
            let still = self.devices[device].still;
            if !matches!(still, Still::Runs | Still::Gone) {
                self.step(ends(still, client.clone()));
            }
            if self.devices[device].hidden && still != Still::Gone {
                self.step(Verb::Hidden { client, hidden: false });
            }
        }
        for watcher in 0..self.watchers.len() {
            let name = self.watchers[watcher].name.to_owned();
            if self.watchers[watcher].stalled {
                self.step(Verb::Stall { watcher: name.clone(), stalled: false });
            }
            if self.watchers[watcher].lost {
                let users = self.some_users();
                self.watch_these(watcher, users);
            }
        }
        self.now + quiet_after(&self.settings)
    }
}

/// How long after the last step a healed world is quiet, in ms: links come back, sessions whose
/// clients are gone end, warm-ups are over.
pub(crate) fn quiet_after(settings: &FileSettings) -> u64 {
    let engine = &settings.engine;
    // A dial into a dead path is given up after 10 s, the next waits for up to 30 s.
    let links = 45_000;
    // After an outage nobody is swept for one ttl more.
    let sessions = engine.ttl + engine.ttl + engine.expiry_grace + engine.grace;
    let warmup = engine.warmup();
    // A change waits for the round before it, and for its own.
    let crowds = 3 * settings.crowd_every().unwrap_or(0);
    links.max(sessions.as_millis()).max(warmup.as_millis()).max(crowds)
        + engine.beat.as_millis()
        + 4 * engine.sweep.as_millis()
        + 4 * settings.latency
        + 10_000
}
