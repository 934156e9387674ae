//! No path leads round the gate: what tells of a user is built from a glimpse, and a glimpse is made
//! in one file.

use std::fs;
use std::path::{Path, PathBuf};

/// Sources of the engine's core, without their tests.
fn sources() -> Vec<(PathBuf, String)> {
    fn gather(folder: &Path, into: &mut Vec<(PathBuf, String)>) {
        for entry in fs::read_dir(folder).expect("the sources are there") {
            let path = entry.expect("they can be listed").path();
            if path.is_dir() {
                gather(&path, into);
            } else if path.extension().is_some_and(|it| it == "rs") {
                let text = fs::read_to_string(&path).expect("they can be read");
                let code =
                    text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default().to_owned();
                into.push((path, code));
            }
        }
    }
    let mut all = Vec::new();
    gather(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/core"), &mut all);
    all
}

/// The files in which a text stands outside of comments, by their names.
fn where_is(text: &str) -> Vec<String> {
    let mut found: Vec<String> = sources()
        .into_iter()
        .filter(|(_, code)| {
            code.lines().any(|it| !it.trim_start().starts_with("//") && it.contains(text))
        })
        .map(|(path, _)| {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/core");
            path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned()
        })
        .collect();
    found.sort_unstable();
    found
}

#[test]
fn entries_are_made_at_the_gate_alone() {
    assert_eq!(where_is("-> Entry<"), ["gate.rs"]);
    assert_eq!(where_is("Entry {"), ["gate.rs"]);
}

#[test]
fn members_are_made_of_what_the_gate_let_through() {
    // The states of members come from `look`, which takes a glimpse.
    assert_eq!(where_is("Member {"), ["watches/rooms/transmit.rs"]);
    let rooms = sources()
        .into_iter()
        .find(|it| it.0.ends_with("watches/rooms/transmit.rs"))
        .expect("rooms")
        .1;
    for forbidden in [".public", ".own.", "record.seen", "Record::"] {
        assert!(!rooms.contains(forbidden), "watches/rooms.rs looks at {forbidden} itself");
    }
}

#[test]
fn answers_are_made_of_glimpses_alone() {
    assert_eq!(where_is("Answer::new("), ["node/reads.rs"]);
    // What polls are told of rooms is made of answers.
    let polls = sources().into_iter().find(|it| it.0.ends_with("node/room_polls.rs"));
    let polls = polls.expect("rooms over polls").1;
    for forbidden in [".public", ".own.", "record.seen", "Record", "Glimpse"] {
        assert!(!polls.contains(forbidden), "node/room_polls.rs looks at {forbidden} itself");
    }
    let reads = sources().into_iter().find(|it| it.0.ends_with("node/reads.rs")).expect("reads").1;
    for forbidden in [".public", ".own.", "record.seen", ".note"] {
        let allowed = forbidden == ".note" && reads.matches(".note").count() == 1;
        assert!(allowed || !reads.contains(forbidden), "node/reads.rs looks at {forbidden} itself");
    }
}

#[test]
fn the_watches_look_at_no_face_themselves() {
    for (path, code) in sources() {
        let name = path.to_string_lossy().into_owned();
        if name.contains("/watches/")
            && !name.ends_with("crowd.rs")
            && !name.ends_with("loading.rs")
        {
            for forbidden in [".public.state", ".public.version", ".own.state", ".own.version"] {
                assert!(!code.contains(forbidden), "{name} looks at {forbidden} itself");
            }
        }
    }
}
