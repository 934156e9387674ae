//! Connections: two ends, and what is on the way between them.
//!
//! Each direction delivers in order, as TCP does. What cannot pass now waits, or is gone for good
//! if the path is dead.

use greendot_engine::core::ConnId;

use super::{ARRIVAL, Edge, Task, World};

/// Who holds the client's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A scripted connection.
    Raw(String),
    /// A watcher.
    Viewer(String),
    /// A device's client core, with its number for the dial.
    Device(usize, u32),
}

/// What goes from client to server.
#[derive(Clone, Debug)]
pub(super) enum Up {
    /// The connection opens.
    Open,
    /// A frame.
    Frame(Vec<u8>),
    /// The answer to a ping.
    Pong,
    /// The client's end is closed.
    End,
}

/// What goes from server to client.
#[derive(Clone, Debug)]
pub(super) enum Down {
    /// The connection is open.
    Opened,
    /// No connection is to be had.
    Failed,
    /// A frame.
    Frame(Vec<u8>),
    /// A ping.
    Ping,
    /// The server's end is closed, with this code.
    Closed(u16),
}

/// A connection.
#[derive(Debug)]
pub struct Conn {
    /// The node's index.
    pub(super) node: usize,
    /// Which run of the node accepted it: one killed and started knows it no more.
    pub(super) incarnation: u64,
    pub(super) owner: Owner,
    /// The engine's name for it, once its hello was taken.
    pub(super) engine: Option<ConnId>,
    /// The user that the engine knows behind it.
    pub(super) user: Option<String>,
    pub(super) session: Option<String>,
    /// Whether the client's end is open or opening.
    pub(super) client_open: bool,
    /// Whether the server's end is open.
    pub(super) server_open: bool,
    /// The node has closed it and waits for the client's end.
    pub(super) closing: bool,
    /// Nothing passes any more, and nobody is told.
    pub(super) dead: bool,
    /// What arrived at the client's end and could not be taken yet.
    pub(super) down_waiting: Vec<Down>,
    /// What the client sent while the path was down.
    pub(super) up_waiting: Vec<Up>,
    /// When what was sent last arrives, up and down.
    last_arrival: [u64; 2],
}

impl Conn {
    /// Who holds the client's end.
    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    /// The node's index.
    pub fn node(&self) -> usize {
        self.node
    }
}

impl World<'_> {
    /// A connection, by its number.
    pub fn conn(&self, conn: usize) -> &Conn {
        &self.conns[conn]
    }

    /// Opens a connection to a node; `Opened` or `Failed` arrives at the owner's end.
    pub(super) fn dial(&mut self, node: usize, owner: Owner) -> usize {
        let conn = self.conns.len();
        let incarnation = self.nodes[node].incarnation;
        self.conns.push(Conn {
            node,
            incarnation,
            owner,
            engine: None,
            user: None,
            session: None,
            client_open: true,
            server_open: false,
            closing: false,
            dead: false,
            down_waiting: Vec::new(),
            up_waiting: Vec::new(),
            last_arrival: [0; 2],
        });
        self.edge(Edge::Dialled { conn });
        self.send_up(conn, Up::Open);
        conn
    }

    pub(super) fn send_up(&mut self, conn: usize, up: Up) {
        let row = &mut self.conns[conn];
        if row.dead || (!row.client_open && !matches!(up, Up::End)) {
            return;
        }
        if let Owner::Device(device, _) = row.owner
            && self.devices[device].is_cut_off()
        {
            row.up_waiting.push(up);
            return;
        }
        let at = self.arrival(conn, 0);
        self.at(at, ARRIVAL, Task::Up(conn, up));
    }

    pub(super) fn send_down(&mut self, conn: usize, down: Down) {
        let at = self.arrival(conn, 1);
        self.at(at, ARRIVAL, Task::Down(conn, down));
    }

    /// When what is sent now arrives: each direction keeps its order, as TCP does.
    fn arrival(&mut self, conn: usize, direction: usize) -> u64 {
        let varies = if self.jitter > 0 { self.delays.next() % (self.jitter + 1) } else { 0 };
        let last = &mut self.conns[conn].last_arrival[direction];
        *last = (*last).max(self.now + self.scenario.settings.latency + varies);
        *last
    }

    pub(super) fn arrive_up(&mut self, conn: usize, up: Up) {
        let row = &self.conns[conn];
        if row.dead {
            return;
        }
        let node = row.node;
        if self.nodes[node].paused {
            match &up {
                Up::Open => {}
                Up::Frame(bytes) => {
                    self.edge_with(bytes, |bytes| Edge::FrameWaits { conn, bytes });
                }
                Up::Pong => self.edge(Edge::PongWaits { conn }),
                Up::End => self.edge(Edge::EndWaits { conn }),
            }
            self.nodes[node].backlog.push(super::node::Waiting::Up(conn, up, self.now));
            return;
        }
        self.take_up(conn, up, self.now);
    }

    pub(super) fn arrive_down(&mut self, conn: usize, down: Down) {
        let row = &mut self.conns[conn];
        if row.dead || !row.client_open {
            return;
        }
        match row.owner.clone() {
            Owner::Raw(name) => self.raw_takes(&name, conn, &down),
            Owner::Viewer(name) => self.viewer_takes(&name, conn, &down),
            Owner::Device(device, dial) => {
                if let Down::Ping = down
                    && self.devices[device].answers_pings()
                {
                    // The browser answers, whatever the page does.
                    self.send_up(conn, Up::Pong);
                    return;
                }
                if self.devices[device].takes_frames() {
                    self.device_takes(device, dial, conn, down);
                } else {
                    self.conns[conn].down_waiting.push(down);
                }
            }
        }
    }

    /// The client's end closes; the server hears of it if the path is not dead.
    pub(super) fn close_client_end(&mut self, conn: usize) {
        if self.conns[conn].client_open {
            self.conns[conn].client_open = false;
            self.send_up(conn, Up::End);
        }
    }

    /// The path breaks: the client sees it now, the server `later` ms after.
    pub(super) fn break_path(&mut self, conn: usize, later: u64) {
        let row = &mut self.conns[conn];
        if row.dead {
            return;
        }
        row.up_waiting.clear();
        row.down_waiting.clear();
        row.dead = true;
        self.at(self.now + later, ARRIVAL, Task::ServerSeesEnd(conn));
        self.client_sees_end(conn, LOST);
    }

    /// The client's end is told that the connection has ended.
    pub(super) fn client_sees_end(&mut self, conn: usize, code: u16) {
        if !self.conns[conn].client_open {
            return;
        }
        let down = Down::Closed(code);
        match self.conns[conn].owner.clone() {
            Owner::Raw(name) => self.raw_takes(&name, conn, &down),
            Owner::Viewer(name) => self.viewer_takes(&name, conn, &down),
            Owner::Device(device, dial) => {
                if self.devices[device].takes_frames() {
                    self.device_takes(device, dial, conn, down);
                } else {
                    self.conns[conn].down_waiting.push(down);
                }
            }
        }
    }
}

/// A connection that ended without a close frame.
pub(super) const LOST: u16 = 1006;
