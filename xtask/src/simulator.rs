//! `cargo xtask scenario` and `cargo xtask hunt`: the world on its virtual clock, built to be quick.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::paths;
use crate::run::{Run, cargo, program};

/// Builds one of the simulator's programs and gives the command that runs it where the person stands.
fn built(name: &str) -> Result<Run> {
    cargo("build -q --profile sim -p greendot-tests --bin").arg(name).quiet().run()?;
    let path = paths::target().join("sim").join(name);
    Ok(program(path.with_extension(std::env::consts::EXE_EXTENSION), "").here()?.quiet())
}

/// Becomes the program, so that its exit code is this command's.
pub(crate) fn run(name: &str, args: Vec<OsString>) -> Result<()> {
    args.into_iter().fold(built(name)?, Run::arg).replace()
}

/// Every scenario of the project, but for those of what is not built yet.
pub(crate) fn scenarios() -> Result<()> {
    let folder = paths::root().join("tests/scenarios");
    let mut files = Vec::new();
    gather(&folder, &mut files)?;
    files.sort();
    files.into_iter().fold(built("scenario")?, Run::arg).run()
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
