//! The runner of scenario files, as a person meets it: what it prints, and how it ends.

use std::path::Path;
use std::process::Command;

/// Plays the README's scenario with one word changed: (exit code, what it printed).
fn played(word: &str, other: &str) -> (Option<i32>, String) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = root.join("scenarios/readme/two-tabs.json");
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.contains(word), "{word}");
    let name: String = other.chars().filter(|it| it.is_ascii_alphanumeric()).collect();
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.json"));
    std::fs::write(&path, text.replacen(word, other, 1)).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_scenario")).arg(&path).output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

/// Plays a file of these steps and expectations: (exit code, what it printed).
fn played_file(name: &str, steps: &str, expects: &str) -> (Option<i32>, String) {
    let text = format!(
        "{{\"case\": \"x\", \"title\": \"x\", \"kind\": \"engine\", \"until\": 60,\n\"steps\": \
         [{steps}],\n\"expect\": [{expects}]}}"
    );
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.json"));
    std::fs::write(&path, text).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_scenario")).arg(&path).output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn a_word_in_a_read_is_seen_as_one_in_a_frame_is() {
    let steps = r#"{"t": 0, "connect": "ana/s1", "conn": "c1"},
        {"t": 1, "note": "ana", "to": "at the \"sea\""},
        {"t": 2, "ask": "W", "users": ["ana"], "as": "q"}, {"t": 3, "list": "X", "as": "l"}"#;
    for (word, code) in [
        (r#"{"never_sent": "W", "text": "sea"}"#, 1),
        (r#"{"never_sent": "W", "text": "the \"sea\""}"#, 1),
        (r#"{"never_sent": "W", "text": "Online"}"#, 1),
        (r#"{"never_sent": "X", "text": "ana"}"#, 1),
        // Only a part of what was sent.
        (r#"{"never_sent": "W", "text": "se"}"#, 0),
        (r#"{"never_sent": "X", "text": "an"}"#, 0),
    ] {
        let (found, text) = played_file("never-sent", steps, word);
        assert_eq!(found, Some(code), "{word}: {text}");
    }
}

#[test]
fn memory_that_grows_is_told_in_bytes() {
    let steps = r#"{"t": 10, "connect": "u{1..200}/s1", "conn": "c{1..200}"}"#;
    let (code, text) = played_file("memory", steps, r#"{"memory": [5, 20], "within": 0.1}"#);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("bytes"), "{text}");
    let (code, text) = played_file("memory", steps, r#"{"memory": [20, 50], "within": 0.1}"#);
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn ends_of_connections_go_by_name() {
    let steps = r#"{"t": 0, "connect": "ana/s1", "conn": "c1"}, {"t": 5, "bye": "c1"}"#;
    let (code, text) = played_file("ends", steps, r#"{"conn": "c1", "closed": "bye", "at": 5}"#);
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = played_file("ends", steps, r#"{"conn": "c1", "closed": "ended"}"#);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("seen: closed as bye at 5 s"), "{text}");
}

#[test]
fn no_seed_at_all_is_refused() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/readme/two-tabs.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_scenario"));
    let output = command.args(["--seeds", "0"]).arg(file).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("--seeds"), "{text}");
}

#[test]
fn a_failure_is_told_in_the_words_of_the_file() {
    let (code, text) = played(r#"["online", 1, 1]"#, r#"["online", 1, 20]"#);
    assert_eq!(code, Some(1), "{text}");
    let expected = r#"{"watcher": "W", "user": "ana", "events": [["online", 1, 20]]}"#;
    assert!(text.contains(expected) && text.contains("seen: [[online, 1, 1]]"), "{text}");
    assert!(text.contains(r#"step {"t": 1, "connect": "ana/s1", "conn": "c1"}"#), "{text}");
}

#[test]
fn a_failure_long_after_shows_the_last_step_about_that_user() {
    let late = r#"["online", 1, 1], ["away", 2, 29]"#;
    let (code, text) = played(r#"["online", 1, 1]"#, late);
    assert_eq!(code, Some(1), "{text}");
    let bye = r#"20.000  step {"t": 20, "bye": "c2"}"#;
    assert!(text.contains("around 29 s") && text.contains(bye), "{text}");
}

#[test]
fn what_cannot_be_meant_ends_with_2_and_names_line_word_and_remedy() {
    for (word, other, wanted) in [
        (
            r#""bye""#,
            r#""bey""#,
            "line 9: a step without a verb that is known: `bey`; did you mean `bye`",
        ),
        (r#""bye": "c2""#, r#""bye": "c3""#, "line 9: `bye`: no connection \"c3\""),
        (r#""until": 30"#, r#""until": 10"#, "line 9: `bye` at 20 s comes after `until`, 10 s"),
        (r#""user": "ana""#, r#""user": "ann""#, "line 13: `watcher`: \"W\" never watches \"ann\""),
    ] {
        let (code, text) = played(word, other);
        assert_eq!(code, Some(2), "{text}");
        assert!(text.contains(wanted), "{text}");
    }
}
