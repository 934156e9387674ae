//! A scenario file with anything wrong in it is refused with a line, or played: the runner never falls over.

use std::path::Path;

use greendot_tests::file::{FileError, Scenario, decode};
use greendot_tests::judge;
use proptest::prelude::{Strategy, any};
use proptest::{collection, prop_assert, proptest, sample};

/// Files as they stand, of every kind.
fn given() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let mut paths: Vec<_> = std::fs::read_dir(root)
        .unwrap()
        .flat_map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap())
        .map(|file| file.unwrap().path())
        .collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

/// What a hand or a program may put where something else should stand.
const INSTEAD: &[&str] = &[
    "-1",
    "0",
    "1",
    "0.5",
    "1e-9",
    "1e9",
    "1e15",
    "1e308",
    "1e999",
    "-0.0",
    "99999999999999999999",
    "null",
    "true",
    "false",
    "[]",
    "{}",
    "[[]]",
    "[0, 1]",
    "[5, 1]",
    "\"\"",
    "\"0\"",
    "\"ana\"",
    "\"ana/s1\"",
    "\"W\"",
    "\"c1\"",
    "\"N1\"",
    "\"N9\"",
    "\"R\"",
    "\"/\"",
    "\"a/b/c\"",
    "\"u{1..3}\"",
    "\"u{3..1}\"",
    "\"u{1..4294967295}\"",
    "\"u{\"",
    "\"u{1..\"",
    "\"u{1..2}{3..4}\"",
    "{\"u{1..3}\": \"away\"}",
    "[[\"u{1..3}\", \"c{1..2}\"]]",
    "\"u{}\"",
    "\"ü💥\"",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "\"online\"",
    "\"unknown\"",
    "\"expect\"",
    "\"t\"",
    "\"until\"",
    "\"watch\"",
    "{\"t\": 0}",
    "\"",
    ",",
    ":",
    "[",
    "]",
    "{",
    "}",
    "//",
    "/*",
    "'",
    "\u{feff}",
    "\u{0}",
];

/// One mistake, at a place counted in tokens.
#[derive(Clone, Debug)]
enum Mistake {
    Delete(usize),
    Double(usize),
    Swap(usize, usize),
    Instead(usize, &'static str),
    /// A number in place of another.
    Number(usize, f64),
    /// One text in place of another.
    Text(usize, usize),
    CutOff(usize),
    Garbage(usize, Vec<u8>),
}

fn numbers() -> impl Strategy<Value = f64> {
    proptest::prop_oneof![
        4 => (0..200u32).prop_map(|it| f64::from(it) / 2.0),
        2 => -3.0..100.0,
        1 => any::<f64>().prop_filter("JSON knows no others", |it| it.is_finite()),
    ]
}

fn mistakes() -> impl Strategy<Value = Mistake> {
    let at = || any::<usize>();
    proptest::prop_oneof![
        3 => at().prop_map(Mistake::Delete),
        2 => at().prop_map(Mistake::Double),
        3 => (at(), at()).prop_map(|(one, other)| Mistake::Swap(one, other)),
        8 => (at(), sample::select(INSTEAD)).prop_map(|(at, it)| Mistake::Instead(at, it)),
        8 => (at(), numbers()).prop_map(|(at, it)| Mistake::Number(at, it)),
        4 => (at(), at()).prop_map(|(one, other)| Mistake::Text(one, other)),
        1 => at().prop_map(Mistake::CutOff),
        1 => (at(), collection::vec(any::<u8>(), 1..8)).prop_map(|(at, it)| Mistake::Garbage(at, it)),
    ]
}

/// Texts, numbers and words whole; all else sign by sign.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word = |it: char| it.is_ascii_alphanumeric() || "+-._".contains(it);
        let len = match first {
            '"' => rest[1..].find('"').map_or(rest.len(), |it| it + 2),
            it if word(it) => rest.find(|it| !word(it)).unwrap_or(rest.len()),
            it => it.len_utf8(),
        };
        tokens.push(rest[..len].to_owned());
        rest = &rest[len..];
    }
    tokens
}

fn spoil(text: &str, mistakes: &[Mistake]) -> String {
    let mut tokens = tokens(text);
    for mistake in mistakes {
        // What is blank is not worth a mistake.
        let solid: Vec<usize> =
            (0..tokens.len()).filter(|&it| !tokens[it].trim().is_empty()).collect();
        let Some(last) = solid.len().checked_sub(1) else { break };
        let place = |at: usize| solid[at % (last + 1)];
        let among = |at: usize, is: &dyn Fn(&str) -> bool| {
            let such: Vec<usize> = solid.iter().copied().filter(|&it| is(&tokens[it])).collect();
            such.get(at % such.len().max(1)).copied()
        };
        match mistake {
            Mistake::Delete(at) => tokens[place(*at)].clear(),
            Mistake::Double(at) => {
                let again = tokens[place(*at)].clone();
                tokens.insert(place(*at), again);
            }
            Mistake::Swap(one, other) => tokens.swap(place(*one), place(*other)),
            Mistake::Instead(at, it) => tokens[place(*at)] = (*it).to_owned(),
            Mistake::Number(at, number) => {
                if let Some(place) = among(*at, &|it| it.parse::<f64>().is_ok()) {
                    tokens[place] = number.to_string();
                }
            }
            Mistake::Text(one, other) => {
                let is_text = |it: &str| it.len() > 1 && it.starts_with('"');
                if let (Some(one), Some(other)) = (among(*one, &is_text), among(*other, &is_text)) {
                    tokens[one] = tokens[other].clone();
                }
            }
            Mistake::CutOff(at) => tokens.truncate(place(*at)),
            Mistake::Garbage(at, bytes) => {
                tokens[place(*at)].push_str(&String::from_utf8_lossy(bytes));
            }
        }
    }
    tokens.concat()
}

fn read(text: &str) -> Result<Scenario, FileError> {
    Scenario::parse(text).and_then(|it| it.check().map(|()| it))
}

proptest! {
    #[test]
    fn whatever_stands_in_a_file_it_is_refused_with_a_line_or_played(
        file in sample::select(given()), mistakes in collection::vec(mistakes(), 1..4),
    ) {
        let text = spoil(&file, &mistakes);
        match read(&text) {
            Err(error) => {
                prop_assert!(error.line <= text.lines().count() + 1, "{error}");
                prop_assert!(error.line > 0 || text.trim().is_empty(), "{error}\n{text}");
                prop_assert!(!error.text.is_empty());
            }
            Ok(scenario) => {
                // An hour of a few is enough to see that it plays.
                if scenario.until <= 3_600_000 && scenario.steps.len() <= 2_000 {
                    _ = judge::play(&scenario, 1, false);
                }
            }
        }
    }
}

#[test]
fn a_file_nested_without_end_is_refused() {
    for (open, close) in [("[", "]"), ("{\"a\": ", "}")] {
        let text = open.repeat(100_000) + "1" + &close.repeat(100_000);
        assert!(read(&text).is_err_and(|it| it.line == 1));
        assert!(read(&open.repeat(100_000)).is_err_and(|it| it.line == 1));
    }
}

/// The error that a file is refused with, after one word of it is changed.
fn refused(word: &str, other: &str) -> String {
    let text = r#"{"case": "x", "title": "x", "kind": "engine", "settings": {"beat": 10},
"nodes": ["N1", "N2"],
"steps": [
  {"t": 0, "watch": "W", "users": ["ana"]},
  {"t": 1, "ask": "W", "users": ["ana"], "as": "q"}
],
"until": 30,
"expect": [{"watcher": "W", "user": "ana", "events": []}]}"#;
    assert!(read(text).is_ok() && text.contains(word));
    read(&text.replacen(word, other, 1)).expect_err(other).to_string()
}

#[test]
fn what_would_eat_the_machine_is_refused_with_its_line_and_the_bound() {
    for (word, other, wanted) in [
        (
            r#""until": 30"#,
            r#""until": 1e9"#,
            "line 7: `until` is 1000000000 s; a run lasts 2678400 s",
        ),
        (
            r#""as": "q""#,
            r#""as": "q", "repeat": 1e9"#,
            "line 5: `repeat` is 1000000000; it must be",
        ),
        (
            r#"["ana"]"#,
            r#"["u{1..99999}", "v{1..2}"]"#,
            "line 4: with this one the ranges of the file",
        ),
        (
            r#""watch": "W", "users": ["ana"]"#,
            r#""watch": "W{1..400}", "users": ["u{1..400}"]"#,
            "line 4: with this one the ranges of the file stand for more than 100000 names",
        ),
    ] {
        let text = refused(word, other);
        assert!(text.starts_with(wanted), "{text}");
    }
}

#[test]
fn what_the_format_does_not_know_is_refused_with_its_line() {
    let seen = r#"{"watcher": "W", "user": "ana", "events": []}"#;
    let ask = r#""t": 1, "ask": "W", "users": ["ana"], "as": "q""#;
    for (word, other, wanted) in [
        (seen, r#"{"empty": false, "at": 9}"#, "line 8: `empty` is false; it must be true"),
        (seen, r#"{"snapshot": "W", "nth": 0, "user": "ana"}"#, "line 8: `nth` is 0; it must be 1"),
        (seen, r#"{"view": "ana/s1", "at": 1, "users": {}}"#, "line 8: `view` is no expectation"),
        (seen, r#"{"callbacks": true, "count": 0}"#, "line 8: `callbacks` is no expectation"),
        (
            seen,
            r#"{"sessions": "ana", "at": 1, "live": 0, "nodes": ["N9"]}"#,
            "line 8: there is no node \"N9\" in `nodes`; did you mean `N1`",
        ),
        (
            seen,
            r#"{"conn": "c1", "closed": "replacd"}"#,
            "line 8: `closed` knows no \"replacd\"; did you mean `replaced`",
        ),
        (seen, r#"{"conn": "c1", "refused": 7}"#, "line 8: `refused` knows no close code 7"),
        (
            seen,
            r#"{"answered": "c1", "at": 1, "is": "no"}"#,
            "line 8: `is` knows no \"no\"; known here",
        ),
        (seen, r#"{"ask_same": ["q"]}"#, "line 8: `ask_same` compares two answers or more"),
        (seen, r#"{"memory": [1, 2], "within": 3}"#, "line 8: `within` is a share"),
        (seen, r#"{"memory": [1, 2]}"#, "line 8: `memory` needs `within`"),
        (ask, r#""t": 1, "bye": "c1", "over": 2"#, "line 5: `over` spreads the steps of a range"),
        (ask, r#""t": 1"#, "line 5: a step without a verb that is known: only `t`"),
        (r#""as": "q""#, r#""as": "q", "repeat": 3"#, "line 5: `repeat` needs `every`"),
        (r#""as": "q""#, r#""as": "q", "every": 3"#, "line 5: `every` needs `repeat`"),
        (r#""t": 0"#, r#""t": 2"#, "line 5: `t` is 1, after a step at 2: steps stand in order"),
        (
            r#""W", "users": ["ana"]}"#,
            r#""W", "users": ["a{1..}"]}"#,
            "line 4: \"a{1..}\" holds a brace",
        ),
        (r#""beat": 10"#, r#""ttl": 1e300"#, "line 1: `ttl` is 1e300; it must be smaller"),
        (r#""until": 30"#, r#""until": 1e18"#, "line 7: `until` is 1e18 s; a run lasts 2678400 s"),
    ] {
        let text = refused(word, other);
        assert!(text.starts_with(wanted), "{text}");
    }
}

#[test]
fn what_could_not_fail_and_what_would_do_nothing_is_refused_with_its_line() {
    let script = |step: &str, expect: &str| {
        let text = format!(
            "{{\"case\": \"x\", \"title\": \"x\", \"kind\": \"world\", \"until\": 30, \"steps\": [\n\
             {{\"t\": 0, \"open\": \"ana/s1\"}}, {step}],\n\"expect\": [\n{expect}]}}"
        );
        read(&text).map_or_else(|it| it.to_string(), |_| String::new())
    };
    let (on, link) = (
        r#"{"t": 1, "on": "ana/s1", "state": "live", "do": ["app_disconnect"]}"#,
        r#"{"link": "ana/s1", "at": 5, "is": "live"}"#,
    );
    assert_eq!(script(on, link), "");
    let text = script(&on.replace(r#""app_disconnect""#, ""), link);
    assert!(text.starts_with("line 2: `do` is empty"), "{text}");
    for (expect, wanted) in [
        (r#"{"dial_peak": "N1", "slot": 0, "at_most": 3}"#, "line 4: `slot` is 0; it must be"),
        (r#"{"dial_peak": "N1", "slot": 1e-9, "at_most": 3}"#, "line 4: `slot` is 1e-9; it must"),
        (r#"{"view": "ana/s1", "at": 5, "users": {}}"#, "line 4: `users` is empty"),
        (r#"{"timers": "ana/s1", "same_at": [5]}"#, "line 4: `same_at` compares two times or more"),
        (r#"{"timers": "ana/s1", "same_at": []}"#, "line 4: `same_at` compares two times or more"),
    ] {
        let text = script(on, expect);
        assert!(text.starts_with(wanted), "{text}");
    }
    assert_eq!(script(on, r#"{"dial_peak": "N1", "slot": 0.001, "at_most": 3}"#), "");
}

#[test]
fn a_key_that_is_misspelt_is_named_on_its_own_line() {
    for (word, other, wanted) in [
        (
            r#""until""#,
            r#""untill""#,
            "line 7: a scenario needs `until`; did you mean that by `untill`?",
        ),
        (
            r#""steps""#,
            r#""step""#,
            "line 3: a scenario needs `steps`; did you mean that by `step`?",
        ),
        (r#""nodes""#, r#""node""#, "line 2: a scenario knows no `node`; did you mean `nodes`?"),
        (
            r#""settings""#,
            r#""setings""#,
            "line 1: a scenario knows no `setings`; did you mean `settings`?",
        ),
        (r#""beat""#, r#""beats""#, "line 1: `settings` knows no `beats`; did you mean `beat`?"),
        (r#""users""#, r#""user""#, "line 4: a step needs `users`; did you mean that by `user`?"),
        (r#""as""#, r#""name""#, "line 5: a step needs `as`"),
        (r#""t": 1, "#, "", "line 5: a step needs `t`"),
        (
            r#""watch": "W", "users": ["ana"]"#,
            r#""users": ["ana"], "wach": "W""#,
            "line 4: a step without a verb that is known: `wach`; did you mean `watch`?",
        ),
        (
            r#""ask""#,
            r#""aks""#,
            "line 5: a step without a verb that is known: `aks`; did you mean `ask`?",
        ),
        (
            r#""watcher": "W", "user": "ana""#,
            r#""user": "ana", "wacher": "W""#,
            "line 8: an expectation that is not known: `wacher`; did you mean `watcher`?",
        ),
        (
            r#""events""#,
            r#""event""#,
            "line 8: an expectation needs `events`; did you mean that by `event`?",
        ),
        (
            r#"{"watcher": "W", "user": "ana", "events": []}"#,
            "{}",
            "line 8: an expectation is empty; known here: watcher",
        ),
    ] {
        let text = refused(word, other);
        assert!(text.starts_with(wanted), "{text}");
    }
}

#[test]
fn what_is_no_json_is_refused_with_its_line() {
    for (word, other, wanted) in [
        (r#""q"}"#, r#""q",}"#, "line 5: this is no JSON: Trailing commas"),
        (r#""q"}"#, r#""q"},"#, "line 5: this is no JSON: Trailing commas"),
        (r#""t": 1, "#, r#""t": 1 "#, "line 5: this is no JSON: Expected comma"),
        (r#""t": 1, "#, r#""t": 1, "t": 2, "#, "line 5: `t` stands twice"),
        (r#""t": 1"#, r#""t": NaN"#, "line 5: this is no JSON"),
        (r#""q""#, "'q'", "line 5: this is no JSON: Single-quoted"),
        (r#""q""#, "\"q\0\"", "line 5: this is no JSON: it holds a control character"),
        ("\"until\"", "// the end\n\"until\"", "line 7: this is no JSON: Comments"),
    ] {
        let text = refused(word, other);
        assert!(text.starts_with(wanted), "{text}");
    }
    assert_eq!(read("").expect_err("nothing").to_string(), "the file is empty");
}

#[test]
fn a_file_in_another_encoding_is_refused_with_its_line() {
    for (bytes, wanted) in [
        (&b"{\n\"case\": \"caf\xe9\"}"[..], "line 2: byte 0xe9 is no UTF-8 here"),
        (&b"\xff\xfe{\0}\0"[..], "line 1: this is UTF-16"),
        (&b"\xfe\xff\0{\0}"[..], "line 1: this is UTF-16"),
        (&b"\xef\xbb\xbf{}"[..], "line 1: a byte order mark"),
    ] {
        let text = decode(bytes).expect_err("no UTF-8").to_string();
        assert!(text.starts_with(wanted), "{text}");
    }
    assert_eq!(decode("é".as_bytes()), Ok("é"));
}

#[test]
fn what_is_to_hold_after_the_run_is_refused() {
    let text =
        refused(r#"{"watcher": "W", "user": "ana", "events": []}"#, r#"{"empty": true, "at": 31}"#);
    assert!(text.starts_with("line 8: what holds at 31 s, after `until`, 30 s"), "{text}");
}

#[test]
fn settings_nodes_and_expectations_that_cannot_be_are_refused_with_their_line() {
    let text = refused(r#""beat": 10"#, r#""beat": 0"#);
    assert!(
        text.starts_with("line 1: no node starts with these `settings`: beat is 0 ms"),
        "{text}"
    );
    let text = refused(r#""N2"]"#, r#""N1"]"#);
    assert_eq!(text, "line 2: `nodes` names \"N1\" twice");
    let text = refused(r#"[{"watcher": "W", "user": "ana", "events": []}]"#, "[]");
    assert!(text.starts_with("line 8: `expect` is empty"), "{text}");
}
