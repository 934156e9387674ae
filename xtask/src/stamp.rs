//! Skipping work whose inputs have not changed.
//!
//! A stamp is a file under `target/` that holds a digest of what an output was made from. Contents are compared, not
//! times: switching branches back and forth, or a fresh clone over an old target folder, rebuilds nothing needlessly and
//! never leaves something stale. The inputs are small (sources, a lock file, one wasm module), so reading them costs
//! milliseconds.

use std::fs;
use std::hash::{DefaultHasher, Hasher as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::paths;
use crate::run::relative;

/// Folders that hold what was made or installed: below an input they are no input.
const MADE: &[&str] = &["node_modules", "dist", "target"];

/// One piece of work that may be skipped.
pub(crate) struct Work<'a> {
    /// Names the stamp and what is printed.
    pub(crate) name: &'a str,
    /// Files and folders it reads. One that does not exist counts as such, and may appear later.
    pub(crate) inputs: Vec<PathBuf>,
    /// Names of folders inside the inputs to leave out, besides installed and built ones.
    pub(crate) except: &'a [&'a str],
    /// Whatever else the result depends on: arguments, tool versions.
    pub(crate) recipe: String,
    /// Files that must be there afterwards.
    pub(crate) outputs: Vec<PathBuf>,
}

impl Work<'_> {
    /// Does the work, unless its outputs were made from just these inputs.
    pub(crate) fn run(&self, make: impl FnOnce() -> Result<()>) -> Result<()> {
        self.run_in(&paths::scratch().join("stamps"), make)
    }

    fn run_in(&self, stamps: &Path, make: impl FnOnce() -> Result<()>) -> Result<()> {
        let file = stamps.join(self.name);
        let digest = self.digest()?;
        if fs::read_to_string(&file).is_ok_and(|old| old == digest) && self.missing().is_none() {
            println!("{}: up to date", self.name);
            return Ok(());
        }
        // Removed first: work that fails half-way must not look done.
        let _ = fs::remove_file(&file);
        make()?;
        if let Some(output) = self.missing() {
            bail!("{} ended well but left no {}", self.name, relative(output));
        }
        fs::create_dir_all(stamps)
            .with_context(|| format!("cannot create {}", stamps.display()))?;
        fs::write(&file, digest).with_context(|| format!("cannot write {}", file.display()))
    }

    fn missing(&self) -> Option<&Path> {
        self.outputs.iter().map(PathBuf::as_path).find(|output| !output.exists())
    }

    fn digest(&self) -> Result<String> {
        let mut hasher = DefaultHasher::new();
        add(&mut hasher, self.recipe.as_bytes());
        for input in &self.inputs {
            self.add_path(&mut hasher, input)?;
        }
        Ok(format!("{:016x}", hasher.finish()))
    }

    fn add_path(&self, hasher: &mut DefaultHasher, path: &Path) -> Result<()> {
        add(hasher, relative(path).as_bytes());
        if path.is_dir() {
            let mut entries = fs::read_dir(path)
                .and_then(|entries| {
                    entries.map(|entry| entry.map(|e| e.path())).collect::<Result<Vec<_>, _>>()
                })
                .with_context(|| format!("cannot list {}", path.display()))?;
            entries.sort();
            for entry in entries.iter().filter(|entry| !self.is_left_out(entry)) {
                self.add_path(hasher, entry)?;
            }
        } else if path.exists() {
            add(
                hasher,
                &fs::read(path).with_context(|| format!("cannot read {}", path.display()))?,
            );
        }
        Ok(())
    }

    fn is_left_out(&self, path: &Path) -> bool {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        path.is_dir() && (MADE.contains(&name) || self.except.contains(&name))
    }
}

/// Length first, so that neighbours cannot trade bytes.
fn add(hasher: &mut DefaultHasher, bytes: &[u8]) {
    hasher.write_usize(bytes.len());
    hasher.write(bytes);
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    struct Room {
        folder: tempfile::TempDir,
        runs: Cell<u32>,
    }

    impl Room {
        fn new() -> Self {
            let room = Self { folder: tempfile::tempdir().unwrap(), runs: Cell::new(0) };
            fs::create_dir_all(room.at("in/node_modules")).unwrap();
            room.put("in/a.ts", "a");
            room
        }

        fn at(&self, path: &str) -> PathBuf {
            self.folder.path().join(path)
        }

        fn put(&self, path: &str, text: &str) {
            fs::write(self.at(path), text).unwrap();
        }

        /// Runs the work and tells how often it has really been done since the beginning.
        fn run(&self, recipe: &str) -> u32 {
            let work = Work {
                name: "work",
                inputs: vec![self.at("in"), self.at("lock")],
                except: &["tests"],
                recipe: recipe.into(),
                outputs: vec![self.at("out")],
            };
            work.run_in(&self.at("stamps"), || {
                self.runs.set(self.runs.get() + 1);
                self.put("out", "made");
                Ok(())
            })
            .unwrap();
            self.runs.get()
        }
    }

    #[test]
    fn unchanged_inputs_skip_the_work() {
        let room = Room::new();
        assert_eq!(room.run(""), 1);
        room.put("in/a.ts", "a");
        assert_eq!(room.run(""), 1);
    }

    #[test]
    fn a_changed_new_or_renamed_input_or_recipe_repeats_the_work() {
        let room = Room::new();
        assert_eq!(room.run(""), 1);
        room.put("in/a.ts", "b");
        assert_eq!(room.run(""), 2);
        room.put("in/b.ts", "");
        assert_eq!(room.run(""), 3);
        fs::rename(room.at("in/b.ts"), room.at("in/c.ts")).unwrap();
        assert_eq!(room.run(""), 4);
        room.put("lock", "");
        assert_eq!(room.run(""), 5);
        assert_eq!(room.run("-O"), 6);
    }

    #[test]
    fn installed_built_and_excepted_folders_are_no_input() {
        let room = Room::new();
        assert_eq!(room.run(""), 1);
        room.put("in/node_modules/x.js", "x");
        fs::create_dir_all(room.at("in/deep/tests")).unwrap();
        assert_eq!(room.run(""), 2, "a new folder is a change");
        room.put("in/deep/tests/x.js", "x");
        assert_eq!(room.run(""), 2);
    }

    #[test]
    fn a_lost_output_repeats_the_work() {
        let room = Room::new();
        assert_eq!(room.run(""), 1);
        fs::remove_file(room.at("out")).unwrap();
        assert_eq!(room.run(""), 2);
    }

    #[test]
    fn failed_work_is_repeated_even_if_the_inputs_come_back() {
        let room = Room::new();
        assert_eq!(room.run(""), 1);
        room.put("in/a.ts", "broken");
        let work = Work {
            name: "work",
            inputs: vec![room.at("in"), room.at("lock")],
            except: &["tests"],
            recipe: String::new(),
            outputs: vec![],
        };
        work.run_in(&room.at("stamps"), || anyhow::bail!("no")).unwrap_err();
        room.put("in/a.ts", "a");
        assert_eq!(room.run(""), 2);
    }

    #[test]
    fn work_that_leaves_no_output_is_an_error() {
        let room = Room::new();
        let work = Work {
            name: "work",
            inputs: vec![],
            except: &[],
            recipe: String::new(),
            outputs: vec![room.at("nothing")],
        };
        let error = work.run_in(&room.at("stamps"), || Ok(())).unwrap_err();
        assert!(error.to_string().contains("left no"), "{error}");
    }
}
