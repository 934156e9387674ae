//! The steps of `cargo xtask test`, in order. To add one, add a line to [`STEPS`].
//!
//! xtask itself is checked apart from the other crates: then cargo chooses the same features for its dependencies as
//! for `cargo xtask`, and does not build them twice.

use anyhow::{Result, ensure};

use crate::run::{cargo, npm};
use crate::tools::Tool::{
    self, Browser, Clippy, Cxx, Firefox, NpmPackages, Python, Redis, Rustfmt, WasmTarget,
};
use crate::{
    demo, fuzz, load, npm as package, pack, packaging, python, redis, simulator, size, smoke, tools,
};

/// One thing that must hold.
pub(crate) struct Step {
    /// What `--only` takes.
    pub(crate) name: &'static str,
    /// What its heading says.
    pub(crate) about: &'static str,
    /// Found or installed before the first step runs.
    pub(crate) tools: &'static [Tool],
    /// Long steps run with `--all`, or when asked for by name.
    pub(crate) long: bool,
    pub(crate) run: fn() -> Result<()>,
}

/// What building the npm package takes.
const PACKAGE: &[Tool] = &[WasmTarget, NpmPackages];
/// What running the demo in a browser takes.
const PEOPLE: &[Tool] = &[WasmTarget, NpmPackages, Browser];

#[rustfmt::skip] // one step, one line
pub(crate) const STEPS: &[Step] = &[
    step("fmt", "formatting", &[Rustfmt], fmt),
    step("clippy", "lints", &[Clippy], clippy),
    step("clippy-wasm", "lints of what is compiled for pages", &[Clippy, WasmTarget], clippy_wasm),
    step("doc", "documentation without warnings", &[], doc),
    step("rust", "Rust tests", &[], rust),
    step("python", "a client in Python, written from the protocol's document", &[Python], python::run),
    step("scenarios", "scenarios on the virtual clock", &[], simulator::scenarios),
    step("hunt", "random worlds, held to the rules", &[], simulator::hunt),
    step("sabotage", "faults made on purpose are found", &[], simulator::sabotage),
    step("redis", "servers share users through a real Redis", &[Redis], redis::run),
    step("load", "clients over real sockets see the truth", &[], load::short),
    step("kills", "servers and their Redis are killed under load for five minutes", &[Redis], load::kills),
    step("xtask", "tests of these commands", &[], xtask),
    step("wasm-cores", "cores build without an operating system", &[WasmTarget], wasm_cores),
    step("wasm", "the wasm module, called as a page calls it", PACKAGE, wasm),
    step("npm", "TypeScript tests and types", PACKAGE, npm_tests),
    step("pack", "the npm tarball and its size", PACKAGE, tarball),
    step("types", "old and new TypeScript, package linters, the reference", PEOPLE, || packaging::run(&["types"])),
    step("packaging", "the tarball in two projects, seen in Chromium", PEOPLE, || packaging::run(&["script", "vite"])),
    step("browser", "people in Chromium", PEOPLE, || people("test:browser")),
    step("demo", "the demo starts, answers and stops", PACKAGE, smoke::run),
    long("packaging-all", "the tarball in every bundler and framework, seen in Chromium", PEOPLE, || packaging::run(&[])),
    long("fuzz", "a minute for each fuzz target of the protocol", &[Cxx], fuzz::run),
    long("secrecy", "an onlooker cannot tell one who hides from one who is gone, in thousands of trials", &[], secrecy),
    long("throng", "15,000 who watch one user are told in time", &[], load::throng),
    long("load-long", "18,000 clients for ten minutes", &[], load::long),
    long("load-wide", "50,000 clients of three servers", &[Redis], load::wide),
    long("storm", "servers and their Redis fail in every way under load for an hour", &[Redis], load::storm),
    long("browser-repeat", "people in Chromium, five times over", PEOPLE, || (0..5).try_for_each(|_| people("test:browser"))),
    long("firefox", "what pages go through, in Firefox", &[WasmTarget, NpmPackages, Browser, Firefox], || people("test:firefox")),
];

const fn step(
    name: &'static str,
    about: &'static str,
    tools: &'static [Tool],
    run: fn() -> Result<()>,
) -> Step {
    Step { name, about, tools, long: false, run }
}

const fn long(
    name: &'static str,
    about: &'static str,
    tools: &'static [Tool],
    run: fn() -> Result<()>,
) -> Step {
    Step { name, about, tools, long: true, run }
}

fn fmt() -> Result<()> {
    cargo("fmt --all --check").run()
}

fn clippy() -> Result<()> {
    cargo("clippy --workspace --exclude xtask --all-targets --all-features -- -D warnings")
        .run()?;
    // What all features together hide: code that only one of them calls.
    for features in ["", "--features redis", "--features server"] {
        cargo(&format!(
            "clippy -p greendot-engine --no-default-features {features} -- -D warnings"
        ))
        .run()?;
    }
    cargo("clippy -p xtask --all-targets -- -D warnings").run()
}

fn clippy_wasm() -> Result<()> {
    cargo("clippy -p greendot-client --target wasm32-unknown-unknown -- -D warnings").run()?;
    cargo("clippy -p greendot-wasm --target wasm32-unknown-unknown -- -D warnings").run()
}

fn doc() -> Result<()> {
    cargo("doc --workspace --exclude xtask --no-deps --all-features")
        .env("RUSTDOCFLAGS", "-D warnings")
        .run()
}

fn rust() -> Result<()> {
    cargo("test --workspace --exclude xtask --all-features").run()
}

/// Over real sockets, alone: others on this machine only blur what there is to see.
fn secrecy() -> Result<()> {
    cargo("test --release -p greendot-engine --test server secrecy -- --test-threads 1 --nocapture")
        .env("GREENDOT_ROUNDS", "2000")
        .run()
}

fn xtask() -> Result<()> {
    cargo("test -p xtask").run()
}

fn wasm_cores() -> Result<()> {
    const TARGET: &str = "--target wasm32-unknown-unknown";
    cargo(&format!("check -p greendot-protocol -p greendot-client {TARGET}")).run()?;
    cargo(&format!("check -p greendot-engine --no-default-features {TARGET}")).run()?;
    // JSON in a page is the browser's own: a serializer would weigh more than all the rest.
    let tree =
        cargo(&format!("tree -p greendot-wasm -e normal --prefix none {TARGET}")).output()?;
    let serde = tree.lines().find(|line| line.starts_with("serde"));
    ensure!(serde.is_none(), "what pages load depends on {}", serde.unwrap_or_default());
    Ok(())
}

fn wasm() -> Result<()> {
    package::build()?;
    npm("run test:wasm").run()
}

fn npm_tests() -> Result<()> {
    package::build()?;
    npm("test").run()
}

fn tarball() -> Result<()> {
    pack::run()?;
    size::own()
}

/// Runs the demo, and people in a browser, as one of npm's scripts has it.
fn people(script: &str) -> Result<()> {
    let demo = demo::build()?;
    let leftovers = tempfile::tempdir()?;
    npm("run")
        .arg(script)
        .env("TMPDIR", leftovers.path())
        .env("GREENDOT_CHAT_BIN", demo.server)
        .env("GREENDOT_DEMO_ASSETS", demo.pages)
        .env("GREENDOT_CHROMIUM", tools::browser())
        .run()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn step_names_are_unique() {
        let names: HashSet<_> = STEPS.iter().map(|step| step.name).collect();
        assert_eq!(names.len(), STEPS.len());
    }
}
