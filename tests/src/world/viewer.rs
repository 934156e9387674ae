//! Watchers: raw viewers with healthy connections.

use std::collections::BTreeMap;
use std::sync::Arc;

use greendot_engine::core::{Answer, Mark};
use greendot_protocol::binary::decode_server;
use greendot_protocol::{Beat, ClientFrame, Hello, ServerFrame, State, WatchItem};

use super::conn::{Down, Up};
use super::log::{Asked, ViewerEvent, ViewerSnapshot};
use super::node::token;
use super::trace::server_words;
use super::{ARRIVAL, Edge, Owner, Task, World};
use crate::file::Verb;

/// A watcher.
#[derive(Debug, Default)]
pub struct Viewer {
    pub(super) conn: Option<usize>,
    pub(super) stalled: bool,
    /// The users behind the numbers that stand on this connection.
    numbers: BTreeMap<u32, String>,
    next: u32,
    requests: BTreeMap<u32, Vec<u32>>,
}

impl World<'_> {
    pub(super) fn viewer_watches(
        &mut self,
        name: &str,
        users: &[String],
        node: Option<&str>,
        token_until: Option<u64>,
    ) {
        let open = self.viewers.entry(name.to_owned()).or_default().conn;
        let conn = match open.filter(|&it| self.conns[it].client_open) {
            Some(conn) => conn,
            None => self.viewer_connects(name, node, token_until),
        };
        let Some(viewer) = self.viewers.get_mut(name) else { return };
        let mut items = Vec::new();
        for user in users {
            viewer.next += 1;
            viewer.numbers.insert(viewer.next, user.clone());
            items.push(viewer.next);
        }
        let request = viewer.next;
        viewer.requests.insert(request, items.clone());
        let users: Vec<WatchItem<'_>> =
            items.iter().zip(users).map(|(&number, user)| WatchItem { number, user }).collect();
        self.raw_says(conn, &ClientFrame::Watch { request, users });
    }

    fn viewer_connects(
        &mut self,
        name: &str,
        node: Option<&str>,
        token_until: Option<u64>,
    ) -> usize {
        let node = self.node_or_first(node);
        let conn = self.dial(node, Owner::Viewer(name.to_owned()));
        let stalled = self.viewers.get(name).is_some_and(|it| it.stalled);
        self.viewers
            .insert(name.to_owned(), Viewer { conn: Some(conn), stalled, ..Viewer::default() });
        self.raw_says(
            conn,
            &ClientFrame::Hello(Hello {
                session: "viewer",
                token: &token(name, token_until),
                passive: true,
                ..Hello::default()
            }),
        );
        let at = self.now + self.beat();
        self.at(at, ARRIVAL, Task::ViewerBeat(name.to_owned(), conn));
        conn
    }

    pub(super) fn viewer_beat(&mut self, name: &str, conn: usize) {
        if !self.conns[conn].client_open {
            return;
        }
        self.raw_says(conn, &ClientFrame::Beat(Beat::default()));
        let at = self.now + self.beat();
        self.at(at, ARRIVAL, Task::ViewerBeat(name.to_owned(), conn));
    }

    pub(super) fn viewer_unwatches(&mut self, name: &str, users: &[String]) {
        let Some(viewer) = self.viewers.get_mut(name) else { return };
        let Some(conn) = viewer.conn else { return };
        let numbers: Vec<u32> =
            viewer.numbers.iter().filter(|it| users.contains(it.1)).map(|it| *it.0).collect();
        for number in &numbers {
            viewer.numbers.remove(number);
        }
        self.raw_says(conn, &ClientFrame::Unwatch { numbers });
    }

    /// Hands in a fresh token, which does not end.
    pub(super) fn viewer_renews(&mut self, name: &str) {
        if let Some(conn) = self.viewers.get(name).and_then(|it| it.conn) {
            self.raw_says(conn, &ClientFrame::Token(&token(name, None)));
        }
    }

    pub(super) fn viewer_hangs_up(&mut self, name: &str) {
        if let Some(conn) = self.viewers.get_mut(name).and_then(|it| it.conn.take()) {
            self.close_client_end(conn);
        }
    }

    pub(super) fn viewer_stalls(&mut self, name: &str, stalled: bool) {
        let Some(viewer) = self.viewers.get_mut(name) else { return };
        viewer.stalled = stalled;
        let Some(conn) = viewer.conn.filter(|_| !stalled) else { return };
        if let Some(id) = self.conns[conn].engine {
            let node = self.conns[conn].node;
            self.deliver(node, id);
            self.pump(node);
        }
    }

    pub(super) fn viewer_takes(&mut self, name: &str, conn: usize, down: &Down) {
        match down {
            Down::Ping => self.send_up(conn, Up::Pong),
            Down::Frame(bytes) => self.viewer_reads(name, conn, bytes),
            Down::Failed | Down::Closed(_) => self.close_client_end(conn),
            Down::Opened => {}
        }
    }

    fn viewer_reads(&mut self, name: &str, conn: usize, bytes: &[u8]) {
        let Ok(Some(frame)) = decode_server(bytes) else { return };
        self.note(|| format!("{name} ↓ {}", server_words(&frame)));
        let at = self.now;
        self.log.frames.entry(name.to_owned()).or_default().push(format!("{frame:?}"));
        let Some(viewer) = self.viewers.get_mut(name) else { return };
        match frame {
            ServerFrame::Snapshot { request, entries, .. } => {
                let asked: Vec<u32> = match request {
                    0 => viewer.numbers.keys().copied().collect(),
                    _ => viewer.requests.remove(&request).unwrap_or_default(),
                };
                let entries = asked
                    .iter()
                    .filter_map(|number| Some((number, viewer.numbers.get(number)?.clone())))
                    .map(|(number, user)| {
                        let entry = entries.iter().find(|it| it.number == *number);
                        let (state, version) =
                            entry.map_or((State::Offline, 0), |it| (it.state, it.version.0));
                        (user, state, version)
                    })
                    .collect();
                let snapshot = ViewerSnapshot { at, entries };
                self.log.snapshots.entry(name.to_owned()).or_default().push(snapshot);
            }
            ServerFrame::Events { entries, .. } => {
                for entry in entries {
                    let Some(user) = viewer.numbers.get(&entry.number).cloned() else { continue };
                    let (state, version) = (entry.state, entry.version.0);
                    let event = ViewerEvent { at, conn, user, state, version };
                    self.log.events.entry(name.to_owned()).or_default().push(event);
                }
            }
            _ => {}
        }
    }

    /// One read of the ask of this step, and the next one later if it is repeated.
    pub(super) fn ask_again(&mut self, step: usize, left: u64) {
        let scenario = self.scenario;
        let Verb::Ask { watcher, users, since, every, .. } = &scenario.steps[step].verb else {
            return;
        };
        let node = self.node_of_viewer(watcher);
        self.order += 1;
        let ask = self.order;
        self.asks.insert(ask, step);
        let since = since.as_ref().and_then(|it| self.marks.get(it).cloned());
        let now = self.engine_now();
        let users: Vec<&str> = users.iter().map(String::as_str).collect();
        if let Some(engine) = self.nodes[node].engine.as_mut() {
            engine.ask(now, ask, watcher, &users, since);
        }
        self.pump(node);
        if left > 1 {
            let at = self.now + every;
            self.at(at, super::STEP, Task::Ask { step, left: left - 1 });
        }
    }

    /// The node that a viewer is connected to, or the first that stands.
    fn node_of_viewer(&self, watcher: &str) -> usize {
        let conn = self.viewers.get(watcher).and_then(|it| it.conn);
        conn.map_or_else(|| self.node_or_first(None), |it| self.conns[it].node)
    }

    pub(super) fn viewer_lists(&mut self, step: usize, watcher: &str) {
        let node = self.node_of_viewer(watcher);
        self.order += 1;
        let ask = self.order;
        self.asks.insert(ask, step);
        let now = self.engine_now();
        if let Some(engine) = self.nodes[node].engine.as_mut() {
            engine.list(now, ask, watcher);
        }
        self.pump(node);
    }

    /// A list has been answered.
    pub(super) fn listed(&mut self, node: usize, ask: u64, users: &[Arc<str>]) {
        let Some(step) = self.asks.remove(&ask) else { return };
        let Verb::List { name, .. } = &self.scenario.steps[step].verb else { return };
        let name = name.clone();
        self.edge(Edge::Listed { node, step });
        for user in users {
            self.edge_with(user.as_bytes(), |user| Edge::Lists { user });
        }
        self.note(|| format!("list {name}: {users:?}"));
        let users = users.iter().map(ToString::to_string).collect();
        self.log.lists.insert(name, users);
    }

    /// An ask has been answered.
    pub(super) fn answered(
        &mut self,
        node: usize,
        ask: u64,
        full: bool,
        mark: Mark,
        users: &[Answer],
    ) {
        let Some(step) = self.asks.remove(&ask) else { return };
        let Verb::Ask { name, .. } = &self.scenario.steps[step].verb else { return };
        let name = name.clone();
        self.edge(Edge::Answered { node, step, full });
        if let Some(edges) = &mut self.edges {
            for it in users {
                let (user, note) = (edges.keep(it.user.as_bytes()), edges.keep(it.note.as_bytes()));
                let seen = it.seen.map(Self::from_engine);
                let (state, version) = (it.state, it.version.0);
                edges.add(Edge::AnswerOf { user, state, version, seen, note });
            }
        }
        self.marks.insert(name.clone(), mark);
        let answer: BTreeMap<String, Asked> = users
            .iter()
            .map(|it| {
                let asked = Asked {
                    state: it.state,
                    version: it.version.0,
                    last_seen: it.seen.map(Self::from_engine),
                    note: it.note.to_string(),
                };
                (it.user.to_string(), asked)
            })
            .collect();
        self.log.full_asks.insert(name.clone(), full);
        self.note(|| {
            let users: Vec<String> =
                answer.iter().map(|(user, it)| format!("{user} is {it}")).collect();
            format!("ask {name}: {}", users.join("; "))
        });
        self.log.asks.entry(name).or_default().push(answer);
    }
}
