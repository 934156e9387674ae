//! An oracle that knows the rules and nothing of the cores.
//!
//! It is shown what crosses the edges of nodes and clients ([`Edge`]), keeps its own account of
//! what the rules then allow, and complains of the first thing that they do not. Where the rules
//! leave a choice (a sweep's moment, a frame that waited unread), every outcome is allowed.

mod app;
mod blocks;
mod choices;
mod cluster;
mod complaint;
mod conn;
mod crowds;
mod device;
mod devices;
mod frames;
mod hiding;
mod own;
mod page_rooms;
mod periods;
mod quiet;
mod reads;
mod rooms;
mod session;
mod states;
mod stays;
mod steps;
mod tokens;
mod user;
mod views;
mod watching;
mod weigh;
mod words;

use greendot_protocol::State;

use self::app::App;
use self::blocks::Block;
use self::cluster::Cluster;
pub use self::complaint::{Complaint, Kind, Place};
use self::conn::Conn;
use self::device::Device;
use self::periods::{Periods, SLACK};
use self::reads::Reads;
use self::session::BATCH;
use self::states::States;
use self::user::User;
use self::weigh::Said;
use crate::file::Scenario;
use crate::world::{Edge, Edges, Owner, World};

/// What a rule check found.
type Found = Result<(), Complaint>;

/// The oracle of one run.
#[derive(Debug)]
pub struct Oracle<'a> {
    scenario: &'a Scenario,
    now: u64,
    cluster: Cluster,
    users: Vec<User>,
    blocks: Vec<Block>,
    app: App,
    rooms: Vec<String>,
    reads: Reads,
    conns: Vec<Conn>,
    devices: Vec<Device>,
    serial: u64,
    /// Connections that are to be closed.
    to_close: Vec<Due>,
    /// By user: the changes that applications were told of.
    turned: Vec<Turns>,
    /// A node that drains: it is gone after what it says in this turn.
    drained: Option<usize>,
    /// Whether a node was ever kept from telling its application in order.
    disordered: bool,
    /// Whether words of an epoch that is over may come late.
    mixed: bool,
    /// When time alone changes something about the nodes next.
    next_settling: u64,
    /// When something that is wrong now will have been wrong for too long.
    alarm: u64,
    /// When the devices are looked at again, whatever happens.
    round: u64,
    /// By node: when a watch ended there last.
    watch_ended: Vec<u64>,
    /// Whether anyone's possible states changed in this turn.
    shifted: bool,
    /// The devices that anything happened to in this turn, by their numbers.
    touched: Vec<bool>,
}

/// A connection that is to be closed.
#[derive(Clone, Copy, Debug)]
struct Due {
    conn: usize,
    code: u16,
    since: u64,
    /// The connection that takes its place, if every node cannot yet know of it.
    unsure_by: Option<usize>,
}

/// What applications were told of a user.
#[derive(Clone, Debug, Default)]
struct Turns {
    state: State,
    note: String,
    versions: Vec<u32>,
}

/// The devices are looked at at least so often, in ms.
const ROUND: u64 = 500;

impl<'a> Oracle<'a> {
    /// An oracle for a run of this scenario over a network whose delays vary by up to `jitter` ms.
    /// `shares`: whether the nodes work with a shared store.
    pub fn new(scenario: &'a Scenario, jitter: u64, shares: bool) -> Self {
        let settings = &scenario.settings;
        let periods = Periods::new(settings, jitter);
        Self {
            scenario,
            now: 0,
            cluster: Cluster::new(periods, shares, settings.thin, scenario.nodes.len()),
            users: Vec::new(),
            blocks: Vec::new(),
            app: App::default(),
            rooms: Vec::new(),
            reads: Reads::default(),
            conns: Vec::new(),
            devices: Vec::new(),
            serial: 0,
            to_close: Vec::new(),
            turned: Vec::new(),
            drained: None,
            disordered: false,
            mixed: false,
            next_settling: u64::MAX,
            alarm: u64::MAX,
            round: 0,
            watch_ended: vec![0; scenario.nodes.len()],
            shifted: false,
            touched: Vec::new(),
        }
    }

    /// Looks at what happened in a turn.
    ///
    /// # Errors
    ///
    /// At the first thing that breaks a rule.
    pub fn look(&mut self, world: &World<'_>, edges: &Edges) -> Found {
        if world.now() > self.now {
            self.now = world.now();
            self.pass_time()?;
        }
        let mut scripted = false;
        for edge in edges.iter() {
            scripted |= matches!(edge, Edge::Step(_));
            if !matches!(edge, Edge::AnswerOf { .. } | Edge::Lists { .. }) {
                self.reading_ends()?;
            }
            self.edge(world, edges, edge, scripted)?;
            self.touch(&edge);
        }
        self.reading_ends()?;
        if let Some(node) = self.drained.take() {
            self.kill(node);
        }
        if self.shifted {
            self.shifted = false;
            self.recheck_watches();
        }
        if self.now >= self.alarm {
            self.sound_alarm()?;
        }
        let round = self.now >= self.round;
        if round {
            self.round = self.now + ROUND;
        }
        if round || self.touched.contains(&true) {
            self.look_at_devices(world, round)?;
            self.touched.fill(false);
        }
        Ok(())
    }

    /// Marks the devices that something happens to.
    fn touch(&mut self, edge: &Edge) {
        self.touched.resize(self.devices.len(), false);
        let device = match *edge {
            Edge::Step(_) => return self.touched.fill(true),
            Edge::Says { device, .. }
            | Edge::Told { device, .. }
            | Edge::RoomTold { device }
            | Edge::Link { device, .. } => Some(device),
            Edge::Got { conn, .. } | Edge::Lost { conn, .. } | Edge::Dialled { conn } => {
                self.conns[conn].device
            }
            _ => None,
        };
        if let Some(device) = device {
            self.touched[device] = true;
        }
    }

    /// What changes by time alone.
    fn pass_time(&mut self) -> Found {
        if self.now >= self.next_settling {
            self.settle_nodes();
        }
        for user in 0..self.users.len() {
            if self.users[user].next_change <= self.now {
                self.derive(user);
            }
        }
        self.check_tokens()?;
        self.check_closings()
    }

    /// The nodes are other than before.
    fn settle_nodes(&mut self) {
        let (settled, parted) = self.cluster.settle(self.now);
        for node in parted {
            for user in &mut self.users {
                user.is_parted(self.now, node, &self.cluster);
            }
        }
        for &node in &settled {
            self.blocks_are_told(node);
            self.app.unasked.retain(|it| it.1 != node);
            self.refresh_seats(node);
            for conn in self.conns.iter_mut().filter(|it| it.node == node) {
                conn.owed_refresh |= conn.stalled;
            }
            for user in &mut self.users {
                user.settle(self.now, node, &self.cluster);
            }
        }
        self.next_settling = self.cluster.next_change(self.now);
        for user in 0..self.users.len() {
            self.derive(user);
        }
        self.shifted = true;
    }

    fn edge(&mut self, world: &World<'_>, edges: &Edges, edge: Edge, scripted: bool) -> Found {
        let now = self.now;
        match edge {
            Edge::Step(index) => self.step(index),
            Edge::Dialled { conn } => self.dialled(world, conn),
            Edge::FrameWaits { conn, bytes } => self.frame_waits(conn, edges.bytes(bytes)),
            Edge::PongWaits { conn } => self.pong_waits(conn),
            Edge::EndWaits { conn } => self.end_waits(conn),
            Edge::Frame { conn, bytes } => self.frame(conn, edges.bytes(bytes)),
            Edge::Pong { conn } => self.pong(conn),
            Edge::Taken { .. } | Edge::RoomTold { .. } => {}
            Edge::Refused { conn, .. } => self.conns[conn].open = false,
            Edge::Ended { conn } => self.ended(conn),
            Edge::Closes { conn, code } => return self.closes(conn, code),
            Edge::Sent { conn, bytes } => return self.sent(conn, edges.bytes(bytes)),
            Edge::Turned { user, state, version, note, .. } => {
                let (user, note) = (edges.text(user), edges.text(note));
                return self.turned(user, state, version, note);
            }
            Edge::Got { conn, lost } => self.got(conn, lost),
            Edge::Lost { conn, code } => self.lost(conn, code),
            Edge::Says { device, conn, beat } => self.says(device, conn, beat),
            Edge::Told { device, part, user, state, note } => {
                let (user, note) = (edges.text(user), edges.text(note));
                return self.told(device, part, user, state, note);
            }
            Edge::Answered { node, step, full } => return self.answered(node, step, Some(full)),
            Edge::AnswerOf { user, state, version, seen, note } => {
                let seen_ago = seen.map(|it| now.saturating_sub(it));
                let said = Said { state, version, note: edges.text(note), seen_ago };
                return self.answer_of(edges.text(user), &said);
            }
            Edge::Listed { node, step } => return self.answered(node, step, None),
            Edge::Lists { user } => self.lists(edges.text(user)),
            Edge::Link { device, state } => return self.link(device, state, scripted),
        }
        Ok(())
    }

    fn dialled(&mut self, world: &World<'_>, conn: usize) {
        let row = world.conn(conn);
        let (device, name) = match row.owner() {
            Owner::Device(device, _) => (Some(*device), String::new()),
            Owner::Raw(name) | Owner::Viewer(name) => (None, name.clone()),
        };
        debug_assert_eq!(conn, self.conns.len());
        let node = row.node();
        self.conns.push(Conn { node, device, name, open: true, ..Conn::default() });
        if let Some(device) = device {
            let device = &mut self.devices[device];
            device.conn = Some(conn);
            device.welcomed = false;
            device.beat = None;
        }
    }

    fn user(&mut self, name: &str) -> usize {
        match self.users.iter().position(|it| it.name == name) {
            Some(user) => user,
            None => {
                let mut user = User::new(name);
                user.seen.batch = if self.cluster.thin { BATCH } else { 0 };
                self.users.push(user);
                let user = self.users.len() - 1;
                self.derive(user);
                user
            }
        }
    }

    /// Works out anew what may be shown of a user.
    fn derive(&mut self, user: usize) {
        self.shifted |= self.users[user].derive(self.now, &self.cluster);
    }

    /// What a node may show a viewer of a user; none: one of whom nothing is said.
    fn allowed(&self, node: usize, user: usize, viewer: Option<usize>) -> States {
        let warmth = self.cluster.warmth(self.now, node);
        let own = viewer == Some(user);
        let states = self.users[user].shown(own, self.now, self.behind_since(node), warmth);
        let states = self.wall(node, viewer, user).through(states, warmth.is_some());
        self.hiding(node, viewer, user).through(states, warmth.is_some())
    }

    /// Since when a node's knowledge may be old: with a shared store, news takes a turn at least.
    fn behind_since(&self, node: usize) -> Option<u64> {
        self.cluster.shares.then(|| self.cluster.behind_since(self.now, node))
    }

    /// Whether a node may show this note with this state of a user.
    fn allows_note(&self, node: usize, user: usize, state: State, note: &str) -> bool {
        let user = &self.users[user];
        match state {
            State::Offline | State::Unknown => note.is_empty(),
            _ if user.murky => true,
            _ => match self.behind_since(node) {
                None => user.note() == note,
                Some(since) => user.had_note(note, since),
            },
        }
    }

    fn raise_alarm(&mut self, at: u64) {
        self.alarm = self.alarm.min(at);
    }

    fn complain<T>(&self, kind: Kind, text: impl Into<String>) -> Result<T, Complaint> {
        self.complain_at(kind, text, Place::Nowhere)
    }

    fn complain_at<T>(
        &self,
        kind: Kind,
        text: impl Into<String>,
        place: Place,
    ) -> Result<T, Complaint> {
        Err(Complaint { kind, at: self.now, text: text.into(), place })
    }
}
