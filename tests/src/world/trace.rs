//! What happened, in words, for people.

use greendot_protocol::{ClientFrame, ServerFrame, json};

/// A frame in the words of the protocol.
pub(super) fn client_words(frame: &ClientFrame<'_>) -> String {
    let mut text = Vec::new();
    json::encode_client(frame, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// A frame in the words of the protocol.
pub(super) fn server_words(frame: &ServerFrame<'_>) -> String {
    let mut text = Vec::new();
    json::encode_server(frame, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

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
