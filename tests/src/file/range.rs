//! `NAME{1..100}`: one step or expectation for many names.

use super::FileError;
use super::json::{Json, JsonKind, Member};

/// One name with a range in it, taken apart.
struct Range<'a> {
    before: &'a str,
    first: u32,
    last: u32,
    after: &'a str,
}

/// More names than any scenario needs; a slip of the finger must not eat the machine.
const MOST: usize = 100_000;

/// How many names the ranges of one file have stood for so far.
#[derive(Debug, Default)]
pub(super) struct Names(usize);

impl<'a> Range<'a> {
    fn find(text: &'a str) -> Option<Self> {
        let (before, rest) = text.split_once('{')?;
        let (inside, after) = rest.split_once('}')?;
        let (first, last) = inside.split_once("..")?;
        Some(Self { before, first: first.parse().ok()?, last: last.parse().ok()?, after })
    }

    fn len(&self, line: usize) -> Result<usize, FileError> {
        let count = self.last.checked_sub(self.first).map(|it| it.saturating_add(1));
        match count {
            Some(count) if count as usize <= MOST => Ok(count as usize),
            Some(_) => Err(too_many(line)),
            None => Err(FileError {
                line,
                text: format!("the range {{{}..{}}} runs backwards", self.first, self.last),
            }),
        }
    }

    fn name(&self, index: usize) -> String {
        format!("{}{}{}", self.before, self.first as usize + index, self.after)
    }
}

impl Names {
    /// The copies of a step or expectation: (index, how many, copy).
    pub(super) fn expand(&mut self, json: &Json) -> Result<Vec<(usize, usize, Json)>, FileError> {
        let count = copies(json)?;
        let names =
            count.unwrap_or(0).saturating_add(count.unwrap_or(1).saturating_mul(listed(json)?));
        self.0 = self.0.saturating_add(names);
        if self.0 > MOST {
            return Err(too_many(json.line));
        }
        let count = count.unwrap_or(1);
        (0..count).map(|index| Ok((index, count, substitute(json, index)?))).collect()
    }
}

fn too_many(line: usize) -> FileError {
    let text = format!("with this one the ranges of the file stand for more than {MOST} names");
    FileError { line, text }
}

/// How many copies a step or expectation stands for, if it names a range. Ranges in several keys go in step with each other;
/// those inside lists expand in place.
fn copies(json: &Json) -> Result<Option<usize>, FileError> {
    let JsonKind::Map(members) = &json.kind else { return Ok(None) };
    let mut count = None;
    for member in members {
        if let JsonKind::Text(text) = &member.value.kind
            && let Some(range) = Range::find(text)
        {
            let len = range.len(member.line)?;
            if count.is_some_and(|it| it != len) {
                return Err(FileError {
                    line: member.line,
                    text: format!(
                        "the range in `{}` has {len} names, another one here {}: they must be \
                         equally long",
                        member.key,
                        count.unwrap_or_default()
                    ),
                });
            }
            count = Some(len);
        }
    }
    Ok(count)
}

/// How many names the ranges inside lists stand for.
fn listed(json: &Json) -> Result<usize, FileError> {
    let JsonKind::Map(members) = &json.kind else { return Ok(0) };
    let mut names: usize = 0;
    for member in members {
        let JsonKind::List(items) = &member.value.kind else { continue };
        for item in items {
            if let JsonKind::Text(text) = &item.kind
                && let Some(range) = Range::find(text)
            {
                names = names.saturating_add(range.len(item.line)?);
            }
        }
    }
    Ok(names)
}

fn substitute(json: &Json, index: usize) -> Result<Json, FileError> {
    let JsonKind::Map(members) = &json.kind else { return Ok(json.clone()) };
    let members = members
        .iter()
        .map(|member| {
            let kind = match &member.value.kind {
                JsonKind::Text(text) => JsonKind::Text(
                    Range::find(text).map_or_else(|| text.clone(), |it| it.name(index)),
                ),
                JsonKind::List(items) => JsonKind::List(expand_list(items)?),
                other => other.clone(),
            };
            let value = Json { line: member.value.line, kind };
            Ok(Member { line: member.line, key: member.key.clone(), value })
        })
        .collect::<Result<_, FileError>>()?;
    Ok(Json { line: json.line, kind: JsonKind::Map(members) })
}

fn expand_list(items: &[Json]) -> Result<Vec<Json>, FileError> {
    let mut expanded = Vec::with_capacity(items.len());
    for item in items {
        match &item.kind {
            JsonKind::Text(text) => match Range::find(text) {
                Some(range) => {
                    for index in 0..range.len(item.line)? {
                        let kind = JsonKind::Text(range.name(index));
                        expanded.push(Json { line: item.line, kind });
                    }
                }
                None => expanded.push(item.clone()),
            },
            _ => expanded.push(item.clone()),
        }
    }
    Ok(expanded)
}
