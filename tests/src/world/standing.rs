//! What stands in the nodes and in R, for who looks at a run from outside.

use greendot_engine::core::directory::SessionView;
use greendot_engine::core::{Node, NodeCounts};

use super::World;

/// A session as the engine holds it, on the run's clock.
#[derive(Clone, Debug)]
pub struct HeldInRun {
    /// The session.
    pub view: SessionView,
    /// When its effective deadline is, in ms of the run.
    pub deadline: u64,
    /// When it was last heard, in ms of the run.
    pub heard: u64,
}

impl World<'_> {
    /// The sessions of a user, over the nodes named or all.
    pub fn sessions(&self, user: &str, nodes: Option<&[String]>) -> Vec<HeldInRun> {
        let named = |name: &str| nodes.is_none_or(|names| names.iter().any(|it| it == name));
        if let Some(store) = &self.store {
            let twin = &store.twin;
            let directory = twin.directory();
            let Some(id) = directory.find(user) else { return Vec::new() };
            return directory
                .ids_of(id)
                .filter(|it| self.holder(twin, *it).is_some_and(named))
                .filter_map(|it| {
                    Some(HeldInRun {
                        view: directory.view(it)?,
                        deadline: Self::from_store(twin.deadline(it)?),
                        heard: Self::from_store(twin.heard(it)?),
                    })
                })
                .collect();
        }
        self.nodes
            .iter()
            .filter(|it| named(&it.name))
            .filter_map(|it| it.engine.as_ref())
            .flat_map(|engine| engine.sessions(user))
            .map(|it| HeldInRun {
                view: it.view,
                deadline: Self::from_engine(it.deadline),
                heard: Self::from_engine(it.heard),
            })
            .collect()
    }

    /// Who is in a room, as everybody may see it: the count, and those who are named.
    pub fn roster(&self, room: &str) -> (usize, Vec<String>) {
        let limit = self.scenario.settings.engine.room_limit;
        let roster = match &self.store {
            Some(store) => store.twin.directory().roster(&room.into(), limit),
            None => match self.nodes.iter().find_map(|it| it.engine.as_ref()) {
                Some(engine) => engine.roster(room),
                None => return (0, Vec::new()),
            },
        };
        (roster.count, roster.members.iter().map(ToString::to_string).collect())
    }

    /// Open connections of a user, over all nodes.
    pub fn open_conns(&self, user: &str) -> usize {
        self.conns.iter().filter(|it| it.server_open && it.user.as_deref() == Some(user)).count()
    }

    /// How much a node holds, while it stands.
    pub fn counts(&self, node: usize) -> Option<NodeCounts> {
        self.nodes[node].engine.as_ref().map(Node::counts)
    }

    /// When the user was last seen by an engine, in ms of the run.
    pub fn last_seen(&self, user: &str) -> Option<u64> {
        let held =
            self.sessions(user, None).iter().filter(|it| !it.view.passive).map(|it| it.heard).max();
        if let Some(store) = &self.store {
            let directory = store.twin.directory();
            let seen = directory.find(user).and_then(|id| directory.record(id).seen);
            return held.max(seen.map(Self::from_store));
        }
        let engines = self.nodes.iter().filter_map(|it| it.engine.as_ref());
        let now = self.engine_now();
        let seen = engines.filter_map(|it| it.read_public(now, user, |it| it.seen())).max();
        held.max(seen.map(Self::from_engine))
    }

    /// Whether nothing is left in any node, save what outlives sessions by its nature.
    pub fn is_empty(&self) -> Result<(), String> {
        if let Some(store) = &self.store
            && store.twin.counts() != Default::default()
        {
            return Err(format!("R holds {:?}", store.twin.counts()));
        }
        for node in &self.nodes {
            if let Some(engine) = &node.engine {
                let counts = engine.counts();
                if counts != Default::default() {
                    return Err(format!("{} holds {counts:?}", node.name));
                }
            }
        }
        Ok(())
    }

    /// Remembers how much waits for those who are asked about.
    pub(super) fn watch_outboxes(&mut self) {
        for &name in &self.wanted.outboxes {
            let of_viewer = self.viewers.get(name).and_then(|it| it.conn);
            let device = || self.devices.iter().find(|it| it.name == name);
            let conn = of_viewer.or_else(|| device()?.conns.values().next_back().copied());
            let waiting = conn
                .map(|it| &self.conns[it])
                .and_then(|row| Some(self.nodes[row.node].engine.as_ref()?.waiting(row.engine?)));
            let waiting = waiting.unwrap_or(0);
            let log = self.log.outboxes.entry(name.to_owned()).or_default();
            if log.last().is_none_or(|it| it.1 != waiting) {
                log.push((self.now, waiting));
            }
        }
    }
}
