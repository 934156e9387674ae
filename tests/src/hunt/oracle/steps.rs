//! What the script does that crosses no edge by itself.

use greendot_protocol::CloseCode;

use super::conn::Conn;
use super::device::{Device, Interest};
use super::Oracle;
use crate::file::{Scenario, Verb};

impl Oracle<'_> {
    pub(super) fn step(&mut self, index: usize) {
        let scenario: &Scenario = self.scenario;
        let now = self.now;
        match &scenario.steps[index].verb {
            Verb::Mode { user, mode } => {
                let user = self.user(user);
                self.users[user].choose(now, *mode);
                self.derive(user);
            }
            Verb::Note { user, note } => {
                let user = self.user(user);
                self.users[user].note.clone_from(note);
                self.shifted = true;
            }
            Verb::Revoke { user } => self.revoke(user),
            Verb::Hangup { watcher } => {
                for row in self.conns.iter_mut().filter(|it| it.name == *watcher) {
                    (row.left, row.stalled) = (true, true);
                }
            }
            Verb::Stall { watcher, stalled } => {
                self.stalled.retain(|it| it != watcher);
                if *stalled {
                    self.stalled.push(watcher.clone());
                }
                let stays = |it: &&mut Conn| it.name == *watcher && !it.left;
                for row in self.conns.iter_mut().filter(stays) {
                    row.stalled = *stalled;
                    for watch in &mut row.watches {
                        watch.wrong_since = None;
                    }
                    for request in &mut row.requests {
                        request.2 = now;
                    }
                }
                self.shifted = true;
                self.raise_alarm(now);
            }
            Verb::Kill { node } => {
                let node = self.node(node);
                self.kill(node);
            }
            Verb::Start { node, .. } => {
                let node = self.node(node);
                if !self.nodes[node].up {
                    self.nodes[node].up = true;
                    self.nodes[node].warm_until = Some(now + self.periods.warmup);
                    self.nodes[node].turned.clear();
                }
            }
            Verb::Pause { node, paused } => {
                let node = self.node(node);
                self.pause(node, *paused);
            }
            other => self.device_step(other),
        }
    }

    fn node(&self, name: &str) -> usize {
        self.scenario.nodes.iter().position(|it| it == name).unwrap_or(0)
    }

    fn revoke(&mut self, user: &str) {
        let user = self.user(user);
        self.users[user].revoked = true;
        let sessions = std::mem::take(&mut self.users[user].sessions);
        for conn in sessions.iter().filter_map(|it| it.conn).filter(|&it| self.conns[it].open) {
            self.to_close.push((conn, CloseCode::Revoked.number()));
        }
        self.derive(user);
    }

    /// The node and its store are gone.
    fn kill(&mut self, node: usize) {
        self.nodes[node].up = false;
        self.nodes[node].pace = Default::default();
        self.nodes[node].warm_until = None;
        for row in self.conns.iter_mut().filter(|it| it.node == node) {
            row.open = false;
            row.watches.clear();
            row.requests.clear();
            row.waiting.clear();
        }
        for user in 0..self.users.len() {
            self.users[user].forget();
            self.derive(user);
        }
    }

    fn pause(&mut self, node: usize, paused: bool) {
        let now = self.now;
        if paused {
            self.nodes[node].pace.pause(now);
        } else {
            let still = self.nodes[node].pace.resume(now);
            let short = still <= self.periods.standstill();
            for session in self.users.iter_mut().flat_map(|it| &mut it.sessions) {
                // Too short for anyone to notice: what waited may be read after a sweep.
                session.awaited &= !short;
            }
            for row in self.conns.iter_mut().filter(|it| it.node == node) {
                for watch in &mut row.watches {
                    watch.wrong_since = None;
                }
                for request in &mut row.requests {
                    request.2 = now;
                }
            }
            self.raise_alarm(now);
        }
        for user in 0..self.users.len() {
            self.derive(user);
        }
        self.shifted = true;
    }

    fn device_step(&mut self, verb: &Verb) {
        let now = self.now;
        match verb {
            Verb::Open { client, .. } => {
                let device = Device::new(client, now);
                match self.devices.iter().position(|it| it.name == *client) {
                    Some(place) => self.devices[place] = device,
                    None => self.devices.push(device),
                }
            }
            Verb::AppWatch { client, users, part, .. } => {
                for name in users {
                    let user = self.user(name);
                    self.with_device(client, |it, _| it.begin(part, user));
                }
            }
            Verb::AppUnwatch { client, users, part } => {
                for name in users {
                    let user = self.user(name);
                    self.with_device(client, |it, _| it.end(part, user));
                }
            }
            Verb::LeavePage { client } => self.with_device(client, |it, _| {
                it.gone = true;
                it.interests.clear();
            }),
            Verb::Hidden { client, hidden } => {
                self.with_device(client, |it, _| it.hidden = *hidden);
            }
            Verb::Frozen { client, frozen } => self.with_device(client, |it, now| {
                it.frozen = *frozen;
                it.woken = now;
            }),
            Verb::Asleep { client, asleep } => self.with_device(client, |it, now| {
                it.asleep = *asleep;
                it.woken = now;
            }),
            Verb::Cached { client, cached } => self.with_device(client, |it, now| {
                it.cached = *cached;
                it.woken = now;
            }),
            Verb::Online { client, online } => {
                self.with_device(client, |it, _| it.offline = !online);
            }
            Verb::Blackhole { client } => {
                self.with_device(client, |it, _| it.blackholed = true);
            }
            Verb::Clear { client } => {
                self.with_device(client, |it, _| it.blackholed = false);
            }
            _ => {}
        }
    }

    fn with_device(&mut self, name: &str, change: impl FnOnce(&mut Device, u64)) {
        let now = self.now;
        if let Some(device) = self.devices.iter_mut().find(|it| it.name == *name) {
            // Time awake is counted up to here by what was.
            device.awake_at(now);
            change(device, now);
        }
    }
}

impl Device {
    /// The number that the harness gives a part of the app: in the order of their first words.
    fn part(&mut self, part: &str) {
        if !self.parts.iter().any(|it| it == part) {
            self.parts.push(part.to_owned());
        }
    }

    fn begin(&mut self, part: &str, user: usize) {
        self.part(part);
        if self.gone {
            return;
        }
        if !self.watches(user) {
            self.word(user).loose = true;
        }
        match self.interests.iter_mut().find(|it| it.user == user && it.part == part) {
            Some(interest) => interest.times += 1,
            None => {
                self.interests.push(Interest { part: part.into(), user, times: 1, told: None });
            }
        }
    }

    fn end(&mut self, part: &str, user: usize) {
        self.part(part);
        if let Some(it) = self.interests.iter_mut().find(|it| it.user == user && it.part == part) {
            it.times -= 1;
        }
        self.interests.retain(|it| it.times > 0);
    }
}
