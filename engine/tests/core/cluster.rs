//! Nodes on one virtual clock, alone or around a shared store, and all that some onlookers are told.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use greendot_engine::core::{
    ConnId, Connect, Fineness, Mark, Node, Output, SelfReport, Settings, Start,
};
use greendot_engine::protocol::{ClientFrame, Epoch, Mode, Span, Time, WatchItem, binary};
use greendot_engine::store::{MemoryStore, NodeId, Notice, Reply, Request, Store};

/// A connection: its node, and what the node calls it.
pub(crate) type Line = (usize, ConnId);

/// What an application says a viewer may see of a user; none: it fails to.
type Audience = dyn Fn(&str, &str) -> Option<Fineness>;

/// What an onlooker was told: when (ms), on which line or by which answer, and what.
pub(crate) type Told = (u64, String, Vec<u8>);

pub(crate) struct Cluster {
    pub(crate) nodes: Vec<Node>,
    store: Option<MemoryStore>,
    pub(crate) now: Time,
    /// Lines that are listened to, with their names.
    heard: BTreeMap<Line, String>,
    ready: BTreeSet<Line>,
    /// Lines whose clients read nothing.
    stalled: BTreeSet<Line>,
    /// Notices to this node wait: it has not read them yet.
    held: Option<usize>,
    waiting: Vec<(usize, u64, Notice)>,
    pub(crate) transcript: Vec<Told>,
    /// What the application lets a viewer see of a user.
    pub(crate) audience: Box<Audience>,
    /// How long the application takes to say so, in ms.
    pub(crate) thinks: u64,
    thoughts: VecDeque<(Time, usize, u64, Vec<Option<Fineness>>)>,
    /// Whether the application lets whoever asks into a room; none: it fails to say.
    pub(crate) lets_in: Option<bool>,
    /// How long the store's words are on their way, in ms.
    pub(crate) lag: u64,
    /// What each name that it is asked about takes the store, in µs; it does one thing at a time.
    pub(crate) effort: u64,
    /// When it has done all it was asked, in µs.
    busy_until: u64,
    words: VecDeque<(Time, usize, Word)>,
    /// The store does not answer, and hears nothing.
    pub(crate) outage: bool,
    /// By the numbers of those who asked: whether the store has what was said.
    pub(crate) stored: BTreeMap<u64, bool>,
    /// How many sessions an application was told that a user has; none: nobody can say.
    pub(crate) located: Vec<Option<usize>>,
    /// Questions that the application was asked.
    pub(crate) questions: usize,
    asks: u64,
    names: BTreeMap<u64, String>,
    marks: BTreeMap<String, Mark>,
}

/// What the store says to a node.
enum Word {
    Reply(u64, Reply),
    Notice(u64, Notice),
}

/// About how many a store is asked.
fn names(request: &Request) -> u64 {
    match request {
        Request::Subscribe { users } => users.len() as u64,
        Request::Look { viewers } => viewers.len() as u64,
        _ => 1,
    }
}

/// The store's clock has an origin of its own.
const STORE: u64 = 777_000_000;
/// So have the nodes'.
const NODES: u64 = 50_000_000;

impl Cluster {
    pub(crate) fn new(settings: Settings, nodes: usize, shared: bool) -> Self {
        Self::begin(settings, nodes, shared, Start::Fresh)
    }

    /// Everything that was known before has been lost.
    pub(crate) fn after_loss(settings: Settings, nodes: usize, shared: bool) -> Self {
        Self::begin(settings, nodes, shared, Start::AfterLoss)
    }

    fn begin(settings: Settings, nodes: usize, shared: bool, start: Start) -> Self {
        let now = Time::from_millis(NODES);
        let store_now = Time::from_millis(STORE);
        let node = |index: usize| {
            let seed = index as u64 + 1;
            if shared {
                Node::with_store(settings, now, NodeId(seed), false, seed)
            } else {
                Node::new(settings, now, Epoch(1), 0, seed, start)
            }
        };
        Self {
            nodes: (0..nodes).map(|it| node(it).expect("settings that work")).collect(),
            store: shared.then(|| {
                let lost = start == Start::AfterLoss;
                MemoryStore::new(settings, false, store_now, Epoch(1), 9, lost)
            }),
            now,
            heard: BTreeMap::new(),
            ready: BTreeSet::new(),
            stalled: BTreeSet::new(),
            held: None,
            waiting: Vec::new(),
            transcript: Vec::new(),
            audience: Box::new(|_, _| Some(Fineness::Live)),
            thinks: 0,
            thoughts: VecDeque::new(),
            lets_in: Some(true),
            lag: 0,
            effort: 0,
            busy_until: 0,
            words: VecDeque::new(),
            outage: false,
            stored: BTreeMap::new(),
            located: Vec::new(),
            questions: 0,
            asks: 0,
            names: BTreeMap::new(),
            marks: BTreeMap::new(),
        }
    }

    pub(crate) fn millis(&self) -> u64 {
        self.now.as_millis() - NODES
    }

    pub(crate) fn connect(
        &mut self,
        node: usize,
        user: &str,
        session: &str,
        passive: bool,
    ) -> Line {
        let connect = Connect {
            user,
            session,
            passive,
            report: SelfReport::default(),
            token_until: None,
            device: "",
        };
        let conn = self.nodes[node].handle_connect(self.now, &connect).expect("may connect");
        self.settle();
        (node, conn)
    }

    /// From now on all that is said on this line is written down.
    pub(crate) fn listen(&mut self, line: Line, name: &str) {
        self.heard.insert(line, name.to_owned());
        self.settle();
    }

    pub(crate) fn say(&mut self, line: Line, frame: &ClientFrame<'_>) {
        self.nodes[line.0].handle_frame(self.now, line.1, frame);
        self.settle();
    }

    pub(crate) fn watch(&mut self, line: Line, request: u32, users: &[(u32, &str)]) {
        let users = users.iter().map(|&(number, user)| WatchItem { number, user }).collect();
        self.say(line, &ClientFrame::Watch { request, users });
    }

    /// The client on this line reads nothing, or reads again.
    pub(crate) fn stall(&mut self, line: Line, on: bool) {
        if on {
            self.stalled.insert(line);
        } else if self.stalled.remove(&line) {
            self.ready.insert(line);
            self.settle();
        }
    }

    pub(crate) fn hang_up(&mut self, line: Line) {
        self.heard.remove(&line);
        self.nodes[line.0].handle_drop(self.now, line.1);
        self.settle();
    }

    /// What the store knows of the user's choice.
    pub(crate) fn mode(&self, user: &str) -> Option<Mode> {
        let directory = self.store.as_ref()?.directory();
        Some(directory.mode(directory.find(user)?).0)
    }

    /// How many sessions of the user the store holds.
    pub(crate) fn sessions(&self, user: &str) -> usize {
        let directory = self.store.as_ref().map(MemoryStore::directory);
        let views = directory.and_then(|it| Some(it.views(it.find(user)?)));
        views.map_or(0, |it| it.len())
    }

    /// How many are in a room, as far as the store knows.
    pub(crate) fn members(&self, room: &str) -> usize {
        self.store.as_ref().map_or(0, |it| it.directory().roster(&room.into(), 0).count)
    }

    /// Asks that this session ends.
    pub(crate) fn end_session(&mut self, node: usize, user: &str, session: &str) {
        self.nodes[node].end_session(self.now, user, session);
        self.settle();
    }

    pub(crate) fn set_mode(&mut self, node: usize, user: &str, mode: Mode) {
        self.nodes[node].set_mode(self.now, user, mode);
        self.settle();
    }

    pub(crate) fn block(&mut self, node: usize, user: &str, viewer: &str, blocked: bool) {
        self.nodes[node].set_block(self.now, user, viewer, blocked);
        self.settle();
    }

    /// Asks whether the store has what was said of a user; the answer comes under this number.
    pub(crate) fn confirm(&mut self, node: usize, ask: u64, user: &str) {
        self.nodes[node].confirm(self.now, ask, user);
        self.settle();
    }

    pub(crate) fn audience_changed(&mut self, node: usize, user: &str, viewer: &str) {
        self.nodes[node].audience_changed(self.now, Some(user), Some(viewer));
        self.settle();
    }

    /// Asks how users stand, with the mark of the ask before of this name.
    pub(crate) fn ask(&mut self, node: usize, name: &str, viewer: &str, users: &[&str]) {
        self.asks += 1;
        self.names.insert(self.asks, name.to_owned());
        let since = self.marks.get(name).cloned();
        self.nodes[node].ask(self.now, self.asks, viewer, users, since);
        self.settle();
    }

    /// A poll in the name of a session: it is in these rooms, and is told who is there.
    pub(crate) fn poll_rooms(&mut self, node: usize, name: &str, user: &str, rooms: &[&str]) {
        self.asks += 1;
        self.names.insert(self.asks, name.to_owned());
        let connect = Connect {
            user,
            session: "poll",
            passive: false,
            report: SelfReport::default(),
            token_until: None,
            device: "",
        };
        let interval = Span::from_secs(20);
        self.nodes[node].handle_poll(self.now, &connect, interval).expect("may poll");
        self.nodes[node].ask_rooms(self.now, self.asks, user, "poll", rooms);
        self.settle();
    }

    /// Asks where a user's sessions are.
    pub(crate) fn locate(&mut self, node: usize, user: &str) {
        self.nodes[node].locate(self.now, 0, user);
        self.settle();
    }

    pub(crate) fn list(&mut self, node: usize, name: &str, viewer: &str) {
        self.asks += 1;
        self.names.insert(self.asks, name.to_owned());
        self.nodes[node].list(self.now, self.asks, viewer);
        self.settle();
    }

    /// The store loses what it held.
    pub(crate) fn lose_store(&mut self) {
        let (now, settings) = (self.store_now(), *self.nodes[0].settings());
        self.store = Some(MemoryStore::new(settings, false, now, Epoch(2), 9, true));
    }

    /// From now on this node reads no notices, but whatever else reaches it.
    pub(crate) fn hold_notices(&mut self, node: usize) {
        self.held = Some(node);
    }

    /// It reads those that wait.
    pub(crate) fn release_notices(&mut self) {
        self.held = None;
        for (to, number, notice) in std::mem::take(&mut self.waiting) {
            self.nodes[to].handle_notice(self.now, number, &notice);
        }
        self.settle();
    }

    /// Lets so many ms pass.
    pub(crate) fn pass(&mut self, millis: u64) {
        let end = self.now + Span::from_millis(millis);
        loop {
            let thought = self.thoughts.front().map_or(Time::MAX, |it| it.0);
            let word = self.words.front().map_or(Time::MAX, |it| it.0);
            let due = self.nodes.iter().map(Node::deadline).min().unwrap_or(Time::MAX);
            let due = due.min(thought).min(word);
            if due > end {
                break;
            }
            self.now = self.now.max(due);
            self.hear_store();
            self.think();
            for node in 0..self.nodes.len() {
                if self.nodes[node].deadline() <= self.now {
                    self.nodes[node].handle_timeout(self.now);
                }
            }
            self.settle();
        }
        self.now = end;
    }

    fn think(&mut self) {
        while let Some((at, ..)) = self.thoughts.front()
            && *at <= self.now
            && let Some((_, node, number, answers)) = self.thoughts.pop_front()
        {
            self.nodes[node].handle_audience(self.now, number, &answers);
        }
    }

    fn hear_store(&mut self) {
        while let Some((at, ..)) = self.words.front()
            && *at <= self.now
            && let Some((_, node, word)) = self.words.pop_front()
        {
            match word {
                Word::Reply(number, reply) => {
                    self.nodes[node].handle_reply(self.now, number, &reply);
                }
                Word::Notice(number, notice) if self.held == Some(node) => {
                    self.waiting.push((node, number, notice));
                }
                Word::Notice(number, notice) => {
                    self.nodes[node].handle_notice(self.now, number, &notice);
                }
            }
        }
    }

    fn store_now(&self) -> Time {
        Time::from_millis(STORE + self.millis())
    }

    /// Does what the nodes ask until they ask no more.
    fn settle(&mut self) {
        loop {
            let mut quiet = true;
            for node in 0..self.nodes.len() {
                while let Some(output) = self.nodes[node].poll_output() {
                    quiet = false;
                    self.perform(node, output);
                }
            }
            let ready: Vec<Line> =
                self.ready.extract_if(.., |it| !self.stalled.contains(it)).collect();
            for line in ready {
                self.hear(line);
            }
            if quiet {
                return;
            }
        }
    }

    fn perform(&mut self, node: usize, output: Output) {
        match output {
            Output::Ready(conn) => _ = self.ready.insert((node, conn)),
            Output::ReadFirst(conn) => self.nodes[node].handle_read(self.now, conn),
            Output::Close { conn, code, .. } => {
                self.hear((node, conn));
                if let Some(name) = self.heard.get(&(node, conn)) {
                    self.transcript.push((self.millis(), name.clone(), format!("{code:?}").into()));
                }
                self.nodes[node].handle_drop(self.now, conn);
            }
            Output::Store { number, request } => {
                let now = self.store_now();
                let Some(store) = self.store.as_mut().filter(|_| !self.outage) else { return };
                let reply = store.handle(now, NodeId(node as u64 + 1), &request);
                let begins = self.busy_until.max(self.now.as_millis() * 1_000);
                self.busy_until = begins + self.effort * names(&request);
                let done = Time::from_millis(self.busy_until.div_ceil(1_000));
                let at = done + Span::from_millis(self.lag);
                while let Some((to, number, notice)) = store.poll_notice() {
                    let to = to.0 as usize - 1;
                    self.words.push_back((at, to, Word::Notice(number, notice)));
                }
                self.words.push_back((at, node, Word::Reply(number, reply)));
                self.hear_store();
            }
            Output::Answer { ask, full, mark, users } => {
                let Some(name) = self.names.remove(&ask) else { return };
                let told = format!("{full} {users:?}");
                self.marks.insert(name.clone(), mark);
                self.transcript.push((self.millis(), name, told.into_bytes()));
            }
            Output::Rooms { ask, rooms } => {
                let Some(name) = self.names.remove(&ask) else { return };
                self.transcript.push((self.millis(), name, format!("{rooms:?}").into()));
            }
            Output::List { ask, users, more } => {
                let Some(name) = self.names.remove(&ask) else { return };
                self.transcript.push((self.millis(), name, format!("{users:?} {more}").into()));
            }
            Output::Audience { number, pairs } => {
                self.questions += 1;
                let answers = pairs.iter().map(|it| (self.audience)(&it.0, &it.1)).collect();
                let at = self.now + Span::from_millis(self.thinks);
                self.thoughts.push_back((at, node, number, answers));
                self.think();
            }
            Output::MayJoin { ask, .. } => {
                self.nodes[node].handle_may_join(self.now, ask, self.lets_in)
            }
            Output::Located { places, .. } => self.located.push(places.map(|it| it.len())),
            Output::Stored { ask, stored } => _ = self.stored.insert(ask, stored),
            Output::Ping(conn) => self.nodes[node].handle_pong(self.now, conn),
            _ => {}
        }
    }

    fn hear(&mut self, line: Line) {
        let (now, at) = (self.now, self.millis());
        let name = self.heard.get(&line).cloned();
        let transcript = &mut self.transcript;
        self.nodes[line.0].transmit(now, line.1, &mut |frame| {
            if let Some(name) = &name {
                let mut bytes = Vec::new();
                binary::encode_server(frame, &mut bytes);
                transcript.push((at, name.clone(), bytes));
            }
        });
    }
}
