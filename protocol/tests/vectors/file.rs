//! The files: one vector a line, each line a JSON object.

use std::fs;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::value::RawValue;

/// Frames in both encodings, each the one way it is written.
pub(crate) const FRAMES: &str = "frames.jsonl";
/// What is never written so by this version, and must be read all the same.
pub(crate) const LENIENT: &str = "lenient.jsonl";
/// What must be refused.
pub(crate) const HOSTILE: &str = "hostile.jsonl";

pub(crate) const ALL: [&str; 3] = [FRAMES, LENIENT, HOSTILE];

/// One line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Vector {
    pub(crate) name: String,
    pub(crate) from: Side,
    /// For people: what it means, or what is wrong with it.
    pub(crate) says: String,
    /// The frame in binary, in hexadecimal digits.
    pub(crate) bin: Option<String>,
    /// The frame in JSON.
    pub(crate) json: Option<Box<RawValue>>,
    /// What is no good JSON, or not the one way to write it, as text.
    pub(crate) text: Option<String>,
    /// The frame that it is read as; null: it is passed over.
    #[serde(default, deserialize_with = "even_null")]
    pub(crate) reads_as: Option<Box<RawValue>>,
    /// The error that it gets.
    pub(crate) error: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Side {
    Client,
    Server,
}

pub(crate) fn path(file: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "vectors", "v1", file].iter().collect()
}

pub(crate) fn lines(file: &str) -> Vec<String> {
    let text = fs::read_to_string(path(file)).expect(file);
    text.lines().map(Into::into).collect()
}

pub(crate) fn vectors(file: &str) -> Vec<Vector> {
    let parse =
        |line: &String| serde_json::from_str(line).unwrap_or_else(|it| panic!("{it}: {line}"));
    lines(file).iter().map(parse).collect()
}

impl Vector {
    /// The bytes of `bin`.
    pub(crate) fn bytes(&self) -> Option<Vec<u8>> {
        let digits = self.bin.as_ref()?;
        let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).expect(&self.name);
        Some((0..digits.len()).step_by(2).map(byte).collect())
    }
}

/// Null as a value of its own, apart from absence.
fn even_null<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(from).map(Some)
}
