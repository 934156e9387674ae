//! The ready server, built for the steps that talk to it.

use std::path::PathBuf;

use anyhow::Result;

use crate::paths;
use crate::run::cargo;

/// Builds it, beside the chat example: so both have the features that examples and tests ask of their dependencies, and those
/// are compiled once for all of them.
pub(crate) fn build() -> Result<PathBuf> {
    cargo("build -p greendot-engine --bin greendot-server --example chat").run()?;
    Ok(paths::built("debug", "greendot-server"))
}
