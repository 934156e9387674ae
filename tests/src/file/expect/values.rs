//! The values in an expectation.

use greendot_protocol::{CloseCode, ErrorCode, ServerKind, State};

use super::super::FileError;
use super::super::fields::{Fields, span, state, whole};
use super::super::json::{Json, JsonKind};
use super::super::step::LINKS;
use super::{Count, ShownState, Window};

/// `t`: from `t` to `t + slack`; `[from, to]`: as it says.
pub(super) fn window(json: &Json, key: &str, slack: u64) -> Result<Window, FileError> {
    let (from, to) = span(json, key)?;
    Ok(Window { from, to: to.unwrap_or(from + slack) })
}

/// `t`: within `exact` of it; `[from, to]`: as it says.
pub(super) fn around(json: &Json, key: &str, exact: u64) -> Result<Window, FileError> {
    let (from, to) = span(json, key)?;
    Ok(match to {
        Some(to) => Window { from, to },
        None => Window { from: from.saturating_sub(exact), to: from + exact },
    })
}

pub(super) fn between(fields: &mut Fields<'_>) -> Result<Window, FileError> {
    match fields.take("between") {
        None => Ok(Window::ALL),
        Some(json) => match span(&json, "between")? {
            (from, Some(to)) => Ok(Window { from, to }),
            _ => Err(FileError { line: json.line, text: "`between` is [from, to]".into() }),
        },
    }
}

/// `3` or `{"at_most": 3}`.
pub(super) fn exact_or_at_most(json: &Json, key: &str) -> Result<Count, FileError> {
    let JsonKind::Map(_) = &json.kind else { return just(json, key) };
    let mut fields = Fields::of(json, "a count")?;
    let most = fields.need_whole("at_most")?;
    fields.finish()?;
    Ok(Count { least: 0, most })
}

/// `"count": 3`.
pub(super) fn exact(fields: &mut Fields<'_>) -> Result<Count, FileError> {
    just(&fields.need("count")?, "count")
}

/// `"count": 3` or `"count": [1, 4]`.
pub(super) fn exact_or_range(fields: &mut Fields<'_>) -> Result<Count, FileError> {
    let json = fields.need("count")?;
    let JsonKind::List(items) = &json.kind else { return just(&json, "count") };
    if let [least, most] = &items[..] {
        let (least, most) = (whole(least, "count")?, whole(most, "count")?);
        if least <= most {
            return Ok(Count { least, most });
        }
    }
    Err(FileError {
        line: json.line,
        text: "`count` is a number, or [least, most] with least no more than most".into(),
    })
}

/// `"count": 3`, or `at_most`, `at_least` or both.
pub(super) fn need_count(fields: &mut Fields<'_>) -> Result<Count, FileError> {
    let line = fields.line();
    if let Some(json) = fields.take("count") {
        return just(&json, "count");
    }
    match (fields.whole("at_least")?, fields.whole("at_most")?) {
        (None, None) => {
            let text = "how many? `count`, `at_most` or `at_least`".into();
            Err(FileError { line, text })
        }
        (least, most) => Ok(Count { least: least.unwrap_or(0), most: most.unwrap_or(u64::MAX) }),
    }
}

fn just(json: &Json, key: &str) -> Result<Count, FileError> {
    let exact = whole(json, key)?;
    Ok(Count { least: exact, most: exact })
}

pub(super) fn event(json: &Json, slack: u64) -> Result<(State, Option<u64>, Window), FileError> {
    let shape = || FileError { line: json.line, text: "an event is [state, version, time]".into() };
    let JsonKind::List(items) = &json.kind else { return Err(shape()) };
    let [what, version, at] = &items[..] else { return Err(shape()) };
    let version = match version.kind {
        JsonKind::Null => None,
        _ => Some(whole(version, "version")?),
    };
    Ok((state(what, "state")?, version, window(at, "time", slack)?))
}

pub(super) fn ask_part(json: &Json) -> Result<(String, Option<String>), FileError> {
    let shape = || FileError {
        line: json.line,
        text: "`ask_same` lists names of asks, or [ask, user]".into(),
    };
    match &json.kind {
        JsonKind::Text(ask) => Ok((ask.clone(), None)),
        JsonKind::List(items) => match &items[..] {
            [Json { kind: JsonKind::Text(ask), .. }, Json { kind: JsonKind::Text(user), .. }] => {
                Ok((ask.clone(), Some(user.clone())))
            }
            _ => Err(shape()),
        },
        _ => Err(shape()),
    }
}

pub(super) fn generations(
    fields: &mut Fields<'_>,
) -> Result<Option<Vec<(String, u64)>>, FileError> {
    let Some(json) = fields.take("generations") else { return Ok(None) };
    let JsonKind::Map(members) = &json.kind else {
        return Err(FileError {
            line: json.line,
            text: "`generations` is an object: session to rank".into(),
        });
    };
    members
        .iter()
        .map(|it| Ok((it.key.clone(), whole(&it.value, "generations")?)))
        .collect::<Result<_, FileError>>()
        .map(Some)
}

pub(super) fn view_users(json: &Json) -> Result<Vec<(String, State, Option<u64>)>, FileError> {
    let JsonKind::Map(members) = &json.kind else {
        return Err(FileError {
            line: json.line,
            text: "`users` is an object: user to state, or to [state, version]".into(),
        });
    };
    if members.is_empty() {
        return Err(FileError {
            line: json.line,
            text: "`users` is empty: whatever is shown would be right; name a user".into(),
        });
    }
    members
        .iter()
        .map(|member| match &member.value.kind {
            JsonKind::List(items) => match &items[..] {
                [what, version] => Ok((
                    member.key.clone(),
                    state(what, "users")?,
                    Some(whole(version, "version")?),
                )),
                _ => Err(FileError {
                    line: member.line,
                    text: "a user's view is a state or [state, version]".into(),
                }),
            },
            _ => Ok((member.key.clone(), state(&member.value, "users")?, None)),
        })
        .collect()
}

pub(super) fn shown(json: &Json) -> Result<ShownState, FileError> {
    match &json.kind {
        JsonKind::List(items) => match &items[..] {
            [what, from, to] => {
                let from = span(from, "from")?.0;
                let to = span(to, "to")?.0;
                Ok((state(what, "states")?, Some(Window { from, to })))
            }
            _ => Err(FileError {
                line: json.line,
                text: "a shown state is a state or [state, from, to]".into(),
            }),
        },
        _ => Ok((state(json, "states")?, None)),
    }
}

pub(super) fn link_name(json: &Json) -> Result<String, FileError> {
    let known = LINKS.map(|(name, ())| (name, name));
    super::super::fields::choice(json, "is", &known).map(str::to_owned)
}

/// Ends of connections that have no close code of ours: (name, number).
const ENDS: [(&str, u16); 2] = [("bye", 1000), ("lost", 1006)];

/// How a connection's end is called.
pub(crate) fn end_name(code: u16) -> String {
    match CloseCode::from_number(code) {
        Some(it) => it.name().into(),
        None => {
            ENDS.iter().find(|it| it.1 == code).map_or_else(|| code.to_string(), |it| it.0.into())
        }
    }
}

/// The close code of this name, or number.
pub(super) fn code(json: &Json, key: &str) -> Result<u16, FileError> {
    let ours = CloseCode::ALL.iter().map(|it| (it.name(), it.number()));
    let known: Vec<(&str, u16)> = ours.chain(ENDS).collect();
    let number = match &json.kind {
        JsonKind::Number(_) => Some(whole(json, key)?),
        JsonKind::Text(text) => text.parse().ok(),
        _ => None,
    };
    match number {
        Some(number) => match known.iter().find(|it| u64::from(it.1) == number) {
            Some(it) => Ok(it.1),
            None => Err(FileError {
                line: json.line,
                text: format!("`{key}` knows no close code {number}: the protocol lists them"),
            }),
        },
        None => super::super::fields::choice(json, key, &known),
    }
}

/// How a frame may be answered: an error, a frame of another kind, or the connection's end.
pub(super) fn answer(json: &Json) -> Result<String, FileError> {
    let errors = ErrorCode::ALL.iter().map(|it| it.name());
    let frames = ServerKind::ALL.iter().map(|it| it.name());
    let ends = CloseCode::ALL.iter().map(|it| it.name()).chain(ENDS.map(|it| it.0));
    let known: Vec<(&str, &str)> = errors.chain(frames).chain(ends).map(|it| (it, it)).collect();
    super::super::fields::choice(json, "is", &known).map(str::to_owned)
}

/// An object of users and their states.
pub(super) fn user_states(json: &Json, key: &str) -> Result<Vec<(String, State)>, FileError> {
    let JsonKind::Map(members) = &json.kind else {
        let text = format!("`{key}` is an object: user to state");
        return Err(FileError { line: json.line, text });
    };
    members.iter().map(|it| Ok((it.key.clone(), state(&it.value, key)?))).collect()
}
