//! What was read in binary and is written again, in either encoding, is read as the same frame.
#![no_main]

use greendot_protocol::{binary, json};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(Some(frame)) = binary::decode_client(bytes) {
        let (mut again, mut text) = (Vec::new(), Vec::new());
        binary::encode_client(&frame, &mut again);
        assert_eq!(binary::decode_client(&again).as_ref(), Ok(&Some(frame.clone())));
        json::encode_client(&frame, &mut text);
        let read = json::decode_client(&text).expect("what is written can be read");
        assert_eq!(read.expect("of a known kind").frame(), frame);
    }
    if let Ok(Some(frame)) = binary::decode_server(bytes) {
        let (mut again, mut text) = (Vec::new(), Vec::new());
        binary::encode_server(&frame, &mut again);
        assert_eq!(binary::decode_server(&again).as_ref(), Ok(&Some(frame.clone())));
        json::encode_server(&frame, &mut text);
        let read = json::decode_server(&text).expect("what is written can be read");
        assert_eq!(read.expect("of a known kind").frame(), frame);
    }
});
