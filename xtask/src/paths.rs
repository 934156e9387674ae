//! Where things are, seen from wherever the command was called.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Result, ensure};

use crate::run::{cargo, relative};

/// The workspace's folder. Cargo tells it at run time; the built-in value serves a binary that is started by hand.
pub(crate) fn root() -> PathBuf {
    let xtask =
        env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&xtask).parent().expect("xtask/ lies in the workspace").to_path_buf()
}

/// The npm package's folder.
pub(crate) fn npm() -> PathBuf {
    root().join("npm")
}

/// Where the wasm module lies inside the npm package.
pub(crate) fn wasm() -> PathBuf {
    npm().join("dist/wasm")
}

/// The build output folder. Cargo is asked, because its configuration and environment may move it.
pub(crate) fn target() -> &'static Path {
    static TARGET: OnceLock<PathBuf> = OnceLock::new();
    TARGET.get_or_init(|| asked_target().unwrap_or_else(|| root().join("target")))
}

/// A program that cargo has built, in the folder of its profile.
pub(crate) fn built(folder: &str, name: &str) -> PathBuf {
    target().join(folder).join(name).with_extension(std::env::consts::EXE_EXTENSION)
}

/// Where the commands keep what is theirs: stamps and intermediate files.
pub(crate) fn scratch() -> PathBuf {
    target().join("xtask")
}

/// Fails early, and in words, where another part of the workspace is not there.
pub(crate) fn require(path: &Path, what: &str) -> Result<()> {
    ensure!(path.exists(), "{what} is missing: expected {}", relative(path));
    Ok(())
}

fn asked_target() -> Option<PathBuf> {
    let metadata = cargo("metadata --no-deps --format-version 1").quiet().output().ok()?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata).ok()?;
    Some(PathBuf::from(metadata.get("target_directory")?.as_str()?))
}
