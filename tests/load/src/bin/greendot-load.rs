//! `greendot-load`: many clients on one server, and whether each saw the truth.

use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use clap::Parser;
use greendot_load::load::{Outcome, Plan, run};
use greendot_load::server::Process;

/// Runs many clients that come and go, change, and watch each other; says how long things took, and whether each watcher saw
/// the truth in the end.
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
    /// One client in so many reads nothing for 20 s at a time; 0: none.
    #[arg(long, default_value_t = 50, value_name = "N")]
    slow_one_in: usize,
    /// Clients that dial in a second.
    #[arg(long, default_value_t = 500, value_name = "N")]
    connect_rate: usize,
    /// How long they live, once all are there.
    #[arg(long, default_value_t = 60, value_name = "N")]
    seconds: u64,
    /// Processes that the clients are spread over: each has a limit on descriptors.
    #[arg(long, default_value_t = 2, value_name = "N")]
    processes: usize,
    /// The port on loopback of a server that runs already (with `--dev`, and its shipped periods).
    #[arg(long, value_name = "PORT", conflicts_with = "server")]
    port: Option<u16>,
    /// The server to start. By default the one built beside this program.
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
    /// Which of the processes this is.
    #[arg(long, hide = true)]
    worker: Option<usize>,
}

/// The server's grace of 10 s, a sweep, and time for the last words of a busy machine.
const SETTLE: Duration = Duration::from_secs(20);

fn main() -> ExitCode {
    let args = Args::parse();
    let result = match args.worker {
        Some(worker) => work(&args, worker),
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

/// One of the processes: its outcome goes to its standard output.
fn work(args: &Args, worker: usize) -> io::Result<bool> {
    let port = args.port.ok_or_else(|| io::Error::other("a worker is told the port"))?;
    let processes = args.processes.max(1);
    let share = args.clients / processes + usize::from(worker < args.clients % processes);
    let plan = Plan {
        port,
        worker,
        clients: share,
        watches: args.watch,
        action_every: Duration::from_secs_f64(args.action_every.clamp(0.01, 1e6)),
        slow_one_in: args.slow_one_in,
        connect_rate: args.connect_rate.div_ceil(processes).max(1),
        lasts: Duration::from_secs(args.seconds),
        settle: SETTLE,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = runtime.block_on(run(plan))?;
    println!("{}", outcome.to_json());
    Ok(true)
}

/// Starts the server and the processes, and adds up.
fn lead(args: &Args) -> io::Result<bool> {
    let here = std::env::current_exe()?;
    let server = match args.port {
        Some(_) => None,
        None => {
            let beside = || here.with_file_name("greendot-server");
            let program = args.server.clone().unwrap_or_else(beside);
            Some(Process::start(&program, &["--dev", "--listen", "127.0.0.1:0", "--log", "error"])?)
        }
    };
    let port = args.port.or(server.as_ref().map(Process::port)).unwrap_or_default();
    let before = match &server {
        Some(server) => Some((server.cpu()?, server.resident()?)),
        None => None,
    };
    let mut workers = Vec::new();
    for worker in 0..args.processes.max(1) {
        let mut command = Command::new(&here);
        command.args(std::env::args_os().skip(1));
        if args.port.is_none() {
            command.arg("--port").arg(port.to_string());
        }
        command.arg("--worker").arg(worker.to_string()).stdout(Stdio::piped());
        workers.push(command.spawn()?);
    }
    let mut outcome = Outcome::default();
    for worker in workers {
        let output = worker.wait_with_output()?;
        let json = serde_json::from_slice(&output.stdout).ok();
        let told = json.as_ref().and_then(Outcome::from_json);
        outcome.add(told.ok_or_else(|| io::Error::other("a process of clients has failed"))?);
    }
    report(args, &mut outcome);
    if let (Some(server), Some((cpu, resident))) = (&server, before) {
        let (cpu_now, resident_now) = (server.cpu()?, server.resident()?);
        let grown = resident_now.saturating_sub(resident);
        println!(
            "server      {:.1} s of CPU, {:.1} MB resident ({:.1} KB a client)",
            (cpu_now - cpu).as_secs_f64(),
            resident_now as f64 / 1e6,
            grown as f64 / 1e3 / args.clients.max(1) as f64,
        );
    }
    println!("{}", if outcome.is_clean() { "clean" } else { "NOT CLEAN" });
    Ok(outcome.is_clean())
}

fn report(args: &Args, outcome: &mut Outcome) {
    let [changes, returns, goodbyes, cuts] = outcome.actions;
    println!(
        "{} clients for {} s: {changes} changes, {returns} returns within grace, {goodbyes} goodbyes, {cuts} \
         cut lines",
        args.clients, args.seconds
    );
    for (name, micros) in [
        ("connect", &mut outcome.connects),
        ("delivery", &mut outcome.deliveries),
        ("heartbeat", &mut outcome.beats),
        ("cut line", &mut outcome.cuts),
    ] {
        micros.sort_unstable();
        let at = |share: f64| {
            let place = (micros.len().saturating_sub(1) as f64 * share) as usize;
            micros.get(place).map_or(0.0, |&it| it as f64 / 1e3)
        };
        println!(
            "{name:<11} p50 {:>8.1} ms   p99 {:>8.1} ms   p99.9 {:>8.1} ms   ({})",
            at(0.5),
            at(0.99),
            at(0.999),
            micros.len()
        );
    }
    println!(
        "truth       {} views, {} wrong, {} flaps, {} broken connections",
        outcome.views,
        outcome.wrong.len(),
        outcome.flaps,
        outcome.broken.len()
    );
    for line in outcome.wrong.iter().chain(&outcome.broken) {
        println!("  {line}");
    }
}
