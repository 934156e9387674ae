//! `hunt`: plays random worlds and says which break a rule.

use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use greendot_tests::hunt::{Plan, generate};

/// Plays random worlds against an oracle that knows only the rules.
#[derive(Parser)]
#[command(name = "hunt")]
struct Args {
    /// How many worlds.
    #[arg(long, default_value_t = 10_000, value_name = "N")]
    worlds: u64,
    /// The first world's seed; each next one has the next seed.
    #[arg(long, default_value_t = 1, value_name = "SEED")]
    seed: u64,
    /// Print every step, frame and change of each world with its time.
    #[arg(long)]
    trace: bool,
    #[arg(long, default_value_t = 1)]
    most: u64,
}

#[expect(clippy::disallowed_methods, reason = "a driver: it tells how fast it is")]
fn main() -> ExitCode {
    let args = Args::parse();
    let start = Instant::now();
    let (mut passed, mut failed) = (0u64, 0u64);
    let mut kinds = std::collections::BTreeMap::new();
    for seed in args.seed..args.seed + args.worlds {
        let plan: Plan = generate::world(seed);
        match plan.play(args.trace) {
            Err(missing) => {
                println!("ERROR seed {seed}: {missing:?}");
                failed += 1;
            }
            Ok(played) => {
                if args.trace {
                    for (at, line) in &played.trace {
                        println!("{:>10.3}  {line}", *at as f64 / 1e3);
                    }
                }
                match played.complaint {
                    None => passed += 1,
                    Some(complaint) => {
                        failed += 1;
                        let count = kinds.entry(complaint.kind).or_insert(0u64);
                        *count += 1;
                        if *count <= 2 {
                        println!("FAIL seed {seed}: {complaint}");
                        }
                    }
                }
            }
        }
    }
    let secs = start.elapsed().as_secs_f64();
    println!("{kinds:?}");
    println!("{:.0} worlds a minute", (passed + failed) as f64 / secs * 60.0);
    println!("{passed} passed, {failed} failed");
    if failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
