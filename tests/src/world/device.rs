//! Devices: the driver around the shipped client core, and the browser and machine around that.

use std::collections::BTreeMap;
use std::fmt;

use greendot_client::core::{Client, Config, Dial, LinkState, Part, Reason};
use greendot_protocol::{Span, State, Time};

use super::conn::{Down, Up};
use super::{Edge, NotBuilt, Owner, Roster, World};
use crate::file::write::words;
use crate::file::{LinkAction, Verb};

/// A device with one page.
pub struct Device {
    pub(super) name: String,
    pub(super) user: String,
    /// None once the page is gone.
    pub(super) client: Option<Client>,
    /// Its browser: pages with the same number talk to each other.
    browser: usize,
    /// The id that its session goes by, which the tab's storage holds too.
    session: String,
    /// Its nodes, by their index in the world.
    pub(super) nodes: Vec<usize>,
    /// The world's connection for each dial that is still of interest.
    pub(super) conns: BTreeMap<u32, usize>,
    pub(super) parts: BTreeMap<String, u32>,
    pub(super) users: BTreeMap<u32, String>,
    pub(super) hooks: Vec<Hook>,
    asleep_since: Option<u64>,
    /// How long the machine has slept in all: its steady clock stood still.
    slept: u64,
    frozen: bool,
    cached: bool,
    offline: bool,
    hidden_since: Option<u64>,
    blackholed: bool,
    pub(super) answers_lost_until: u64,
    /// Kind `sdk`: whether a connection is to be had.
    pub(super) reachable: bool,
}

/// What an app calls inside a link callback.
#[derive(Debug)]
pub(super) struct Hook {
    pub(super) state: String,
    pub(super) nth: u64,
    pub(super) actions: Vec<LinkAction>,
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A device's steady clock does not begin with the run.
const DEVICE_ORIGIN: u64 = 700_000;

/// A tab hidden for this long gets its timers once a minute (Chromium's intensive throttling).
const THROTTLED_AFTER: u64 = 300_000;
const MINUTE: u64 = 60_000;

/// The name of a link state, as the format has it.
pub(super) fn link_name(state: LinkState) -> &'static str {
    match state {
        LinkState::Connecting => "connecting",
        LinkState::Live => "live",
        LinkState::Waiting => "waiting",
        LinkState::Stopped => "stopped",
        LinkState::Closed => "closed",
    }
}

impl Device {
    /// Its tab's storage, by what it holds: the user's session.
    pub(super) fn tab(&self) -> (String, String) {
        (self.user.clone(), self.session.clone())
    }

    /// No frame reaches it or leaves it, though its connections stand.
    pub(super) fn is_cut_off(&self) -> bool {
        self.offline
    }

    /// A browser answers pings whatever the page does, if the machine is awake.
    pub(super) fn answers_pings(&self) -> bool {
        self.asleep_since.is_none() && !self.offline && !self.cached
    }

    /// Whether the page's handlers run.
    pub(super) fn takes_frames(&self) -> bool {
        self.runs() && !self.offline
    }

    fn runs(&self) -> bool {
        self.asleep_since.is_none() && !self.frozen && !self.cached && self.client.is_some()
    }

    /// The device's steady clock.
    pub(super) fn clock(&self, now: u64) -> Time {
        let now = self.asleep_since.unwrap_or(now);
        Time::from_millis((now + DEVICE_ORIGIN).saturating_sub(self.slept))
    }

    /// When its timer fires, in ms of the run.
    fn wakes_at(&self) -> Option<u64> {
        if !self.runs() {
            return None;
        }
        let (at, reason) = self.client.as_ref()?.deadline()?;
        let due = (at.as_millis() + self.slept).saturating_sub(DEVICE_ORIGIN);
        let throttled = self.hidden_since.map(|since| since + THROTTLED_AFTER);
        match throttled {
            // Microtasks are not timers.
            Some(from) if due > from && reason != Reason::Flush => {
                Some(from + (due - from).div_ceil(MINUTE) * MINUTE)
            }
            _ => Some(due),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The client core, while the page is there.
    pub fn client(&self) -> Option<&Client> {
        self.client.as_ref()
    }

    /// What the store shows of a user: the state, the version and the note.
    pub fn shows(&self, user: &str) -> Option<(State, u32, &str)> {
        let client = self.client.as_ref()?;
        let view = client.view(self.clock(0), client.row(user)?)?;
        Some((view.state, view.version.0, view.note))
    }

    /// What the store shows of a user.
    pub fn view(&self, user: &str) -> (State, u32) {
        let view =
            self.client.as_ref().and_then(|client| client.view(self.clock(0), client.row(user)?));
        view.map_or((State::Unknown, 0), |view| (view.state, view.version.0))
    }

    /// What its app is shown of a room.
    pub fn roster(&self, room: &str) -> Option<Roster> {
        let client = self.client.as_ref()?;
        let view = client.room(client.find_room(room)?).filter(|it| it.known)?;
        let members = view.members.iter().map(|it| (it.0.to_string(), it.1)).collect();
        Some(Roster { members, count: view.count.map(u64::from), frames: Vec::new() })
    }

    /// The link's state, with the close code that led to it.
    pub fn link(&self) -> (&'static str, u16) {
        self.client.as_ref().map_or(("closed", 0), |it| (link_name(it.link()), it.why()))
    }

    /// Whether the app is told that its view may be old.
    pub fn is_stale(&self) -> bool {
        self.client.as_ref().is_none_or(Client::stale)
    }

    /// How long ago the app is told that the user was last seen, in ms.
    pub fn ago(&self, now: u64, user: &str) -> Option<u64> {
        let client = self.client.as_ref()?;
        let view = client.view(self.clock(now), client.row(user)?)?;
        view.seen_ago.map(Span::as_millis)
    }

    /// Timers, listeners and rows that a client holds.
    pub fn left_behind(&self) -> usize {
        self.client.as_ref().map_or(0, |it| it.timers() + it.listeners() + it.rows())
    }

    /// Deadlines and listeners that the client holds.
    pub fn timers(&self) -> usize {
        self.client.as_ref().map_or(0, |it| it.timers() + it.listeners())
    }
}

impl World<'_> {
    pub(super) fn next_device(&self) -> (u64, usize) {
        self.devices
            .iter()
            .enumerate()
            .filter_map(|(index, it)| Some((it.wakes_at()?.max(self.now), index)))
            .min()
            .unwrap_or((u64::MAX, 0))
    }

    pub(super) fn device_timer(&mut self, device: usize) {
        self.on_client(device, |client, now| client.handle_timeout(now));
    }

    /// An app starts a client.
    pub(super) fn open_device(
        &mut self,
        name: &str,
        session: &str,
        nodes: Vec<usize>,
        idle_after: Option<u64>,
        browser: Option<usize>,
    ) -> usize {
        let seed = self.rng.next();
        let user = name.split_once('/').map_or(name, |it| it.0).to_owned();
        let known = self.devices.iter().position(|it| it.name == name);
        let place = known.unwrap_or(self.devices.len());
        let mut device = Device {
            name: name.to_owned(),
            user,
            client: None,
            browser: browser.unwrap_or(place),
            session: session.to_owned(),
            conns: BTreeMap::new(),
            parts: BTreeMap::new(),
            users: BTreeMap::new(),
            hooks: Vec::new(),
            asleep_since: None,
            slept: 0,
            frozen: false,
            cached: false,
            offline: false,
            hidden_since: None,
            blackholed: false,
            answers_lost_until: 0,
            reachable: true,
            nodes,
        };
        let config = Config {
            session,
            nodes: device.nodes.len().max(1) as u32,
            idle_after: idle_after.map(Span::from_millis),
            seed,
        };
        let mut client = Client::new(device.clock(self.now), &config);
        if let Some(&(mode, revision)) = self.tabs.get(&device.tab()) {
            client.remember_mode(mode, revision);
        }
        device.client = Some(client);
        if known.is_some() {
            // The page was left and is loaded anew. What is on the way to the old one is lost.
            device.hooks = std::mem::take(&mut self.devices[place].hooks);
            self.devices[place] = device;
        } else {
            self.devices.push(device);
        }
        self.on_client(place, Client::connect);
        place
    }

    /// Something reached the client's end of a connection.
    pub(super) fn device_takes(&mut self, device: usize, dial: u32, conn: usize, down: Down) {
        if self.devices[device].conns.get(&dial) != Some(&conn) {
            return;
        }
        let dial_id = Dial(dial);
        match down {
            Down::Ping => self.send_up(conn, Up::Pong),
            Down::Opened => self.on_client(device, |it, now| it.handle_opened(now, dial_id)),
            Down::Frame(bytes) => self.device_reads(device, dial_id, conn, &bytes),
            Down::Failed | Down::Closed(_) => {
                let code = match down {
                    Down::Closed(code) => code,
                    _ => super::conn::LOST,
                };
                self.edge(Edge::Lost { conn, code });
                self.close_client_end(conn);
                self.devices[device].conns.remove(&dial);
                self.on_client(device, |it, now| it.handle_closed(now, dial_id, code));
            }
        }
    }

    /// The person touches a page, and the page tells the others of its browser.
    pub(super) fn device_input(&mut self, device: usize) {
        if !self.devices[device].runs() {
            return;
        }
        self.on_client(device, Client::handle_input);
        let browser = self.devices[device].browser;
        for other in 0..self.devices.len() {
            // A page that is frozen or in the cache has left the channel.
            if other != device
                && self.devices[other].browser == browser
                && self.devices[other].runs()
            {
                self.on_client(other, Client::handle_input_elsewhere);
            }
        }
    }

    /// The id for a page that found one in its tab's storage. The page that wrote it says there
    /// when it is left: without that word the storage is a copy, and its id another page's.
    fn session_for(&self, name: &str, stored: Option<&str>, browser: Option<usize>) -> String {
        let own = name.split_once('/').map_or("", |it| it.1);
        let in_use = |id: &str| {
            self.devices
                .iter()
                .any(|it| Some(it.browser) == browser && it.session == id && it.client.is_some())
        };
        stored.filter(|id| !in_use(id)).unwrap_or(own).to_owned()
    }

    /// A beacon leaves the device over a connection of its own, or is lost.
    pub(super) fn device_beacons(&mut self, device: usize, node: u32, ticket: Box<str>) {
        let row = &self.devices[device];
        if row.offline || row.blackholed {
            return;
        }
        let node = row.nodes.get(node as usize).copied().unwrap_or(0);
        let at = self.now + self.scenario.settings.latency;
        self.at(at, super::ARRIVAL, super::Task::Beacon(node, ticket));
    }

    /// What arrived while the page could not take it.
    fn take_waiting(&mut self, device: usize) {
        let conns: Vec<(u32, usize)> =
            self.devices[device].conns.iter().map(|(dial, conn)| (*dial, *conn)).collect();
        for (dial, conn) in conns {
            for up in std::mem::take(&mut self.conns[conn].up_waiting) {
                self.send_up(conn, up);
            }
            for down in std::mem::take(&mut self.conns[conn].down_waiting) {
                self.device_takes(device, dial, conn, down);
            }
        }
    }

    pub(super) fn device_index(&self, name: &str) -> Result<usize, NotBuilt> {
        self.devices
            .iter()
            .position(|it| it.name == name)
            .ok_or_else(|| NotBuilt(format!("a device {name}: the script has not opened it")))
    }

    pub(super) fn device_step(&mut self, verb: &Verb) -> Result<(), NotBuilt> {
        use greendot_client::core::Page;
        match verb {
            Verb::Open { client, nodes, idle_after, stored, twin_of } => {
                let nodes: Vec<usize> = if nodes.is_empty() {
                    vec![self.node_or_first(None)]
                } else {
                    nodes.iter().map(|name| self.node_index(name)).collect()
                };
                let twin = twin_of.as_deref().map(|it| self.device_index(it)).transpose()?;
                let browser = twin.map(|it| self.devices[it].browser);
                let session = self.session_for(client, stored.as_deref(), browser);
                self.open_device(client, &session, nodes, *idle_after, browser);
            }
            Verb::AppWatch { client, users, part, .. } => {
                let device = self.device_index(client)?;
                let part = self.part(device, part);
                for user in users {
                    self.subscribe(device, part, user);
                }
            }
            Verb::AppUnwatch { client, users, part } => {
                let device = self.device_index(client)?;
                let part = self.part(device, part);
                for user in users {
                    self.on_client(device, |it, now| {
                        if let Some(row) = it.row(user) {
                            it.unsubscribe(now, part, row);
                        }
                    });
                }
            }
            Verb::Room { who, room, join } => {
                let device = self.device_index(who)?;
                self.on_client(device, |it, now| match it.find_room(room) {
                    // The app is in it or is not, however often it is told.
                    None if *join => _ = it.join(now, room),
                    Some(place) if !*join => it.leave(now, place),
                    _ => {}
                });
            }
            Verb::AppMode { client, mode } => {
                let device = self.device_index(client)?;
                self.on_client(device, |it, now| it.set_mode(now, *mode));
            }
            Verb::AppConnect { client } => {
                let device = self.device_index(client)?;
                self.on_client(device, Client::connect);
            }
            Verb::AppDisconnect { client } => {
                let device = self.device_index(client)?;
                self.on_client(device, Client::disconnect);
            }
            Verb::On { client, state, nth, actions } => {
                let device = self.device_index(client)?;
                self.devices[device].hooks.push(Hook {
                    state: state.clone(),
                    nth: *nth,
                    actions: actions.clone(),
                });
            }
            Verb::SignOut { client } => {
                let device = self.device_index(client)?;
                self.on_client(device, Client::sign_out);
            }
            Verb::LeavePage { client } => {
                let device = self.device_index(client)?;
                self.on_client(device, |it, now| it.handle_page(now, Page::Left));
                self.page_is_gone(device);
            }
            // The browser asks and the person stays: no page event that the client listens to.
            Verb::BeforeUnload { .. } => {}
            Verb::Input { client, per_second, until } => {
                let device = self.device_index(client)?;
                if *per_second > 0.0 {
                    self.input(device, (1e3 / per_second).round() as u64, *until);
                } else {
                    self.device_input(device);
                }
            }
            Verb::Hidden { client, hidden } => {
                let device = self.device_index(client)?;
                self.devices[device].hidden_since = hidden.then_some(self.now);
                let page = if *hidden { Page::Hidden } else { Page::Visible };
                self.on_client(device, |it, now| it.handle_page(now, page));
            }
            Verb::Frozen { client, frozen } => {
                let device = self.device_index(client)?;
                let page = if *frozen { Page::Frozen } else { Page::Resumed };
                if !frozen {
                    self.devices[device].frozen = false;
                }
                self.on_client(device, |it, now| it.handle_page(now, page));
                self.devices[device].frozen = *frozen;
                if !frozen {
                    self.take_waiting(device);
                }
            }
            Verb::Asleep { client, asleep } => {
                let device = self.device_index(client)?;
                let row = &mut self.devices[device];
                if *asleep {
                    row.asleep_since.get_or_insert(self.now);
                } else if let Some(since) = row.asleep_since.take() {
                    row.slept += self.now - since;
                    self.on_client(device, |it, now| it.handle_page(now, Page::Resumed));
                    self.take_waiting(device);
                }
            }
            Verb::Cached { client, cached } => {
                let device = self.device_index(client)?;
                let page = if *cached { Page::Left } else { Page::Shown };
                self.devices[device].cached = false;
                self.on_client(device, |it, now| it.handle_page(now, page));
                if *cached {
                    self.devices[device].cached = true;
                    self.close_all(device);
                }
            }
            Verb::Online { client, online } => {
                let device = self.device_index(client)?;
                self.devices[device].offline = !online;
                let page = if *online { Page::Online } else { Page::Offline };
                if self.devices[device].runs() {
                    self.on_client(device, |it, now| it.handle_page(now, page));
                }
                if *online && self.devices[device].runs() {
                    self.take_waiting(device);
                }
            }
            Verb::Blackhole { client } => {
                let device = self.device_index(client)?;
                self.devices[device].blackholed = true;
                let conns: Vec<usize> = self.devices[device].conns.values().copied().collect();
                for conn in conns {
                    self.conns[conn].dead = true;
                }
            }
            Verb::Clear { client } => {
                let device = self.device_index(client)?;
                self.devices[device].blackholed = false;
            }
            Verb::Reset { client, server_sees } => {
                let device = self.device_index(client)?;
                let conns: Vec<usize> = self.devices[device].conns.values().copied().collect();
                for conn in conns {
                    self.break_path(conn, *server_sees);
                }
            }
            Verb::LoseAnswers { client, until } => {
                let device = self.device_index(client)?;
                self.devices[device].answers_lost_until = *until;
            }
            Verb::Frame(frame) => self.sdk_frame(frame)?,
            Verb::Lost => self.sdk_lost()?,
            Verb::Back => self.sdk_back()?,
            other => return Err(NotBuilt(format!("the step {}", words(other)))),
        }
        Ok(())
    }

    /// The number of a part of a device's app.
    pub(super) fn part(&mut self, device: usize, name: &str) -> Part {
        let parts = &mut self.devices[device].parts;
        let next = parts.len() as u32 + 1;
        Part(*parts.entry(name.to_owned()).or_insert(next))
    }

    fn subscribe(&mut self, device: usize, part: Part, user: &str) {
        let now = self.devices[device].clock(self.now);
        if let Some(client) = self.devices[device].client.as_mut() {
            let row = client.subscribe(now, part, user);
            self.devices[device].users.insert(row.0, user.to_owned());
        }
        self.drain(device);
    }

    /// The page is gone, and with it the browser's ends of its connections.
    fn page_is_gone(&mut self, device: usize) {
        self.close_all(device);
        self.devices[device].client = None;
    }

    fn close_all(&mut self, device: usize) {
        let conns: Vec<usize> =
            std::mem::take(&mut self.devices[device].conns).into_values().collect();
        for conn in conns {
            self.close_client_end(conn);
        }
    }

    /// A dial leaves the device, or cannot.
    pub(super) fn device_dials(&mut self, device: usize, dial: u32, node: u32) {
        let row = &self.devices[device];
        let node = row.nodes.get(node as usize).copied().unwrap_or(0);
        let (offline, blackholed) = (row.offline, row.blackholed);
        let name = row.name.clone();
        let now = self.now;
        self.log.devices.entry(name.clone()).or_default().dials.push((now, node));
        if offline {
            self.on_client(device, |it, now| {
                it.handle_closed(now, Dial(dial), super::conn::LOST);
            });
            return;
        }
        let conn = self.dial(node, Owner::Device(device, dial));
        self.conns[conn].dead = blackholed;
        self.devices[device].conns.insert(dial, conn);
        let open = self
            .conns
            .iter()
            .filter(|it| matches!(it.owner, Owner::Device(it, _) if it == device))
            .filter(|it| it.client_open)
            .count();
        let log = self.log.devices.entry(name).or_default();
        log.most_open = log.most_open.max(open);
    }
}
