//! Steps of devices: apps, pages, machines and their networks.

use greendot_protocol::Mode;

use super::draft::{DeviceDraft, Draft, MODES, SESSIONS, Still};
use crate::file::{Callback, LinkAction, Verb};

/// More devices than this make a world no more interesting.
const MOST: usize = 5;

impl Draft {
    pub(super) fn open(&mut self) {
        let user = self.user();
        let name = format!("{user}/{}", SESSIONS[self.rng.below(3)]);
        match self.devices.iter().position(|it| it.name == name) {
            Some(place) if self.devices[place].still != Still::Gone => return,
            Some(place) => {
                // The same browser on the same machine: what ailed its network still does.
                self.devices[place].still = Still::Runs;
                self.devices[place].hidden = false;
            }
            None if self.devices.len() >= MOST => return,
            None => self.devices.push(DeviceDraft {
                name: name.clone(),
                still: Still::Runs,
                hidden: false,
                offline: false,
                blackholed: false,
            }),
        }
        let place = self.devices.iter().position(|it| it.name == name).unwrap_or(0);
        // A page that is loaded has a network, or it would not be there.
        self.devices[place].offline = false;
        self.devices[place].blackholed = false;
        let idle_after = self.rng.one_in(6).then(|| [0, 3_000][self.rng.below(2)]);
        let nodes = self.some_nodes();
        let (stored, twin_of) = self.copied(&name);
        self.step(Verb::Open { client: name.clone(), nodes, idle_after, stored, twin_of });
        if self.rooms && !self.rng.one_in(3) {
            self.room(name.clone());
        }
        if !self.rng.one_in(4) {
            self.app_watch(name);
        }
    }

    /// The id that a tab finds in its storage, if that is a copy of another tab's, and that other tab, if it is one of
    /// the same browser.
    fn copied(&mut self, name: &str) -> (Option<String>, Option<String>) {
        if !self.twins || !self.more.one_in(2) {
            return (None, None);
        }
        let user = name.split_once('/').map_or("", |it| it.0);
        let is_twin = |it: &&DeviceDraft| {
            it.still != Still::Gone
                && it.name != name
                && it.name.split_once('/').is_some_and(|it| it.0 == user)
        };
        let Some(twin) = self.devices.iter().find(is_twin).map(|it| it.name.clone()) else {
            return (None, None);
        };
        let stored = twin.split_once('/').map(|it| it.1.to_owned());
        (stored, self.more.one_in(2).then_some(twin))
    }

    /// The nodes that a client dials, in its own order; none: the first.
    fn some_nodes(&mut self) -> Vec<String> {
        if self.nodes.len() == 1 {
            return Vec::new();
        }
        let (first, many) = (self.some_node(), 1 + self.rng.below(self.nodes.len()));
        let all = self.nodes.len();
        (0..many).map(|it| self.nodes[(first + it) % all].name.clone()).collect()
    }

    fn app_watch(&mut self, client: String) {
        let users = self.some_users();
        let part = ["p1", "p1", "p2"][self.rng.below(3)].to_owned();
        self.step(Verb::AppWatch { client, users, part, callback: Callback::Look });
    }

    pub(super) fn device_step(&mut self) {
        if self.devices.is_empty() || self.rng.one_in(8) {
            return self.open();
        }
        if self.rng.one_in(12) {
            return self.refuse();
        }
        let device = self.rng.below(self.devices.len());
        let client = self.devices[device].name.clone();
        match self.devices[device].still {
            Still::Gone => {
                if self.rng.one_in(2) {
                    self.open();
                }
            }
            Still::Runs => self.page_step(device, client),
            still => {
                if self.rng.one_in(2) {
                    self.devices[device].still = Still::Runs;
                    self.step(ends(still, client));
                } else {
                    self.network_step(device, client);
                }
            }
        }
    }

    /// What an app chooses of how its user appears, if it does now.
    fn choice(&mut self) -> Option<Mode> {
        let chance = self.choices.as_mut()?;
        chance.one_in(8).then(|| MODES[chance.below(MODES.len())])
    }

    fn page_step(&mut self, device: usize, client: String) {
        if let Some(mode) = self.choice() {
            return self.step(Verb::AppMode { client, mode });
        }
        match self.rng.below(40) {
            0..=6 => self.app_watch(client),
            7..=10 => {
                let users = self.some_users();
                let part = ["p1", "p1", "p2"][self.rng.below(3)].to_owned();
                self.step(Verb::AppUnwatch { client, users, part });
            }
            11 => self.step(Verb::AppDisconnect { client }),
            12..=13 => self.step(Verb::AppConnect { client }),
            14 => self.step(Verb::SignOut { client }),
            15 => {
                let state =
                    ["connecting", "live", "waiting", "closed"][self.rng.below(4)].to_owned();
                let nth = 1 + self.rng.below(3) as u64;
                let actions = match self.rng.below(3) {
                    0 => vec![LinkAction::Disconnect, LinkAction::Connect],
                    1 => vec![LinkAction::Connect],
                    _ => vec![LinkAction::Disconnect],
                };
                self.step(Verb::On { client, state, nth, actions });
            }
            16..=18 => {
                self.devices[device].still = Still::Gone;
                self.step(Verb::LeavePage { client });
            }
            19 => {
                let hidden = !self.devices[device].hidden;
                self.devices[device].hidden = hidden;
                self.step(Verb::Hidden { client, hidden });
            }
            20..=21 => self.stand_still(device, Still::Frozen, client),
            22..=24 => self.stand_still(device, Still::Asleep, client),
            25 => self.stand_still(device, Still::Cached, client),
            26..=28 => {
                let lasts = self.rng.one_in(3);
                let until = if lasts { self.until() } else { 0 };
                let per_second = if lasts { 1.0 } else { 0.0 };
                self.step(Verb::Input { client, per_second, until });
            }
            29 => self.step(Verb::BeforeUnload { client }),
            30..=33 if self.rooms => self.room(client),
            _ => self.network_step(device, client),
        }
    }

    fn stand_still(&mut self, device: usize, still: Still, client: String) {
        self.devices[device].still = still;
        self.step(match still {
            Still::Frozen => Verb::Frozen { client, frozen: true },
            Still::Asleep => Verb::Asleep { client, asleep: true },
            _ => Verb::Cached { client, cached: true },
        });
    }

    fn network_step(&mut self, device: usize, client: String) {
        match self.rng.below(12) {
            0..=2 => {
                let blackholed = !self.devices[device].blackholed;
                self.devices[device].blackholed = blackholed;
                self.step(if blackholed {
                    Verb::Blackhole { client }
                } else {
                    Verb::Clear { client }
                });
            }
            3..=5 => {
                let offline = !self.devices[device].offline;
                self.devices[device].offline = offline;
                self.step(Verb::Online { client, online: !offline });
            }
            6..=9 => {
                let ttl = self.settings.engine.ttl.as_millis();
                let longest = ttl as usize / 500;
                let server_sees = [0, 500 * self.rng.below(longest + 1) as u64][self.rng.below(2)];
                self.busy_until = self.busy_until.max(self.now + server_sees);
                self.step(Verb::Reset { client, server_sees });
            }
            10 => {
                let until = self.until();
                self.step(Verb::LoseAnswers { client, until });
            }
            _ => self.step(Verb::Skew { who: client, by: 86_400_000 }),
        }
    }

    fn refuse(&mut self) {
        let node = self.rng.below(self.nodes.len());
        let node = self.nodes[node].name.clone();
        let until = self.until();
        self.step(Verb::Refuse { node, until });
    }
}

/// What ends a page's standing still.
pub(super) fn ends(still: Still, client: String) -> Verb {
    match still {
        Still::Frozen => Verb::Frozen { client, frozen: false },
        Still::Asleep => Verb::Asleep { client, asleep: false },
        _ => Verb::Cached { client, cached: false },
    }
}
