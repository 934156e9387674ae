//! Shows that the oracle has teeth: breaks the cores on purpose, and tells what notices.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use greendot_protocol::sabotage::{Fault, switch};

use super::generate;
use crate::file::Scenario;
use crate::judge;

/// What noticed a fault.
#[derive(Clone, Debug)]
pub enum Caught {
    /// The oracle, after so many worlds.
    Hunt {
        /// How many worlds it took.
        worlds: u64,
        /// What it said.
        kind: super::oracle::Kind,
    },
    /// A scenario, and how many worlds had passed before.
    Scenario {
        /// Its id.
        case: String,
        /// How many worlds had shown nothing.
        worlds: u64,
    },
    /// Nothing.
    Nobody,
}

/// Makes the fault and looks for it: in so many random worlds, then in the scenario files. What complains without
/// the fault, too, notices nothing.
pub fn catch(fault: Fault, first: u64, worlds: u64, files: &[PathBuf]) -> Caught {
    let caught = look(fault, first, worlds, files);
    switch(None);
    caught
}

fn look(fault: Fault, first: u64, worlds: u64, files: &[PathBuf]) -> Caught {
    for seed in first..first.saturating_add(worlds) {
        let plan = generate::world(seed);
        switch(Some(fault));
        let broken = plan.play(false);
        switch(None);
        if let Ok(played) = broken
            && let Some(complaint) = played.complaint
            && plan.play(false).is_ok_and(|it| it.complaint.is_none())
        {
            return Caught::Hunt { worlds: seed - first + 1, kind: complaint.kind };
        }
    }
    for file in files {
        let Some(scenario) =
            std::fs::read_to_string(file).ok().and_then(|it| Scenario::parse(&it).ok())
        else {
            continue;
        };
        let passes = |made: Option<Fault>| {
            switch(made);
            let played = catch_unwind(AssertUnwindSafe(|| judge::play(&scenario, 1, false)));
            played.is_ok_and(|it| it.is_ok_and(|it| it.failures.is_empty()))
        };
        if !passes(Some(fault)) && passes(None) {
            return Caught::Scenario { case: scenario.case, worlds };
        }
    }
    Caught::Nobody
}
