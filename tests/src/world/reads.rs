//! Reads without a watch: `ask` and `list`, and what is answered.

use std::collections::BTreeMap;
use std::sync::Arc;

use greendot_engine::core::{Answer, Mark};
use greendot_protocol::State;

use super::log::Asked;
use super::node::Waiting;
use super::{Edge, Task, World};
use crate::file::Verb;
use crate::file::write::quote;

impl World<'_> {
    /// One read of the ask of this step, and the next one later if it is repeated.
    pub(super) fn ask_again(&mut self, step: usize, left: u64) {
        let scenario = self.scenario;
        let Verb::Ask { watcher, since, every, .. } = &scenario.steps[step].verb else { return };
        let node = self.node_of_viewer(watcher);
        self.order += 1;
        let ask = self.order;
        self.asks.insert(ask, step);
        let since = since.as_ref().and_then(|it| self.marks.get(it).cloned());
        self.read(node, ask, since);
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
        self.read(node, ask, None);
    }

    /// An ask or a list reaches a node, which may stand still.
    fn read(&mut self, node: usize, ask: u64, since: Option<Mark>) {
        if self.nodes[node].paused {
            self.nodes[node].backlog.push(Waiting::Read(ask, since));
        } else {
            self.take_read(node, ask, since);
        }
    }

    pub(super) fn take_read(&mut self, node: usize, ask: u64, since: Option<Mark>) {
        let scenario = self.scenario;
        let Some(&step) = self.asks.get(&ask) else { return };
        let now = self.engine_now();
        if let Some(engine) = self.nodes[node].engine.as_mut() {
            match &scenario.steps[step].verb {
                Verb::Ask { watcher, users, .. } => {
                    let users: Vec<&str> = users.iter().map(String::as_str).collect();
                    engine.ask(now, ask, watcher, &users, since);
                }
                Verb::List { watcher, .. } => engine.list(now, ask, watcher),
                _ => {}
            }
        }
        self.pump(node);
    }

    /// A list has been answered.
    pub(super) fn listed(&mut self, node: usize, ask: u64, users: &[Arc<str>]) {
        let scenario = self.scenario;
        let Some(step) = self.asks.remove(&ask) else { return };
        let Verb::List { watcher, name } = &scenario.steps[step].verb else { return };
        let name = name.clone();
        self.edge(Edge::Listed { node, step });
        for user in users {
            self.edge_with(user.as_bytes(), |user| Edge::Lists { user });
        }
        self.note(|| format!("list {name}: {users:?}"));
        let users: Vec<String> = users.iter().map(ToString::to_string).collect();
        self.keep_words(watcher, || format!("{{\"list\": {users:?}, \"count\": {}}}", users.len()));
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
        let scenario = self.scenario;
        let Some(step) = self.asks.remove(&ask) else { return };
        let Verb::Ask { watcher, name, .. } = &scenario.steps[step].verb else { return };
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
        self.keep_words(watcher, || answer_words(users));
        self.log.full_asks.insert(name.clone(), full);
        self.note(|| {
            let users: Vec<String> =
                answer.iter().map(|(user, it)| format!("{user} is {it}")).collect();
            format!("ask {name}: {}", users.join("; "))
        });
        self.log.asks.entry(name).or_default().push(answer);
    }

    /// What a watcher is sent, for who looks for a word in it.
    pub(super) fn keep_words(&mut self, watcher: &str, words: impl FnOnce() -> String) {
        if self.wanted.words.contains(watcher) {
            self.log.frames.entry(watcher.to_owned()).or_default().push(words());
        }
    }
}

/// An answer as a poll is given it: who was never seen, or may not be seen, does not stand in it.
fn answer_words(users: &[Answer]) -> String {
    let told = users
        .iter()
        .filter(|it| it.state != State::Offline || it.seen_ago.is_some() || !it.note.is_empty());
    let words: Vec<String> = told
        .map(|it| {
            let mut words = format!(
                "{{\"user\": {}, \"state\": {}, \"version\": {}",
                quote(&it.user),
                quote(it.state.name()),
                it.version.0
            );
            if let Some(ago) = it.seen_ago {
                words += &format!(", \"seen_ago_ms\": {}", ago.as_millis());
            }
            if !it.note.is_empty() {
                words += &format!(", \"note\": {}", quote(&it.note));
            }
            words + "}"
        })
        .collect();
    format!("{{\"users\": [{}]}}", words.join(", "))
}
