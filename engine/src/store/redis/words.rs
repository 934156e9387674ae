//! The rows of words that scripts answer and publish: each word with its length before it, `3:ana`.

use std::str::FromStr;
use std::sync::Arc;

use greendot_protocol::Span;

/// Reads a row of words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words<'a> {
    left: &'a [u8],
}

/// A row that no script of this version writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BadWords;

type Read<T> = Result<T, BadWords>;

impl<'a> Words<'a> {
    pub(super) fn new(row: &'a [u8]) -> Self {
        Self { left: row }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    pub(super) fn text(&mut self) -> Read<&'a str> {
        let colon = self.left.iter().take(20).position(|it| *it == b':').ok_or(BadWords)?;
        let (length, rest) = self.left.split_at(colon);
        let length = std::str::from_utf8(length).ok().and_then(|it| it.parse().ok());
        let (word, left) = rest[1..].split_at_checked(length.ok_or(BadWords)?).ok_or(BadWords)?;
        self.left = left;
        std::str::from_utf8(word).map_err(|_| BadWords)
    }

    pub(super) fn name(&mut self) -> Read<Arc<str>> {
        self.text().map(Into::into)
    }

    pub(super) fn number<T: FromStr>(&mut self) -> Read<T> {
        self.text()?.parse().map_err(|_| BadWords)
    }

    pub(super) fn flag(&mut self) -> Read<bool> {
        Ok(self.text()? == "1")
    }

    pub(super) fn span(&mut self) -> Read<Span> {
        self.number().map(Span::from_millis)
    }

    /// A number, or none for an empty word.
    pub(super) fn maybe<T: FromStr>(&mut self) -> Read<Option<T>> {
        match self.text()? {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| BadWords),
        }
    }

    pub(super) fn maybe_span(&mut self) -> Read<Option<Span>> {
        Ok(self.maybe()?.map(Span::from_millis))
    }

    /// So many things as the next word says, each read in the same way.
    pub(super) fn several<T>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Read<T>,
    ) -> Read<Vec<T>> {
        let count: usize = self.number()?;
        // A count is believed as far as there are words for it.
        let mut all = Vec::with_capacity(count.min(self.left.len()));
        for _ in 0..count {
            all.push(read(self)?);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_they_were_put() {
        let mut words = Words::new(b"3:ana1:7:".get(..8).unwrap());
        assert_eq!(words.text(), Ok("ana"));
        assert_eq!(words.number(), Ok(7));
        assert!(words.is_empty());
        let mut words = Words::new(b"0:2:a:1:1");
        assert_eq!(words.maybe_span(), Ok(None));
        assert_eq!(words.text(), Ok("a:"));
        assert_eq!(words.flag(), Ok(true));
    }

    #[test]
    fn what_is_no_row_is_refused() {
        for row in [&b"5:ana"[..], b"ana", b"x:ana", b"", b"99999999999999999999999:a", b"1:\xff"] {
            assert_eq!(Words::new(row).text(), Err(BadWords), "{row:?}");
        }
        assert_eq!(Words::new(b"9:999999999").several(Words::flag), Err(BadWords));
    }
}
