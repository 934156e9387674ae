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
    load("--clients 18000 --seconds 600 --action-every 60 --processes 3")
}

fn load(plan: &str) -> Result<()> {
    cargo("build --release -p greendot-engine --bin greendot-server").run()?;
    cargo(&format!("run --release -p greendot-load --bin greendot-load -- {plan}")).run()
}
