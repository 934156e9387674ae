//! What is written is read again as it was, and means what the binary encoding of it means.

use greendot_protocol::{binary, json};
use proptest::prelude::*;

use crate::common::frames::{client_parts, server_parts, with_client_frame, with_server_frame};

proptest! {
    #[test]
    fn a_clients_frame_comes_back(parts in client_parts()) {
        with_client_frame(&parts, |frame| {
            let mut text = Vec::new();
            json::encode_client(frame, &mut text);
            let read = json::decode_client(&text).unwrap().unwrap();
            assert_eq!(&read.frame(), frame);

            let mut bytes = Vec::new();
            binary::encode_client(&read.frame(), &mut bytes);
            assert_eq!(binary::decode_client(&bytes).as_ref(), Ok(&Some(frame.clone())));
        });
    }

    #[test]
    fn a_servers_frame_comes_back(parts in server_parts()) {
        with_server_frame(&parts, |frame| {
            let mut text = Vec::new();
            json::encode_server(frame, &mut text);
            let read = json::decode_server(&text).unwrap().unwrap();
            assert_eq!(&read.frame(), frame);

            let mut bytes = Vec::new();
            binary::encode_server(&read.frame(), &mut bytes);
            assert_eq!(binary::decode_server(&bytes).as_ref(), Ok(&Some(frame.clone())));
        });
    }

    #[test]
    fn a_frame_begins_with_its_type_and_is_one_line(parts in server_parts()) {
        with_server_frame(&parts, |frame| {
            let mut text = b"before".to_vec();
            json::encode_server(frame, &mut text);
            let text = String::from_utf8(text).unwrap();
            let head = format!("before{{\"type\":\"{}\"", frame.kind().name());
            assert!(text.starts_with(&head) && !text.contains('\n'), "{text}");
        });
    }
}
