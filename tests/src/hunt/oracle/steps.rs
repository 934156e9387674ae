//! What the script does that crosses no edge by itself.

use greendot_protocol::CloseCode;

use super::Oracle;
use super::conn::Conn;
use super::device::{Device, Interest};
use crate::file::{Scenario, Stands, Verb};

impl Oracle<'_> {
    pub(super) fn step(&mut self, index: usize) {
        let scenario: &Scenario = self.scenario;
        let now = self.now;
        match &scenario.steps[index].verb {
            Verb::Mode { user, mode } => {
                if let Some((by, user)) = self.app_call(user) {
                    self.users[user].choose(now, *mode, by);
                    self.derive(user);
                }
            }
            Verb::Note { user, note } => {
                if let Some((by, user)) = self.app_call(user) {
                    self.users[user].set_note(now, note);
                    // Which of two notes counts that two nodes have to tell, no rule says.
                    self.users[user].murky |= by.is_some();
                    self.shifted = true;
                }
            }
            Verb::Revoke { user } => {
                let call = self.app_call(user);
                let user = self.user(user);
                self.app.revoke(user, call.is_some());
                if let Some((by, user)) = call {
                    self.revoke(user, by);
                }
            }
            Verb::Block { user, viewer, blocked } => {
                let call = self.app_call(user);
                let (user, viewer) = (self.user(user), self.user(viewer));
                self.app.set_block(user, viewer, *blocked, call.is_some());
                if let Some((by, user)) = call {
                    self.set_block(by, user, viewer, *blocked);
                }
            }
            Verb::Ask { since, .. } => self.asks(index, since.as_deref()),
            Verb::Hangup { watcher } => {
                for row in self.conns.iter_mut().filter(|it| it.name == *watcher) {
                    (row.left, row.stalled) = (true, true);
                }
            }
            Verb::Stall { watcher, stalled } => self.stall(watcher, *stalled),
            Verb::Kill { node } => {
                let node = self.node(node);
                self.kill(node);
            }
            Verb::Drain { node } => {
                let node = self.node(node);
                self.drain(node);
            }
            Verb::Start { node, empty } => {
                let node = self.node(node);
                self.start(node, *empty);
            }
            Verb::Pause { node, paused } => {
                let node = self.node(node);
                self.pause(node, *paused);
            }
            Verb::Cut { node, cut } => {
                let node = self.node(node);
                self.disordered = true;
                self.cluster.nodes[node].cut = *cut;
                self.settle_nodes();
            }
            Verb::Store { stands } => {
                self.disordered = true;
                self.cluster.down = *stands != Stands::Up;
                self.cluster.stood_still |= *stands == Stands::Still;
                self.settle_nodes();
            }
            Verb::Hold { node, until } => {
                let node = self.node(node);
                self.disordered = true;
                self.cluster.hold(node, *until);
                self.settle_nodes();
            }
            other => self.device_step(other),
        }
    }

    fn node(&self, name: &str) -> usize {
        self.scenario.nodes.iter().position(|it| it == name).unwrap_or(0)
    }

    /// The application calls the first node that stands, best one that reaches the store. Tells
    /// that node if not every other knows at once, and the user; none if no node stands.
    fn app_call(&mut self, user: &str) -> Option<(Option<usize>, usize)> {
        let stands = |it: &super::cluster::Node| it.up && !it.paused;
        let nodes = &self.cluster.nodes;
        let node = nodes
            .iter()
            .position(|it| stands(it) && !it.cut)
            .or_else(|| nodes.iter().position(stands))?;
        let by = (!self.cluster.is_heard(node)).then_some(node);
        Some((by, self.user(user)))
    }

    fn revoke(&mut self, user: usize, by: Option<usize>) {
        self.users[user].revoked = true;
        // The store ends its sessions by what it has been told.
        if self.cluster.thin {
            self.users[user].seen.lose_last_batch(self.now);
        }
        // Until every node knows, some sessions are there and some are not.
        self.users[user].murky |= by.is_some();
        let blurred = (0..self.cluster.nodes.len()).any(|it| !self.cluster.is_settled(it));
        self.users[user].murky |= self.cluster.shares && blurred;
        let sessions = std::mem::take(&mut self.users[user].sessions);
        for conn in sessions.iter().filter_map(|it| it.conn) {
            if self.conns[conn].open {
                self.must_close(conn, CloseCode::Revoked.number(), None);
            }
        }
        self.derive(user);
    }

    fn stall(&mut self, watcher: &str, stalled: bool) {
        let now = self.now;
        let stays = |it: &&mut Conn| it.name == *watcher && !it.left;
        for row in self.conns.iter_mut().filter(stays) {
            row.stalled = stalled;
            row.stalled_at = now;
            row.start_anew(now);
        }
        self.shifted = true;
        self.raise_alarm(now);
    }

    /// The node is gone; with it the store, if it is alone.
    pub(super) fn kill(&mut self, node: usize) {
        let now = self.now;
        self.disordered |= self.cluster.shares;
        for conn in 0..self.conns.len() {
            let row = &mut self.conns[conn];
            if row.node == node && row.open {
                row.open = false;
                row.watches.clear();
                row.seats.clear();
                row.own = None;
                row.requests.clear();
                row.waiting.clear();
                self.place_is_lost(conn);
            }
        }
        self.app.unasked.retain(|it| it.1 != node);
        self.cluster.kill(now, node);
        for user in &mut self.users {
            if self.cluster.shares { user.lose_node(now, node) } else { user.forget() }
        }
        if self.cluster.shares {
            self.blocks_of_node_are_lost(node);
        } else {
            self.blocks.clear();
            self.cluster.warm_until = None;
            self.turned.clear();
        }
        self.settle_nodes();
    }

    /// The node shuts down politely: it closes its connections, and no session ends by that alone (rule 10).
    fn drain(&mut self, node: usize) {
        let up = self.cluster.nodes[node].up;
        for conn in (0..self.conns.len()).filter(|_| up) {
            let row = &self.conns[conn];
            if row.user.is_some() && row.node == node && row.open && !row.is_closing {
                self.must_close(conn, CloseCode::Drain.number(), None);
            }
        }
        self.drained = Some(node);
    }

    fn start(&mut self, node: usize, empty: bool) {
        let now = self.now;
        let was_up = std::mem::replace(&mut self.cluster.nodes[node].up, true);
        if self.cluster.shares && empty {
            self.turned.clear();
            self.disordered = true;
            self.forget_revocations();
            self.blocks_are_lost();
            for user in &mut self.users {
                user.lose(now, &self.cluster);
            }
            self.mixed |= self.cluster.nodes.iter().any(|it| it.up && !it.is_up_to_date());
            self.settle_nodes();
            self.cluster.wipe(now);
        } else if !self.cluster.shares && !was_up {
            self.cluster.wipe(now);
        }
        self.settle_nodes();
        self.app_tells_again(node, empty || !self.cluster.shares);
    }

    /// The store forgets who was revoked: connections, and what lingers of them, that it has not been asked about go on.
    fn forget_revocations(&mut self) {
        for (user, _) in std::mem::take(&mut self.app.unasked) {
            self.users[user].murky = true;
        }
        let code = CloseCode::Revoked.number();
        for due in self.to_close.iter().filter(|it| it.code == code && it.unsure_by.is_some()) {
            if let Some(user) = self.conns[due.conn].user {
                self.users[user].murky = true;
            }
        }
    }

    fn pause(&mut self, node: usize, paused: bool) {
        let now = self.now;
        self.disordered |= self.cluster.shares;
        let still = self.cluster.pause(now, node, paused);
        if !paused {
            let short = still <= self.cluster.periods.standstill();
            for session in self.users.iter_mut().flat_map(|it| &mut it.sessions) {
                // Too short for anyone to notice: what waited may be read after a sweep.
                session.awaited &= !short;
            }
            for row in self.conns.iter_mut().filter(|it| it.node == node) {
                row.start_anew(now);
            }
            self.raise_alarm(now);
        }
        self.settle_nodes();
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
                    self.with_device(client, |it, now| it.begin(now, part, user));
                }
            }
            Verb::AppUnwatch { client, users, part } => {
                for name in users {
                    let user = self.user(name);
                    self.with_device(client, |it, _| it.end(part, user));
                }
            }
            Verb::Room { who, room, join } => {
                let room = self.room(room);
                self.with_device(who, |it, now| {
                    if *join { it.joins(now, room) } else { it.leaves(now, room) }
                });
            }
            Verb::AppMode { client, mode } => {
                self.with_device(client, |it, now| it.chooses(now, *mode))
            }
            // Whoever comes next may be somebody else.
            Verb::SignOut { client } => {
                self.with_device(client, |it, _| (it.mode, it.chosen) = (None, None));
            }
            Verb::LeavePage { client } => self.with_device(client, |it, _| {
                it.gone = true;
                it.interests.clear();
                it.rooms.clear();
            }),
            Verb::Hidden { client, hidden } => {
                self.with_device(client, |it, now| {
                    it.hidden = *hidden;
                    it.shown = now;
                });
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
            let ran = device.runs();
            change(device, now);
            device.turns_still(now, ran);
        }
    }
}

impl Conn {
    /// What it is owed counts from now on.
    fn start_anew(&mut self, now: u64) {
        for watch in &mut self.watches {
            watch.wrong_since = None;
        }
        for request in &mut self.requests {
            request.2 = now;
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

    fn begin(&mut self, now: u64, part: &str, user: usize) {
        self.part(part);
        if self.gone {
            return;
        }
        if !self.watches(user) {
            let word = self.word(user);
            (word.loose, word.wrong_since) = (Some(now), None);
        }
        if !self.interests.iter().any(|it| it.user == user && it.part == part) {
            self.interests.push(Interest { part: part.into(), user, told: None });
        }
    }

    fn end(&mut self, part: &str, user: usize) {
        self.part(part);
        self.interests.retain(|it| it.user != user || it.part != part);
    }
}
