//! The shared store R, and the paths between it and the nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use greendot_engine::core::directory::SessionId;
use greendot_engine::store::redis::PlayedRedis;
use greendot_engine::store::{Journal, MemoryStore, NodeId, Notice, Reply, Request};
use greendot_protocol::{Epoch, Span, Time};

use super::node::Waiting;
use super::{ARRIVAL, Task, World, played};
use crate::file::Stands;

/// R goes by its own clock; nobody else knows its origin.
const STORE_ORIGIN: u64 = 5_000_000_000;

/// What goes from R to a node.
#[derive(Clone, Debug)]
pub(super) enum FromStore {
    /// The answer to a request.
    Reply(u64, Reply),
    /// Something unasked.
    Notice(u64, Notice),
}

/// How long a node waits for an answer over a line, in ms.
const PATIENCE: u64 = 2_500;

/// What is older than this is not carried out any more, in ms.
const LASTS: u64 = 6_000;

/// A request that waits on a line.
#[derive(Debug)]
struct Waits {
    since: u64,
    number: u64,
    request: Request,
}

/// The shared store of a run.
#[derive(Debug)]
pub(super) struct SimStore {
    pub(super) twin: MemoryStore,
    /// Redis, which then speaks in the twin's place.
    played: Option<PlayedRedis>,
    stands: Stands,
    /// What waits on the lines of runs of nodes while it stands still.
    lines: BTreeMap<NodeId, Vec<Waits>>,
    /// Runs of nodes that have given their lines up.
    deaf: BTreeSet<NodeId>,
    /// Writes and publications of runs whose data was lost: R counts from 0 again.
    before: BTreeMap<String, (Vec<u64>, Vec<u64>)>,
}

impl World<'_> {
    fn new_twin(&mut self, warming: bool) -> MemoryStore {
        let settings = &self.scenario.settings;
        let epoch = Epoch(self.rng.next() as u32 & 0x0fff_ffff);
        let seed = self.rng.next();
        let now = self.store_now();
        let (engine, thin) = (settings.engine, settings.thin);
        let mut twin = MemoryStore::new(engine, thin, now, epoch, seed, warming);
        if self.wanted.journal {
            twin.keep_journal();
        }
        twin
    }

    pub(super) fn open_store(&mut self) {
        let twin = self.new_twin(false);
        let played = played::open(&self.scenario.settings, self.store_now());
        self.store = Some(SimStore {
            twin,
            played,
            stands: Stands::Up,
            lines: BTreeMap::new(),
            deaf: BTreeSet::new(),
            before: BTreeMap::new(),
        });
    }

    /// R loses what it held.
    pub(super) fn wipe_store(&mut self) {
        let twin = self.new_twin(true);
        let now = self.store_now();
        if let Some(store) = self.store.as_mut() {
            for (at, user) in store.twin.journal().map_or(&[][..], |it| &it.writes) {
                let kept = store.before.entry(user.to_string()).or_default();
                kept.0.push(run_time(*at));
            }
            for (at, user) in store.twin.journal().map_or(&[][..], |it| &it.published) {
                let kept = store.before.entry(user.to_string()).or_default();
                kept.1.push(run_time(*at));
            }
            store.twin = twin;
            store.lines.clear();
            if let Some(played) = store.played.as_mut() {
                played.wipe(now).unwrap_or_else(|error| panic!("{error}"));
            }
        }
    }

    fn store_now(&self) -> Time {
        Time::from_millis(self.now + STORE_ORIGIN)
    }

    /// R answers, or does not.
    pub(super) fn store_stands(&mut self, stands: Stands) {
        let Some(store) = self.store.as_mut() else { return };
        store.stands = stands;
        let mut lines: Vec<_> = std::mem::take(&mut store.lines).into_iter().collect();
        if stands != Stands::Up {
            return;
        }
        let now = self.now;
        let given_up = |line: &[Waits]| line.first().is_some_and(|it| now - it.since >= PATIENCE);
        let deaf = lines.iter().filter(|it| given_up(&it.1)).map(|it| it.0);
        store.deaf = deaf.collect();
        // Which of them it reads first nobody knows.
        for last in (1..lines.len()).rev() {
            lines.swap(last, self.rng.next() as usize % (last + 1));
        }
        for (id, line) in lines {
            let first = line.first().map_or(0, |it| it.since);
            // What was said later waited for an answer to that, and not on the line.
            let sent = line.iter().filter(|it| !given_up(&line) || it.since == first);
            for it in sent.filter(|it| now - it.since <= LASTS) {
                let late = Span::from_millis(now - it.since);
                self.carry_out(id, late, it.number, &it.request);
            }
        }
        if let Some(store) = self.store.as_mut() {
            store.deaf.clear();
        }
    }

    /// A node asks R, if the path stands.
    pub(super) fn ask_store(&mut self, node: usize, number: u64, request: &Request) {
        let (now, id) = (self.now, self.node_id(node));
        let cut = self.nodes[node].cut;
        let Some(store) = self.store.as_mut().filter(|_| !cut) else { return };
        match store.stands {
            Stands::Up => self.carry_out(id, Span::ZERO, number, request),
            Stands::Down => {}
            Stands::Still => {
                let line = store.lines.entry(id).or_default();
                if line.first().is_none_or(|it| now - it.since < PATIENCE) {
                    line.push(Waits { since: now, number, request: request.clone() });
                }
            }
        }
    }

    /// R does what the run of a node asked so long ago.
    fn carry_out(&mut self, id: NodeId, late: Span, number: u64, request: &Request) {
        let now = self.store_now();
        let Some(store) = self.store.as_mut() else { return };
        let mut said = played::ask(&mut store.twin, now, late, id, request);
        if let Some(redis) = store.played.as_mut() {
            let limit = self.scenario.settings.engine.roster_limit();
            let nodes = &self.nodes;
            // When one that has been silent for long is forgotten, each store may choose.
            let heeds = |it: NodeId| {
                nodes.get((it.0 / 1_000) as usize).is_some_and(|node| {
                    node.incarnation == it.0 % 1_000
                        && node.engine.is_some()
                        && !(node.cut || node.paused)
                })
            };
            let by_twin = std::mem::replace(&mut said, played::ask(redis, now, late, id, request));
            played::compare(request, limit, &heeds, &by_twin, &said);
            // Both are asked on with what this says; generations only have to rise.
            said.0.held = by_twin.0.held;
        }
        let (reply, notices) = said;
        let is_plain = match request {
            Request::Beat { away, silent, heard } => {
                *away == Span::ZERO && silent.is_empty() && heard.is_empty()
            }
            Request::Sweep => true,
            _ => false,
        };
        if !is_plain {
            let late = if late == Span::ZERO { "" } else { "late, " };
            self.note(|| format!("R ← {id:?} {late}{request:?}"));
        }
        // Notices of a change go before the answer to the request that caused it.
        for (to, number, notice) in notices {
            self.note(|| format!("R → {to:?} {notice:?}"));
            if let Some(node) = self.hearer(to) {
                self.send_from_store(node, FromStore::Notice(number, notice));
            }
        }
        if let Some(node) = self.hearer(id) {
            self.send_from_store(node, FromStore::Reply(number, reply));
        }
        if let Request::Connect(register) = request {
            let name = &register.name;
            self.note_generation(name.user.to_string(), name.session.to_string());
        }
    }

    /// The node whose run hears what R says.
    fn hearer(&self, id: NodeId) -> Option<usize> {
        let is_deaf = self.store.as_ref().is_some_and(|it| it.deaf.contains(&id));
        self.node_of(id).filter(|it| !is_deaf && !self.nodes[*it].cut)
    }

    fn send_from_store(&mut self, node: usize, message: FromStore) {
        let at = self.now.max(self.nodes[node].held_until);
        let incarnation = self.nodes[node].incarnation;
        self.at(at, ARRIVAL, Task::FromStore(node, incarnation, Box::new(message)));
    }

    pub(super) fn arrive_from_store(&mut self, node: usize, incarnation: u64, message: FromStore) {
        if self.nodes[node].incarnation != incarnation {
            return;
        }
        if self.nodes[node].paused {
            self.nodes[node].backlog.push(Waiting::Store(message));
            return;
        }
        self.take_from_store(node, &message);
    }

    pub(super) fn take_from_store(&mut self, node: usize, message: &FromStore) {
        let now = self.engine_now();
        if let Some(engine) = self.nodes[node].engine.as_mut() {
            match message {
                FromStore::Reply(number, reply) => engine.handle_reply(now, *number, reply),
                FromStore::Notice(number, notice) => engine.handle_notice(now, *number, notice),
            }
        }
        self.pump(node);
    }

    /// Which run of which node this is, for R.
    pub(super) fn node_id(&self, node: usize) -> NodeId {
        NodeId(node as u64 * 1_000 + self.nodes[node].incarnation)
    }

    /// The node whose present run this is.
    pub(super) fn node_of(&self, id: NodeId) -> Option<usize> {
        (0..self.nodes.len()).find(|it| self.node_id(*it) == id && self.nodes[*it].engine.is_some())
    }

    /// The name of the node that holds a session in R.
    pub(super) fn holder(&self, twin: &MemoryStore, session: SessionId) -> Option<&str> {
        let node = (twin.holder(session)?.0 / 1_000) as usize;
        Some(&self.nodes[node].name)
    }

    /// When R was written to about a user, in ms of the run.
    pub fn writes(&self, user: &str) -> Vec<u64> {
        self.counted(user, |it| &it.0, |it| &it.writes)
    }

    /// When a change of a user was published for the whole cluster, in ms of the run.
    pub fn published(&self, user: &str) -> Vec<u64> {
        self.counted(user, |it| &it.1, |it| &it.published)
    }

    fn counted(
        &self,
        user: &str,
        before: impl Fn(&(Vec<u64>, Vec<u64>)) -> &Vec<u64>,
        now: impl Fn(&Journal) -> &[(Time, Arc<str>)],
    ) -> Vec<u64> {
        let Some(store) = &self.store else { return Vec::new() };
        let mut times = store.before.get(user).map(|it| before(it).clone()).unwrap_or_default();
        let here = store.twin.journal().map_or(&[][..], now).iter();
        let here = here.filter(|it| *it.1 == *user);
        times.extend(here.map(|it| run_time(it.0)));
        times
    }

    /// A time of R's clock in ms of the run.
    pub(super) fn from_store(at: Time) -> u64 {
        run_time(at)
    }
}

fn run_time(at: Time) -> u64 {
    at.as_millis().saturating_sub(STORE_ORIGIN)
}
