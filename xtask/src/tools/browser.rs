//! Chromium and its driver: Debian's, or those that `CHROME` and `CHROMEDRIVER` name.

use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context as _, Result, ensure};

use super::apt;
use crate::paths;
use crate::run::{on_path, relative};

const DEBIAN: &str = "/usr/bin/chromium";
const PACKAGES: &str = "chromium chromium-driver";
const OTHERWISE: &str =
    "install Chromium and its chromedriver, and set CHROME and CHROMEDRIVER to their paths";

/// The browser that tests run in.
pub(crate) fn browser() -> PathBuf {
    env::var_os("CHROME").map_or_else(|| DEBIAN.into(), PathBuf::from)
}

/// Capabilities for the web driver: the ones in the repository, with another browser if `CHROME` names one.
pub(crate) fn webdriver_json() -> Result<PathBuf> {
    let stock = paths::root().join("webdriver.json");
    if browser() == Path::new(DEBIAN) {
        return Ok(stock);
    }
    let text =
        fs::read_to_string(&stock).with_context(|| format!("cannot read {}", relative(&stock)))?;
    let mut capabilities: serde_json::Value = serde_json::from_str(&text)?;
    capabilities["goog:chromeOptions"]["binary"] = browser().to_string_lossy().into();
    let own = paths::scratch().join("webdriver.json");
    fs::create_dir_all(paths::scratch())?;
    fs::write(&own, capabilities.to_string())
        .with_context(|| format!("cannot write {}", relative(&own)))?;
    Ok(own)
}

pub(super) fn ensure_browser() -> Result<()> {
    named("CHROME", "Chromium", Path::new(DEBIAN).is_file())
}

pub(super) fn ensure_driver() -> Result<()> {
    named("CHROMEDRIVER", "Chromium's web driver", on_path("chromedriver").is_some())
}

/// A program that a variable may name; it is installed only where none does.
fn named(variable: &str, what: &str, found: bool) -> Result<()> {
    match env::var_os(variable) {
        Some(path) => {
            ensure!(
                Path::new(&path).is_file(),
                "{variable} names no file: {}",
                Path::new(&path).display()
            );
            Ok(())
        }
        None if found => Ok(()),
        None => apt::install(what, PACKAGES, OTHERWISE),
    }
}
