//! `greendot-throng`: very many watchers of one user over real sockets.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use greendot_load::server::{Throng, crew, throng};

/// Has so many watch one user, changes it, and says when each of them heard of it and what that took the server.
#[derive(Parser)]
#[command(name = "greendot-throng")]
struct Args {
    /// Watchers; each process and the server have a limit on descriptors.
    #[arg(long, default_value_t = 15_000, value_name = "N")]
    watchers: usize,
    /// Processes that they are spread over.
    #[arg(long, default_value_t = 2, value_name = "N")]
    processes: usize,
    /// How often the user changes.
    #[arg(long, default_value_t = 3, value_name = "N")]
    changes: usize,
    /// The server to start. By default the one built beside this program.
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
    /// One of the processes: port, number, watchers.
    #[arg(long, hide = true, num_args = 3)]
    crew: Option<Vec<usize>>,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("greendot-throng: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> io::Result<bool> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    if let Some(&[port, number, watchers]) = args.crew.as_deref() {
        let port = u16::try_from(port).map_err(io::Error::other)?;
        return runtime.block_on(crew(port, number, watchers)).map(|()| true);
    }
    let here = std::env::current_exe()?;
    let server = args.server.clone().unwrap_or_else(|| here.with_file_name("greendot-server"));
    let plan =
        Throng { watchers: args.watchers, processes: args.processes.max(1), changes: args.changes };
    runtime.block_on(throng(plan, &here, &server))
}
