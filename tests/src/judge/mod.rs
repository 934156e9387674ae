//! Plays a scenario and holds what happened against what is expected.

mod at_end;
mod at_time;
mod cause;

use std::collections::BTreeMap;

use crate::file::write::secs;
use crate::file::{Expect, Scenario, Stated, end_name};
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
    /// The last step until then that concerns whom the expectation is about, by its index.
    pub before: Option<usize>,
}

/// What a check found.
type Found = Result<(), String>;

/// Plays a scenario with one seed.
///
/// # Errors
///
/// If it needs what is not built.
pub fn play(scenario: &Scenario, seed: u64, traced: bool) -> Result<Verdict, NotBuilt> {
    play_counting(scenario, seed, traced, None)
}

/// Plays a scenario with one seed. `allocated` tells how many bytes this process has allocated and
/// not freed, for who expects something of the memory.
///
/// # Errors
///
/// If it needs what is not built, or a count that is not there.
pub fn play_counting(
    scenario: &Scenario,
    seed: u64,
    traced: bool,
    allocated: Option<fn() -> usize>,
) -> Result<Verdict, NotBuilt> {
    let mut failures = Vec::new();
    let mut fail = |stated: &Stated, at: Option<u64>, text: String| {
        let before = at.and_then(|at| cause::last_step(scenario, &stated.expect, at));
        failures.push(Failure { line: stated.line, text, at, before });
    };
    let mut probes: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (index, stated) in scenario.expects.iter().enumerate() {
        for at in stated.expect.moments(scenario.until) {
            probes.entry(at).or_default().push(index);
        }
    }
    let mut world = World::new(scenario, seed, traced)?;
    let mut samples: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
    for (at, indices) in probes {
        world.run(at)?;
        for index in indices {
            let stated = &scenario.expects[index];
            if let Expect::Memory { .. } = stated.expect {
                let count = || NotBuilt("a count of the bytes that this process holds".into());
                let bytes = World::bytes_held(scenario, seed, at, allocated.ok_or_else(count)?)?;
                samples.entry(index).or_default().push(bytes as u64);
                continue;
            }
            match at_time::check(stated, at, &world)? {
                at_time::Probe::Held => {}
                at_time::Probe::Sample(value) => samples.entry(index).or_default().push(value),
                at_time::Probe::Failed(seen) => fail(stated, Some(at), seen),
            }
        }
    }
    world.run(scenario.until)?;
    for (index, stated) in scenario.expects.iter().enumerate() {
        let values = samples.get(&index).map_or(&[][..], Vec::as_slice);
        if let Err((seen, at)) = at_end::check(stated, values, &world)? {
            fail(stated, at, seen);
        }
    }
    Ok(Verdict { failures, trace: world.trace_lines().to_vec() })
}

/// The expectation in the file's own words, shortened.
fn words(stated: &Stated) -> String {
    let text = &stated.words;
    if text.len() > 300 {
        format!("{}…", &text[..text.floor_char_boundary(300)])
    } else {
        text.clone()
    }
}

/// What was seen, or that nothing was.
fn or_none<T>(seen: Option<T>, words: impl FnOnce(T) -> String) -> String {
    seen.map_or_else(|| "nothing".into(), words)
}

/// A connection's end.
fn closing_words((at, code): (u64, u16)) -> String {
    format!("closed as {} at {} s", end_name(code), secs(at))
}
