//! `hunt`: plays random worlds and says which break a rule.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use greendot_tests::file::Scenario;
use greendot_tests::hunt::oracle::{Complaint, Kind};
use greendot_tests::hunt::{Plan, Report, generate};
use greendot_tests::say;

/// Plays random worlds against an oracle that knows only the rules.
#[derive(Parser)]
#[command(name = "cargo xtask hunt", bin_name = "cargo xtask hunt")]
struct Args {
    /// How many worlds.
    #[arg(long, default_value_t = 10_000, value_name = "N")]
    worlds: u64,
    /// The first world's seed; each next one has the next seed. With files: the seed they are
    /// played with.
    #[arg(long, default_value_t = 1, value_name = "SEED")]
    seed: u64,
    /// Stop after so many seconds, whatever is left of the worlds.
    #[arg(long, value_name = "T")]
    seconds: Option<u64>,
    /// Print every step, frame and change with its time.
    #[arg(long)]
    trace: bool,
    /// Stop after so many failing worlds.
    #[arg(long, default_value_t = 10, value_name = "N")]
    most: usize,
    /// Where small scenario files of failing worlds go.
    #[arg(long, default_value = "target/hunt", value_name = "FOLDER")]
    folder: PathBuf,
    /// With files: by how many ms delays vary.
    #[arg(long, default_value_t = 0, value_name = "MS")]
    jitter: u64,
    /// Have the nodes share the Redis at this URL, and hold it to the store in memory.
    #[arg(long, value_name = "URL")]
    redis: Option<String>,
    /// Break the cores on purpose, by this fault or `all`, and tell what notices: the hunt, or else one
    /// of the files.
    #[cfg(feature = "sabotage")]
    #[arg(long, value_name = "FAULT")]
    sabotage: Option<String>,
    /// Scenario files to play under the oracle's eyes, in place of random worlds.
    files: Vec<PathBuf>,
}

/// How often a long run says how far it is.
const PROGRESS: Duration = Duration::from_secs(10);

/// What came of the worlds so far.
#[derive(Default)]
struct Tally {
    passed: u64,
    failed: u64,
    unreadable: u64,
    /// Failing worlds by the promise they break.
    kinds: BTreeMap<Kind, u64>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    if let Some(url) = &args.redis
        && let Err(error) = greendot_tests::world::use_redis(url.clone())
    {
        println!("ERROR {error}");
        return ExitCode::from(2);
    }
    #[cfg(feature = "sabotage")]
    if let Some(name) = &args.sabotage {
        return sabotage(&args, name);
    }
    let tally = if args.files.is_empty() { hunt(&args) } else { replay(&args) };
    say!("{} passed, {} failed", tally.passed, tally.failed + tally.unreadable);
    match (tally.failed, tally.unreadable) {
        (_, 1..) => ExitCode::from(2),
        (1.., 0) => ExitCode::FAILURE,
        (0, 0) => ExitCode::SUCCESS,
    }
}

/// A line for each fault; fails if any goes unnoticed.
#[cfg(feature = "sabotage")]
fn sabotage(args: &Args, name: &str) -> ExitCode {
    use greendot_protocol::sabotage::Fault;
    use greendot_tests::hunt::sabotage::{Caught, catch};

    let faults: Vec<Fault> =
        Fault::ALL.iter().copied().filter(|it| name == "all" || it.name() == name).collect();
    if faults.is_empty() {
        let names: Vec<&str> = Fault::ALL.iter().map(|it| it.name()).collect();
        say!("no fault is named {name}; there are: all, {}", names.join(", "));
        return ExitCode::from(2);
    }
    let mut missed = 0;
    for &fault in &faults {
        let name = fault.name();
        match catch(fault, args.seed, args.worlds, &args.files) {
            Caught::Hunt { worlds, kind } => say!("{name:<22} hunt, world {worlds}: {kind:?}"),
            Caught::Scenario { case, worlds } => {
                say!("{name:<22} scenario {case}, after {worlds} worlds without a complaint");
            }
            Caught::Nobody => {
                missed += 1;
                say!("{name:<22} NOT CAUGHT");
            }
        }
    }
    say!("{} caught, {missed} not caught", faults.len() - missed);
    ExitCode::from(u8::from(missed > 0))
}

#[expect(clippy::disallowed_methods, reason = "a driver: it tells how fast it is")]
fn hunt(args: &Args) -> Tally {
    let start = Instant::now();
    let mut said = start;
    let mut tally = Tally::default();
    for seed in args.seed..args.seed.saturating_add(args.worlds) {
        let plan = generate::world(seed);
        play(args, &plan, &mut tally, |complaint, tally| report(args, &plan, complaint, tally));
        let now = Instant::now();
        if now - said >= PROGRESS {
            said = now;
            say!("… seed {seed}, {}", pace(&tally, now - start));
        }
        let late = args.seconds.is_some_and(|it| now - start >= Duration::from_secs(it));
        if late || tally.failed as usize >= args.most {
            break;
        }
    }
    for (kind, count) in &tally.kinds {
        say!("{count} worlds: {kind:?}: {}", kind.words());
    }
    say!("{}", pace(&tally, start.elapsed()));
    tally
}

fn pace(tally: &Tally, time: Duration) -> String {
    let worlds = tally.passed + tally.failed;
    let minutes = time.as_secs_f64() / 60.0;
    format!("{worlds} worlds in {:.1} s: {:.0} a minute", minutes * 60.0, worlds as f64 / minutes)
}

fn play(args: &Args, plan: &Plan, tally: &mut Tally, fail: impl FnOnce(&Complaint, &Tally)) {
    match plan.play(args.trace) {
        Err(missing) => {
            say!("ERROR {}: needs what is not built: {}", plan.scenario.case, missing.0);
            tally.unreadable += 1;
        }
        Ok(played) => {
            if args.trace {
                for (at, line) in &played.trace {
                    say!("{:>10.3}  {line}", *at as f64 / 1e3);
                }
            }
            match played.complaint {
                None => tally.passed += 1,
                Some(complaint) => {
                    tally.failed += 1;
                    *tally.kinds.entry(complaint.kind).or_default() += 1;
                    fail(&complaint, tally);
                }
            }
        }
    }
}

/// Says what is wrong with a world; of the first that breaks a promise, a small one is written.
fn report(args: &Args, plan: &Plan, complaint: &Complaint, tally: &Tally) {
    let seed = plan.seed;
    say!("FAIL seed {seed}: {complaint}");
    if args.trace || tally.kinds.get(&complaint.kind).is_some_and(|it| *it > 1) {
        return;
    }
    let small = Report::new(plan, complaint);
    match small.save(&args.folder) {
        Ok(path) => say_how(&small, &path, seed),
        Err(error) => say!("  cannot write to {}: {error}", args.folder.display()),
    }
}

fn say_how(small: &Report, path: &Path, seed: u64) {
    let file = path.display();
    say!("  made small: {}", small.complaint);
    say!("  the whole world again:   cargo xtask hunt --seed {seed} --worlds 1 --trace");
    let jitter = match small.jitter {
        0 => String::new(),
        jitter => format!(" --jitter {jitter}"),
    };
    say!("  the small one, hunted:   cargo xtask hunt --seed {seed}{jitter} --trace {file}");
    if small.shows {
        say!("  the small one, expected: cargo xtask scenario --seed {seed} {file}");
    }
}

/// Plays files under the oracle's eyes.
fn replay(args: &Args) -> Tally {
    let mut tally = Tally::default();
    for path in &args.files {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) => {
                say!("ERROR {}: cannot be read: {error}", path.display());
                tally.unreadable += 1;
                continue;
            }
        };
        match Scenario::parse(&text) {
            Ok(scenario) => {
                let plan = Plan { scenario, seed: args.seed, jitter: args.jitter };
                play(args, &plan, &mut tally, |complaint, _| {
                    say!("FAIL {}: {complaint}", plan.scenario.case);
                });
            }
            Err(error) => {
                say!("ERROR {}: {error}", path.display());
                tally.unreadable += 1;
            }
        }
    }
    tally
}
