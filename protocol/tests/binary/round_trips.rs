//! What is written is read again as it was, whatever a later version adds behind it.

use greendot_protocol::ServerFrame;
use greendot_protocol::binary::{
    decode_but_sessions, decode_client, decode_server, encode_client, encode_server,
};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::common::frames::{client_parts, server_parts, with_client_frame, with_server_frame};

proptest! {
    #[test]
    fn a_clients_frame_comes_back(parts in client_parts(), behind in vec(any::<u8>(), 0..20)) {
        with_client_frame(&parts, |frame| {
            let mut bytes = Vec::new();
            encode_client(frame, &mut bytes);
            assert_eq!(decode_client(&bytes).as_ref(), Ok(&Some(frame.clone())));
            bytes.extend(behind);
            assert_eq!(decode_client(&bytes).as_ref(), Ok(&Some(frame.clone())));
        });
    }

    #[test]
    fn a_servers_frame_comes_back(parts in server_parts(), behind in vec(any::<u8>(), 0..20)) {
        with_server_frame(&parts, |frame| {
            let mut bytes = Vec::new();
            encode_server(frame, &mut bytes);
            assert_eq!(decode_server(&bytes).as_ref(), Ok(&Some(frame.clone())));
            let but = Some(frame.clone()).filter(|it| !matches!(it, ServerFrame::Sessions(_)));
            assert_eq!(decode_but_sessions(&bytes), Ok(but));
            bytes.extend(behind);
            assert_eq!(decode_server(&bytes).as_ref(), Ok(&Some(frame.clone())));
        });
    }

    #[test]
    fn encoding_appends_and_disturbs_nothing_before(parts in client_parts()) {
        with_client_frame(&parts, |frame| {
            let mut alone = Vec::new();
            encode_client(frame, &mut alone);
            let mut behind = b"before".to_vec();
            encode_client(frame, &mut behind);
            assert_eq!(behind, [b"before", &*alone].concat());
        });
    }
}
