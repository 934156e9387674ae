//! `greendot-load`: many clients on one server or several, and whether each saw the truth.
#![expect(
    clippy::disallowed_methods,
    reason = "a driver: it waits, and draws a seed if none is given"
)]

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Parser;
use greendot_load::load::{
    Outcome, Periods, Plan, Stage, Staged, Storm, Vigil, Word, Workers, run,
};

/// Runs many clients that come and go, change, and watch each other, while servers fail if they are to; says how long things
/// took, and whether each watcher saw the truth.
#[derive(Parser)]
#[command(name = "greendot-load")]
struct Args {
    /// Clients, each a user of its own.
    #[arg(long, default_value_t = 1_000, value_name = "N")]
    clients: usize,
    /// How many of the others each watches.
    #[arg(long, default_value_t = 20, value_name = "N")]
    watch: usize,
    /// How often each client does something, on average: chooses a mode, drops and returns, says goodbye.
    #[arg(long, default_value_t = 30.0, value_name = "SECONDS")]
    action_every: f64,
    /// One client in so many stands still for 20 s at a time, and reads nothing; 0: none.
    #[arg(long, default_value_t = 50, value_name = "N")]
    slow_one_in: usize,
    /// One action in so many is a line cut without a word; 0: none.
    #[arg(long, default_value_t = 0, value_name = "N")]
    cut_one_in: usize,
    /// Clients that dial in a second.
    #[arg(long, default_value_t = 500, value_name = "N")]
    connect_rate: usize,
    /// How long they live, once all are there.
    #[arg(long, default_value_t = 60, value_name = "N")]
    seconds: u64,
    /// How often they do so; in between all is quiet, and each view is held against the truth.
    #[arg(long, default_value_t = 1, value_name = "N")]
    rounds: usize,
    /// Processes that the clients are spread over: each has a limit on descriptors.
    #[arg(long, default_value_t = 2, value_name = "N")]
    processes: usize,
    /// Servers to start; more than one share a Redis, which is started, too.
    #[arg(long, default_value_t = 1, value_name = "N")]
    servers: usize,
    /// One server alone has a Redis, too.
    #[arg(long)]
    redis: bool,
    /// Something fails so often, on average: servers and Redis are killed, stopped, made to stand still; 0: never.
    #[arg(long, default_value_t = 0.0, value_name = "SECONDS")]
    fault_every: f64,
    /// Nothing fails but by being killed, and nothing stands still.
    #[arg(long)]
    kills: bool,
    /// Each round begins with a deploy: one server after the other is replaced, and nobody is to see it.
    #[arg(long)]
    deploy: bool,
    /// What chooses all that is random; printed if it is not given.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// The port on loopback of a server that runs already (with `--dev`, and its shipped periods); again for each of several
    /// that share their users.
    #[arg(long, value_name = "PORT")]
    port: Vec<u16>,
    /// The server to start. By default the one built beside this program.
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
    /// Which of the processes this is.
    #[arg(long, hide = true)]
    worker: Option<usize>,
}

/// Time for the last words of a busy machine.
const LAST_WORDS: Duration = Duration::from_secs(10);
/// Time for clients to come back whose server has failed: the longest of their waits is 30 s.
const COMING_BACK: Duration = Duration::from_secs(30);

fn main() -> ExitCode {
    let args = Args::parse();
    let result = match args.worker {
        Some(worker) => work(&args, worker).map(|()| true),
        None => lead(&args),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("greendot-load: {error}");
            ExitCode::FAILURE
        }
    }
}

/// One of the processes.
fn work(args: &Args, worker: usize) -> io::Result<()> {
    let processes = args.processes.max(1);
    let share = args.clients / processes + usize::from(worker < args.clients % processes);
    let plan = Plan {
        ports: args.port.clone(),
        worker,
        clients: share,
        watches: args.watch,
        action_every: Duration::from_secs_f64(args.action_every.clamp(0.01, 1e6)),
        slow_one_in: args.slow_one_in,
        cut_one_in: args.cut_one_in,
        connect_rate: args.connect_rate.div_ceil(processes).max(1),
        seed: args.seed.unwrap_or_default(),
        unbroken: args.fault_every == 0.0 && !args.deploy,
        periods: Periods::default(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(run(plan))
}

/// Starts servers and processes, lets things fail, and adds up.
fn lead(args: &Args) -> io::Result<bool> {
    let fails = args.fault_every > 0.0 || args.deploy;
    if !args.port.is_empty() && (fails || args.server.is_some()) {
        return Err(io::Error::other("servers that run already are not started, nor do they fail"));
    }
    let here = std::env::current_exe()?;
    let seed = args.seed.unwrap_or_else(|| {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |it| it.as_secs())
    });
    let mut stage = match args.port.as_slice() {
        [] => {
            let program = args.server.clone();
            let program = program.unwrap_or_else(|| here.with_file_name("greendot-server"));
            let staged = Staged { program, servers: args.servers.max(1), redis: args.redis };
            Some(Stage::start(&staged)?)
        }
        _ => None,
    };
    let ports = stage.as_ref().map_or_else(|| args.port.clone(), Stage::ports);
    println!("seed {seed}, servers at {ports:?}");
    let mut told: Vec<String> = std::env::args().skip(1).collect();
    if args.seed.is_none() {
        told.extend(["--seed".into(), seed.to_string()]);
    }
    for port in stage.iter().flat_map(Stage::ports) {
        told.extend(["--port".into(), port.to_string()]);
    }
    let mut workers = Workers::start(args.processes.max(1), &here, &told)?;
    workers.are_in()?;
    let every = Duration::from_secs_f64(args.fault_every.clamp(0.1, 1e6));
    let mut storm = Storm::new(seed, every, args.kills);
    let mut vigil = Vigil::start();
    let mut clean = true;
    let mut all = Outcome::default();
    for round in 1..=args.rounds.max(1) {
        workers.tell(Word::Live)?;
        let lasts = Duration::from_secs(args.seconds);
        match &mut stage {
            Some(stage) if args.fault_every > 0.0 || args.deploy => {
                let end = Instant::now() + lasts;
                if args.deploy {
                    storm.deploy(stage, &mut workers, &mut vigil)?;
                }
                let rest = end.saturating_duration_since(Instant::now());
                if args.fault_every > 0.0 {
                    storm.blow(stage, &mut workers, &mut vigil, rest)?;
                } else {
                    vigil.rest(Some(stage), &mut workers, rest)?;
                }
            }
            stage => vigil.rest(stage.as_ref(), &mut workers, lasts)?,
        }
        workers.tell(Word::Quiet)?;
        vigil.settle(stage.as_ref(), &mut workers, settles(args))?;
        let mut outcome = workers.judge()?;
        println!("round {round}: {} clients for {} s", args.clients, args.seconds);
        outcome.print();
        vigil.print();
        clean &= outcome.is_clean();
        if let Some(stage) = &mut stage {
            stage.print(args.clients)?;
            if !stage.all_run()? {
                println!("a server has ended by itself");
                clean = false;
            }
        }
        all.add(outcome);
    }
    if args.rounds > 1 {
        println!("all {} rounds", args.rounds);
        all.print();
    }
    println!("{}", if clean { "clean" } else { "NOT CLEAN" });
    Ok(clean)
}

/// After this long without anybody doing anything everybody must see the truth.
fn settles(args: &Args) -> Duration {
    let Periods { ttl, grace, .. } = Periods::default();
    if args.fault_every > 0.0 || args.deploy {
        // A store that has lost what it held spares everybody for ttl, and says `unknown` for as long as ttl + grace.
        ttl + grace.max(COMING_BACK) + LAST_WORDS
    } else if args.cut_one_in > 0 {
        ttl + LAST_WORDS
    } else {
        grace + LAST_WORDS
    }
}
