//! Nothing that can be said is without its vector.

use std::collections::BTreeSet;

use greendot_protocol::{ClientKind, CloseCode, ErrorCode, Mode, ServerKind, State};

use crate::file::{ALL, FRAMES, Side, Vector, vectors};

fn has(from: Side, part: &str) -> bool {
    let says = |it: &Vector| it.json.as_ref().is_some_and(|json| json.get().contains(part));
    vectors(FRAMES).iter().any(|it| it.from == from && says(it))
}

#[test]
fn each_kind_has_a_vector() {
    for kind in ClientKind::ALL {
        let tag = format!("{{\"type\":\"{}\"", kind.name());
        assert!(has(Side::Client, &tag), "vectors/v1/{FRAMES} lacks a client's {}", kind.name());
    }
    for kind in ServerKind::ALL {
        let tag = format!("{{\"type\":\"{}\"", kind.name());
        assert!(has(Side::Server, &tag), "vectors/v1/{FRAMES} lacks a server's {}", kind.name());
    }
}

#[test]
fn each_word_has_a_vector() {
    let states = State::ALL.iter().map(|it| (Side::Server, "state", it.name()));
    let codes = CloseCode::ALL.iter().map(|it| (Side::Server, "code", it.name()));
    let errors = ErrorCode::ALL.iter().map(|it| (Side::Server, "code", it.name()));
    let modes = Mode::ALL.iter().map(|it| (Side::Client, "mode", it.name()));
    for (from, field, name) in states.chain(codes).chain(errors).chain(modes) {
        let said = has(from, &format!("\"{field}\":\"{name}\""));
        assert!(said, "vectors/v1/{FRAMES} lacks the {field} {name}");
    }
}

#[test]
fn each_vector_has_a_name_of_its_own_and_says_what_it_is_about() {
    let mut names = BTreeSet::new();
    for vector in ALL.into_iter().flat_map(vectors) {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(vector.name.chars().all(plain), "{}", vector.name);
        assert!(vector.says.ends_with('.'), "{}", vector.name);
        assert!(names.insert(vector.name.clone()), "{} is there twice", vector.name);
    }
}
