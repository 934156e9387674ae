//! An oracle that knows the rules and nothing of the cores.
//!
//! It is shown what crosses the edges of nodes and clients ([`Edge`]), keeps its own account of
//! what the rules then allow, and complains of the first thing that they do not. Where the rules
//! leave a choice (a sweep's moment, a frame that waited unread), every outcome is allowed.

mod complaint;
mod conn;
mod device;
mod devices;
mod frames;
mod periods;
mod quiet;
mod session;
mod states;
mod steps;
mod user;
mod views;
mod words;

pub use self::complaint::{Complaint, Kind, Place};
use self::conn::Conn;
use self::device::Device;
use self::periods::{Pace, Periods, SLACK};
use self::states::States;
use self::user::User;
use crate::file::Scenario;
use crate::world::{Edge, Edges, Owner, World};

/// What a rule check found.
type Found = Result<(), Complaint>;

/// The oracle of one run.
#[derive(Debug)]
pub struct Oracle<'a> {
    scenario: &'a Scenario,
    periods: Periods,
    now: u64,
    nodes: Vec<Node>,
    users: Vec<User>,
    conns: Vec<Conn>,
    devices: Vec<Device>,
    serial: u64,
    /// Watchers that read nothing.
    stalled: Vec<String>,
    /// Connections that must be closed before the turn ends, and with what.
    to_close: Vec<(usize, u16)>,
    /// When something that is wrong now will have been wrong for too long.
    alarm: u64,
    /// When the devices are looked at again, whatever happens.
    round: u64,
    /// Whether anyone's possible states changed in this turn.
    shifted: bool,
}

/// A node, from outside.
#[derive(Clone, Debug)]
struct Node {
    up: bool,
    pace: Pace,
    /// While it may say unknown of users not heard from: when that began to be over.
    warm_until: Option<u64>,
    epoch: Option<u32>,
    /// By user: (version, state, note) as its application was told last.
    turned: Vec<Option<(u32, greendot_protocol::State, String)>>,
}

/// The devices are looked at at least so often, in ms.
const ROUND: u64 = 500;

impl<'a> Oracle<'a> {
    /// An oracle for a run of this scenario over a network whose delays vary by up to `jitter` ms.
    pub fn new(scenario: &'a Scenario, jitter: u64) -> Self {
        let node = Node {
            up: true,
            pace: Pace::default(),
            warm_until: None,
            epoch: None,
            turned: Vec::new(),
        };
        Self {
            scenario,
            periods: Periods::new(&scenario.settings, jitter),
            now: 0,
            nodes: vec![node; scenario.nodes.len()],
            users: Vec::new(),
            conns: Vec::new(),
            devices: Vec::new(),
            serial: 0,
            stalled: Vec::new(),
            to_close: Vec::new(),
            alarm: u64::MAX,
            round: 0,
            shifted: false,
        }
    }

    /// Looks at what happened in a turn.
    ///
    /// # Errors
    ///
    /// At the first thing that breaks a rule.
    pub fn look(&mut self, world: &World<'_>, edges: &Edges) -> Found {
        self.now = world.now();
        self.pass_time();
        let mut scripted = false;
        for edge in edges.iter() {
            scripted |= matches!(edge, Edge::Step(_));
            self.edge(world, edges, edge, scripted)?;
        }
        if let Some(&(conn, code)) = self.to_close.first() {
            let text = format!(
                "connection {conn} of {} was not closed with {code}",
                self.conns[conn].owner()
            );
            return self.complain(Kind::NotReplaced, text);
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
        if round || !edges.is_empty() {
            self.look_at_devices(world, round)?;
        }
        Ok(())
    }

    /// What changes by time alone.
    fn pass_time(&mut self) {
        for user in 0..self.users.len() {
            if self.users[user].next_change <= self.now {
                self.derive(user);
            }
        }
        for node in 0..self.nodes.len() {
            if let Some((may, must)) = self.warmth(node)
                && self.now >= may
            {
                self.shifted = true;
                if self.now > must {
                    self.nodes[node].warm_until = None;
                }
            }
        }
    }

    fn edge(&mut self, world: &World<'_>, edges: &Edges, edge: Edge, scripted: bool) -> Found {
        let now = self.now;
        match edge {
            Edge::Step(index) => self.step(index),
            Edge::Dialled { conn } => self.dialled(world, conn),
            Edge::FrameWaits { conn, bytes } => self.frame_waits(conn, edges.bytes(bytes)),
            Edge::PongWaits { conn } => self.pong_waits(conn),
            Edge::EndWaits { conn } => self.conns[conn].waiting.push_back(now),
            Edge::Frame { conn, bytes } => self.frame(conn, edges.bytes(bytes)),
            Edge::Pong { conn } => self.pong(conn),
            Edge::Taken { conn } => self.taken(conn),
            Edge::Refused { conn, .. } => self.conns[conn].open = false,
            Edge::Ended { conn } => self.ended(conn),
            Edge::Closes { conn, code } => return self.closes(conn, code),
            Edge::Sent { conn, bytes } => return self.sent(conn, edges.bytes(bytes)),
            Edge::Turned { node, user, state, version, note } => {
                let (user, note) = (edges.text(user), edges.text(note));
                return self.turned(node, user, state, version, note);
            }
            Edge::Got { conn, lost } => self.got(conn, lost),
            Edge::Lost { conn, code } => self.lost(conn, code),
            Edge::Says { device, beat } => self.says(device, beat),
            Edge::Told { device, part, user, state, note } => {
                let (user, note) = (edges.text(user), edges.text(note));
                return self.told(device, part, user, state, note);
            }
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
        let stalled = matches!(row.owner(), Owner::Viewer(_)) && self.is_stalled(&name);
        self.conns.push(Conn { node: row.node(), device, name, stalled, open: true, ..Conn::default() });
        if let Some(device) = device {
            let device = &mut self.devices[device];
            device.conn = Some(conn);
            device.welcomed = false;
            device.beat = None;
        }
    }

    fn is_stalled(&self, name: &str) -> bool {
        self.stalled.iter().any(|it| it == name)
    }

    fn user(&mut self, name: &str) -> usize {
        match self.users.iter().position(|it| it.name == name) {
            Some(user) => user,
            None => {
                self.users.push(User::new(name));
                let user = self.users.len() - 1;
                self.derive(user);
                user
            }
        }
    }

    /// Works out anew what may be shown of a user.
    fn derive(&mut self, user: usize) {
        let paces: [Pace; 4] = std::array::from_fn(|it| self.nodes.get(it).map_or(Pace::default(), |it| it.pace));
        self.shifted |= self.users[user].derive(self.now, &self.periods, &paces);
    }

    /// What a node may show of a user.
    fn allowed(&self, node: usize, user: usize, own: bool) -> States {
        self.users[user].shown(own, self.now, self.warmth(node))
    }

    /// When a node's warm-up may be over, and when it must be.
    fn warmth(&self, node: usize) -> Option<(u64, u64)> {
        let node = &self.nodes[node];
        node.warm_until.map(|at| (at, node.pace.swept(at, &self.periods)))
    }

    /// The note that goes with a state.
    fn note_with(&self, user: usize, state: greendot_protocol::State) -> &str {
        use greendot_protocol::State;
        match state {
            State::Offline | State::Unknown => "",
            _ => &self.users[user].note,
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
