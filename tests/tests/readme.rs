//! What the README shows is what is compiled and played.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The fenced blocks of a language in the README.
fn blocks(language: &str) -> Vec<String> {
    let readme = fs::read_to_string(root().join("README.md")).expect("the README");
    readme
        .split(&format!("```{language}\n"))
        .skip(1)
        .filter_map(|rest| rest.split_once("```").map(|(block, _)| block.to_owned()))
        .collect()
}

#[test]
fn the_rust_code_is_the_compiled_example() {
    let example = fs::read_to_string(root().join("engine/examples/embed.rs")).expect("the example");
    let (doc, code) = example.split_once("\n\n").expect("a doc line and code");
    assert!(doc.starts_with("//!"));
    assert_eq!(blocks("rust"), [code]);
}

#[test]
fn the_scenario_is_the_one_that_is_played() {
    let file = root().join("tests/scenarios/readme/two-tabs.json");
    assert_eq!(blocks("json"), [fs::read_to_string(file).expect("the scenario")]);
}
