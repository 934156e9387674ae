//! The project's commands, one per file: `cargo xtask --help` names them.
//!
//! Each command installs what it needs where it may (see [`tools`]), prints every command it runs so that a person can
//! run the same one by hand, and skips work whose inputs have not changed (see [`stamp`]).
#![expect(
    clippy::disallowed_methods,
    reason = "a driver: it times its steps and waits for child processes"
)]

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod bench;
mod demo;
mod fuzz;
mod limits;
mod load;
mod npm;
mod pack;
mod packaging;
mod paths;
mod python;
mod redis;
mod run;
mod server;
mod simulator;
mod size;
mod smoke;
mod stamp;
mod steps;
mod table;
mod test;
mod tools;
mod wasm;
mod wire;

/// The commands of the Greendot workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build everything and serve the chat demo on loopback
    ///
    /// Prints `listening on http://127.0.0.1:PORT` when ready; Ctrl-C stops it. Open the address as `/?user=ana`, and
    /// once more as `/?user=bo`.
    Demo(demo::Args),

    /// Run everything that guards a change, as CI does
    ///
    /// Installs missing tools, then runs step after step and stops at the first that fails. The last line counts the
    /// steps that passed and failed.
    Test(test::Args),

    /// Build the npm package into target/npm/greendot-VERSION.tgz
    Pack,

    /// Report the raw, gzip and brotli bytes of what a page loads, or those of what goes over the wire
    Size(size::Args),

    /// Measure, each figure beside its baseline and its budget
    Bench(bench::Args),

    /// Play scenario files on a virtual clock and say which hold
    ///
    /// `--seeds N`, `--seed SEED` and `--trace` as `cargo xtask scenario --help` says.
    #[command(disable_help_flag = true)]
    Scenario {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },

    /// Hunt for faults in random worlds
    ///
    /// `--worlds N` and `--seed S` as `cargo xtask hunt --help` says.
    #[command(disable_help_flag = true)]
    Hunt {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Demo(args) => done(demo::run(&args)),
        Command::Test(args) => test::run(&args),
        Command::Pack => done(pack::run()),
        Command::Size(args) => done(size::run(&args)),
        Command::Bench(args) => done(bench::run(&args)),
        Command::Scenario { args } => done(simulator::run("scenario", args)),
        Command::Hunt { args } => done(simulator::run("hunt", args)),
    }
}

fn done(result: anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
