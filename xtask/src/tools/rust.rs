//! Parts of the Rust toolchain, by rustup.

use std::path::Path;

use anyhow::Result;

use super::missing;
use crate::run::{cargo, on_path, program};

/// A component that brings the cargo subcommand `command`.
pub(super) fn component(name: &str, command: &str) -> Result<()> {
    if cargo(command).arg("--version").succeeds() {
        return Ok(());
    }
    rustup(name, &format!("component add {name}"))
}

/// The standard library for wasm, wherever it came from: the compiler is asked, not rustup.
pub(super) fn wasm_target() -> Result<()> {
    const TARGET: &str = "wasm32-unknown-unknown";
    let libraries =
        program("rustc", "--print target-libdir --target").arg(TARGET).quiet().output()?;
    if Path::new(libraries.trim()).is_dir() {
        return Ok(());
    }
    rustup("the wasm target", &format!("target add {TARGET}"))
}

fn rustup(what: &str, line: &str) -> Result<()> {
    if on_path("rustup").is_none() {
        return missing(
            what,
            &format!("rustup {line}   (from https://rustup.rs, or the like for your toolchain)"),
        );
    }
    program("rustup", line).run()
}
