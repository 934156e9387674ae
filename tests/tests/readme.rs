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

#[test]
fn every_command_is_one_that_is_there() {
    let commands = fs::read_to_string(root().join("xtask/src/main.rs")).expect("the commands");
    let options = root().join("engine/src/bin/greendot-server/options.rs");
    let options = fs::read_to_string(options).expect("the server's options");
    for block in blocks("sh") {
        for line in block.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                ["cargo", "xtask", name, ..] => {
                    let variant = name[..1].to_uppercase() + &name[1..];
                    assert!(commands.contains(&format!("Command::{variant}")), "{line}");
                    for path in words[3..].iter().filter(|it| it.ends_with(".json")) {
                        assert!(root().join(path).is_file(), "{line}");
                    }
                }
                ["npm", "install", path] => {
                    let file = path.rsplit('/').next().expect("a file");
                    let package = fs::read_to_string(root().join("npm/package.json")).unwrap();
                    let version =
                        file.strip_prefix("greendot-").and_then(|it| it.strip_suffix(".tgz"));
                    let version = version.expect("the tarball");
                    assert!(package.contains(&format!("\"version\": \"{version}\"")), "{line}");
                }
                ["cargo", "run", "-p", "greendot-engine", "--bin", name, ..] => {
                    assert!(root().join("engine/src/bin").join(name).is_dir(), "{line}");
                }
                ["greendot-server", ..] => {
                    for option in words[1..].iter().filter_map(|it| it.strip_prefix("--")) {
                        let field = format!("pub(crate) {}:", option.replace('-', "_"));
                        assert!(options.contains(&field), "the server knows no --{option}");
                    }
                }
                _ => panic!("nobody checks this command: {line}"),
            }
        }
    }
}

#[test]
fn the_dependencies_are_those_that_the_example_is_compiled_with() {
    let workspace = fs::read_to_string(root().join("Cargo.toml")).expect("the workspace");
    let [dependencies] = &blocks("toml")[..] else { panic!("one block of dependencies") };
    for (name, version) in [("axum", "0.8"), ("tokio", "1")] {
        let stated = |text: &str, version: &str| {
            text.lines().any(|it| it.starts_with(name) && it.contains(&format!("\"{version}")))
        };
        assert!(stated(dependencies, &format!("{version}\"")), "{name} in the README");
        assert!(stated(&workspace, &format!("{version}.")), "{name} in the workspace");
    }
    assert!(root().join("engine/Cargo.toml").is_file() && dependencies.contains("greendot/engine"));
}
