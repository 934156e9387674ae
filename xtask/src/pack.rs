//! `cargo xtask pack`: the npm package as a tarball.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::table::grouped;
use crate::{npm, paths, run};

pub(crate) fn run() -> Result<()> {
    let tarball = pack()?;
    let bytes =
        fs::metadata(&tarball).with_context(|| format!("npm left no {}", tarball.display()))?.len();
    println!("{} ({} bytes)", run::relative(&tarball), grouped(bytes as usize));
    Ok(())
}

/// Builds and packs; returns where the tarball lies.
pub(crate) fn pack() -> Result<PathBuf> {
    npm::build()?;
    let folder = paths::target().join("npm");
    fs::create_dir_all(&folder).context("cannot create target/npm")?;
    // Its own scripts would build again what is built already.
    let listing =
        run::npm("pack --json --ignore-scripts --pack-destination").arg(&folder).output()?;
    let files = packed_files(&listing).context("cannot read what npm packed")?;
    let package = npm::package_json()?;
    // A forgotten file would install well, and then fail in the page.
    for file in exported_files(&package["exports"]) {
        let packed = files.iter().any(|packed| packed == file.trim_start_matches("./"));
        ensure!(packed, "the tarball lacks {file}: see \"files\" in npm/package.json");
    }
    for file in LICENCES {
        ensure!(files.iter().any(|packed| packed == file), "the tarball lacks {file}");
    }
    let version = package["version"].as_str().context("npm/package.json has no version")?;
    Ok(folder.join(format!("greendot-{version}.tgz")))
}

/// A package takes no files from outside its folder: these are copies of the repository's.
const LICENCES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// The paths that `npm pack --json` lists.
fn packed_files(listing: &str) -> Option<Vec<String>> {
    let listing: Value = serde_json::from_str(listing).ok()?;
    // One package: in an array, or, with newer npm, in an object by name.
    let package = listing.get(0).or_else(|| listing.as_object()?.values().next())?;
    let files = package.get("files")?.as_array()?;
    Some(files.iter().filter_map(|file| Some(file.get("path")?.as_str()?.to_string())).collect())
}

/// All that an exports map points to, under any condition.
fn exported_files(exports: &Value) -> Vec<&str> {
    match exports {
        Value::String(file) => vec![file],
        Value::Object(conditions) => conditions.values().flat_map(exported_files).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn exported_files_are_found_under_each_condition() {
        let exports = json!({ ".": { "types": "./a.d.ts", "default": "./a.js" }, "./b": "./b.js" });
        let mut files = exported_files(&exports);
        files.sort_unstable();
        assert_eq!(files, ["./a.d.ts", "./a.js", "./b.js"]);
    }

    #[test]
    fn the_package_has_the_licences_of_the_repository() {
        for file in LICENCES {
            let own = fs::read_to_string(paths::npm().join(file)).unwrap();
            assert_eq!(own, fs::read_to_string(paths::root().join(file)).unwrap(), "{file}");
        }
    }

    #[test]
    fn the_listing_is_read() {
        let package = r#"{"files": [{"path": "package.json"}, {"path": "dist/index.js"}]}"#;
        for listing in [format!("[{package}]"), format!(r#"{{"greendot": {package}}}"#)] {
            assert_eq!(packed_files(&listing).unwrap(), ["package.json", "dist/index.js"]);
        }
        assert_eq!(packed_files("npm warn"), None);
    }
}
