//! `cargo xtask bench core` and `server`: the engine beside the published algorithm, and its server beside what one would
//! write by hand on `ws` and Socket.IO; `redis`: renewals beside one script for each heartbeat.

use std::fs;

use anyhow::{Context as _, Result};

use super::{Figures, read};
use crate::paths;
use crate::run::{cargo, npm};
use crate::tools::{self, Tool};

pub(super) fn core(quick: bool) -> Result<Figures> {
    measure("core", quick)
}

/// Draws docs/growth.svg, too; a quick one does not.
pub(super) fn growth(quick: bool) -> Result<Figures> {
    measure("growth", quick)
}

pub(super) fn server(quick: bool) -> Result<Figures> {
    npm("ci --prefix ../tests/load/baselines --ignore-scripts --no-progress").run()?;
    measure("server", quick)
}

pub(super) fn redis(quick: bool) -> Result<Figures> {
    tools::ensure([Tool::Redis])?;
    measure("redis", quick)
}

/// Has a part measured by the bench program.
pub(super) fn measure(part: &str, quick: bool) -> Result<Figures> {
    let folder = paths::target().join("bench");
    fs::create_dir_all(&folder).context("cannot create target/bench")?;
    let figures = folder.join(format!("{part}.json"));
    let bench = cargo(&format!("run --release -p greendot-load --bin bench -- {part} --json"));
    let bench =
        bench.arg(&figures).arg("--baselines").arg(paths::root().join("tests/load/baselines"));
    let bench = match (part, quick) {
        (_, true) => bench.arg("--quick"),
        ("growth", false) => bench.arg("--svg").arg(paths::root().join("docs/growth.svg")),
        _ => bench,
    };
    bench.run()?;
    read(&figures)
}
