//! The processes of clients, as the one that leads has them.

use std::io;
use std::path::Path;

use super::outcome::Outcome;
use crate::piped::Piped;

/// What processes of clients are told, a line each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// Live.
    Live,
    /// Do nothing any more.
    Quiet,
    /// A server fails, or the store they all know their users by.
    Fails {
        /// Whether it is the store.
        store: bool,
    },
    /// It works again.
    Works {
        /// Whether it is the store.
        store: bool,
    },
    /// From now on somebody waits for a processor: what happens may be told late.
    Starves,
    /// Nobody does any more.
    Runs,
    /// Say what everybody sees, and what came about since the last time.
    Judge,
}

const WORDS: [(&str, Word); 9] = [
    ("live", Word::Live),
    ("quiet", Word::Quiet),
    ("server fails", Word::Fails { store: false }),
    ("server works", Word::Works { store: false }),
    ("store fails", Word::Fails { store: true }),
    ("store works", Word::Works { store: true }),
    ("machine starves", Word::Starves),
    ("machine runs", Word::Runs),
    ("judge", Word::Judge),
];

impl Word {
    pub(super) fn parse(line: &str) -> Option<Self> {
        WORDS.iter().find(|it| it.0 == line).map(|it| it.1)
    }

    fn text(self) -> &'static str {
        WORDS.iter().find(|it| it.1 == self).map_or("", |it| it.0)
    }
}

/// All of them.
#[derive(Debug)]
pub struct Workers(Vec<Piped>);

impl Workers {
    /// Starts so many of this program with these arguments and `--worker NUMBER`.
    ///
    /// # Errors
    ///
    /// If one cannot be started.
    pub fn start(count: usize, program: &Path, args: &[String]) -> io::Result<Self> {
        let mut workers = Vec::new();
        for number in 0..count {
            let numbered = ["--worker".to_owned(), number.to_string()];
            workers.push(Piped::start(program, &[args, &numbered].concat())?);
        }
        Ok(Self(workers))
    }

    pub(super) fn pids(&self) -> Vec<u32> {
        self.0.iter().map(Piped::pid).collect()
    }

    /// Waits until all their clients are in.
    ///
    /// # Errors
    ///
    /// If a process ends instead.
    pub fn are_in(&mut self) -> io::Result<()> {
        for worker in &mut self.0 {
            worker.said()?;
        }
        Ok(())
    }

    /// Tells all of them.
    ///
    /// # Errors
    ///
    /// If one has ended.
    pub fn tell(&mut self, word: Word) -> io::Result<()> {
        for worker in &mut self.0 {
            worker.tell(word.text())?;
        }
        Ok(())
    }

    /// What came about at all of them since this was asked last, and what everybody sees now.
    ///
    /// # Errors
    ///
    /// If one has ended.
    pub fn judge(&mut self) -> io::Result<Outcome> {
        self.tell(Word::Judge)?;
        let mut all = Outcome::default();
        for worker in &mut self.0 {
            let line = worker.said()?;
            let json = serde_json::from_str(&line).ok();
            let outcome = json.as_ref().and_then(Outcome::from_json);
            all.add(outcome.ok_or_else(|| io::Error::other("a process of clients is unclear"))?);
        }
        Ok(all)
    }
}
