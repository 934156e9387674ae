//! The WebAssembly module and its JavaScript glue, as the npm package carries them.

use std::fs;

use anyhow::{Context as _, Result, ensure};

use crate::run::{cargo, npm_bin};
use crate::stamp::Work;
use crate::tools::{self, Tool};
use crate::{bindgen, paths};

/// Compiled by cargo, which knows best whether anything has changed.
const CARGO: &str = "build -p greendot-wasm --profile wasm --target wasm32-unknown-unknown";
const COMPILED: &str = "wasm32-unknown-unknown/wasm/greendot_wasm.wasm";

/// The glue must not locate the module by itself: bundlers would then emit it even for the entry that inlines it.
const BINDGEN: &str = "--target web --omit-default-module-path --remove-name-section --remove-producers-section --out-name client";

/// Without `-tnh`: it saves 3 %, but turns traps into undefined behaviour.
const OPTIMIZE: &str = "-Oz --strip-producers --strip-target-features";

/// Builds `npm/dist/wasm/client.js` and `client_bg.wasm`.
pub(crate) fn build() -> Result<()> {
    tools::ensure([Tool::WasmTarget, Tool::NpmPackages])?;
    cargo(CARGO).run()?;
    let compiled = paths::target().join(COMPILED);
    let folder = paths::wasm();
    let work = Work {
        name: "wasm",
        // The lock files decide the versions of the two tools.
        inputs: vec![
            compiled.clone(),
            paths::root().join("Cargo.lock"),
            paths::npm().join("package-lock.json"),
        ],
        except: &[],
        recipe: format!("{BINDGEN} {OPTIMIZE}"),
        outputs: ["client.js", "client.d.ts", "client_bg.wasm"]
            .map(|file| folder.join(file))
            .into(),
    };
    work.run(|| {
        // Emptied first: nothing from an older build may slip into the package.
        let _ = fs::remove_dir_all(&folder);
        let args = BINDGEN.split_whitespace().map(Into::into);
        println!("$ cargo xtask bindgen {BINDGEN} …");
        bindgen::bindgen(args.chain(["--out-dir".into(), folder.clone().into(), compiled.into()]))?;
        let module = folder.join("client_bg.wasm");
        npm_bin("wasm-opt", OPTIMIZE).arg(&module).arg("-o").arg(&module).run()?;
        let glue = fs::read_to_string(folder.join("client.js")).context("cannot read the glue")?;
        ensure!(
            !imports_host(&glue),
            "the module imports from the host \"env\": some dependency expects an operating system"
        );
        Ok(())
    })
}

/// Whether the glue takes functions that no page provides.
fn imports_host(glue: &str) -> bool {
    glue.lines().any(|line| {
        line.trim_start().starts_with("import ")
            && (line.contains("'env'") || line.contains("\"env\""))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_imports_are_seen() {
        assert!(imports_host("import * as __wbg_star0 from 'env';\n"));
        assert!(imports_host("import * as import1 from \"env\""));
        assert!(!imports_host("// import from 'env'\nconst env = 1;\n"));
    }
}
