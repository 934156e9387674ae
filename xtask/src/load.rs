//! Many clients on one real server, each of which must see the truth in the end.

use anyhow::Result;

use crate::run::cargo;

/// A few, for a moment: the tool works, and so does the server beneath it.
pub(crate) fn short() -> Result<()> {
    load("--clients 300 --seconds 10 --action-every 3 --connect-rate 100")
}

/// A crowd that watches one user is told, each of it, within the interval.
pub(crate) fn throng() -> Result<()> {
    cargo("build --release -p greendot-engine --bin greendot-server").run()?;
    cargo("run --release -p greendot-load --bin greendot-throng").run()
}

/// As many as one process has descriptors for, for ten minutes.
pub(crate) fn long() -> Result<()> {
    load("--clients 18000 --seconds 600 --action-every 60 --cut-one-in 12 --processes 3")
}

/// Three servers behind one Redis, all of which are killed at random: five minutes of it, those included in which all comes to
/// rest.
pub(crate) fn kills() -> Result<()> {
    load(&format!("{STORM} --clients 100 --kills --seconds 195"))
}

/// The same for an hour, with faults of all kinds: servers and Redis stand still, stop, and lose their connections, too.
pub(crate) fn storm() -> Result<()> {
    load(&format!("{STORM} --clients 300 --seconds 240 --rounds 11"))
}

/// As many as three servers have descriptors for.
pub(crate) fn wide() -> Result<()> {
    load(
        "--clients 50000 --servers 3 --seconds 180 --action-every 120 --cut-one-in 12 --connect-rate 400 \
         --processes 4",
    )
}

const STORM: &str = "--servers 3 --deploy --fault-every 8 --action-every 20 --cut-one-in 12 \
                     --slow-one-in 20 --connect-rate 100";

fn load(plan: &str) -> Result<()> {
    cargo("build --release -p greendot-engine --bin greendot-server").run()?;
    cargo(&format!("run --release -p greendot-load --bin greendot-load -- {plan}")).run()
}
