//! `cargo xtask demo`: the chat demo, built and served.

use std::path::PathBuf;

use anyhow::Result;

use crate::npm;
use crate::paths;
use crate::run::{cargo, program};
use crate::tools::{self, Tool};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The loopback port to serve on
    #[arg(long, default_value_t = 4747)]
    port: u16,
    /// Whoever is invisible sees nobody
    #[arg(long)]
    reciprocal: bool,
}

/// What a run of the demo needs.
pub(crate) struct Demo {
    pub(crate) server: PathBuf,
    pub(crate) pages: PathBuf,
}

/// Builds the pages and the server; quick where nothing has changed.
pub(crate) fn build() -> Result<Demo> {
    tools::ensure([Tool::WasmTarget, Tool::NpmPackages])?;
    let pages = npm::build_demo()?;
    cargo("build -p greendot-engine --example chat --features server").run()?;
    let server = paths::built("debug/examples", "chat");
    Ok(Demo { server, pages })
}

/// Builds everything, then becomes the server: Ctrl-C, and any other signal, reaches it directly.
pub(crate) fn run(args: &Args) -> Result<()> {
    let demo = build()?;
    let flags = if args.reciprocal { "--reciprocal --port" } else { "--port" };
    program(demo.server, flags).arg(args.port.to_string()).arg("--assets").arg(demo.pages).replace()
}
