//! `bench PART`: figures beside their baselines, from one run.

use std::alloc::System;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use cap::Cap;
use clap::{Parser, ValueEnum};
use greendot_load::report::Report;
use greendot_load::server::Baselines;
use greendot_load::{client, core, redis, server};

/// It counts what is asked for.
#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// Figures beside what they are measured against, from one run.
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
    /// Of `server`, only these figures.
    #[arg(long, value_name = "FIGURES")]
    only: Option<Figures>,
    /// Draw how costs grow into this file.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// The folder of the servers to compare with, with their packages installed.
    #[arg(long, default_value = "tests/load/baselines", value_name = "FOLDER")]
    baselines: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum Part {
    /// The core: heartbeats, connects, sweeps, memory, fan-out, a crowd.
    Core,
    /// How the cost of each operation of the core grows.
    Growth,
    /// A herd of clients whose server comes back; always all of them, for its clock is not ours.
    Client,
    /// The server: processor time and memory over real sockets, beside `ws` and Socket.IO.
    Server,
    /// Renewals through Redis, beside one script for each heartbeat.
    Redis,
    /// Serve until killed; what `server` measures.
    #[value(hide = true)]
    Serve,
    /// Write until killed, and no more; what `server` is measured beside.
    #[value(hide = true)]
    Bare,
}

/// Figures of the server that are measured together.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Figures {
    /// Processor time and how long it takes.
    Deliveries,
    /// Memory of connections that say nothing.
    Idle,
    /// Memory while some read nothing.
    Stalled,
}

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> io::Result<()> {
    let mut report = Report::default();
    let scale = if args.quick { 10 } else { 1 };
    match args.part {
        Part::Core => {
            core::sessions(&mut report, 1_000_000 / scale, || ALLOCATOR.allocated());
            core::fanout(&mut report, 100_000 / scale);
            core::throng(&mut report, 200_000 / scale, || ALLOCATOR.allocated());
            core::shards(&mut report, 1_000_000 / scale);
        }
        Part::Growth => return measure_growth(args),
        Part::Client => client::herd(&mut report, 10_000),
        Part::Server => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(measure_server(&mut report, args, scale))?;
        }
        Part::Redis => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let lasts = Duration::from_secs(if args.quick { 5 } else { 30 });
            runtime.block_on(redis::sweep(&mut report, 100_000 / scale))?;
            runtime.block_on(redis::renewals(&mut report, 50_000 / scale, lasts))?;
            runtime.block_on(redis::outage(&mut report, 100_000 / scale))?;
            runtime.block_on(redis::exodus(&mut report, 50_000 / scale))?;
        }
        Part::Serve => return server::serve(),
        Part::Bare => return server::bare(),
    }
    match &args.json {
        Some(file) => report.write(file).map_err(|error| {
            io::Error::new(error.kind(), format!("cannot write {}: {error}", file.display()))
        }),
        None => Ok(()),
    }
}

fn measure_growth(args: &Args) -> io::Result<()> {
    let lines = core::growth(args.quick, || ALLOCATOR.allocated());
    if let Some(file) = &args.json {
        fs::write(file, format!("{:#}\n", core::json_of(&lines)))?;
    }
    match &args.svg {
        Some(file) => fs::write(file, core::picture(&lines)),
        None => Ok(()),
    }
}

async fn measure_server(report: &mut Report, args: &Args, scale: usize) -> io::Result<()> {
    let baselines = Baselines { folder: args.baselines.clone() };
    let wanted = |figures| args.only.is_none_or(|it| it == figures);
    if wanted(Figures::Deliveries) {
        server::deliveries(report, &baselines, 1_000, 100 / scale).await?;
    }
    if wanted(Figures::Idle) {
        server::idle(report, &baselines, 15_000 / scale).await?;
    }
    if wanted(Figures::Stalled) {
        server::stalled(report, &baselines, 200_000 / scale).await?;
    }
    Ok(())
}
