//! Debian packages, where this process may install them.

use anyhow::Result;

use super::missing;
use crate::run::{Run, on_path, program};

/// Installs packages, or names the commands that do. `otherwise` is the way out for machines without apt.
pub(super) fn install(what: &str, packages: &str, otherwise: &str) -> Result<()> {
    if on_path("apt-get").is_none() {
        return missing(what, otherwise);
    }
    let install = format!("install -y --no-install-recommends {packages}");
    let Some(rights) = Rights::of_this_process() else {
        let by_hand = format!("sudo apt-get update && sudo apt-get {install}");
        return missing(what, &format!("{by_hand}\n\nor {otherwise}"));
    };
    println!("{what} is missing: installing {packages}");
    rights.apt_get("update").run()?;
    rights.apt_get(&install).run()
}

/// A command that a package brings, unless it is there.
pub(super) fn command(name: &str, what: &str, package: &str, otherwise: &str) -> Result<()> {
    if on_path(name).is_some() { Ok(()) } else { install(what, package, otherwise) }
}

const OPTIONS: &str = "-q -o DPkg::Lock::Timeout=120 -o Dpkg::Use-Pty=0";

/// How this process may install packages without asking anyone.
enum Rights {
    Root,
    Sudo,
}

impl Rights {
    fn of_this_process() -> Option<Self> {
        if program("id", "-u").quiet().output().is_ok_and(|id| id.trim() == "0") {
            Some(Self::Root)
        } else if program("sudo", "-n true").succeeds() {
            Some(Self::Sudo)
        } else {
            None
        }
    }

    fn apt_get(&self, line: &str) -> Run {
        // Waits for another package manager to finish, and draws no progress bars into logs.
        let line = format!("DEBIAN_FRONTEND=noninteractive apt-get {OPTIONS} {line}");
        match self {
            Self::Root => program("env", &line),
            Self::Sudo => program("sudo", &format!("-n env {line}")),
        }
    }
}
