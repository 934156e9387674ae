//! `bench core`: figures of the engine beside their baselines, from one run.

use std::alloc::System;
use std::path::PathBuf;
use std::process::ExitCode;

use cap::Cap;
use clap::{Parser, ValueEnum};
use greendot_load::core;
use greendot_load::report::Report;

/// It counts what is asked for.
#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// Figures of the engine beside what it is measured against, from one run.
#[derive(Parser)]
#[command(name = "bench")]
struct Args {
    /// What to measure.
    part: Part,
    /// A tenth of the work: shows that it runs, not how fast.
    #[arg(long)]
    quick: bool,
    /// Write the figures here as well, as one JSON object.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Part {
    /// The core: heartbeats, connects, sweeps, memory, fan-out.
    Core,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let mut report = Report::default();
    let scale = if args.quick { 10 } else { 1 };
    match args.part {
        Part::Core => {
            core::sessions(&mut report, 1_000_000 / scale, || ALLOCATOR.allocated());
            core::fanout(&mut report, 100_000 / scale);
        }
    }
    if let Some(file) = &args.json
        && let Err(error) = report.write(file)
    {
        eprintln!("bench: cannot write {}: {error}", file.display());
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
