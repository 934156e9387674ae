//! Names that are kept by the million.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

/// A name, in 24 bytes: in place up to 22 bytes, beside it if longer.
#[derive(Clone, PartialEq, Eq)]
pub struct Name(Text);

/// A short text ends where its place ends. So the last 16 bytes of one that has as many, as most ids do, lie in one piece
/// that a processor moves at once. What is put together from smaller or other pieces and then moved as a whole waits for
/// everything stored before it: the table of sessions took 50 ns more for a row.
#[derive(Clone, PartialEq, Eq)]
enum Text {
    Short { len: u8, text: [u8; SHORT] },
    Long(Box<str>),
}

/// The longest name that is kept in place.
const SHORT: usize = 22;
/// The part of it that is moved at once.
const PIECE: usize = 16;

impl Name {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            // It came in as text, so that it is text.
            Text::Short { .. } => std::str::from_utf8(self.as_bytes()).unwrap_or_default(),
            Text::Long(text) => text,
        }
    }

    /// The name as bytes, which costs less.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Text::Short { len, text } => &text[SHORT.saturating_sub(usize::from(*len))..],
            Text::Long(text) => text.as_bytes(),
        }
    }
}

impl Default for Name {
    #[inline]
    fn default() -> Self {
        Self(Text::Short { len: 0, text: [0; SHORT] })
    }
}

impl From<&str> for Name {
    // Else it comes back by memory, in pieces, and is read in words.
    #[inline(always)]
    fn from(name: &str) -> Self {
        let bytes = name.as_bytes();
        if bytes.len() > SHORT {
            return Self(Text::Long(name.into()));
        }
        let (first, last) = match (bytes.split_last_chunk::<PIECE>(), bytes.first_chunk::<8>()) {
            (Some((first, last)), Some(begin)) => {
                (leading(begin, first.len()), u128::from_be_bytes(*last))
            }
            _ => (0, number(bytes)),
        };
        let mut text = [0; SHORT];
        text[..2].copy_from_slice(&((first >> 32) as u16).to_be_bytes());
        text[2..6].copy_from_slice(&(first as u32).to_be_bytes());
        text[SHORT - PIECE..].copy_from_slice(&last.to_be_bytes());
        Self(Text::Short { len: bytes.len() as u8, text })
    }
}

/// Fewer than 16 bytes as one number: so they stay in registers.
#[inline]
fn number(bytes: &[u8]) -> u128 {
    match (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        (Some(begin), Some(end)) => {
            let first = leading(begin, bytes.len() - 8);
            u128::from(first) << 64 | u128::from(u64::from_be_bytes(*end))
        }
        _ => bytes.iter().fold(0, |it, &byte| it << 8 | u128::from(byte)),
    }
}

/// The first `count` of these bytes as a number.
#[inline]
fn leading(bytes: &[u8; 8], count: usize) -> u64 {
    let off = 64 - 8 * count as u32;
    u64::from_be_bytes(*bytes).checked_shr(off).unwrap_or(0)
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl PartialEq<str> for Name {
    #[inline]
    fn eq(&self, other: &str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_small() {
        assert_eq!(size_of::<Name>(), 24);
    }

    #[test]
    fn a_name_of_any_length_comes_back_as_it_went_in() {
        let longest = "Ünal-0123456789-abcdefghijklmnopqrstuvwxyz";
        for (end, _) in longest.char_indices() {
            let text = &longest[..end];
            let name = Name::from(text);
            assert_eq!(name.as_str(), text);
            assert_eq!(name, text);
            assert_eq!(name, Name::from(text));
            assert_ne!(name, Name::from("another"));
        }
        assert_eq!(Name::default(), "");
    }

    #[test]
    fn names_are_in_the_order_of_their_texts() {
        let mut texts =
            ["b", "ab", "a", "", "zz", "ab0123456789abcdef0123456789", "ab0123456789abcdef"];
        let mut names = texts.map(Name::from);
        texts.sort_unstable();
        names.sort_unstable();
        assert_eq!(names.each_ref().map(|it| it.as_str()), texts);
    }
}
