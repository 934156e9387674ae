//! A minute for each target of `protocol/fuzz`: they still build, and no crash is near. Its README says how to run them for
//! longer.

use std::path::PathBuf;

use anyhow::Result;

use crate::paths;
use crate::run::{cargo, program};

const TARGETS: [&str; 4] = ["binary", "binary_again", "json", "json_again"];

/// Built from its own lock file, at this version.
const CARGO_FUZZ: &str = "0.13.2";

const LIMITS: &str = "-max_total_time=60 -max_len=4096 -malloc_limit_mb=16 -timeout=5 -verbosity=0 -print_final_stats=1";

pub(crate) fn run() -> Result<()> {
    let cargo_fuzz = cargo_fuzz()?;
    cargo("run --manifest-path protocol/fuzz/Cargo.toml --example seed").run()?;
    for target in TARGETS {
        let line = format!("fuzz run --fuzz-dir protocol/fuzz -O {target} -- {LIMITS}");
        let mut fuzz = program(&cargo_fuzz, &line);
        if target.starts_with("json") {
            fuzz = fuzz.arg("-dict=protocol/fuzz/json.dict");
        }
        // Stable takes the flags of a coverage-guided build only so.
        fuzz.env("RUSTC_BOOTSTRAP", "1").run()?;
    }
    Ok(())
}

fn cargo_fuzz() -> Result<PathBuf> {
    let root = paths::scratch().join("cargo-fuzz");
    let binary = root.join("bin/cargo-fuzz").with_extension(std::env::consts::EXE_EXTENSION);
    if !binary.is_file() {
        cargo(&format!("install cargo-fuzz --version {CARGO_FUZZ} --locked --root"))
            .arg(&root)
            .run()?;
    }
    Ok(binary)
}
