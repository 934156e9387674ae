//! Any bytes as JSON: read as either side's frame without a panic and without much memory.
#![no_main]

use greendot_protocol::json::{decode_client, decode_server};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(Some(read)) = decode_client(bytes) {
        let _ = read.frame();
    }
    if let Ok(Some(read)) = decode_server(bytes) {
        let _ = read.frame();
    }
});
