//! Any bytes in binary: read as either side's frame without a panic and without much memory.
#![no_main]

use greendot_protocol::binary::{decode_client, decode_server};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = decode_client(bytes);
    let _ = decode_server(bytes);
});
