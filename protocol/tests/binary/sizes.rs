//! What the common frames take on the wire.

use greendot_protocol::binary::{encode_client, encode_server};
use greendot_protocol::limits::{INPUT_AGE_SECS, NOTE_BYTES, SERVER_FRAME_BYTES, WATCHES};
use greendot_protocol::{Beat, ClientFrame, Entry, Epoch, ServerFrame, Span, State, Version};

fn client(frame: &ClientFrame<'_>) -> usize {
    let mut bytes = Vec::new();
    encode_client(frame, &mut bytes);
    bytes.len()
}

fn server(frame: &ServerFrame<'_>) -> usize {
    let mut bytes = Vec::new();
    encode_server(frame, &mut bytes);
    bytes.len()
}

#[test]
fn a_beat_takes_at_most_4_bytes_and_its_answer_3() {
    for age in [None, Some(0), Some(126), Some(127), Some(INPUT_AGE_SECS), Some(u32::MAX)] {
        for number in [0, 255] {
            assert!(client(&ClientFrame::Beat(Beat { number, input_age_secs: age })) <= 4);
        }
    }
    assert!(server(&ServerFrame::BeatAnswer(255)) <= 3);
}

#[test]
fn an_event_in_a_batch_takes_at_most_8_bytes() {
    // Any user that one connection can watch, after two million changes; those who went were seen
    // within the last quarter of a minute.
    let entries: Vec<_> = (0..50)
        .map(|index: u32| Entry {
            number: WATCHES as u32 - index,
            state: State::ALL[index as usize % 5],
            version: Version((1 << 21) - 1),
            seen_ago: index.is_multiple_of(5).then_some(Span::from_millis(16_000)),
            coarse: false,
            note: "",
        })
        .collect();
    let head = server(&ServerFrame::Events { epoch: Epoch(u32::MAX), entries: Vec::new() });
    let all = server(&ServerFrame::Events { epoch: Epoch(u32::MAX), entries });
    assert!(all - head <= 50 * 8, "{all}");
    // And with the frame around them.
    assert!(all <= 50 * 8, "{all}");
}

#[test]
fn the_largest_snapshot_fits_a_frame() {
    let note = "n".repeat(NOTE_BYTES);
    let entry = Entry {
        number: u32::MAX,
        state: State::Busy,
        version: Version(u32::MAX),
        seen_ago: Some(Span::from_millis(u64::MAX)),
        coarse: true,
        note: &note,
    };
    let entries = vec![entry; WATCHES];
    let size = server(&ServerFrame::Snapshot { epoch: Epoch(u32::MAX), request: 1, entries });
    assert!(size <= SERVER_FRAME_BYTES, "{size}");
}
