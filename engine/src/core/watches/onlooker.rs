//! Users who look: what stands between them and others, once for all their connections.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::quality::SeedableRandomState;

use super::ViewerId;
use crate::core::directory::Outlook;
use crate::core::slab::{Id, Slab};

#[derive(Debug)]
pub(super) struct Onlooker {
    pub(super) name: Arc<str>,
    /// What the engine keeps between this user and others; none while the shared store is being
    /// asked.
    pub(super) outlook: Option<Arc<Outlook>>,
    /// It hides from everybody, and so sees nobody (rule 13, reciprocity).
    pub(super) hides: bool,
    pub(super) viewers: Vec<ViewerId>,
}

#[derive(Debug)]
pub(super) struct Onlookers {
    names: HashMap<Arc<str>, Id, SeedableRandomState>,
    rows: Slab<Onlooker>,
    /// Users of whom no connection looks any more.
    pub(super) forgotten: Vec<Arc<str>>,
    /// How many of those are kept at present, in case they come back.
    pub(super) keeps: usize,
    /// Users of whom no connection looked for a moment, at least, while they are kept.
    idle: Vec<Id>,
}

impl Onlookers {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            names: HashMap::with_hasher(SeedableRandomState::with_seed(
                seed,
                foldhash::SharedSeed::global_fixed(),
            )),
            rows: Slab::default(),
            forgotten: Vec::new(),
            keeps: 0,
            idle: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn find(&self, name: &str) -> Option<Id> {
        self.names.get(name).copied()
    }

    pub(super) fn get(&self, id: Id) -> Option<&Onlooker> {
        self.rows.get(id)
    }

    pub(super) fn get_mut(&mut self, id: Id) -> Option<&mut Onlooker> {
        self.rows.get_mut(id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Onlooker> {
        self.rows.iter().map(|(_, it)| it)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Onlooker> {
        self.rows.iter_mut().map(|(_, it)| it)
    }

    pub(super) fn name(&self, id: Id) -> &str {
        self.rows.get(id).map_or("", |it| &it.name)
    }

    /// The onlooker of this name, and whether it is new here.
    pub(super) fn enter(
        &mut self,
        name: &Arc<str>,
        hides: bool,
        outlook: Option<Arc<Outlook>>,
    ) -> (Id, bool) {
        if let Some(&id) = self.names.get(name) {
            return (id, false);
        }
        let row = Onlooker { name: Arc::clone(name), outlook, hides, viewers: Vec::new() };
        let id = self.rows.insert(row);
        self.names.insert(Arc::clone(name), id);
        (id, true)
    }

    pub(super) fn leave(&mut self, id: Id, viewer: ViewerId) {
        let Some(row) = self.rows.get_mut(id) else { return };
        row.viewers.retain(|it| *it != viewer);
        if self.idle.len() < self.keeps {
            self.idle.push(id);
        } else {
            self.forget(id);
        }
    }

    /// Those who have not come back are kept no more.
    pub(super) fn forget_idle(&mut self) {
        for id in std::mem::take(&mut self.idle) {
            self.forget(id);
        }
    }

    fn forget(&mut self, id: Id) {
        if self.rows.get(id).is_some_and(|it| it.viewers.is_empty())
            && let Some(row) = self.rows.remove(id)
        {
            self.names.remove(&row.name);
            self.forgotten.push(row.name);
        }
    }
}
