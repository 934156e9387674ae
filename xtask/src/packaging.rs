//! The package as people get it: the projects in `npm/packaging`, each of which takes the packed tarball.

use anyhow::Result;

use crate::run::program;
use crate::{pack, paths, server, tools};

/// Proves these projects, or all: installed, built for production, and seen in Chromium against the real server.
pub(crate) fn run(projects: &[&str]) -> Result<()> {
    let tarball = pack::pack()?;
    let server = server::build()?;
    let leftovers = tempfile::tempdir()?;
    let run = program("node", "npm/packaging/run.mjs")
        .env("TMPDIR", leftovers.path())
        .env("GREENDOT_TARBALL", tarball)
        .env("GREENDOT_SERVER_BIN", server)
        .env("GREENDOT_PACKAGING", paths::target().join("packaging"))
        .env("GREENDOT_REFERENCE", paths::target().join("reference"))
        .env("GREENDOT_CHROMIUM", tools::browser());
    projects.iter().fold(run, |it, name| it.arg(name)).run()
}
