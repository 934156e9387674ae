//! The TypeScript side of the package, and the demo's pages, built by their own npm scripts.
//!
//! `npm run build` compiles `npm/src` into `npm/dist` and leaves `npm/dist/wasm` alone; `npm run build:demo` bundles
//! `npm/demo` into `npm/demo/dist`.

use std::path::PathBuf;
use std::sync::OnceLock;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::run::npm;
use crate::stamp::Work;
use crate::{paths, wasm};

/// Builds what gets published: wasm and TypeScript. Once is enough for all the steps of one command.
pub(crate) fn build() -> Result<()> {
    static BUILT: OnceLock<()> = OnceLock::new();
    if BUILT.get().is_some() {
        return Ok(());
    }
    wasm::build()?;
    let dist = paths::npm().join("dist");
    let work = Work {
        name: "npm-package",
        inputs: vec![paths::npm()],
        except: &["bench", "browser", "demo", "packaging", "test"],
        recipe: String::new(),
        outputs: vec![
            dist.join("index.js"),
            dist.join("index.d.ts"),
            dist.join("wasm/client_bg.wasm"),
        ],
    };
    work.run(|| npm("run build").run())?;
    BUILT.get_or_init(|| ());
    Ok(())
}

/// Builds the demo's pages, over the package, and returns their folder.
pub(crate) fn build_demo() -> Result<PathBuf> {
    build()?;
    let pages = paths::npm().join("demo/dist");
    let work = Work {
        name: "demo",
        inputs: vec![paths::npm(), paths::npm().join("dist")],
        except: &["bench", "browser", "packaging", "test"],
        recipe: String::new(),
        outputs: vec![pages.join("index.html")],
    };
    work.run(|| npm("run build:demo").run())?;
    Ok(pages)
}

/// The package's description.
pub(crate) fn package_json() -> Result<Value> {
    let path = paths::npm().join("package.json");
    let text = std::fs::read_to_string(&path).context("cannot read npm/package.json")?;
    serde_json::from_str(&text).context("npm/package.json is not JSON")
}
