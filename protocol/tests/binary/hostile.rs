//! Bytes that no peer of ours would send.

use greendot_protocol::binary::{
    DecodeError, decode_client, decode_server, encode_client, encode_server,
};
use greendot_protocol::limits::INPUT_AGE_SECS;
use greendot_protocol::{
    Beat, ClientFrame, CloseCode, Entry, Epoch, ErrorCode, Hello, ServerFrame, Span, State,
    Version, Welcome,
};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::common::frames::{client_parts, server_parts, with_client_frame, with_server_frame};

/// A welcome may end before its last field, which came later than the rest.
fn is_whole_without_last_field(frame: &ServerFrame<'_>, missing: &[u8]) -> bool {
    let ServerFrame::Welcome(welcome) = frame else { return false };
    let mut last = Vec::new();
    encode_server(&ServerFrame::Token { lasts: welcome.token }, &mut last);
    last[1..] == *missing
}

proptest! {
    #[test]
    fn no_bytes_are_met_with_a_panic(bytes in vec(any::<u8>(), 0..200)) {
        let _ = decode_client(&bytes);
        let _ = decode_server(&bytes);
    }

    #[test]
    fn no_bytes_behind_a_known_kind_are_met_with_a_panic(
        kind in 0..16u8,
        bytes in vec(any::<u8>(), 0..200),
    ) {
        let bytes = [&[kind], &*bytes].concat();
        let _ = decode_client(&bytes);
        let _ = decode_server(&bytes);
    }

    #[test]
    fn a_clients_frame_cut_short_is_no_frame(parts in client_parts()) {
        with_client_frame(&parts, |frame| {
            let mut bytes = Vec::new();
            encode_client(frame, &mut bytes);
            for len in 0..bytes.len() {
                assert_eq!(decode_client(&bytes[..len]), Err(DecodeError::Truncated), "{len}");
            }
        });
    }

    #[test]
    fn a_servers_frame_cut_short_is_no_frame(parts in server_parts()) {
        with_server_frame(&parts, |frame| {
            let mut bytes = Vec::new();
            encode_server(frame, &mut bytes);
            for len in 0..bytes.len() {
                if is_whole_without_last_field(frame, &bytes[len..]) {
                    continue;
                }
                assert_eq!(decode_server(&bytes[..len]), Err(DecodeError::Truncated), "{len}");
            }
        });
    }

    #[test]
    fn a_frame_with_one_byte_changed_is_met_with_no_panic(
        client in client_parts(),
        server in server_parts(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        with_client_frame(&client, |frame| {
            let mut bytes = Vec::new();
            encode_client(frame, &mut bytes);
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let _ = decode_client(&bytes);
        });
        with_server_frame(&server, |frame| {
            let mut bytes = Vec::new();
            encode_server(frame, &mut bytes);
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let _ = decode_server(&bytes);
        });
    }

    #[test]
    fn what_is_reserved_for_a_watch_is_bounded_by_the_frame(
        promised in any::<u32>(),
        behind in vec(any::<u8>(), 0..400),
    ) {
        // A watch that promises that many users, and whatever follows.
        let mut bytes = vec![3, 1];
        put_varint(&mut bytes, promised);
        bytes.extend(&behind);
        if let Ok(Some(ClientFrame::Watch { users, .. })) = decode_client(&bytes) {
            prop_assert!(users.capacity() <= behind.len() / 2);
        } else if promised as usize > behind.len() / 2 {
            prop_assert_eq!(decode_client(&bytes), Err(DecodeError::Truncated));
        }
    }

    #[test]
    fn what_is_reserved_for_events_is_bounded_by_the_frame(
        promised in any::<u32>(),
        behind in vec(any::<u8>(), 0..400),
    ) {
        let mut bytes = vec![4, 1];
        put_varint(&mut bytes, promised);
        bytes.extend(&behind);
        if let Ok(Some(ServerFrame::Events { entries, .. })) = decode_server(&bytes) {
            prop_assert!(entries.capacity() <= behind.len() / 3);
        } else if promised as usize > behind.len() / 3 {
            prop_assert_eq!(decode_server(&bytes), Err(DecodeError::Truncated));
        }
    }
}

#[test]
fn kinds_of_later_versions_are_passed_over() {
    for kind in (128..=255).chain([0]) {
        assert_eq!(decode_client(&[kind, 1, 2, 3]), Ok(None));
        assert_eq!(decode_server(&[kind, 1, 2, 3]), Ok(None));
    }
}

#[test]
fn nothing_is_no_frame() {
    assert_eq!(decode_client(&[]), Err(DecodeError::Truncated));
    assert_eq!(decode_server(&[]), Err(DecodeError::Truncated));
}

#[test]
fn a_number_too_large_for_its_field_is_refused() {
    // 2^32 as the age of the last input, then eleven bytes that never end.
    assert_eq!(decode_client(&[2, 1, 0x80, 0x80, 0x80, 0x80, 0x10]), Err(DecodeError::Overflow));
    assert_eq!(decode_client(&[&[2, 1], &[0xff; 11][..]].concat()), Err(DecodeError::Overflow));
    // A close code above 65535.
    assert_eq!(decode_server(&[8, 0x80, 0x80, 0x04, 0]), Err(DecodeError::Overflow));
}

#[test]
fn a_text_that_is_not_utf_8_is_refused() {
    assert_eq!(decode_client(&[6, 2, 0xc3, 0x28]), Err(DecodeError::Text));
    // Cut inside a character.
    assert_eq!(decode_client(&[6, 1, 0xc3]), Err(DecodeError::Text));
}

#[test]
fn a_choice_of_no_alternative_is_refused() {
    assert_eq!(decode_client(&[5, 99]), Err(DecodeError::Choice));
    assert_eq!(decode_server(&[5, 99, 0]), Err(DecodeError::Choice));
}

#[test]
fn what_a_later_version_can_say_is_read_as_far_as_it_is_known_here() {
    // A close with a code of a later version is passed over: the close itself follows.
    assert_eq!(decode_server(&[8, 0xa3, 0x23, 0]), Ok(None));
    // An error unknown here is one all the same.
    let other = ServerFrame::Error { code: ErrorCode::Other, about: 3, text: "x" };
    assert_eq!(decode_server(&[6, 77, 3, 1, b'x']), Ok(Some(other)));
    // A state of a later version, and an entry with an extension between two ordinary ones.
    let ordinary = [5, 1, 2];
    let extended = [6, 0x80 | 7, 3, 2, 0xaa, 0xbb];
    let bytes = [&[4, 9, 3], &ordinary[..], &extended, &ordinary].concat();
    let entry = |number, state, version| Entry {
        number,
        state,
        version: Version(version),
        ..Entry::default()
    };
    let entries =
        vec![entry(5, State::Online, 2), entry(6, State::Unknown, 3), entry(5, State::Online, 2)];
    assert_eq!(decode_server(&bytes), Ok(Some(ServerFrame::Events { epoch: Epoch(9), entries })));
}

#[test]
fn ages_of_input_beyond_the_limit_are_told_as_the_limit() {
    let mut bytes = Vec::new();
    let beat = |age| ClientFrame::Beat(Beat { number: 1, input_age_secs: Some(age) });
    encode_client(&beat(u32::MAX), &mut bytes);
    assert_eq!(decode_client(&bytes), Ok(Some(beat(INPUT_AGE_SECS))));
    bytes.clear();
    let hello = |age| ClientFrame::Hello(Hello { input_age_secs: Some(age), ..Hello::default() });
    encode_client(&hello(u32::MAX), &mut bytes);
    assert_eq!(decode_client(&bytes), Ok(Some(hello(INPUT_AGE_SECS))));
}

#[test]
fn the_longest_spans_and_the_highest_numbers_pass() {
    let mut bytes = Vec::new();
    let far = Span::from_millis(u64::MAX);
    let welcome = Welcome { ttl: far, ..Welcome::default() };
    encode_server(&ServerFrame::Welcome(welcome.clone()), &mut bytes);
    assert_eq!(decode_server(&bytes), Ok(Some(ServerFrame::Welcome(welcome))));
    bytes.clear();
    let close = ServerFrame::Close { code: CloseCode::Drain, retry_after: far };
    encode_server(&close, &mut bytes);
    assert_eq!(decode_server(&bytes), Ok(Some(close)));
}

fn put_varint(out: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
