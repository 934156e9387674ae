//! The fields of an object: each is taken once, and none may be left over.

use greendot_protocol::{Mode, State};

use super::json::{Json, JsonKind, Member};
use super::{FileError, Kind};

/// An object being read.
pub(super) struct Fields<'a> {
    what: &'a str,
    line: usize,
    left: Vec<Member>,
    asked: Vec<&'static str>,
}

/// Longer than any time that a file can mean, in s.
const ENDLESS: f64 = 1e12;

/// More than any count that a file can mean; below it every whole number is exact.
const COUNTLESS: f64 = 1e15;

/// Seconds as milliseconds.
fn millis(json: &Json, key: &str) -> Result<u64, FileError> {
    match json.kind {
        JsonKind::Number(secs) if (0.0..ENDLESS).contains(&secs) => Ok((secs * 1e3).round() as u64),
        JsonKind::Number(secs) if secs >= ENDLESS => Err(too_large(json, key, " s", ENDLESS)),
        _ => Err(wrong(json, key, "seconds, 0 or more")),
    }
}

fn too_large(json: &Json, key: &str, unit: &str, bound: f64) -> FileError {
    wrong(json, key, &format!("smaller: less than {bound:e}{unit}"))
}

fn wrong(json: &Json, key: &str, wanted: &str) -> FileError {
    FileError {
        line: json.line,
        text: format!("`{key}` is {}; it must be {wanted}", json.describe()),
    }
}

/// "did you mean", if one of the known words is near.
pub(super) fn nearest(word: &str, known: &[&str]) -> String {
    known.iter().filter_map(|it| Some((distance(word, it)?, it))).min().map_or_else(
        || format!("known here: {}", known.join(", ")),
        |(_, it)| format!("did you mean `{it}`?"),
    )
}

/// How far a word is from a known one, if it may be meant for that.
fn distance(word: &str, known: &str) -> Option<usize> {
    let distance = strsim::damerau_levenshtein(word, known);
    (distance <= 2.max(known.len() / 3)).then_some(distance)
}

/// The one of these words that is meant for a known one most likely; the first of them, if none is near to any.
pub(super) fn oddest<'a>(words: impl Iterator<Item = &'a str>, known: &[&str]) -> Option<&'a str> {
    let far = |word: &str| known.iter().filter_map(|it| distance(word, it)).min();
    words.min_by_key(|it| far(it).unwrap_or(usize::MAX))
}

impl<'a> Fields<'a> {
    pub(super) fn of(json: &Json, what: &'a str) -> Result<Self, FileError> {
        match &json.kind {
            JsonKind::Map(members) => {
                Ok(Self { what, line: json.line, left: members.clone(), asked: Vec::new() })
            }
            _ => Err(FileError {
                line: json.line,
                text: format!("{what} is an object, not {}", json.describe()),
            }),
        }
    }

    pub(super) fn line(&self) -> usize {
        self.line
    }

    /// The line of a field; the object's own if it is not there.
    pub(super) fn line_of(&self, key: &str) -> usize {
        self.left.iter().find(|it| it.key == key).map_or(self.line, |it| it.value.line)
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.left.iter().any(|it| it.key == key)
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.left.iter().map(|it| &*it.key)
    }

    pub(super) fn take(&mut self, key: &'static str) -> Option<Json> {
        self.asked.push(key);
        let place = self.left.iter().position(|it| it.key == key)?;
        Some(self.left.remove(place).value)
    }

    pub(super) fn need(&mut self, key: &'static str) -> Result<Json, FileError> {
        self.take(key).ok_or_else(|| self.missing(key))
    }

    /// What is needed is not there. Where another key may be meant for it, the error is on that one's line.
    fn missing(&self, key: &str) -> FileError {
        // A shorter word is near to whatever is as short, and one of a single letter to all.
        let most = match key.len() {
            1 => 0,
            2..=4 => 1,
            _ => 2,
        };
        let near = |it: &&Member| strsim::damerau_levenshtein(&it.key, key) <= most;
        let text = format!("{} needs `{key}`", self.what);
        match self.left.iter().find(near) {
            Some(odd) => FileError {
                line: odd.line,
                text: format!("{text}; did you mean that by `{}`?", odd.key),
            },
            None => FileError { line: self.line, text },
        }
    }

    /// # Errors
    ///
    /// If a field was not asked for.
    pub(super) fn finish(self) -> Result<(), FileError> {
        match self.left.first() {
            None => Ok(()),
            Some(member) => Err(FileError {
                line: member.line,
                text: format!(
                    "{} knows no `{}`; {}",
                    self.what,
                    member.key,
                    nearest(&member.key, &self.asked)
                ),
            }),
        }
    }

    pub(super) fn text(&mut self, key: &'static str) -> Result<Option<String>, FileError> {
        match self.take(key) {
            None => Ok(None),
            Some(Json { kind: JsonKind::Text(text), .. }) => Ok(Some(text)),
            Some(json) => Err(wrong(&json, key, "a text")),
        }
    }

    pub(super) fn need_text(&mut self, key: &'static str) -> Result<String, FileError> {
        let json = self.need(key)?;
        match json.kind {
            JsonKind::Text(text) => Ok(text),
            _ => Err(wrong(&json, key, "a text")),
        }
    }

    /// A client's name, or `true` where there is just one.
    pub(super) fn client(&mut self, key: &'static str, kind: Kind) -> Result<String, FileError> {
        let json = self.need(key)?;
        match json.kind {
            JsonKind::Bool(true) if kind == Kind::Sdk => Ok(String::new()),
            _ if kind == Kind::Sdk => Err(wrong(&json, key, "true: kind `sdk` has one client")),
            JsonKind::Text(text) => Ok(text),
            _ => Err(wrong(&json, key, "a client's name")),
        }
    }

    pub(super) fn flag(&mut self, key: &'static str) -> Result<Option<bool>, FileError> {
        match self.take(key) {
            None => Ok(None),
            Some(Json { kind: JsonKind::Bool(it), .. }) => Ok(Some(it)),
            Some(json) => Err(wrong(&json, key, "true or false")),
        }
    }

    pub(super) fn time(&mut self, key: &'static str) -> Result<Option<u64>, FileError> {
        self.take(key).map(|json| millis(&json, key)).transpose()
    }

    pub(super) fn need_time(&mut self, key: &'static str) -> Result<u64, FileError> {
        let json = self.need(key)?;
        millis(&json, key)
    }

    /// How long something lasts, in milliseconds: one of them at least.
    pub(super) fn need_length(&mut self, key: &'static str) -> Result<u64, FileError> {
        let json = self.need(key)?;
        match millis(&json, key)? {
            0 => Err(wrong(&json, key, "a thousandth of a second or more")),
            length => Ok(length),
        }
    }

    /// Seconds as milliseconds, up to `most` of them, with the reason for that.
    pub(super) fn need_time_up_to(
        &mut self,
        key: &'static str,
        most: u64,
        why: &str,
    ) -> Result<u64, FileError> {
        let json = self.need(key)?;
        match millis(&json, key) {
            Ok(ms) if ms <= most => Ok(ms),
            Err(error) if !matches!(json.kind, JsonKind::Number(it) if it > 0.0) => Err(error),
            _ => Err(FileError {
                line: json.line,
                text: format!("`{key}` is {} s; {why} {} s at most", json.describe(), most / 1_000),
            }),
        }
    }

    /// `true`, the only word that such a key knows.
    pub(super) fn need_true(&mut self, key: &'static str) -> Result<(), FileError> {
        let json = self.need(key)?;
        match json.kind {
            JsonKind::Bool(true) => Ok(()),
            _ => Err(wrong(&json, key, "true: leave it out where it is not meant")),
        }
    }

    /// Seconds that may be negative, as milliseconds.
    pub(super) fn signed_time(&mut self, key: &'static str) -> Result<i64, FileError> {
        let json = self.need(key)?;
        match json.kind {
            JsonKind::Number(secs) if secs.abs() < ENDLESS => Ok((secs * 1e3).round() as i64),
            JsonKind::Number(_) => Err(too_large(&json, key, " s, forwards or back", ENDLESS)),
            _ => Err(wrong(&json, key, "seconds")),
        }
    }

    pub(super) fn number(&mut self, key: &'static str) -> Result<Option<f64>, FileError> {
        match self.take(key) {
            None => Ok(None),
            Some(Json { kind: JsonKind::Number(it), .. }) => Ok(Some(it)),
            Some(json) => Err(wrong(&json, key, "a number")),
        }
    }

    pub(super) fn whole(&mut self, key: &'static str) -> Result<Option<u64>, FileError> {
        self.take(key).map(|json| whole(&json, key)).transpose()
    }

    /// Which of several, counted from 1.
    pub(super) fn ordinal(&mut self, key: &'static str) -> Result<Option<u64>, FileError> {
        let Some(json) = self.take(key) else { return Ok(None) };
        match whole(&json, key)? {
            0 => Err(wrong(&json, key, "1 or more: the first is 1")),
            nth => Ok(Some(nth)),
        }
    }

    /// How often something is done: at least once, and no more than `most` times.
    pub(super) fn times(&mut self, key: &'static str, most: u64) -> Result<Option<u64>, FileError> {
        let Some(json) = self.take(key) else { return Ok(None) };
        match whole(&json, key) {
            Ok(times) if (1..=most).contains(&times) => Ok(Some(times)),
            _ => Err(wrong(&json, key, &format!("a whole number from 1 to {most}"))),
        }
    }

    pub(super) fn need_whole(&mut self, key: &'static str) -> Result<u64, FileError> {
        let json = self.need(key)?;
        whole(&json, key)
    }

    pub(super) fn list(&mut self, key: &'static str) -> Result<Option<Vec<Json>>, FileError> {
        match self.take(key) {
            None => Ok(None),
            Some(Json { kind: JsonKind::List(items), .. }) => Ok(Some(items)),
            Some(json) => Err(wrong(&json, key, "a list")),
        }
    }

    pub(super) fn need_list(&mut self, key: &'static str) -> Result<Vec<Json>, FileError> {
        let json = self.need(key)?;
        match json.kind {
            JsonKind::List(items) => Ok(items),
            _ => Err(wrong(&json, key, "a list")),
        }
    }

    pub(super) fn names(&mut self, key: &'static str) -> Result<Option<Vec<String>>, FileError> {
        let Some(items) = self.list(key)? else { return Ok(None) };
        items
            .into_iter()
            .map(|json| match json.kind {
                JsonKind::Text(text) => Ok(text),
                _ => Err(wrong(&json, key, "a list of names")),
            })
            .collect::<Result<_, _>>()
            .map(Some)
    }

    pub(super) fn need_names(&mut self, key: &'static str) -> Result<Vec<String>, FileError> {
        self.names(key)?.ok_or_else(|| self.missing(key))
    }

    pub(super) fn choice<T: Copy>(
        &mut self,
        key: &'static str,
        known: &[(&str, T)],
    ) -> Result<Option<T>, FileError> {
        self.take(key).map(|json| choice(&json, key, known)).transpose()
    }

    pub(super) fn need_choice<T: Copy>(
        &mut self,
        key: &'static str,
        known: &[(&str, T)],
    ) -> Result<T, FileError> {
        let json = self.need(key)?;
        choice(&json, key, known)
    }

    pub(super) fn need_mode(&mut self, key: &'static str) -> Result<Mode, FileError> {
        self.need_choice(key, &Mode::ALL.map(|mode| (mode.name(), mode)))
    }

    pub(super) fn state(&mut self, key: &'static str) -> Result<Option<State>, FileError> {
        self.take(key).map(|json| state(&json, key)).transpose()
    }
}

pub(super) fn state(json: &Json, key: &str) -> Result<State, FileError> {
    choice(json, key, &State::ALL.map(|state| (state.name(), state)))
}

pub(super) fn whole(json: &Json, key: &str) -> Result<u64, FileError> {
    match json.kind {
        JsonKind::Number(it) if it >= COUNTLESS => Err(too_large(json, key, "", COUNTLESS)),
        JsonKind::Number(it) if it >= 0.0 && it.fract() == 0.0 => Ok(it as u64),
        _ => Err(wrong(json, key, "a whole number, 0 or more")),
    }
}

/// A time, or a list of two.
pub(super) fn span(json: &Json, key: &str) -> Result<(u64, Option<u64>), FileError> {
    match &json.kind {
        JsonKind::List(items) => match &items[..] {
            [from, to] => {
                let (from, to) = (millis(from, key)?, millis(to, key)?);
                if from > to {
                    return Err(wrong(json, key, "[from, to] with from no later than to"));
                }
                Ok((from, Some(to)))
            }
            _ => Err(wrong(json, key, "seconds, or [from, to]")),
        },
        _ => Ok((millis(json, key)?, None)),
    }
}

pub(super) fn choice<T: Copy>(json: &Json, key: &str, known: &[(&str, T)]) -> Result<T, FileError> {
    let words: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
    let JsonKind::Text(text) = &json.kind else {
        return Err(wrong(json, key, &format!("one of {}", words.join(", "))));
    };
    known.iter().find(|(word, _)| word == text).map(|(_, it)| *it).ok_or_else(|| FileError {
        line: json.line,
        text: format!("`{key}` knows no \"{text}\"; {}", nearest(text, &words)),
    })
}
