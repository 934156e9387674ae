//! What a run keeps for the judge, beside what is cheap to keep.

use std::collections::BTreeSet;

use crate::file::{Expect, Scenario};

/// What the expectations look at.
#[derive(Debug, Default)]
pub(super) struct Wanted<'a> {
    /// Watchers whose frames and answers are kept, in words.
    pub(super) words: BTreeSet<&'a str>,
    /// Watchers and devices of whom it is kept how much waits for them.
    pub(super) outboxes: BTreeSet<&'a str>,
    /// Scripted connections whose answers are kept.
    pub(super) answers: BTreeSet<&'a str>,
    /// Whether R keeps a journal.
    pub(super) journal: bool,
}

impl<'a> Wanted<'a> {
    pub(super) fn of(scenario: &'a Scenario) -> Self {
        let mut wanted = Self::default();
        for stated in &scenario.expects {
            match &stated.expect {
                Expect::NeverSent { watcher, .. } => _ = wanted.words.insert(watcher),
                Expect::Outbox { who, .. } => _ = wanted.outboxes.insert(who),
                Expect::Answered { conn, .. } => _ = wanted.answers.insert(conn),
                Expect::Published { .. } | Expect::Writes { .. } => wanted.journal = true,
                _ => {}
            }
        }
        wanted
    }
}
