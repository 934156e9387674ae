//! `PROTOCOL.md` says what the code does: its examples are read and written, its tables compared.

use std::collections::BTreeMap;
use std::fs;

use greendot_protocol::{
    ClientKind, CloseCode, ErrorCode, Mode, Retry, ServerKind, State, binary, json, limits,
};

fn document() -> String {
    fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/PROTOCOL.md")).expect("PROTOCOL.md")
}

/// The text under a heading, up to the next of the same or a higher rank.
fn under(heading: &str) -> String {
    let rank = heading.chars().take_while(|&it| it == '#').count();
    let document = document();
    let start = document.find(&format!("\n{heading}\n")).expect(heading) + heading.len() + 2;
    let rest = &document[start..];
    let end = rest
        .match_indices("\n#")
        .find(|(at, _)| rest[at + 1..].chars().take_while(|&it| it == '#').count() <= rank)
        .map_or(rest.len(), |(at, _)| at);
    rest[..end].into()
}

/// The rows of the first table under a heading whose first cell is a number.
fn rows(heading: &str) -> Vec<Vec<String>> {
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|it| it.trim().replace('`', "")).collect()
    };
    let numbered = |row: &Vec<String>| row[0].parse::<u64>().is_ok();
    under(heading).lines().filter(|it| it.starts_with('|')).map(cells).filter(numbered).collect()
}

fn pairs(heading: &str) -> Vec<(u64, String)> {
    let pair = |row: Vec<String>| (row[0].parse().expect("a number"), row[1].clone());
    rows(heading).into_iter().map(pair).collect()
}

/// The examples in a section: the bytes, and the JSON right below them.
fn examples(heading: &str) -> Vec<(Vec<u8>, String)> {
    let section = under(heading);
    let blocks = section.split("```text\n").skip(1);
    blocks
        .filter_map(|block| {
            let (bytes, rest) = block.split_once("```\n")?;
            let (json, _) = rest.strip_prefix("```json\n")?.split_once("\n```")?;
            Some((bytes.lines().flat_map(line_bytes).collect(), json.into()))
        })
        .collect()
}

/// The bytes in front of a line's explanation.
fn line_bytes(line: &str) -> Vec<u8> {
    let (digits, _) = line.split_once("  ").expect(line);
    digits.split(' ').map(|it| u8::from_str_radix(it, 16).expect(line)).collect()
}

#[test]
fn the_examples_of_a_clients_frames_are_true_and_complete() {
    let mut seen = Vec::new();
    for (bytes, text) in examples("## 4. Frames from a client") {
        let read = json::decode_client(text.as_bytes()).expect(&text).expect(&text);
        let frame = read.frame();
        assert_eq!(binary::decode_client(&bytes), Ok(Some(frame.clone())), "{text}");
        let (mut binary, mut json) = (Vec::new(), Vec::new());
        binary::encode_client(&frame, &mut binary);
        json::encode_client(&frame, &mut json);
        assert_eq!((&*binary, &*json), (&*bytes, text.as_bytes()));
        seen.push(frame.kind());
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, ClientKind::ALL);
}

#[test]
fn the_examples_of_a_servers_frames_are_true_and_complete() {
    let mut seen = Vec::new();
    for (bytes, text) in examples("## 5. Frames from a server") {
        let read = json::decode_server(text.as_bytes()).expect(&text).expect(&text);
        let frame = read.frame();
        assert_eq!(binary::decode_server(&bytes), Ok(Some(frame.clone())), "{text}");
        let (mut binary, mut json) = (Vec::new(), Vec::new());
        binary::encode_server(&frame, &mut binary);
        json::encode_server(&frame, &mut json);
        assert_eq!((&*binary, &*json), (&*bytes, text.as_bytes()));
        seen.push(frame.kind());
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, ServerKind::ALL);
}

#[test]
fn the_kinds_are_listed_and_others_are_passed_over() {
    let listed = |all: Vec<(u8, &str)>| -> Vec<_> {
        all.into_iter().map(|(number, name)| (u64::from(number), name.to_string())).collect()
    };
    let client = listed(ClientKind::ALL.iter().map(|it| (it.number(), it.name())).collect());
    assert_eq!(pairs("## 4. Frames from a client"), client);
    let server = listed(ServerKind::ALL.iter().map(|it| (it.number(), it.name())).collect());
    assert_eq!(pairs("## 5. Frames from a server"), server);

    for number in (0..128).filter(|it| client.iter().all(|(kind, _)| kind != it)) {
        assert_eq!(binary::decode_client(&[number as u8, 1, 2, 3]), Ok(None), "{number}");
    }
    for number in (0..128).filter(|it| server.iter().all(|(kind, _)| kind != it)) {
        assert_eq!(binary::decode_server(&[number as u8, 1, 2, 3]), Ok(None), "{number}");
    }
}

#[test]
fn the_words_and_codes_are_listed() {
    let states = State::ALL.map(|it| (it as u64, it.name().to_string()));
    assert_eq!(pairs("### States"), states);
    let modes = Mode::ALL.map(|it| (it as u64, it.name().to_string()));
    assert_eq!(pairs("### Modes"), modes);
    let errors = ErrorCode::ALL.map(|it| (it as u64, it.name().to_string()));
    assert_eq!(pairs("### Errors"), errors);
    let codes: Vec<_> = CloseCode::ALL
        .iter()
        .map(|it| {
            let back = if it.retry() == Retry::Yes { "yes" } else { "no" };
            [it.number().to_string(), it.name().into(), back.into()]
        })
        .collect();
    let listed: Vec<_> = rows("### Close codes").into_iter().map(|row| row[..3].to_vec()).collect();
    assert_eq!(listed, codes);
}

#[test]
fn the_limits_are_those_of_the_code() {
    let limits = BTreeMap::from([
        ("user name", limits::USER_BYTES),
        ("session id", limits::SESSION_BYTES),
        ("token", limits::TOKEN_BYTES),
        ("note", limits::NOTE_BYTES),
        ("room id", limits::ROOM_BYTES),
        ("rooms of a session", limits::ROOMS),
        ("device label", limits::DEVICE_BYTES),
        ("users watched at a time", limits::WATCHES),
        ("message from a client", limits::CLIENT_FRAME_BYTES),
        ("message from a server, binary", limits::SERVER_FRAME_BYTES),
        ("message from a server, JSON", limits::SERVER_JSON_BYTES),
        ("text of an error", limits::TEXT_BYTES),
        ("ticket", limits::TICKET_BYTES),
        ("age of the last input", limits::INPUT_AGE_SECS as usize),
    ]);
    let section = under("## 7. Limits");
    for (what, limit) in limits {
        let row = section.lines().find(|it| it.starts_with(&format!("| {what} |"))).expect(what);
        let most = row.split('|').nth(2).expect(what).replace(',', "");
        let most: usize = most.split_whitespace().next().expect(what).parse().expect(what);
        assert_eq!(most, limit, "{what}");
    }
}
