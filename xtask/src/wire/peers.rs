//! The same content as others encode it, in the least that their formats need for it.

use serde_json::{Map, Value, json};

use super::{Bytes, NAME, User, mean, share};

/// JSON as one would write it for this and nothing else, users by name.
pub(super) fn plain_json(users: &[User], changed: &[&User]) -> Bytes {
    let entry =
        |it: &User| json!({ "user": it.name, "state": it.state.name(), "version": it.version });
    let events = |users: &[&User]| {
        let entries: Vec<_> = users.iter().map(|it| entry(it)).collect();
        size(&json!({ "type": "events", "entries": entries }))
    };
    let names: Vec<_> = users.iter().map(|it| &it.name).collect();
    let watch = size(&json!({ "type": "watch", "users": names }));
    let entries: Vec<_> = users.iter().map(entry).collect();
    let snapshot = size(&json!({ "type": "snapshot", "entries": entries }));
    Bytes {
        peer: "plain JSON",
        event: mean(changed, |it| events(&[it])),
        event_in_batch: share(events(changed), changed.len()),
        beat: Some(size(&json!({ "type": "beat", "number": 200, "input_age_ms": 400_000 }))),
        beat_answer: Some(size(&json!({ "type": "beat_answer", "number": 200 }))),
        snapshot_entry_overhead: share(watch + snapshot, users.len()) - NAME as f64,
    }
}

/// Yjs' awareness (y-protocols 1.0): the number of clients, then each one's id, clock and state in JSON, inside a sync
/// message of y-websocket. The clock is the version. There is no beat: each client sends its state anew every 15 s, and
/// everybody gets it.
pub(super) fn awareness(users: &[User], changed: &[&User]) -> Bytes {
    let message = |users: &[&User]| {
        let update = awareness_update(users);
        // The kind of message, and the update's length in front of it.
        1 + varint(update.len() as u64).len() + update.len()
    };
    let all: Vec<_> = users.iter().collect();
    Bytes {
        peer: "Yjs awareness",
        event: mean(changed, |it| message(&[it])),
        event_in_batch: share(message(changed), changed.len()),
        beat: Some(message(&changed[..1])),
        beat_answer: None,
        snapshot_entry_overhead: share(message(&all), users.len()) - NAME as f64,
    }
}

fn awareness_update(users: &[&User]) -> Vec<u8> {
    let mut update = varint(users.len() as u64);
    for it in users {
        let state = format!(r#"{{"user":"{}","state":"{}"}}"#, it.name, it.state.name());
        update.extend(varint(client_id(it)));
        update.extend(varint(u64::from(it.version)));
        update.extend(varint(state.len() as u64));
        update.extend(state.bytes());
    }
    update
}

/// 32 bits at random, as Yjs draws them.
fn client_id(user: &User) -> u64 {
    u64::from(user.number.wrapping_mul(2_654_435_761))
}

/// Phoenix' Presence over its JSON serializer: an array of join reference, reference, topic, event and payload. A change of
/// a user's state is a join with the new meta and a leave with the old one.
pub(super) fn phoenix(users: &[User], changed: &[&User]) -> Bytes {
    const TOPIC: &str = "presence:lobby";
    let diff = |users: &[&User]| {
        let (mut joins, mut leaves) = (Map::new(), Map::new());
        for it in users {
            let new = json!({ "state": it.state.name(), "phx_ref": reference(it, 1), "phx_ref_prev": reference(it, 0) });
            let old = json!({ "state": "online", "phx_ref": reference(it, 0) });
            joins.insert(it.name.clone(), json!({ "metas": [new] }));
            leaves.insert(it.name.clone(), json!({ "metas": [old] }));
        }
        size(&json!([null, null, TOPIC, "presence_diff", { "joins": joins, "leaves": leaves }]))
    };
    let present = |it: &User| {
        let meta = json!({ "state": it.state.name(), "phx_ref": reference(it, 0) });
        (it.name.clone(), json!({ "metas": [meta] }))
    };
    let state: Map<_, _> = users.iter().map(present).collect();
    // Nobody is named by the client: it joins the topic and gets all who are there.
    let join = size(&json!(["3", "3", TOPIC, "phx_join", {}]));
    let state = size(&json!(["3", null, TOPIC, "presence_state", state]));
    Bytes {
        peer: "phoenix",
        event: mean(changed, |it| diff(&[it])),
        event_in_batch: share(diff(changed), changed.len()),
        beat: Some(size(&json!([null, "200", "phoenix", "heartbeat", {}]))),
        beat_answer: Some(size(
            &json!([null, "200", "phoenix", "phx_reply", { "status": "ok", "response": {} }]),
        )),
        snapshot_entry_overhead: share(join + state, users.len()) - NAME as f64,
    }
}

/// A reference as Phoenix makes them: 12 bytes in base 64.
fn reference(user: &User, turn: u32) -> String {
    format!("F{:07}{:06}BB", user.number, user.version + turn)
}

fn size(message: &Value) -> usize {
    message.to_string().len()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

#[cfg(test)]
mod tests {
    use greendot_protocol::State;

    use super::*;

    fn user() -> User {
        User { number: 1, name: "user-00000000042".into(), state: State::Away, version: 2 }
    }

    #[test]
    fn awareness_is_what_y_protocols_writes() {
        // By encodeAwarenessUpdate of y-protocols 1.0.7, but for the client's random id (five bytes).
        let state = r#"{"user":"user-00000000042","state":"away"}"#;
        let update = awareness_update(&[&user()]);
        assert_eq!(update.len(), 50);
        assert_eq!((update[0], &update[6..8], &update[8..]), (1, &[2, 42][..], state.as_bytes()));
    }

    #[test]
    fn phoenix_spends_a_join_and_a_leave_on_a_change() {
        assert_eq!(reference(&user(), 0).len(), 16);
        let users = [user()];
        let bytes = phoenix(&users, &[&users[0]]);
        assert!((220.0..300.0).contains(&bytes.event), "{}", bytes.event);
    }
}
