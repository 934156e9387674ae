//! Plays a world under the oracle's eyes.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::generate::quiet_after;
use super::oracle::{Complaint, Kind, Oracle, Place};
use crate::file::Scenario;
use crate::world::{NotBuilt, World};

/// A world to be played.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The script.
    pub scenario: Scenario,
    /// The seed of all that the script leaves open.
    pub seed: u64,
    /// By how much delays vary, in ms: more than a scenario file can say.
    pub jitter: u64,
}

/// What came of a world.
#[derive(Clone, Debug, Default)]
pub struct Played {
    /// What the oracle had to say.
    pub complaint: Option<Complaint>,
    /// The trace, if asked for.
    pub trace: Vec<(u64, String)>,
}

impl Plan {
    /// Plays it to its end, or to the first complaint.
    ///
    /// # Errors
    ///
    /// If it needs what is not built.
    pub fn play(&self, traced: bool) -> Result<Played, NotBuilt> {
        let mut world = World::new(&self.scenario, self.seed, traced)?;
        world.vary_delays(self.jitter);
        world.record_edges();
        let mut oracle = Oracle::new(&self.scenario, self.jitter, world.shares());
        let run = catch_unwind(AssertUnwindSafe(|| self.watch(&mut world, &mut oracle)));
        let complaint = match run {
            Ok(found) => found?,
            Err(panic) => {
                let text = panic
                    .downcast_ref::<String>()
                    .cloned()
                    .or_else(|| panic.downcast_ref::<&str>().map(|it| (*it).to_owned()))
                    .unwrap_or_default();
                let (kind, at, place) = (Kind::Panic, world.now(), Place::Nowhere);
                Some(Complaint { kind, at, text, place })
            }
        };
        Ok(Played { complaint, trace: world.trace_lines().to_vec() })
    }

    fn watch(
        &self,
        world: &mut World<'_>,
        oracle: &mut Oracle<'_>,
    ) -> Result<Option<Complaint>, NotBuilt> {
        let until = self.scenario.until;
        loop {
            let more = match world.turn(until) {
                Err(_) if world.goes_in_circles() => {
                    let (kind, at, place) = (Kind::NodeNeverDone, world.now(), Place::Nowhere);
                    let text = "at one moment more happens than can ever be done".to_owned();
                    return Ok(Some(Complaint { kind, at, text, place }));
                }
                more => more?,
            };
            let edges = world.take_edges().unwrap_or_default();
            let found = oracle.look(world, &edges);
            world.return_edges(edges);
            if let Err(complaint) = found {
                return Ok(Some(complaint));
            }
            if !more {
                break;
            }
        }
        let last = self.scenario.steps.last().map_or(0, |it| it.at);
        if until >= last + quiet_after(&self.scenario.settings) && oracle.is_healed() {
            return Ok(oracle.look_at_quiet(world).err());
        }
        Ok(None)
    }
}
