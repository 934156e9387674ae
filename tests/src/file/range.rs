//! `NAME{1..100}`: one step or expectation for many names.

use std::collections::BTreeSet;

use super::FileError;
use super::json::{Json, JsonKind, Member};

/// More names than any scenario needs; a slip of the finger must not eat the machine.
const MOST: usize = 100_000;

/// Keys whose texts are anybody's words, and may hold braces that stand for nothing.
const FREE: [&str; 4] = ["to", "text", "title", "why"];

/// A range: how many names it stands for, and the number in the first of them.
#[derive(Clone, Copy)]
struct Range {
    first: usize,
    len: usize,
}

/// A text with ranges in it, which go in step with each other.
struct Pattern<'a> {
    /// What stands before each range, and the range.
    parts: Vec<(&'a str, Range)>,
    after: &'a str,
    len: usize,
}

impl<'a> Pattern<'a> {
    /// The ranges in a text, if there are any.
    fn find(text: &'a str, key: &str, line: usize) -> Result<Option<Self>, FileError> {
        match Self::read(text, line) {
            Err(_) if FREE.contains(&key) => Ok(None),
            found => found,
        }
    }

    fn read(text: &'a str, line: usize) -> Result<Option<Self>, FileError> {
        let mut parts: Vec<(&str, Range)> = Vec::new();
        let mut after = text;
        while let Some(brace) = after.find(['{', '}']) {
            let (before, rest) = after.split_at(brace);
            let inside = rest.strip_prefix('{').and_then(|it| it.split_once('}'));
            let Some((inside, rest)) = inside else { return Err(no_range(text, line)) };
            parts.push((before, Range::read(inside, text, line)?));
            after = rest;
        }
        let Some(&(_, Range { len, .. })) = parts.first() else { return Ok(None) };
        match parts.iter().find(|it| it.1.len != len) {
            None => Ok(Some(Self { parts, after, len })),
            Some((_, other)) => Err(FileError {
                line,
                text: format!(
                    "the ranges in \"{text}\" have {len} and {} names: they must be equally long",
                    other.len
                ),
            }),
        }
    }

    fn name(&self, index: usize) -> String {
        let mut name = String::new();
        for (before, range) in &self.parts {
            name.push_str(before);
            name.push_str(&(range.first + index).to_string());
        }
        name + self.after
    }
}

impl Range {
    /// Reads what stands between the braces of a text.
    fn read(inside: &str, text: &str, line: usize) -> Result<Self, FileError> {
        let Some((first, last)) = inside.split_once("..") else { return Err(no_range(text, line)) };
        let is_number = |it: &str| {
            !it.is_empty()
                && it.bytes().all(|it| it.is_ascii_digit())
                && (it == "0" || !it.starts_with('0'))
        };
        if !is_number(first) || !is_number(last) {
            return Err(no_range(text, line));
        }
        let (Ok(first), Ok(last)) = (first.parse::<usize>(), last.parse::<usize>()) else {
            return Err(too_many(line));
        };
        match last.checked_sub(first) {
            None => {
                let text = format!("the range {{{first}..{last}}} runs backwards");
                Err(FileError { line, text })
            }
            Some(more) if more >= MOST || first > u32::MAX as usize => Err(too_many(line)),
            Some(more) => Ok(Self { first, len: more + 1 }),
        }
    }
}

fn no_range(text: &str, line: usize) -> FileError {
    let text = format!(
        "\"{text}\" holds a brace, but no range: one is NAME{{1..100}}, two whole numbers, 0 or more, \
         without zeros before them"
    );
    FileError { line, text }
}

fn too_many(line: usize) -> FileError {
    let text = format!("with this one the ranges of the file stand for more than {MOST} names");
    FileError { line, text }
}

/// One of the steps or expectations that a range stands for.
pub(super) struct Copy {
    pub(super) index: usize,
    /// How many there are; none if the file's own names no range.
    pub(super) of: Option<usize>,
    pub(super) json: Json,
}

/// How many names the ranges of one file have stood for so far.
#[derive(Debug, Default)]
pub(super) struct Names(usize);

impl Names {
    /// The copies of a step or expectation: one a name if it names a range, else it alone.
    pub(super) fn expand(&mut self, json: &Json) -> Result<Vec<Copy>, FileError> {
        let JsonKind::Map(members) = &json.kind else {
            return Ok(vec![Copy { index: 0, of: None, json: json.clone() }]);
        };
        let of = in_step(members.iter().map(|it| (&*it.key, &it.value)))?;
        self.take(of.unwrap_or(0), json.line)?;
        let copy = |index| {
            let members = members.iter().map(|it| self.member(it, index)).collect::<Result<_, _>>();
            Ok(Copy { index, of, json: Json { line: json.line, kind: JsonKind::Map(members?) } })
        };
        (0..of.unwrap_or(1)).map(copy).collect()
    }

    fn take(&mut self, names: usize, line: usize) -> Result<(), FileError> {
        self.0 = self.0.saturating_add(names);
        if self.0 > MOST { Err(too_many(line)) } else { Ok(()) }
    }

    fn member(&mut self, member: &Member, index: usize) -> Result<Member, FileError> {
        let Json { line, kind } = &member.value;
        let kind = match kind {
            JsonKind::Text(text) => JsonKind::Text(named(text, &member.key, *line, index)?),
            JsonKind::List(items) => JsonKind::List(self.list(items, &member.key)?),
            JsonKind::Map(members) => JsonKind::Map(self.map(members)?),
            other => other.clone(),
        };
        let value = Json { line: *line, kind };
        Ok(Member { line: member.line, key: member.key.clone(), value })
    }

    /// Ranges inside a list expand in place, those of a list inside it in step with each other.
    fn list(&mut self, items: &[Json], key: &str) -> Result<Vec<Json>, FileError> {
        let mut expanded = Vec::with_capacity(items.len());
        for item in items {
            let line = item.line;
            match &item.kind {
                JsonKind::Text(text) => match Pattern::find(text, key, line)? {
                    Some(pattern) => {
                        self.take(pattern.len, line)?;
                        let texts = (0..pattern.len).map(|it| JsonKind::Text(pattern.name(it)));
                        expanded.extend(texts.map(|kind| Json { line, kind }));
                    }
                    None => expanded.push(item.clone()),
                },
                JsonKind::List(inner) => {
                    let count = in_step(inner.iter().map(|it| (key, it)))?;
                    self.take(count.unwrap_or(0), line)?;
                    for index in 0..count.unwrap_or(1) {
                        let inner = inner.iter().map(|it| match &it.kind {
                            JsonKind::Text(text) => {
                                let kind = JsonKind::Text(named(text, key, it.line, index)?);
                                Ok(Json { line: it.line, kind })
                            }
                            JsonKind::List(items) => {
                                let kind = JsonKind::List(self.list(items, key)?);
                                Ok(Json { line: it.line, kind })
                            }
                            _ => Ok(it.clone()),
                        });
                        let kind = JsonKind::List(inner.collect::<Result<_, FileError>>()?);
                        expanded.push(Json { line, kind });
                    }
                }
                JsonKind::Map(members) => {
                    let kind = JsonKind::Map(self.map(members)?);
                    expanded.push(Json { line, kind });
                }
                _ => expanded.push(item.clone()),
            }
        }
        Ok(expanded)
    }

    /// Ranges in the keys of an object, which name users, expand in place too.
    fn map(&mut self, members: &[Member]) -> Result<Vec<Member>, FileError> {
        let mut expanded: Vec<Member> = Vec::with_capacity(members.len());
        for member in members {
            let line = member.line;
            let pattern = Pattern::find(&member.key, "", line)?;
            let count = pattern.as_ref().map(|it| it.len);
            self.take(count.unwrap_or(0), line)?;
            for index in 0..count.unwrap_or(1) {
                let one = self.member(member, index)?;
                let key = pattern.as_ref().map_or_else(|| one.key.clone(), |it| it.name(index));
                expanded.push(Member { key, ..one });
            }
        }
        let mut keys = BTreeSet::new();
        match expanded.iter().find(|it| !keys.insert(&it.key)) {
            None => Ok(expanded),
            Some(Member { line, key, .. }) => {
                Err(FileError { line: *line, text: format!("`{key}` stands twice") })
            }
        }
    }
}

/// How many names the ranges in these texts stand for, in step with each other.
fn in_step<'a>(
    texts: impl Iterator<Item = (&'a str, &'a Json)>,
) -> Result<Option<usize>, FileError> {
    let mut count = None;
    for (key, json) in texts {
        let JsonKind::Text(text) = &json.kind else { continue };
        let Some(Pattern { len, .. }) = Pattern::find(text, key, json.line)? else { continue };
        if let Some(other) = count.filter(|it| *it != len) {
            return Err(FileError {
                line: json.line,
                text: format!(
                    "the range in `{key}` has {len} names, another one here {other}: they must be \
                     equally long"
                ),
            });
        }
        count = Some(len);
    }
    Ok(count)
}

/// A text with its ranges at this place.
fn named(text: &str, key: &str, line: usize, index: usize) -> Result<String, FileError> {
    let pattern = Pattern::find(text, key, line)?;
    Ok(pattern.map_or_else(|| text.to_owned(), |it| it.name(index)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(text: &str) -> Result<Vec<String>, String> {
        let json = Json::parse(text).unwrap();
        let copies = Names::default().expand(&json).map_err(|it| it.to_string())?;
        Ok(copies.iter().map(|it| it.json.words()).collect())
    }

    #[test]
    fn ranges_in_several_keys_and_twice_in_one_go_in_step() {
        assert_eq!(
            expanded(r#"{"connect": "u{1..2}/s{8..9}", "conn": "c{0..1}"}"#).unwrap(),
            [r#"{"connect": "u1/s8", "conn": "c0"}"#, r#"{"connect": "u2/s9", "conn": "c1"}"#]
        );
    }

    #[test]
    fn ranges_in_lists_and_in_the_keys_of_objects_expand_in_place() {
        let text = r#"{"users": ["a", "u{1..2}"], "view": {"u{1..2}": "away", "b": ["away", 1]}}"#;
        let wanted = r#"{"users": ["a", "u1", "u2"], "view": {"u1": "away", "u2": "away", "b": ["away", 1]}}"#;
        assert_eq!(expanded(text).unwrap(), [wanted]);
        let text = r#"{"ask_same": [["q{1..2}", "u{5..6}"], "z"]}"#;
        assert_eq!(expanded(text).unwrap(), [r#"{"ask_same": [["q1", "u5"], ["q2", "u6"], "z"]}"#]);
        assert!(expanded(r#"{"view": {"u{1..2}": 1, "u2": 1}}"#).unwrap_err().contains("twice"));
    }

    #[test]
    fn a_brace_that_begins_no_range_is_an_error_but_in_free_words() {
        for name in
            ["u{1..}", "u{1..3", "u1..3}", "u{-1..3}", "u{1.3}", "u{01..3}", "u{}", "{+1..2}"]
        {
            for text in
                [format!("{{\"idle\": \"{name}\"}}"), format!("{{\"users\": [\"{name}\"]}}")]
            {
                let error = expanded(&text).unwrap_err();
                assert!(error.starts_with("line 1: ") && error.contains("no range"), "{error}");
            }
            let text = format!("{{\"note\": \"ana\", \"to\": \"{name}\"}}");
            assert_eq!(expanded(&text).unwrap(), [text]);
        }
        for name in ["u{1..99999999999}", "u{1..99999999999999999999999}", "{0..100000}"] {
            let error = expanded(&format!("{{\"idle\": \"{name}\"}}")).unwrap_err();
            assert!(error.contains("more than 100000 names"), "{error}");
        }
        assert!(expanded(r#"{"idle": "c{3..1}"}"#).unwrap_err().contains("runs backwards"));
        assert!(expanded(r#"{"idle": "c{1..3}{1..2}"}"#).unwrap_err().contains("equally long"));
    }
}
