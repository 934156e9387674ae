//! Chromium: Debian's, or the one that `CHROME` names.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use super::apt;

const DEBIAN: &str = "/usr/bin/chromium";
const OTHERWISE: &str = "install Chromium, and set CHROME to its path";

/// The browser that tests run in.
pub(crate) fn browser() -> PathBuf {
    env::var_os("CHROME").map_or_else(|| DEBIAN.into(), PathBuf::from)
}

/// Chromium is installed only where no variable names a browser.
pub(super) fn ensure_browser() -> Result<()> {
    match env::var_os("CHROME") {
        Some(path) => {
            let path = Path::new(&path);
            ensure!(path.is_file(), "CHROME names no file: {}", path.display());
            Ok(())
        }
        None if Path::new(DEBIAN).is_file() => Ok(()),
        None => apt::install("Chromium", "chromium", OTHERWISE),
    }
}
