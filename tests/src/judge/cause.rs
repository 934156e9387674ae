//! Where a failure may come from: the last step that concerns those whom an expectation is about.

use std::collections::BTreeSet;

use crate::file::write::head;
use crate::file::{Expect, Scenario, Verb};

/// The last step until `at` about a user, watcher, connection or client that the expectation names.
pub(super) fn last_step(scenario: &Scenario, expect: &Expect, at: u64) -> Option<usize> {
    let mut names: BTreeSet<&str> = names(expect).into_iter().collect();
    for step in &scenario.steps {
        // A user's connections and clients go by names of their own, and steps name those.
        match &step.verb {
            Verb::Connect { user, conn, .. } if names.contains(&**user) => {
                names.insert(conn);
            }
            Verb::Open { client, .. }
                if client.split_once('/').is_some_and(|(user, _)| names.contains(user)) =>
            {
                names.insert(client);
            }
            _ => {}
        }
    }
    scenario.steps.iter().rposition(|it| it.at <= at && names.contains(head(&it.verb).1))
}

/// Whom an expectation is about.
fn names(expect: &Expect) -> Vec<&str> {
    match expect {
        Expect::Events { watcher, user, .. } | Expect::Snapshot { watcher, user, .. } => {
            vec![watcher, user]
        }
        Expect::EventsInAll { watcher: name, .. }
        | Expect::NeverSent { watcher: name, .. }
        | Expect::Ask { user: name, .. }
        | Expect::AskRepeated { user: name, .. }
        | Expect::Sessions { user: name, .. }
        | Expect::LastSeen { user: name, .. }
        | Expect::Published { user: name, .. }
        | Expect::Writes { user: name, .. }
        | Expect::Conns { user: name, .. }
        | Expect::ConnClosed { conn: name, .. }
        | Expect::ConnOpenAt { conn: name, .. }
        | Expect::ConnRefused { conn: name, .. }
        | Expect::Answered { conn: name, .. }
        | Expect::Roster { conn: name, .. }
        | Expect::RosterFrames { conn: name, .. }
        | Expect::Outbox { who: name, .. }
        | Expect::Callbacks { client: name, .. }
        | Expect::Link { client: name, .. }
        | Expect::Links { client: name, .. }
        | Expect::OpenAtOnce { client: name, .. }
        | Expect::Stale { client: name, .. }
        | Expect::Dials { client: name, .. }
        | Expect::Beats { client: name, .. }
        | Expect::Sent { client: name, .. }
        | Expect::Timers { client: name, .. }
        | Expect::Leaks { client: name, .. } => vec![name],
        Expect::Shown { client, user, .. }
        | Expect::NeverShown { client, user, .. }
        | Expect::Ago { client, user, .. } => vec![client, user],
        Expect::View { client, users, .. } => {
            users.iter().map(|it| &*it.0).chain([&**client]).collect()
        }
        Expect::Silence { session, .. } | Expect::Lease { session, .. } => {
            vec![session, session.split_once('/').map_or("", |it| it.0)]
        }
        Expect::DialPeak { node, .. } => vec![node],
        Expect::AskChanges { .. }
        | Expect::AskSame { .. }
        | Expect::Empty { .. }
        | Expect::Memory { .. }
        | Expect::List { .. }
        | Expect::Room { .. }
        | Expect::RefusedStart { .. } => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_step_about_a_user_is_one_on_the_users_connection() {
        let text = r#"{"case": "x", "title": "x", "kind": "engine", "until": 90, "steps": [
            {"t": 0, "watch": "W", "users": ["ana", "bo"]},
            {"t": 1, "connect": "ana/s1", "conn": "c1"},
            {"t": 2, "connect": "bo/s1", "conn": "c2"},
            {"t": 3, "vanish": "c1"},
            {"t": 50, "bye": "c2"}
        ], "expect": [{"watcher": "W", "user": "ana", "events": []}]}"#;
        let file = Scenario::parse(text).unwrap();
        assert_eq!(last_step(&file, &file.expects[0].expect, 60_000), Some(3));
        assert_eq!(last_step(&file, &file.expects[0].expect, 1_000), Some(1));
    }
}
