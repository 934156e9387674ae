//! What happened, in words, for people.

/// The trace; empty unless asked for, since most runs hold.
#[derive(Debug)]
pub(super) struct Trace {
    on: bool,
    lines: Vec<(u64, String)>,
}

impl Trace {
    pub(super) fn new(on: bool) -> Self {
        Self { on, lines: Vec::new() }
    }

    pub(super) fn add(&mut self, at: u64, line: impl FnOnce() -> String) {
        if self.on {
            self.lines.push((at, line()));
        }
    }

    pub(super) fn lines(&self) -> &[(u64, String)] {
        &self.lines
    }
}
