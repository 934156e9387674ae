//! `cargo xtask scenario` and `cargo xtask hunt`: the world on its virtual clock, built to be quick.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::paths;
use crate::run::{Run, cargo, program};

/// One of the simulator's programs.
struct Program {
    name: &'static str,
    path: PathBuf,
}

impl Program {
    fn named(name: &'static str) -> Self {
        Self { name, path: paths::built("sim", name) }
    }

    /// Builds it in sight: the first time takes minutes.
    fn build(&self) -> Result<()> {
        cargo("build --profile sim -p greendot-tests --bin").arg(self.name).run()
    }

    fn build_with(&self, features: &str) -> Result<()> {
        cargo("build --profile sim -p greendot-tests --bin").arg(self.name).arg(features).run()
    }

    /// Builds it in silence if there is little to build: what it prints is to stand alone.
    fn refresh(&self) -> Result<()> {
        if !self.path.exists() {
            return self.build();
        }
        cargo("build -q --profile sim -p greendot-tests --bin").arg(self.name).quiet().run()
    }

    /// The command that runs it where the person stands.
    fn command(self) -> Result<Run> {
        Ok(program(self.path, "").here()?.quiet())
    }
}

/// Becomes the program, so that its exit code is this command's.
pub(crate) fn run(name: &'static str, args: Vec<OsString>) -> Result<()> {
    let program = Program::named(name);
    if args.iter().any(|it| it == "--sabotage") {
        program.build_with(SABOTAGE)?;
    } else {
        program.refresh()?;
    }
    args.into_iter().fold(program.command()?, Run::arg).replace()
}

/// Every scenario of the project, but for those of what is not built yet.
pub(crate) fn scenarios() -> Result<()> {
    let files = all()?;
    let program = Program::named("scenario");
    program.build()?;
    println!("$ cargo xtask scenario tests/scenarios/… ({} files)", files.len());
    files.into_iter().fold(program.command()?, Run::arg).run()
}

/// The same, with nodes that share the Redis at this URL. It must say the same as the store in memory
/// to each request.
pub(crate) fn over_redis(url: &str) -> Result<()> {
    let scenario = Program::named("scenario");
    scenario.build()?;
    println!("$ cargo xtask scenario --redis {url} --seeds 1 tests/scenarios/…");
    let line = ["--redis", url, "--seeds", "1"];
    let command = line.iter().fold(scenario.command()?, |run, it| run.arg(it));
    // One client alone shares nothing.
    let files = all()?
        .into_iter()
        .filter(|it| fs::read_to_string(it).is_ok_and(|it| !it.contains("\"sdk\"")));
    files.fold(command, Run::arg).run()
}

/// Random worlds the same way.
pub(crate) fn hunt_over_redis(url: &str) -> Result<()> {
    const LINE: &str = "--worlds 300 --seed 1 --seconds 15";
    let program = Program::named("hunt");
    program.build()?;
    println!("$ cargo xtask hunt --redis {url} {LINE}");
    let command = program.command()?.arg("--redis").arg(url);
    LINE.split(' ').fold(command, Run::arg).run()
}

fn all() -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    gather(&paths::root().join("tests/scenarios"), &mut files)?;
    files.sort();
    Ok(files)
}

/// Random worlds, for a minute on one core at most. The same ones each time: a test that fails today and passes tomorrow
/// helps nobody, and other seeds are one command away.
pub(crate) fn hunt() -> Result<()> {
    const LINE: &str = "--worlds 10000 --seed 1 --seconds 60";
    let program = Program::named("hunt");
    program.build()?;
    println!("$ cargo xtask hunt {LINE}");
    LINE.split(' ').fold(program.command()?, Run::arg).run()
}

/// What lets `hunt` break the cores on purpose.
const SABOTAGE: &str = "--features=sabotage";

/// Every fault made on purpose is noticed, and no shipped build could make one.
pub(crate) fn sabotage() -> Result<()> {
    const LINE: &str = "--sabotage all --worlds 1000 --seed 1";
    for shipped in ["greendot-engine", "greendot-wasm"] {
        let tree = cargo("tree -e normal,features --prefix none -p").arg(shipped).output()?;
        ensure!(
            !tree.contains("sabotage"),
            "{shipped} can be broken on purpose: see `cargo tree -e features -p {shipped}`"
        );
    }
    let mut files = Vec::new();
    gather(&paths::root().join("tests/scenarios"), &mut files)?;
    files.sort();
    let program = Program::named("hunt");
    program.build_with(SABOTAGE)?;
    println!("$ cargo xtask hunt {LINE} tests/scenarios/…");
    let command = LINE.split(' ').fold(program.command()?, Run::arg);
    files.into_iter().fold(command, Run::arg).run()
}

fn gather(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?
    {
        let path = entry?.path();
        if path.is_dir() {
            if !path.ends_with("waiting") {
                gather(&path, files)?;
            }
        } else if path.extension().is_some_and(|it| it == "json") {
            files.push(path);
        }
    }
    Ok(())
}
