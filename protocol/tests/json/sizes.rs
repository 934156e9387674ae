//! The limits of frames in JSON.

use greendot_protocol::json::encode_server;
use greendot_protocol::limits::{NOTE_BYTES, SERVER_JSON_BYTES, WATCHES};
use greendot_protocol::{Entry, Epoch, ServerFrame, Span, State, Version};

#[test]
fn the_largest_snapshot_fits_a_frame() {
    // Each byte of the note takes six.
    let note = "\u{1}".repeat(NOTE_BYTES);
    let entry = Entry {
        number: u32::MAX,
        state: State::Offline,
        version: Version(u32::MAX),
        seen_ago: Some(Span::from_millis(u64::MAX)),
        coarse: true,
        note: &note,
    };
    let entries = vec![entry; WATCHES];
    let mut text = Vec::new();
    encode_server(
        &ServerFrame::Snapshot { epoch: Epoch(u32::MAX), request: 1, entries },
        &mut text,
    );
    assert!(text.len() <= SERVER_JSON_BYTES, "{}", text.len());
}
