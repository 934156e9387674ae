//! `cargo xtask bench NAME`: figures, each beside its baseline from the same run. To add one, add a file here and a line
//! to [`BENCHES`].
//!
//! None of them is a test: they say whether a budget is met, and end well either way.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::builder::PossibleValuesParser;
use serde_json::{Map, Value};

mod client;
mod engine;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// What to measure
    #[arg(value_parser = PossibleValuesParser::new(BENCHES.iter().map(|it| it.0)))]
    name: String,

    /// Less work: shows that it runs, not how fast
    #[arg(long)]
    quick: bool,

    /// Write the figures to this file, too, as one JSON object
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The figures of one bench, by key. It prints its table itself, each figure as it comes.
type Figures = Map<String, Value>;

/// What measures. It is told whether to be quick.
type Bench = fn(bool) -> Result<Figures>;

/// Each bench by its name.
const BENCHES: &[(&str, Bench)] = &[
    ("core", engine::core),
    ("growth", engine::growth),
    ("server", engine::server),
    ("client", client::run),
    ("redis", engine::redis),
];

pub(crate) fn run(args: &Args) -> Result<()> {
    for (_, bench) in BENCHES.iter().filter(|it| it.0 == args.name) {
        let figures = Value::Object(bench(args.quick)?);
        if let Some(file) = &args.json {
            let text = serde_json::to_string_pretty(&figures)? + "\n";
            fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?;
        }
    }
    Ok(())
}

/// The figures that a program has written to a file.
fn read(file: &std::path::Path) -> Result<Figures> {
    let text =
        fs::read_to_string(file).with_context(|| format!("no figures in {}", file.display()))?;
    serde_json::from_str(&text).with_context(|| format!("no JSON in {}", file.display()))
}
