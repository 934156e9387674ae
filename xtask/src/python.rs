//! The client in `tests/python`, written from `protocol/PROTOCOL.md` alone, against the ready server.

use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};

use crate::run::program;
use crate::server;
use crate::smoke::{Server, address};

/// As quick as the settings allow, and nobody was there before.
const SERVER: &str = "--dev --listen 127.0.0.1:0 --log warn --beat 0.3 --ttl 6 --grace 0.5 --sweep 0.02 --tick 0.005 --warmup 0";

pub(crate) fn run() -> Result<()> {
    let binary = server::build()?;
    println!("$ {} {SERVER}", crate::run::relative(&binary));
    let mut server = Server(
        Command::new(&binary)
            .args(SERVER.split_whitespace())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", binary.display()))?,
    );
    let output = server.0.stdout.take().context("the server has no output")?;
    let url = format!("ws://{}/presence", address(output)?);
    program("python3", "-B -m unittest discover -s tests/python").env("GREENDOT_URL", url).run()
}
