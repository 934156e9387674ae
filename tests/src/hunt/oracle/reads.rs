//! What nodes answer without a watch: asks, polls with a mark, and lists.

use std::collections::{BTreeMap, BTreeSet};

use greendot_protocol::State;

use super::weigh::Said;
use super::{Found, Kind, Oracle};
use crate::file::Verb;

/// What a poll knows: of each user the state and the note.
type Known = BTreeMap<usize, (State, String)>;

/// What has been read under the names that the script gives.
#[derive(Debug, Default)]
pub(super) struct Reads {
    /// By name, as of the last answer.
    known: BTreeMap<String, Known>,
    /// By step: what an ask that is not answered goes on from.
    from: BTreeMap<usize, Option<Known>>,
    /// The answer that is being told.
    present: Option<Reading>,
}

/// An answer.
#[derive(Debug)]
struct Reading {
    node: usize,
    step: usize,
    /// An ask's: whether it speaks of all; none of a list.
    full: Option<bool>,
    said: Known,
}

impl Oracle<'_> {
    /// The script asks; what it goes on from is what was answered by now.
    pub(super) fn asks(&mut self, step: usize, since: Option<&str>) {
        let from = since.and_then(|it| self.reads.known.get(it).cloned());
        self.reads.from.insert(step, from);
    }

    pub(super) fn answered(&mut self, node: usize, step: usize, full: Option<bool>) -> Found {
        self.reading_ends()?;
        self.reads.present = Some(Reading { node, step, full, said: Known::new() });
        Ok(())
    }

    fn viewer_of(&mut self, step: usize) -> usize {
        let scenario = self.scenario;
        match &scenario.steps[step].verb {
            Verb::Ask { watcher, .. } | Verb::List { watcher, .. } => self.user(watcher),
            _ => usize::MAX,
        }
    }

    pub(super) fn answer_of(&mut self, user: &str, said: &Said<'_>) -> Found {
        let user = self.user(user);
        let Some(Reading { node, step, .. }) = self.reads.present else { return Ok(()) };
        let viewer = Some(self.viewer_of(step));
        self.weigh_state(node, viewer, user, said, true)?;
        self.weigh_seen(node, viewer, user, said)?;
        if let Some(reading) = &mut self.reads.present {
            reading.said.insert(user, (said.state, said.note.to_owned()));
        }
        Ok(())
    }

    pub(super) fn lists(&mut self, user: &str) {
        let user = self.user(user);
        if let Some(reading) = &mut self.reads.present {
            reading.said.insert(user, (State::Online, String::new()));
        }
    }

    /// An answer is complete, if there was one.
    pub(super) fn reading_ends(&mut self) -> Found {
        let Some(Reading { node, step, full, said }) = self.reads.present.take() else {
            return Ok(());
        };
        let viewer = self.viewer_of(step);
        let scenario = self.scenario;
        match (&scenario.steps[step].verb, full) {
            (Verb::Ask { name, users, .. }, Some(full)) => {
                let from = self.reads.from.remove(&step).flatten();
                let mut known = if full { Known::new() } else { from.unwrap_or_default() };
                known.extend(said);
                for name in users {
                    let user = self.user(name);
                    let Some((state, note)) = known.get(&user) else {
                        let text = format!("nothing is said of {name}, who was asked about");
                        return self.complain(Kind::AnswerWrong, text);
                    };
                    let said = Said { state: *state, version: 0, note, seen_ago: None };
                    self.weigh_state(node, Some(viewer), user, &said, true)?;
                }
                self.reads.known.insert(name.clone(), known);
                Ok(())
            }
            _ => self.weigh_list(node, viewer, &said.into_keys().collect()),
        }
    }

    fn weigh_list(&self, node: usize, viewer: usize, listed: &BTreeSet<usize>) -> Found {
        for user in 0..self.users.len() {
            let name = &self.users[user].name;
            let mut allowed = self.allowed(node, user, Some(viewer));
            if user == viewer {
                // Who is invisible is on nobody's list.
                allowed = allowed.union(self.allowed(node, user, None));
            }
            if listed.contains(&user) && allowed.is_absent() {
                let text = format!("{name} is listed; the rules allow {}", allowed.words());
                return self.complain(Kind::AnswerWrong, text);
            }
            let absent = allowed.has(State::Offline) || allowed.has(State::Unknown);
            if !listed.contains(&user) && !absent && self.cluster.is_settled(node) {
                let text = format!("{name} is not listed; the rules want {}", allowed.words());
                return self.complain(Kind::AnswerWrong, text);
            }
        }
        Ok(())
    }
}
