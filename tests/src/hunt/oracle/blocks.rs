//! Who hides from whom (rule 13).

use greendot_protocol::State;

use super::states::States;
use super::user::{Bounds, User};
use super::{Oracle, SLACK};

/// What a user has chosen to let a viewer see.
#[derive(Clone, Debug)]
pub(super) struct Block {
    user: usize,
    viewer: usize,
    /// Each with since when.
    walls: Vec<(u64, Wall)>,
    /// When the latest choice was made, and by which node if not every node knew at once.
    chosen: Option<(u64, Option<usize>)>,
    /// The choice that a node has yet to tell the others.
    untold: Option<(usize, Wall)>,
    /// When the user was last seen, as the viewer may know while it is shut out.
    frozen: Bounds,
    /// The latest that this viewer was told.
    pub(super) told: Option<u64>,
}

/// What stands between a viewer and a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wall {
    Open,
    Shut,
    /// Which of the two, not every node may know.
    Either,
}

/// What a node may know of the wall between a viewer and a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sight {
    pub(super) open: bool,
    pub(super) shut: bool,
}

impl Sight {
    /// The viewer is shown what all are shown.
    pub(super) const CLEAR: Self = Self { open: true, shut: false };

    /// What the viewer may be shown of a user of whom others may be shown `states`. One who is hidden
    /// looks like one who has left, or was never heard from.
    pub(super) fn through(self, states: States, warming: bool) -> States {
        let gone = States::only(State::Offline);
        let gone = if warming { gone.with(State::Unknown) } else { gone };
        match (self.open, self.shut) {
            (true, false) => states,
            (false, _) => gone,
            (true, true) => states.union(gone),
        }
    }
}

impl Block {
    fn last(&self) -> (u64, Wall) {
        self.walls.last().copied().unwrap_or((0, Wall::Open))
    }

    /// What it may be taken to be at any time since then.
    fn since(&self, since: Option<u64>) -> Sight {
        let since = since.unwrap_or(u64::MAX);
        let mut sight = Sight { open: false, shut: false };
        let mut end = u64::MAX;
        for &(at, wall) in self.walls.iter().rev() {
            if end < since {
                return sight;
            }
            sight.open |= wall != Wall::Shut;
            sight.shut |= wall != Wall::Open;
            end = at;
        }
        if end >= since || self.walls.is_empty() {
            sight.open = true;
        }
        sight
    }
}

impl Oracle<'_> {
    /// What stands between a viewer and a user, as far as a node may know.
    pub(super) fn wall(&self, node: usize, viewer: Option<usize>, user: usize) -> Sight {
        match self.block(viewer, user) {
            Some(block) => block.since(self.behind_since(node)),
            None => Sight::CLEAR,
        }
    }

    pub(super) fn block(&self, viewer: Option<usize>, user: usize) -> Option<&Block> {
        let viewer = viewer?;
        self.blocks.iter().find(|it| it.user == user && it.viewer == viewer)
    }

    /// The user hides from the viewer, or shows itself again; `by` is the node that takes it, if not
    /// every node knows at once.
    pub(super) fn set_block(&mut self, by: Option<usize>, user: usize, viewer: usize, shut: bool) {
        if user == viewer {
            return;
        }
        let found = self.blocks.iter().position(|it| it.user == user && it.viewer == viewer);
        let place = found.unwrap_or(self.blocks.len());
        if found.is_none() {
            self.blocks.push(Block {
                user,
                viewer,
                walls: Vec::new(),
                chosen: None,
                untold: None,
                frozen: Bounds::default(),
                told: None,
            });
        }
        let wanted = if shut { Wall::Shut } else { Wall::Open };
        let before = self.blocks[place].chosen.replace((self.now, by));
        match by {
            None => {
                self.blocks[place].untold = None;
                self.put_wall(place, wanted);
            }
            Some(node) => {
                // Of two choices of one moment at two nodes, no rule says which is the later.
                let row = &mut self.blocks[place];
                let last = row.last();
                let tie = before.is_some_and(|(at, by)| by != Some(node) && self.now <= at + SLACK);
                row.untold = (!tie).then_some((node, wanted));
                // Of the same choice made again the store may hear of the latter only.
                row.frozen.most = row.frozen.most.max(Some(self.now));
                if shut {
                    self.users[user].hear_at_most(self.now);
                }
                if tie || last.1 != wanted {
                    self.put_wall(place, Wall::Either);
                }
            }
        }
        self.shifted = true;
    }

    fn put_wall(&mut self, place: usize, wall: Wall) {
        let (now, row) = (self.now, &self.blocks[place]);
        if row.last().1 == wall {
            return;
        }
        let exact = row.last().1 == Wall::Open && wall == Wall::Shut;
        let frozen = self.users[row.user].seen_if_it_left(now, self.cluster.shares, exact);
        if wall != Wall::Open {
            self.users[row.user].hides(now, frozen);
        }
        let row = &mut self.blocks[place];
        if wall != Wall::Open {
            row.frozen = frozen;
        }
        row.walls.push((now, wall));
        self.shifted = true;
    }

    /// A node has told the others what it had to tell.
    pub(super) fn blocks_are_told(&mut self, node: usize) {
        for place in 0..self.blocks.len() {
            if let Some((_, wanted)) = self.blocks[place].untold.take_if(|it| it.0 == node) {
                self.put_wall(place, wanted);
            }
        }
    }

    /// A node is gone: what it had to tell is lost, or is not.
    pub(super) fn blocks_of_node_are_lost(&mut self, node: usize) {
        for block in &mut self.blocks {
            block.untold.take_if(|it| it.0 == node);
        }
    }

    /// The store is lost. Of those who are connected, nodes know who is shut out.
    pub(super) fn blocks_are_lost(&mut self) {
        for place in 0..self.blocks.len() {
            if self.blocks[place].last().1 == Wall::Open {
                continue;
            }
            let viewer = self.blocks[place].viewer;
            let knows = |it: &&super::conn::Conn| {
                it.open && it.user == Some(viewer) && self.cluster.is_settled(it.node)
            };
            let watching = |it: &&super::conn::Conn| it.has_watched && !it.is_closing;
            let knower = self.conns.iter().filter(knows).find(watching).map(|it| it.node);
            let row = &mut self.blocks[place];
            if row.untold.is_none() && row.last().1 == Wall::Shut {
                row.untold = knower.map(|it| (it, Wall::Shut));
            }
            self.put_wall(place, Wall::Either);
            self.blocks[place].frozen = Bounds::ANY;
        }
        for block in &mut self.blocks {
            block.told = None;
        }
    }

    /// When a user was last seen, as far as a viewer may know.
    pub(super) fn seen_by(&self, node: usize, viewer: Option<usize>, user: usize) -> Bounds {
        let all = self.users[user].seen_bounds(self.now, self.cluster.shares);
        if self.hiding(node, viewer, user).shut {
            // As if the user had said bye when the viewer hid, or, to one that came later, had never been there.
            return Bounds { least: None, most: Some(self.now) };
        }
        let Some(block) = self.block(viewer, user) else { return all };
        match self.wall(node, viewer, user) {
            Sight { shut: false, .. } => all,
            Sight { open: false, .. } => block.frozen,
            _ => all.or(block.frozen),
        }
    }

    /// When the viewer regained sight of the user, if that is within the last `within` ms, after it had been
    /// shown for longer than that that it had none, and was shown nothing since: `shown` is when it last was.
    pub(super) fn has_just_regained(
        &self,
        viewer: Option<usize>,
        user: usize,
        within: u64,
        shown: u64,
    ) -> Option<u64> {
        let block = self.block(viewer, user)?;
        let &[.., (shut, Wall::Shut), (open, Wall::Open)] = &block.walls[..] else { return None };
        (self.now <= open + within && open > shut + within && shown < open).then_some(open)
    }

    pub(super) fn told_of(&mut self, viewer: Option<usize>, user: usize, at: u64) {
        let found = self.blocks.iter_mut();
        let mut found = found.filter(|it| it.user == user && Some(it.viewer) == viewer);
        if let Some(block) = found.next() {
            block.told = block.told.max(Some(at));
        }
    }
}

impl User {
    /// When the viewer would see it to have been last seen, if it left now; `exact` unless that is not
    /// the moment.
    fn seen_if_it_left(&self, now: u64, shares: bool, exact: bool) -> Bounds {
        let Bounds { least, most } = self.seen_bounds(now, shares);
        let public = self.public();
        if !exact || self.murky {
            return Bounds { least: None, most: most.max(Some(now)) };
        }
        if public.is_absent() {
            return Bounds { least, most };
        }
        // Becoming hidden counts as a frame heard then.
        let most = most.max(Some(now));
        if public.has(State::Offline) || public.has(State::Unknown) {
            return Bounds { least, most };
        }
        Bounds { least: Some(now), most }
    }

    /// It hides from somebody, and would be seen as this by them.
    fn hides(&mut self, now: u64, frozen: Bounds) {
        self.seen.most = self.seen.most.max(frozen.most);
        if frozen.least == Some(now) {
            self.seen.at_least(now, now);
        }
    }
}
