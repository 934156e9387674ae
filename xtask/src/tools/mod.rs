//! What the commands need on the machine: found, else installed where that is allowed, else named with the command to
//! run. Packages come from rustup, Debian's apt and npm (by lock file), and from nowhere else.

use anyhow::{Result, bail};

mod apt;
mod browser;
mod node;
mod rust;

pub(crate) use browser::{browser, webdriver_json};

/// Something a step cannot do without.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tool {
    /// `cargo fmt`
    Rustfmt,
    /// `cargo clippy`
    Clippy,
    /// The standard library for wasm32-unknown-unknown
    WasmTarget,
    /// Node with npm, and the packages of `npm/package-lock.json`
    NpmPackages,
    /// Chromium
    Browser,
    /// The driver that wasm-bindgen tests reach Chromium through
    WebDriver,
}

/// Makes sure that all of them are there. Asked once, before any work: a missing tool shows in the first seconds.
pub(crate) fn ensure(tools: impl IntoIterator<Item = Tool>) -> Result<()> {
    let mut seen = Vec::new();
    for tool in tools {
        if seen.contains(&tool) {
            continue;
        }
        seen.push(tool);
        match tool {
            Tool::Rustfmt => rust::component("rustfmt", "fmt"),
            Tool::Clippy => rust::component("clippy", "clippy"),
            Tool::WasmTarget => rust::wasm_target(),
            Tool::NpmPackages => node::packages(),
            Tool::Browser => browser::ensure_browser(),
            Tool::WebDriver => browser::ensure_driver(),
        }?;
    }
    Ok(())
}

/// Ends with the one thing the person has to do.
fn missing(what: &str, remedy: &str) -> Result<()> {
    bail!("{what} is missing and cannot be installed from here. Run:\n\n    {remedy}\n")
}
