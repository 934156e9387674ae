//! `cargo xtask bench client`: what a herd of clients does to a server, and what a change costs a page.

use std::fs;

use anyhow::{Context as _, Result};

use super::{Figures, engine, read};
use crate::run::{npm, program};
use crate::{npm as package, paths};

pub(super) fn run(quick: bool) -> Result<Figures> {
    let folder = paths::target().join("bench");
    fs::create_dir_all(&folder).context("cannot create target/bench")?;
    let mut figures = Figures::new();

    figures.extend(engine::measure("client", quick)?);

    package::build()?;
    npm("ci --prefix bench --ignore-scripts --no-progress").run()?;
    let page = folder.join("page.json");
    let script = paths::npm().join("bench/client.mjs");
    let measure = program("node", "").arg(script).arg("--json").arg(&page);
    if quick { measure.arg("--quick") } else { measure }.run()?;
    figures.extend(read(&page)?);
    Ok(figures)
}
