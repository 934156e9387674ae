//! Nodes: the driver around the shipped engine core.

use std::collections::{BTreeMap, BTreeSet};

use greendot_engine::core::{ConnId, Connect, Ending, Mark, Node, Output, SelfReport, Start};
use greendot_protocol::binary::{decode_client, encode_client, encode_server};
use greendot_protocol::{ClientFrame, CloseCode, Epoch, Hello, ServerFrame, Span, Time};

use super::conn::{Down, LOST, Up};
use super::store::FromStore;
use super::trace::client_words;
use super::{ARRIVAL, ENGINE_ORIGIN, Edge, NotBuilt, Owner, Task, World};

/// A node of the world.
pub struct SimNode {
    pub(super) name: String,
    pub(super) engine: Option<Node>,
    /// It stands still: what arrives waits.
    pub(super) paused: bool,
    pub(super) backlog: Vec<Waiting>,
    /// It reaches neither R nor other nodes.
    pub(super) cut: bool,
    /// What comes from R waits until then.
    pub(super) held_until: u64,
    /// It refuses every new connection until then.
    pub(super) refuses_until: u64,
    /// Counts its runs.
    pub(super) incarnation: u64,
    /// The world's connection of each of the engine's.
    pub(super) conns: BTreeMap<ConnId, usize>,
}

/// What waits for a node that stands still.
#[derive(Clone, Debug)]
pub(super) enum Waiting {
    /// Something from a client, and when it arrived.
    Up(usize, Up, u64),
    /// Something from R.
    Store(FromStore),
    /// A read of this number, with the mark it goes on from.
    Read(u64, Option<Mark>),
    /// What the application wants, by the script's step.
    Call(usize),
}

/// A server waits at most this long, in ms, for a client to close its end.
const CLOSE_WAIT: u64 = 3_000;

/// The token of a login that throws half-way.
pub(super) const THROWS: &str = "|throws";

/// What a token says: the user, and until when it is good (ms of the run).
pub(super) fn token(user: &str, until: Option<u64>) -> String {
    until.map_or_else(|| user.to_owned(), |until| format!("{user}|{until}"))
}

/// Reads what [`token`] wrote.
fn read_token(token: &str) -> (&str, Option<Time>) {
    let (user, until) = token.split_once('|').unwrap_or((token, ""));
    let until = until.parse::<u64>().ok();
    (user, until.map(|it| Time::from_millis(it + ENGINE_ORIGIN)))
}

/// A time of the run, in ms, by the engines' clock.
fn engine_time(at: u64) -> Time {
    Time::from_millis(at + ENGINE_ORIGIN)
}

/// The ticket that a driver gives a connection. Nobody here guesses any.
fn ticket_of(conn: usize) -> String {
    format!("ticket-{conn}")
}

impl World<'_> {
    /// A beacon reaches a node: `closing` for the connection of that ticket, if the node still has
    /// it, however dead the path of the connection itself is.
    pub(super) fn take_beacon(&mut self, node: usize, ticket: &str) {
        let conn = ticket.strip_prefix("ticket-").and_then(|it| it.parse::<usize>().ok());
        let Some(conn) = conn.filter(|&it| self.conns.get(it).is_some_and(|it| it.node == node))
        else {
            return;
        };
        if self.conns[conn].engine.is_none() {
            return;
        }
        let mut bytes = Vec::new();
        encode_client(&ClientFrame::Closing, &mut bytes);
        if self.nodes[node].paused {
            self.edge_with(&bytes, |bytes| Edge::FrameWaits { conn, bytes });
            self.nodes[node].backlog.push(Waiting::Up(conn, Up::Frame(bytes), self.now));
        } else {
            self.take_up(conn, Up::Frame(bytes), self.now);
        }
    }

    pub(super) fn add_node(&mut self, name: &str) -> Result<(), NotBuilt> {
        self.nodes.push(SimNode {
            name: name.to_owned(),
            engine: None,
            paused: false,
            backlog: Vec::new(),
            cut: false,
            held_until: 0,
            refuses_until: 0,
            incarnation: 0,
            conns: BTreeMap::new(),
        });
        let node = self.nodes.len() - 1;
        let engine = self.engine(node, Start::Fresh)?;
        self.nodes[node].engine = Some(engine);
        Ok(())
    }

    fn engine(&mut self, node: usize, start: Start) -> Result<Node, NotBuilt> {
        let settings = self.scenario.settings.engine;
        let refused = |error| NotBuilt(format!("a node with these settings: {error}"));
        if self.store.is_some() {
            let seed = self.rng.next();
            let id = self.node_id(node);
            let thin = self.scenario.settings.thin;
            return Node::with_store(settings, self.engine_now(), id, thin, seed).map_err(refused);
        }
        let epoch = Epoch(self.rng.next() as u32 & 0x0fff_ffff);
        let seed = self.rng.next();
        // As a wall clock would: higher at each start.
        let generation = self.now * 1000;
        Node::new(settings, self.engine_now(), epoch, generation, seed, start).map_err(refused)
    }

    pub(super) fn node_index(&self, name: &str) -> usize {
        self.nodes.iter().position(|it| it.name == name).unwrap_or(0)
    }

    /// The node named, or the first that stands.
    pub(super) fn node_or_first(&self, name: Option<&str>) -> usize {
        match name {
            Some(name) => self.node_index(name),
            None => self.nodes.iter().position(|it| it.engine.is_some()).unwrap_or(0),
        }
    }

    pub(super) fn next_node(&self) -> (u64, usize) {
        self.nodes
            .iter()
            .enumerate()
            .filter(|(_, it)| !it.paused)
            .filter_map(|(index, it)| {
                Some((Self::from_engine(it.engine.as_ref()?.deadline()), index))
            })
            .min()
            .unwrap_or((u64::MAX, 0))
    }

    pub(super) fn node_timer(&mut self, node: usize) {
        let now = self.engine_now();
        if let Some(engine) = self.nodes[node].engine.as_mut() {
            engine.handle_timeout(now);
        }
        self.pump(node);
    }

    /// Lets the application call the engine: that of the first node that stands and is not cut off.
    pub(super) fn on_engine(&mut self, call: impl Fn(&mut Node, Time)) {
        if let Some(node) = self.node_for_app() {
            self.on_engine_of(node, call);
        }
    }

    /// Lets the application call the engine of this node.
    pub(super) fn on_engine_of(&mut self, node: usize, call: impl Fn(&mut Node, Time)) {
        let now = self.engine_now();
        if let Some(engine) = self.nodes[node].engine.as_mut() {
            call(engine, now);
        }
        self.pump(node);
    }

    /// The first node that runs, one that is not cut off before others.
    pub(super) fn node_for_app(&self) -> Option<usize> {
        let runs = |it: &SimNode| it.engine.is_some() && !it.paused;
        let nodes = || self.nodes.iter();
        nodes().position(|it| runs(it) && !it.cut).or_else(|| nodes().position(runs))
    }

    /// Whether the application's call has to wait, because no node runs and one stands still: it is
    /// made when that one goes on.
    pub(super) fn app_waits(&mut self, step: usize) -> bool {
        if self.node_for_app().is_some() {
            return false;
        }
        let Some(node) = self.nodes.iter_mut().find(|it| it.engine.is_some()) else { return false };
        node.backlog.push(Waiting::Call(step));
        true
    }

    /// A node shuts down politely.
    pub(super) fn drain_node(&mut self, node: usize) {
        let now = self.engine_now();
        if let Some(engine) = self.nodes[node].engine.as_mut() {
            engine.drain(now);
        }
        self.pump(node);
        self.kill(node);
    }

    /// What reached the server's end of a connection, and its node does not stand still.
    pub(super) fn take_up(&mut self, conn: usize, up: Up, arrived: u64) {
        let node = self.conns[conn].node;
        let runs = self.nodes[node].engine.is_some()
            && self.nodes[node].incarnation == self.conns[conn].incarnation;
        match up {
            Up::Open if !runs || self.nodes[node].refuses_until > self.now => {
                self.note(|| format!("conn {conn}: refused"));
                self.send_down(conn, Down::Failed);
            }
            Up::Open => {
                self.conns[conn].server_open = true;
                self.send_down(conn, Down::Opened);
            }
            _ if !runs || !self.conns[conn].server_open => {}
            Up::Frame(bytes) => self.take_frame(node, conn, &bytes, arrived),
            Up::Pong => {
                self.edge(Edge::Pong { conn });
                self.heard(conn);
                let now = self.engine_now();
                if let (Some(engine), Some(id)) =
                    (self.nodes[node].engine.as_mut(), self.conns[conn].engine)
                {
                    match arrived == self.now {
                        true => engine.handle_pong(now, id),
                        false => engine.handle_late_pong(now, engine_time(arrived), id),
                    }
                }
            }
            Up::End => self.server_end_closes(conn),
        }
        self.pump(node);
    }

    /// The server's end is gone: the engine sees the connection end.
    fn server_end_closes(&mut self, conn: usize) {
        if !std::mem::replace(&mut self.conns[conn].server_open, false) {
            return;
        }
        self.edge(Edge::Ended { conn });
        let now = self.engine_now();
        let node = self.conns[conn].node;
        if let Some(id) = self.conns[conn].engine.take() {
            self.nodes[node].conns.remove(&id);
            if let Some(engine) = self.nodes[node].engine.as_mut() {
                engine.handle_drop(now, id);
            }
        }
        self.pump(node);
    }

    pub(super) fn server_sees_end(&mut self, conn: usize) {
        let node = self.conns[conn].node;
        if self.nodes[node].paused {
            // It will read the end when it goes on. What is still on its way on a broken path never arrives.
            self.edge(Edge::EndWaits { conn });
            self.nodes[node].backlog.push(Waiting::Up(conn, Up::End, self.now));
        } else if self.nodes[node].incarnation == self.conns[conn].incarnation {
            self.server_end_closes(conn);
        }
    }

    fn take_frame(&mut self, node: usize, conn: usize, bytes: &[u8], arrived: u64) {
        let frame = match decode_client(bytes) {
            Ok(Some(frame)) => frame,
            Ok(None) => return,
            Err(_) => return self.refuse(conn, CloseCode::BadFrame),
        };
        self.note_of(conn, || format!("↑ {}", client_words(&frame)));
        self.edge_with(bytes, |bytes| Edge::Frame { conn, bytes });
        match (self.conns[conn].engine, &frame) {
            (None, ClientFrame::Hello(hello)) => self.take_hello(node, conn, hello),
            (None, _) => self.refuse(conn, CloseCode::BadFrame),
            (Some(id), _) => {
                self.heard(conn);
                let now = self.engine_now();
                if let Some(engine) = self.nodes[node].engine.as_mut() {
                    match arrived == self.now {
                        true => engine.handle_frame(now, id, &frame),
                        false => {
                            engine.handle_late_frame(now, engine_time(arrived), id, &frame);
                        }
                    }
                    match frame {
                        ClientFrame::Token(THROWS) => engine.refuse_token(now, id, "it threw"),
                        ClientFrame::Token(token) => {
                            let (user, until) = read_token(token);
                            if self.app.turns_away(user) {
                                engine.refuse_token(now, id, "the account is closed");
                            } else {
                                engine.handle_token(now, id, user, until);
                            }
                        }
                        _ => {}
                    }
                }
            }
        }
    }

    fn take_hello(&mut self, node: usize, conn: usize, hello: &Hello<'_>) {
        let now = self.engine_now();
        if hello.token == THROWS {
            return self.refuse(conn, CloseCode::CheckFailed);
        }
        let (user, until) = read_token(hello.token);
        if self.app.turns_away(user) {
            return self.refuse(conn, CloseCode::Revoked);
        }
        let Some(engine) = self.nodes[node].engine.as_mut() else { return };
        let taken = engine.handle_connect(
            now,
            &Connect {
                user,
                session: hello.session,
                passive: hello.passive,
                report: SelfReport {
                    idle: hello.idle,
                    input_age: hello.input_age_secs.map(|it| Span::from_secs(it.into())),
                    idle_after: hello.idle_after_secs.map(|it| Span::from_secs(it.into())),
                    mode: hello.mode,
                },
                token_until: until,
                device: hello.device,
            },
        );
        let id = match taken {
            Ok(id) => id,
            Err(refusal) => return self.refuse(conn, refusal.code),
        };
        self.nodes[node].conns.insert(id, conn);
        let row = &mut self.conns[conn];
        row.engine = Some(id);
        row.user = Some(user.to_owned());
        row.session = Some(hello.session.to_owned());
        self.edge(Edge::Taken { conn });
        self.heard(conn);
        if self.store.is_none() {
            self.note_generation(user.to_owned(), hello.session.to_owned());
        }
    }

    /// Remembers the generation that a session has now been given.
    pub(super) fn note_generation(&mut self, user: String, session: String) {
        let held = self.sessions(&user, None);
        let found = held.iter().find(|it| *it.view.session == *session);
        let Some(generation) = found.map(|it| it.view.generation) else { return };
        let given = self.log.generations.entry((user, session)).or_default();
        if given.last() != Some(&generation) {
            given.push(generation);
        }
    }

    /// Closes a connection that never got as far as the engine.
    pub(super) fn refuse(&mut self, conn: usize, code: CloseCode) {
        self.note(|| format!("conn {conn}: refused, {}", code.name()));
        self.edge(Edge::Refused { conn, code: code.number() });
        self.send_down(conn, Down::Closed(code.number()));
        self.conns[conn].server_open = false;
    }

    fn heard(&mut self, conn: usize) {
        let row = &self.conns[conn];
        if let (Some(user), Some(session)) = (&row.user, &row.session) {
            let key = (user.clone(), session.clone());
            self.log.heard.entry(key).or_default().push(self.now);
        }
    }

    /// Does what the engine asks, until it asks no more.
    pub(super) fn pump(&mut self, node: usize) {
        while let Some(output) = self.nodes[node].engine.as_mut().and_then(Node::poll_output) {
            match output {
                Output::Ready(id) => self.deliver(node, id),
                Output::Ping(id) => {
                    if let Some(&conn) = self.nodes[node].conns.get(&id) {
                        self.send_down(conn, Down::Ping);
                    }
                }
                Output::ReadFirst(id) => {
                    // The world feeds arrivals before timers, but for those of a node that stood still.
                    self.read_backlog(node, id);
                    let now = self.engine_now();
                    if let Some(engine) = self.nodes[node].engine.as_mut() {
                        engine.handle_read(now, id);
                    }
                }
                Output::Close { conn: id, code, .. } => {
                    self.deliver(node, id);
                    let Some(&conn) = self.nodes[node].conns.get(&id) else { continue };
                    let number = match code {
                        Ending::Bye => 1000,
                        Ending::Code(code) => code.number(),
                    };
                    self.note_of(conn, || format!("is closed by the node: {code:?}"));
                    self.edge(Edge::Closes { conn, code: number });
                    self.send_down(conn, Down::Closed(number));
                    self.conns[conn].closing = true;
                    // A client that is there closes its end too; for one that is gone the server
                    // waits a while, and hears of the end late.
                    let late = self.now + self.rng.next() % CLOSE_WAIT;
                    self.at(late, ARRIVAL, Task::ServerSeesEnd(conn));
                }
                Output::Transition(transition) => {
                    if let Some(edges) = &mut self.edges {
                        let user = edges.keep(transition.user.as_bytes());
                        let note =
                            edges.keep(transition.note.as_deref().unwrap_or_default().as_bytes());
                        let (state, version) = (transition.state, transition.version.0);
                        edges.add(Edge::Turned { node, user, state, version, note });
                    }
                    self.note(|| {
                        let state = transition.state.name();
                        format!("{} is {state} at {}", transition.user, transition.version.0)
                    });
                }
                Output::Store { number, request } => self.ask_store(node, number, &request),
                Output::Answer { ask, full, mark, users } => {
                    self.answered(node, ask, full, mark, &users);
                }
                Output::List { ask, users, .. } => self.listed(node, ask, &users),
                _ => {}
            }
        }
    }

    /// Takes what waits for a connection, unless its client reads nothing.
    pub(super) fn deliver(&mut self, node: usize, id: ConnId) {
        let Some(&conn) = self.nodes[node].conns.get(&id) else { return };
        if let Owner::Viewer(name) = &self.conns[conn].owner
            && self.viewers.get(name).is_some_and(|it| it.stalled)
        {
            return;
        }
        let now = self.engine_now();
        let mut frames: Vec<Vec<u8>> = Vec::new();
        if let Some(engine) = self.nodes[node].engine.as_mut() {
            engine.transmit(now, id, &mut |frame| {
                let ticket = ticket_of(conn);
                let mut frame = frame.clone();
                if let ServerFrame::Welcome(welcome) = &mut frame {
                    welcome.ticket = &ticket;
                }
                let mut bytes = Vec::new();
                encode_server(&frame, &mut bytes);
                frames.push(bytes);
            });
        }
        for bytes in frames {
            self.edge_with(&bytes, |bytes| Edge::Sent { conn, bytes });
            self.send_down(conn, Down::Frame(bytes));
        }
    }

    pub(super) fn kill(&mut self, node: usize) {
        let row = &mut self.nodes[node];
        row.engine = None;
        row.paused = false;
        row.backlog.clear();
        row.conns.clear();
        row.incarnation += 1;
        row.cut = false;
        row.held_until = 0;
        for conn in 0..self.conns.len() {
            if self.conns[conn].node == node && self.conns[conn].server_open {
                self.conns[conn].server_open = false;
                self.conns[conn].engine = None;
                self.send_down(conn, Down::Closed(LOST));
            }
        }
    }

    pub(super) fn start(&mut self, node: usize, empty: bool) -> Result<(), NotBuilt> {
        let lost = empty || self.store.is_none();
        if empty {
            self.wipe_store();
        }
        if self.nodes[node].engine.is_none() {
            self.nodes[node].engine = Some(self.engine(node, Start::AfterLoss)?);
        }
        for (user, viewer) in self.app.tells_again(lost) {
            self.note(|| format!("the application tells again that {user} hides from {viewer}"));
            self.on_engine_of(node, |it, now| it.set_block(now, &user, &viewer, true));
        }
        Ok(())
    }

    /// Reads what waits on a connection at a node that has just gone on.
    fn read_backlog(&mut self, node: usize, id: ConnId) {
        let Some(&conn) = self.nodes[node].conns.get(&id) else { return };
        let of_conn = |it: &mut Waiting| matches!(it, Waiting::Up(it, ..) if *it == conn);
        let waiting: Vec<Waiting> = self.nodes[node].backlog.extract_if(.., of_conn).collect();
        for it in waiting {
            if let Waiting::Up(conn, up, arrived) = it {
                self.take_up(conn, up, arrived);
            }
        }
    }

    pub(super) fn pause(&mut self, node: usize, paused: bool) -> Result<(), NotBuilt> {
        self.nodes[node].paused = paused;
        if !paused {
            if self.rng.next().is_multiple_of(2) {
                // Its timer may well fire before it reads anything.
                self.node_timer(node);
            }
            let mut backlog = std::mem::take(&mut self.nodes[node].backlog);
            let left: BTreeSet<usize> = backlog
                .iter()
                .filter_map(|it| match it {
                    Waiting::Up(conn, Up::End, _) if self.conns[*conn].engine.is_none() => {
                        Some(*conn)
                    }
                    _ => None,
                })
                .collect();
            // As the server has it: a client that said hello and left before that was read was never there.
            backlog.retain(
                |it| !matches!(it, Waiting::Up(conn, Up::Frame(_), _) if left.contains(conn)),
            );
            // What one of them brings about may have the rest of a connection's read at once.
            self.nodes[node].backlog = backlog;
            while !self.nodes[node].backlog.is_empty() {
                match self.nodes[node].backlog.remove(0) {
                    Waiting::Up(conn, up, arrived) => self.take_up(conn, up, arrived),
                    Waiting::Store(message) => self.take_from_store(node, &message),
                    Waiting::Read(ask, since) => self.take_read(node, ask, since),
                    Waiting::Call(step) => self.step(step)?,
                }
            }
        }
        Ok(())
    }
}
