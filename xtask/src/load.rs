//! Many clients on one real server, each of which must see the truth in the end.

use anyhow::Result;

use crate::paths;
use crate::run::{cargo, program};

/// A few, for a moment: the tool works, and so does the server beneath it.
pub(crate) fn short() -> Result<()> {
    load(Build::Debug, "--clients 300 --seconds 10 --action-every 3 --connect-rate 100")
}

/// A crowd that watches one user is told, each of it, within the interval.
pub(crate) fn throng() -> Result<()> {
    run(Build::Release, "greendot-throng", "")
}

/// As many as one process has descriptors for, for ten minutes.
pub(crate) fn long() -> Result<()> {
    load(
        Build::Release,
        "--clients 18000 --seconds 600 --action-every 60 --cut-one-in 12 --processes 3",
    )
}

/// Three servers behind one Redis, all of which are killed at random: five minutes of it, those included in which all comes to
/// rest.
pub(crate) fn kills() -> Result<()> {
    load(Build::Debug, &format!("{STORM} --clients 100 --kills --seconds 195"))
}

/// The same for an hour, with faults of all kinds: servers and Redis stand still, stop, and lose their connections, too.
pub(crate) fn storm() -> Result<()> {
    load(Build::Release, &format!("{STORM} --clients 300 --seconds 240 --rounds 11"))
}

/// As many as three servers have descriptors for.
pub(crate) fn wide() -> Result<()> {
    load(
        Build::Release,
        "--clients 50000 --servers 3 --seconds 180 --action-every 120 --cut-one-in 12 --connect-rate 400 \
         --processes 4",
    )
}

const STORM: &str = "--servers 3 --deploy --fault-every 8 --action-every 20 --cut-one-in 12 \
                     --slow-one-in 20 --connect-rate 100";

/// What the tool and the servers under it are compiled for.
#[derive(Clone, Copy)]
enum Build {
    /// A few clients: sums that overflow and assertions that do not hold show, and little is left to compile after other steps.
    Debug,
    /// As many clients as go: what it takes of the machine counts.
    Release,
}

fn load(build: Build, plan: &str) -> Result<()> {
    run(build, "greendot-load", plan)
}

/// Builds both in one go, since each alone asks other features of what they share, and runs the tool.
fn run(build: Build, tool: &str, plan: &str) -> Result<()> {
    let (flag, folder) = match build {
        Build::Debug => ("", "debug"),
        Build::Release => ("--release", "release"),
    };
    cargo(&format!(
        "build {flag} -p greendot-engine -p greendot-load --bin greendot-server --bin {tool}"
    ))
    .run()?;
    program(paths::built(folder, tool), plan).run()
}
