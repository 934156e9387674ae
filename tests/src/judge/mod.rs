//! Plays a scenario and holds what happened against what is expected.

mod at_end;
mod at_time;

use std::collections::BTreeMap;

use crate::file::{Expect, Scenario, Stated};
use crate::world::{NotBuilt, World};

/// A run of a scenario with one seed.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// What did not hold.
    pub failures: Vec<Failure>,
    /// The trace: (ms, line); empty unless asked for.
    pub trace: Vec<(u64, String)>,
}

/// An expectation that did not hold.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The line that states it.
    pub line: usize,
    /// What was expected and what was seen.
    pub text: String,
    /// Where to look in the trace, in ms.
    pub at: Option<u64>,
}

/// What a check found.
type Found = Result<(), String>;

/// Plays a scenario with one seed.
///
/// # Errors
///
/// If it needs what is not built.
pub fn play(scenario: &Scenario, seed: u64, traced: bool) -> Result<Verdict, NotBuilt> {
    let mut failures = Vec::new();
    let mut fail = |stated: &Stated, at: Option<u64>, text: String| {
        failures.push(Failure { line: stated.line, text, at });
    };
    let mut probes: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (index, stated) in scenario.expects.iter().enumerate() {
        for at in at_time::times(&stated.expect, scenario) {
            probes.entry(at).or_default().push(index);
        }
    }
    let mut world = World::new(scenario, seed, traced)?;
    let mut samples: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
    for (at, indices) in probes {
        world.run(at)?;
        for index in indices {
            let stated = &scenario.expects[index];
            match at_time::check(&stated.expect, at, &world)? {
                at_time::Probe::Held => {}
                at_time::Probe::Sample(value) => samples.entry(index).or_default().push(value),
                at_time::Probe::Failed(seen) => fail(stated, Some(at), seen),
            }
        }
    }
    world.run(scenario.until)?;
    for (index, stated) in scenario.expects.iter().enumerate() {
        let values = samples.get(&index).map_or(&[][..], Vec::as_slice);
        if let Err((seen, at)) = at_end::check(&stated.expect, values, &world)? {
            fail(stated, at, seen);
        }
    }
    Ok(Verdict { failures, trace: world.trace_lines().to_vec() })
}

/// The expectation in the words of the format, shortened.
pub(crate) fn words(expect: &Expect) -> String {
    let text = format!("{expect:?}");
    if text.len() > 300 { format!("{}…", &text[..text.floor_char_boundary(300)]) } else { text }
}
