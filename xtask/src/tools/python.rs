//! Python, for the client that was written from the protocol's document.

use anyhow::Result;

use super::apt;
use crate::run::on_path;

pub(super) fn ensure() -> Result<()> {
    if on_path("python3").is_some() {
        return Ok(());
    }
    apt::install("Python", "python3", "install Python 3.9 or newer from https://www.python.org")
}
