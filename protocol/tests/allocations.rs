//! Whatever a length or a count promises: what decoding allocates is bounded by what has arrived.

use allocation_counter::measure;
use greendot_protocol::limits::{CLIENT_FRAME_BYTES, SERVER_FRAME_BYTES, SERVER_JSON_BYTES};
use greendot_protocol::{binary, json};
use proptest::collection::vec;
use proptest::prelude::*;

/// Bytes of memory that a byte of a frame may come to: an entry of three bytes fills 48.
const PER_BYTE: u64 = 16;

/// What an error and the like take, however short the frame.
const BESIDES: u64 = 1024;

/// Decodes the bytes as each side would, in both encodings.
fn decode_all(bytes: &[u8]) {
    let decode: [(&str, &dyn Fn()); 4] = [
        ("a client's, in binary", &|| drop(binary::decode_client(bytes))),
        ("a server's, in binary", &|| drop(binary::decode_server(bytes))),
        ("a client's, in JSON", &|| {
            if let Ok(Some(read)) = json::decode_client(bytes) {
                drop(read.frame());
            }
        }),
        ("a server's, in JSON", &|| {
            if let Ok(Some(read)) = json::decode_server(bytes) {
                drop(read.frame());
            }
        }),
    ];
    for (what, decode) in decode {
        let most = measure(decode).bytes_max;
        let allowed = bytes.len() as u64 * PER_BYTE + BESIDES;
        assert!(most <= allowed, "{what}: {most} bytes for a frame of {}", bytes.len());
    }
}

#[test]
fn a_count_or_length_reserves_no_more_than_the_frame_can_hold() {
    let promises: [&[u8]; 4] = [&[0xff; 9], &[0xff, 0xff, 0xff, 0xff], &[0xff, 0xff], &[0x7f]];
    for kind in 0..=20u8 {
        for promise in promises {
            // The promise at each place where a field may begin, then nothing or a lot.
            for before in 0..8 {
                for behind in [0, 1, 40, CLIENT_FRAME_BYTES] {
                    for filler in [0, 1, 0xff] {
                        let mut bytes = vec![kind];
                        bytes.resize(1 + before, 1);
                        bytes.extend(promise);
                        bytes.push(1);
                        bytes.resize(bytes.len() + behind, filler);
                        decode_all(&bytes);
                    }
                }
            }
        }
    }
}

#[test]
fn the_most_that_a_frame_can_hold_stays_within_the_bound() {
    let packed = |head: &[u8], item: &[u8], size: usize| {
        let items = size / item.len();
        let mut bytes = head.to_vec();
        let mut count = items as u32;
        while count >= 0x80 {
            bytes.push(count as u8 | 0x80);
            count >>= 7;
        }
        bytes.push(count as u8);
        bytes.extend(item.repeat(items));
        bytes
    };
    decode_all(&packed(&[3, 1], &[1, 0], CLIENT_FRAME_BYTES));
    decode_all(&packed(&[4], &[1], CLIENT_FRAME_BYTES));
    decode_all(&packed(&[3, 1, 1], &[1, 1, 1], SERVER_FRAME_BYTES));
    decode_all(&packed(&[4, 1], &[1, 1, 1], SERVER_FRAME_BYTES));

    let listed = |head: &str, item: &str, size: usize| {
        let items = vec![item; size / (item.len() + 1)].join(",");
        format!("{head}[{items}]}}").into_bytes()
    };
    let user = r#"{"number":0,"user":""}"#;
    decode_all(&listed(r#"{"type":"watch","request":1,"users":"#, user, CLIENT_FRAME_BYTES));
    decode_all(&listed(r#"{"type":"unwatch","numbers":"#, "0", CLIENT_FRAME_BYTES));
    let entry = r#"{"number":0,"state":"dnd","version":0}"#;
    decode_all(&listed(r#"{"type":"events","epoch":1,"entries":"#, entry, SERVER_JSON_BYTES));
    let escaped = r"\u0001".repeat(CLIENT_FRAME_BYTES / 6);
    decode_all(format!(r#"{{"type":"note","note":"{escaped}"}}"#).as_bytes());
    decode_all(format!(r#"{{"type":"idle","x":{}"#, "[".repeat(CLIENT_FRAME_BYTES)).as_bytes());
    decode_all(format!(r#"{{"{escaped}":1}}"#).as_bytes());
}

proptest! {
    #[test]
    fn so_it_is_with_any_bytes(bytes in vec(any::<u8>(), 0..400)) {
        decode_all(&bytes);
    }

    #[test]
    fn so_it_is_with_any_bytes_behind_a_known_kind(
        kind in 0..12u8,
        bytes in vec(any::<u8>(), 0..400),
    ) {
        decode_all(&[&[kind], &*bytes].concat());
    }
}
