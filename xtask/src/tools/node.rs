//! Node, npm and the package's dependencies.

use anyhow::{Result, anyhow, ensure};

use crate::paths::{self, require};
use crate::run::{npm, program};
use crate::stamp::Work;

/// The oldest Node that is still maintained.
const OLDEST: u32 = 20;
const REMEDY: &str =
    "install Node 20 or newer with npm, from your system's packages or https://nodejs.org";

/// The packages of the lock file, at exactly its versions.
pub(super) fn packages() -> Result<()> {
    let lock = paths::npm().join("package-lock.json");
    require(&lock, "the npm package's lock file")?;
    let node = version("node")?;
    version("npm")?;
    ensure!(major(&node).is_some_and(|major| major >= OLDEST), "Node {node} is too old: {REMEDY}");
    let work = Work {
        name: "npm-packages",
        inputs: vec![paths::npm().join("package.json"), lock],
        except: &[],
        recipe: node,
        outputs: vec![paths::npm().join("node_modules/.package-lock.json")],
    };
    work.run(|| npm("ci --no-audit --no-fund").run())
}

fn version(name: &str) -> Result<String> {
    let version = program(name, "--version")
        .quiet()
        .output()
        .map_err(|_| anyhow!("{name} is missing: {REMEDY}"))?;
    Ok(version.trim().trim_start_matches('v').to_string())
}

fn major(version: &str) -> Option<u32> {
    version.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_is_read() {
        assert_eq!(major("20.20.2"), Some(20));
        assert_eq!(major("nonsense"), None);
    }
}
