//! The WebAssembly module, as the npm package carries it.

use std::fs;

use anyhow::{Context as _, Result};

use crate::paths;
use crate::run::{cargo, npm_bin};
use crate::stamp::Work;
use crate::tools::{self, Tool};

/// Compiled by cargo, which knows best whether anything has changed.
const CARGO: &str = "build -p greendot-wasm --profile wasm --target wasm32-unknown-unknown";
const COMPILED: &str = "wasm32-unknown-unknown/wasm/greendot_wasm.wasm";

/// Without `-tnh`: it saves 3 %, but turns traps into undefined behaviour.
///
/// From a flat form on, twice, with what is alike together; which passes, and in which order, was found by trying: after gzip that
/// is 3 % less than `-Oz` alone. The lowest memory is unused as far as `--low-memory-unused` needs it: its first 1,024 bytes are
/// the end of the stack, which the linker puts before the data, and no address is reckoned from them.
const OPTIMIZE: &str = "--remove-exports=__* --flexible-inline-max-function-size=5 --merge-similar-functions --low-memory-unused --one-caller-inline-max-function-size=150 --optimize-instructions --remove-unused-brs --rse --flatten --rereloop --remove-unused-brs -Oz -Oz -O2 -Oz --dealign --reorder-functions --strip-debug --strip-producers --strip-target-features";

/// Builds `npm/dist/wasm/client_bg.wasm`.
pub(crate) fn build() -> Result<()> {
    tools::ensure([Tool::WasmTarget, Tool::NpmPackages])?;
    cargo(CARGO).run()?;
    let compiled = paths::target().join(COMPILED);
    let module = paths::wasm().join("client_bg.wasm");
    let work = Work {
        name: "wasm",
        // The lock file decides the optimizer's version.
        inputs: vec![compiled.clone(), paths::npm().join("package-lock.json")],
        except: &[],
        recipe: OPTIMIZE.into(),
        outputs: vec![module.clone()],
    };
    work.run(|| {
        // Emptied first: nothing from an older build may slip into the package.
        let _ = fs::remove_dir_all(paths::wasm());
        fs::create_dir_all(paths::wasm()).context("cannot create npm/dist/wasm")?;
        npm_bin("wasm-opt", OPTIMIZE).arg(&compiled).arg("-o").arg(&module).run()
    })
}
