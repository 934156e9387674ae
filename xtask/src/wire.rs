//! `cargo xtask size --wire`: the bytes of what goes over the wire, beside what peers send for the same content.
//!
//! The content: 500 users with names of 16 bytes, of whom 50 change within one tick. A change is a plain one: who, which
//! state, which version; no note, no last seen. Counted is the payload of the WebSocket messages, which adds the same few
//! bytes for everybody.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use greendot_protocol::{
    Beat, ClientFrame, Entry, Epoch, ServerFrame, State, Version, WatchItem, binary, json as text,
};
use serde_json::{Value, json};

use crate::table;

mod peers;

/// Users that are watched.
const WATCHED: usize = 500;
/// Users that change within one tick.
const BATCH: usize = 50;
/// What it costs to write a user's name at all.
const NAME: usize = 16;

/// One user as somebody watches it.
struct User {
    number: u32,
    name: String,
    state: State,
    version: u32,
}

/// Bytes of the same content in one encoding.
struct Bytes {
    peer: &'static str,
    /// One change, alone in its message.
    event: f64,
    /// One change of fifty in one message, its share of the rest included.
    event_in_batch: f64,
    /// A sign of life; some have none of their own.
    beat: Option<usize>,
    beat_answer: Option<usize>,
    /// Per user, all that it takes until the state of all is there: asking for them included where the client names them;
    /// without the name itself.
    snapshot_entry_overhead: f64,
}

pub(crate) fn run(file: Option<&Path>) -> Result<()> {
    let all = measure();
    println!("{}", table(&all));
    println!(
        "bytes of payload; event: one changed user, alone and as one of {BATCH}; snapshot entry: one of {WATCHED} users, \
         asking included, the name's {NAME} bytes not"
    );
    if let Some(file) = file {
        let report = serde_json::to_string_pretty(&report(&all))? + "\n";
        fs::write(file, report).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(())
}

/// Ours first.
fn measure() -> Vec<Bytes> {
    let users = users();
    let changed: Vec<_> = users.iter().step_by(WATCHED / BATCH).collect();
    vec![
        ours("greendot", &users, &changed, binary::encode_client, binary::encode_server),
        ours("greendot in JSON", &users, &changed, text::encode_client, text::encode_server),
        peers::plain_json(&users, &changed),
        peers::awareness(&users, &changed),
        peers::phoenix(&users, &changed),
    ]
}

/// Numbers from 1 on, as our client gives them; versions of users who have changed up to a few thousand times.
fn users() -> Vec<User> {
    let states = [State::Online, State::Away, State::Busy, State::Dnd];
    (0..WATCHED)
        .map(|at| User {
            number: at as u32 + 1,
            name: format!("user-{at:011}"),
            state: states[at / 10 % states.len()],
            version: (at as u32 * 7919) % 5000 + 1,
        })
        .collect()
}

fn ours(
    peer: &'static str,
    users: &[User],
    changed: &[&User],
    client: fn(&ClientFrame<'_>, &mut Vec<u8>),
    server: fn(&ServerFrame<'_>, &mut Vec<u8>),
) -> Bytes {
    let said = |frame: &ClientFrame<'_>| {
        let mut out = Vec::new();
        client(frame, &mut out);
        out.len()
    };
    let heard = |frame: &ServerFrame<'_>| {
        let mut out = Vec::new();
        server(frame, &mut out);
        out.len()
    };
    // As random as a real one.
    let epoch = Epoch(0x9e37_79b9);
    let entry = |it: &User| Entry {
        number: it.number,
        state: it.state,
        version: Version(it.version),
        ..Entry::default()
    };
    let events = |users: &[&User]| ServerFrame::Events {
        epoch,
        entries: users.iter().map(|it| entry(it)).collect(),
    };
    let watch = ClientFrame::Watch {
        request: 1,
        users: users.iter().map(|it| WatchItem { number: it.number, user: &it.name }).collect(),
    };
    let snapshot =
        ServerFrame::Snapshot { epoch, request: 1, entries: users.iter().map(entry).collect() };
    let loaded = said(&watch) + heard(&snapshot);
    Bytes {
        peer,
        event: mean(changed, |it| heard(&events(&[it]))),
        event_in_batch: share(heard(&events(changed)), changed.len()),
        beat: Some(said(&ClientFrame::Beat(Beat { number: 200, input_age_secs: Some(400) }))),
        beat_answer: Some(heard(&ServerFrame::BeatAnswer(200))),
        snapshot_entry_overhead: share(loaded, users.len()) - NAME as f64,
    }
}

fn share(bytes: usize, among: usize) -> f64 {
    bytes as f64 / among as f64
}

fn mean(users: &[&User], bytes: impl Fn(&User) -> usize) -> f64 {
    share(users.iter().map(|it| bytes(it)).sum(), users.len())
}

fn table(all: &[Bytes]) -> String {
    let whole = |bytes: Option<usize>| bytes.map_or("-".into(), |it| it.to_string());
    let rows: Vec<_> = all
        .iter()
        .map(|it| {
            [
                it.peer.into(),
                format!("{:.1}", it.event),
                format!("{:.1}", it.event_in_batch),
                whole(it.beat),
                whole(it.beat_answer),
                format!("{:.1}", it.snapshot_entry_overhead),
            ]
        })
        .collect();
    table::render(
        ["bytes", "event", "event in 50", "beat", "answer", "snapshot entry - name"],
        &rows,
    )
}

/// `{ event_bytes_batch50, … , "peers": { PEER: { the same } } }`
fn report(all: &[Bytes]) -> Value {
    let figures = |it: &Bytes| {
        json!({
            "event_bytes": rounded(it.event),
            "event_bytes_batch50": rounded(it.event_in_batch),
            "beat_bytes": it.beat,
            "beat_answer_bytes": it.beat_answer,
            "snapshot_entry_overhead": rounded(it.snapshot_entry_overhead),
        })
    };
    let (ours, others) = all.split_first().expect("ours is there");
    let mut report = figures(ours);
    report["peers"] = others.iter().map(|it| (it.peer.to_string(), figures(it))).collect();
    report
}

fn rounded(bytes: f64) -> f64 {
    (bytes * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_keeps_its_promises() {
        let ours = &measure()[0];
        assert!(ours.event_in_batch <= 8.0, "{}", ours.event_in_batch);
        assert!(ours.beat.is_some_and(|it| it <= 4));
        assert!(ours.beat_answer.is_some_and(|it| it <= 3));
        assert!(ours.snapshot_entry_overhead <= 8.0, "{}", ours.snapshot_entry_overhead);
    }

    #[test]
    fn the_report_has_the_keys_that_machines_read() {
        let report = report(&measure());
        for key in
            ["event_bytes_batch50", "beat_bytes", "beat_answer_bytes", "snapshot_entry_overhead"]
        {
            assert!(report[key].is_number(), "{key}");
            assert!(report["peers"]["phoenix"].get(key).is_some(), "{key}");
        }
    }
}
