//! What the commands need on the machine: found, else installed where that is allowed, else named with the command to
//! run. Packages come from rustup, Debian's apt and npm (by lock file), and from nowhere else.

use std::sync::Mutex;

use anyhow::{Result, bail};

mod apt;
mod browser;
mod node;
mod rust;

pub(crate) use browser::browser;

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
    /// Python 3, without packages
    Python,
    /// A C++ compiler, for libFuzzer
    Cxx,
    /// Chromium
    Browser,
    /// Firefox
    Firefox,
    /// A Redis server, 7 or later
    Redis,
}

/// Makes sure that all of them are there; those found once are not looked for again.
pub(crate) fn ensure(tools: impl IntoIterator<Item = Tool>) -> Result<()> {
    static FOUND: Mutex<Vec<Tool>> = Mutex::new(Vec::new());
    let mut found = FOUND.lock().expect("no panic in between");
    for tool in tools {
        if found.contains(&tool) {
            continue;
        }
        match tool {
            Tool::Rustfmt => rust::component("rustfmt", "fmt"),
            Tool::Clippy => rust::component("clippy", "clippy"),
            Tool::WasmTarget => rust::wasm_target(),
            Tool::NpmPackages => node::packages(),
            Tool::Python => apt::command("python3", "Python", "python3", PYTHON),
            Tool::Cxx => apt::command("c++", "a C++ compiler", "g++", CXX),
            Tool::Browser => browser::ensure_browser(),
            Tool::Firefox => apt::command("firefox-esr", "Firefox", "firefox-esr", FIREFOX),
            Tool::Redis => apt::command("redis-server", "Redis", "redis-server", REDIS),
        }?;
        found.push(tool);
    }
    Ok(())
}

/// Ends with the one thing the person has to do.
fn missing(what: &str, remedy: &str) -> Result<()> {
    bail!("{what} is missing and cannot be installed from here. To mend that:\n\n    {remedy}\n")
}

const CXX: &str = "install one that answers to c++";
const FIREFOX: &str = "install one that answers to firefox-esr";
const REDIS: &str = "install Redis 7 or later, so that redis-server is on the path";
const PYTHON: &str = "install Python 3.9 or newer from https://www.python.org";
