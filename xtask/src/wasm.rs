//! The WebAssembly module and its JavaScript glue, as the npm package carries them.

use std::fs;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

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
///
/// The names by which module and glue call each other are for nobody to read, and are a tenth of what a page would load.
const OPTIMIZE: &str =
    "-Oz --minify-imports-and-exports-and-modules --strip-producers --strip-target-features";

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
        let names = npm_bin("wasm-opt", OPTIMIZE).arg(&module).arg("-o").arg(&module).output()?;
        let script = folder.join("client.js");
        let glue = fs::read_to_string(&script).context("cannot read the glue")?;
        let glue = with_names(&glue, &names).context("cannot rename what the glue calls")?;
        fs::write(&script, &glue).context("cannot write the glue")?;
        ensure!(
            !imports_host(&glue),
            "the module imports from the host \"env\": some dependency expects an operating system"
        );
        Ok(())
    })
}

/// The glue, calling the module and called by it under the short names that wasm-opt has printed.
fn with_names(glue: &str, printed: &str) -> Result<String> {
    let names: Value = serde_json::from_str(printed).context("wasm-opt printed no names")?;
    let list = |of: &str| names[of].as_array().cloned().unwrap_or_default();
    let mut glue = glue.to_string();
    let mut rename = |from: String, to: String| {
        let known = glue.contains(&from);
        glue = glue.replace(&from, &to);
        known
    };
    let known = rename(format!("\"{MODULE}\":"), format!("{SHORT_MODULE}:"));
    ensure!(known, "the glue provides no {MODULE}");
    for import in list("imports") {
        let [Some(MODULE), Some(long), Some(short)] = [0, 1, 2].map(|it| import[it].as_str())
        else {
            bail!("an import of another form: {import}");
        };
        ensure!(rename(format!("{long}:"), format!("{short}:")), "the glue provides no {long}");
    }
    let mut exports = list("exports");
    // The longest first: one name may begin with another.
    exports.sort_by_key(|it| std::cmp::Reverse(it[0].as_str().map_or(0, str::len)));
    for export in exports {
        let [Some(long), Some(short)] = [0, 1].map(|it| export[it].as_str()) else {
            bail!("an export of another form: {export}");
        };
        // Not all of them are called.
        rename(format!("wasm.{long}"), format!("wasm.{short}"));
    }
    Ok(glue)
}

/// The module from which the glue's functions are imported, and what wasm-opt calls it.
const MODULE: &str = "./client_bg.js";
const SHORT_MODULE: &str = "a";

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
    fn glue_and_module_know_each_other_by_their_short_names() {
        let glue = r#"wasm.client_state(1); wasm.client_state_of(); ({ __wbg_new_1: f, }); ({ "./client_bg.js": it });"#;
        let names = r#"{
            "imports": [["./client_bg.js", "__wbg_new_1", "a"]],
            "exports": [["client_state", "b"], ["client_state_of", "c"]]
        }"#;
        let expected = "wasm.b(1); wasm.c(); ({ a: f, }); ({ a: it });";
        assert_eq!(with_names(glue, names).unwrap(), expected);
        assert!(with_names("", names).is_err());
    }

    #[test]
    fn host_imports_are_seen() {
        assert!(imports_host("import * as __wbg_star0 from 'env';\n"));
        assert!(imports_host("import * as import1 from \"env\""));
        assert!(!imports_host("// import from 'env'\nconst env = 1;\n"));
    }
}
