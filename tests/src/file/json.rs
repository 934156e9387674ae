//! JSON with line numbers.

use jsonc_parser::ast::{ObjectPropName, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions};

use super::FileError;
use super::write::quote;

/// A value and the line it begins on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Json {
    pub(super) line: usize,
    pub(super) kind: JsonKind,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum JsonKind {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Map(Vec<Member>),
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Member {
    pub(super) line: usize,
    pub(super) key: String,
    pub(super) value: Json,
}

impl Json {
    pub(super) fn parse(text: &str) -> Result<Self, FileError> {
        let strict = ParseOptions {
            allow_comments: false,
            allow_loose_object_property_names: false,
            allow_trailing_commas: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        let parsed = jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &strict)
            .map_err(|error| FileError {
                line: error.line_display(),
                text: format!("this is no JSON: {}", error.kind()),
            })?;
        // The parser passes them over, and nobody would see them.
        if let Some(at) = text.find(|it: char| it < ' ' && !it.is_ascii_whitespace()) {
            let line = Lines::of(text).at(at);
            let text =
                "this is no JSON: it holds a control character; write that as \\u and four digits";
            return Err(FileError { line, text: text.into() });
        }
        let value =
            parsed.value.ok_or_else(|| FileError { line: 0, text: "the file is empty".into() })?;
        Self::convert(&value, &Lines::of(text))
    }

    fn convert(value: &Value<'_>, lines: &Lines) -> Result<Self, FileError> {
        let line = lines.at(value.start());
        let kind = match value {
            Value::NullKeyword(_) => JsonKind::Null,
            Value::BooleanLit(it) => JsonKind::Bool(it.value),
            Value::StringLit(it) => JsonKind::Text(it.value.to_string()),
            Value::NumberLit(it) => JsonKind::Number(it.value.parse().map_err(|_| FileError {
                line,
                text: format!("{} is no number that can be used", it.value),
            })?),
            Value::Array(it) => JsonKind::List(
                it.elements.iter().map(|it| Self::convert(it, lines)).collect::<Result<_, _>>()?,
            ),
            Value::Object(it) => {
                let mut members: Vec<Member> = Vec::new();
                for prop in &it.properties {
                    let key = match &prop.name {
                        ObjectPropName::String(it) => it.value.to_string(),
                        ObjectPropName::Word(it) => it.value.to_string(),
                    };
                    let line = lines.at(prop.range.start);
                    if members.iter().any(|it| it.key == key) {
                        return Err(FileError { line, text: format!("`{key}` stands twice") });
                    }
                    members.push(Member { line, key, value: Self::convert(&prop.value, lines)? });
                }
                JsonKind::Map(members)
            }
        };
        Ok(Self { line, kind })
    }

    /// The value as it would stand in a file, on one line.
    pub(super) fn words(&self) -> String {
        match &self.kind {
            JsonKind::Text(text) => quote(text),
            JsonKind::List(items) => {
                let items: Vec<String> = items.iter().map(Self::words).collect();
                format!("[{}]", items.join(", "))
            }
            JsonKind::Map(members) => {
                let members: Vec<String> = members
                    .iter()
                    .map(|it| format!("{}: {}", quote(&it.key), it.value.words()))
                    .collect();
                format!("{{{}}}", members.join(", "))
            }
            JsonKind::Null | JsonKind::Bool(_) | JsonKind::Number(_) => self.describe(),
        }
    }

    /// What the value is, for error messages.
    pub(super) fn describe(&self) -> String {
        match &self.kind {
            JsonKind::Null => "null".into(),
            JsonKind::Bool(it) => it.to_string(),
            // Not with hundreds of digits.
            JsonKind::Number(it) if it.abs() >= 1e15 || (*it != 0.0 && it.abs() < 1e-6) => {
                format!("{it:e}")
            }
            JsonKind::Number(it) => it.to_string(),
            JsonKind::Text(it) => quote(it),
            JsonKind::List(_) => "a list".into(),
            JsonKind::Map(_) => "an object".into(),
        }
    }
}

/// Where the lines of a text begin.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(at, _)| at).collect())
    }

    fn at(&self, offset: usize) -> usize {
        self.0.partition_point(|&end| end < offset) + 1
    }
}
