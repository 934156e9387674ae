//! `scenario FILE…`: plays scenario files and says which hold.

use std::alloc::System;
use std::process::ExitCode;

use cap::Cap;
use clap::Parser;
use greendot_tests::file::{Scenario, decode};
use greendot_tests::judge::{self, Failure, Verdict};
use greendot_tests::say;

/// It counts, for the expectation `memory`.
#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// Plays scenario files on a virtual clock and says which of them hold.
#[derive(Parser)]
#[command(name = "cargo xtask scenario", bin_name = "cargo xtask scenario")]
struct Args {
    /// Play each file with seeds 1 to N (jitter, ids, tie-breaks).
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// Play each file with this one seed.
    #[arg(long, value_name = "SEED", conflicts_with = "seeds")]
    seed: Option<u64>,
    /// Print every step, frame and change with its time.
    #[arg(long)]
    trace: bool,
    /// Have the nodes share the Redis at this URL, and hold it to the store in memory: `kind` engine
    /// only.
    #[arg(long, value_name = "URL")]
    redis: Option<String>,
    /// Scenario files (JSON, format 1).
    #[arg(required = true)]
    files: Vec<String>,
}

/// How much of the trace around a failure is shown, in ms before and after.
const AROUND: u64 = 3_000;
/// At most so many lines of it.
const LINES: usize = 60;

enum Outcome {
    Passed,
    Failed,
    Unreadable,
}

fn allocated() -> usize {
    ALLOCATOR.allocated()
}

fn main() -> ExitCode {
    let args = Args::parse();
    if let Some(url) = &args.redis
        && let Err(error) = greendot_tests::world::use_redis(url.clone())
    {
        println!("ERROR {error}");
        return ExitCode::from(2);
    }
    let (mut passed, mut failed, mut unreadable) = (0, 0, 0);
    for path in &args.files {
        match run(path, &args) {
            Outcome::Passed => passed += 1,
            Outcome::Failed => failed += 1,
            Outcome::Unreadable => unreadable += 1,
        }
    }
    say!("{passed} passed, {} failed", failed + unreadable);
    match (failed, unreadable) {
        (_, 1..) => ExitCode::from(2),
        (1.., 0) => ExitCode::FAILURE,
        (0, 0) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn run(path: &str, args: &Args) -> Outcome {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) => {
            say!("ERROR {path}: cannot be read: {error}");
            return Outcome::Unreadable;
        }
    };
    let read = decode(&bytes).and_then(Scenario::parse);
    let read = read.and_then(|it| it.check().map(|()| it));
    let scenario = match read {
        Ok(scenario) => scenario,
        Err(error) => {
            say!("ERROR {path}: {error}");
            return Outcome::Unreadable;
        }
    };
    let seeds = args.seed.map_or(1..=args.seeds, |seed| seed..=seed);
    for seed in seeds {
        match judge::play_counting(&scenario, seed, args.trace, Some(allocated)) {
            Err(missing) => {
                say!("ERROR {}: needs what is not built: {}", scenario.case, missing.0);
                return Outcome::Unreadable;
            }
            Ok(verdict) => {
                if args.trace {
                    print_trace(&verdict.trace);
                }
                if !verdict.failures.is_empty() {
                    report(&scenario, path, seed, &verdict);
                    return Outcome::Failed;
                }
            }
        }
    }
    say!("ok {}", scenario.case);
    Outcome::Passed
}

fn report(scenario: &Scenario, path: &str, seed: u64, verdict: &Verdict) {
    say!(
        "FAIL {}: {} ({} of {} expectations do not hold with seed {seed})",
        scenario.case,
        scenario.title,
        verdict.failures.len(),
        scenario.expects.len()
    );
    for failure in &verdict.failures {
        say!("  {path}:{}: expected {}", failure.line, failure.text);
    }
    // Played again with a trace: most runs hold, and need none.
    let Some(first) = verdict.failures.iter().find(|it| it.at.is_some()) else { return };
    if let Ok(again) = judge::play_counting(scenario, seed, true, Some(allocated)) {
        around(scenario, first, &again.trace);
    }
}

fn around(scenario: &Scenario, failure: &Failure, trace: &[(u64, String)]) {
    let Some(at) = failure.at else { return };
    let near: Vec<_> = trace
        .iter()
        .filter(|it| (at.saturating_sub(AROUND)..=at + AROUND).contains(&it.0))
        .cloned()
        .collect();
    say!("  the trace around {} s:", at as f64 / 1e3);
    let skip = near.len().saturating_sub(LINES);
    let from = near.get(skip).map_or(at, |it| it.0);
    if let Some(step) = failure.before.map(|index| &scenario.steps[index])
        && (step.at < from || skip > 0)
    {
        print_trace(&[(step.at, format!("step {step}"))]);
    }
    if skip > 0 {
        say!("    … {skip} lines before");
    }
    print_trace(&near[skip..]);
}

fn print_trace(trace: &[(u64, String)]) {
    for (at, line) in trace {
        say!("    {:>10.3}  {line}", *at as f64 / 1e3);
    }
}
