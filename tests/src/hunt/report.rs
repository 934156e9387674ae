//! What is left of a failing world: a small scenario file and the commands that replay it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use super::oracle::{Complaint, Place};
use super::{Plan, shrink};
use crate::file::Scenario;
use crate::file::write::{quote, secs, write};
use crate::judge;
use crate::world::World;

/// A failing world, made small and written down.
#[derive(Clone, Debug)]
pub struct Report {
    /// What the oracle says of the small world.
    pub complaint: Complaint,
    /// The file's text.
    pub text: String,
    /// The seed to play it with.
    pub seed: u64,
    /// By how much its delays must vary, in ms.
    pub jitter: u64,
    /// Whether the file alone shows the fault, by an expectation.
    pub shows: bool,
}

impl Report {
    /// Makes a failing world small and writes it down.
    pub fn new(plan: &Plan, complaint: &Complaint) -> Self {
        let (mut small, complaint) = shrink(plan, complaint);
        let why = format!("hunted with seed {}: {complaint}", plan.seed);
        small.scenario.title = complaint.kind.words().to_owned();
        let mut expects = Vec::new();
        // What an event's way takes is part of the run.
        small.scenario.until += small.scenario.settings.latency;
        if small.jitter == 0
            && let Some(expect) = expectation(&small, &complaint.place)
        {
            expects.push(expect);
        }
        let mut text = write(&small.scenario, &why, &expects);
        let shows = fails(&text, small.seed);
        if !shows {
            text = write(&small.scenario, &why, &[]);
        }
        Self { complaint, text, seed: small.seed, jitter: small.jitter, shows }
    }

    /// Writes the file into a folder.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn save(&self, folder: &Path) -> std::io::Result<PathBuf> {
        std::fs::create_dir_all(folder)?;
        let path = folder.join(format!("hunt-{}.json", self.seed));
        std::fs::write(&path, &self.text)?;
        Ok(path)
    }
}

/// Whether the file, as written, fails as a scenario. One that panics does.
fn fails(text: &str, seed: u64) -> bool {
    let Ok(scenario) = Scenario::parse(text) else { return false };
    let play = || judge::play(&scenario, seed, false).is_ok_and(|it| !it.failures.is_empty());
    catch_unwind(AssertUnwindSafe(play)).unwrap_or(true)
}

/// An expectation that does not hold because of the fault, where the format has one.
fn expectation(plan: &Plan, place: &Place) -> Option<String> {
    let scenario = &plan.scenario;
    match place {
        Place::Nowhere => None,
        Place::View { device, user, state } => Some(format!(
            "{{\"view\": {}, \"at\": {}, \"users\": {{{}: {}}}}}",
            quote(device),
            secs(scenario.until),
            quote(user),
            quote(state.name())
        )),
        Place::Event { watcher, user } => {
            let mut events = events(plan, watcher, user)?;
            events.pop()?;
            Some(expect_events(watcher, user, &events))
        }
        Place::Missing { watcher, user, state } => {
            let mut events = events(plan, watcher, user)?;
            events.push(format!("[{}, null, [0, {}]]", quote(state.name()), secs(scenario.until)));
            Some(expect_events(watcher, user, &events))
        }
    }
}

/// The events about a user that reach a watcher in the run, in the words of the format.
fn events(plan: &Plan, watcher: &str, user: &str) -> Option<Vec<String>> {
    let mut world = World::new(&plan.scenario, plan.seed, false).ok()?;
    world.run(plan.scenario.until).ok()?;
    let events = world.log().events.get(watcher).into_iter().flatten();
    Some(
        events
            .filter(|it| it.user == *user)
            .map(|it| format!("[{}, null, {}]", quote(it.state.name()), secs(it.at)))
            .collect(),
    )
}

fn expect_events(watcher: &str, user: &str, events: &[String]) -> String {
    let (watcher, user, events) = (quote(watcher), quote(user), events.join(", "));
    format!("{{\"watcher\": {watcher}, \"user\": {user}, \"events\": [{events}]}}")
}
