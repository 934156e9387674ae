//! `cargo xtask bench client`: what a herd of clients does to a server, and what a change costs a page.

use std::fs;

use anyhow::{Context as _, Result};

use super::{Figures, read};
use crate::run::{cargo, npm, program};
use crate::{npm as package, paths};

pub(super) fn run(quick: bool) -> Result<Figures> {
    let folder = paths::target().join("bench");
    fs::create_dir_all(&folder).context("cannot create target/bench")?;
    let mut figures = Figures::new();

    let herd = folder.join("herd.json");
    cargo("run -q --release -p greendot-load --bin bench client --json").arg(&herd).run()?;
    figures.extend(read(&herd)?);

    package::build()?;
    npm("ci --prefix bench --ignore-scripts --no-progress").run()?;
    let page = folder.join("page.json");
    let script = paths::npm().join("bench/client.mjs");
    let measure = program("node", "").arg(script).arg("--json").arg(&page);
    if quick { measure.arg("--quick") } else { measure }.run()?;
    figures.extend(read(&page)?);
    Ok(figures)
}
