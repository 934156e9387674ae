//! Texts that no peer of ours would send.

use greendot_protocol::json::{Fault, decode_client, decode_server, encode_client, encode_server};
use greendot_protocol::limits::INPUT_AGE_SECS;
use greendot_protocol::{Beat, ClientFrame, CloseCode, Entry, Hello, Mode, ServerFrame, State};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::common::frames::{client_parts, server_parts, with_client_frame, with_server_frame};

/// What a client's text comes to: the frame, nothing, or what is wrong with it.
fn client<R>(text: &str, check: impl FnOnce(Result<Option<&ClientFrame<'_>>, Fault>) -> R) -> R {
    match decode_client(text.as_bytes()) {
        Ok(read) => check(Ok(read.as_ref().map(|it| it.frame()).as_ref())),
        Err(error) => check(Err(error.fault())),
    }
}

fn fault(text: &str) -> Fault {
    client(text, |read| read.expect_err(text))
}

fn reads_as(text: &str, frame: &ClientFrame<'_>) {
    client(text, |read| assert_eq!(read, Ok(Some(frame)), "{text}"));
}

fn server_reads_as(text: &str, frame: Option<&ServerFrame<'_>>) {
    let read = decode_server(text.as_bytes()).expect(text);
    assert_eq!(read.as_ref().map(|it| it.frame()).as_ref(), frame, "{text}");
}

proptest! {
    #[test]
    fn no_bytes_are_met_with_a_panic(bytes in vec(any::<u8>(), 0..200)) {
        let _ = decode_client(&bytes);
        let _ = decode_server(&bytes);
    }

    #[test]
    fn a_clients_frame_cut_short_is_no_frame(parts in client_parts()) {
        with_client_frame(&parts, |frame| {
            let mut text = Vec::new();
            encode_client(frame, &mut text);
            for len in 0..text.len() {
                let error = decode_client(&text[..len]).err().expect("cut short");
                assert_eq!(error.fault(), Fault::Syntax, "{len}");
            }
        });
    }

    #[test]
    fn a_servers_frame_with_one_byte_changed_is_met_with_no_panic(
        parts in server_parts(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        with_server_frame(&parts, |frame| {
            let mut text = Vec::new();
            encode_server(frame, &mut text);
            let at = at.index(text.len());
            text[at] = byte;
            let _ = decode_server(&text);
        });
    }
}

#[test]
fn what_is_no_json_is_refused() {
    for text in
        ["", " ", "nonsense", "{", r#"{"type":"idle"} x"#, r#"{"type":"idle",}"#, "\u{feff}{}"]
    {
        assert_eq!(fault(text), Fault::Syntax, "{text}");
    }
    // Half a character, in either of the two ways that JSON has.
    assert_eq!(fault(r#"{"type":"note","note":"\ud800"}"#), Fault::Syntax);
    let error = decode_client(b"{\"type\":\"note\",\"note\":\"\xc3\x28\"}").err().expect("refused");
    assert_eq!(error.fault(), Fault::Syntax);
}

#[test]
fn what_is_no_frame_is_refused() {
    for text in [
        "null",
        "[]",
        "{}",
        r#"{"type":1}"#,
        r#"{"type":"idle","type":"idle"}"#,
        // A field missing, of another type, twice, or out of bounds.
        r#"{"type":"beat"}"#,
        r#"{"type":"beat","number":"1"}"#,
        r#"{"type":"beat","number":null}"#,
        r#"{"type":"beat","number":1,"number":1}"#,
        r#"{"type":"beat","number":256}"#,
        r#"{"type":"beat","number":-1}"#,
        r#"{"type":"beat","number":1.0}"#,
        r#"{"type":"beat","number":1e0}"#,
        r#"{"type":"watch","request":4294967296,"users":[]}"#,
        r#"{"type":"mode","mode":"asleep"}"#,
        r#"{"type":"mode","mode":{"auto":null}}"#,
        r#"{"type":"hello","idle_after_ms":4294967295001}"#,
        // An array where an object belongs: serde by itself would take the fields in order.
        r#"["beat",1]"#,
        r#"{"type":"watch","request":1,"users":[[1,"ana"]]}"#,
    ] {
        assert_eq!(fault(text), Fault::Field, "{text}");
    }
}

#[test]
fn an_error_says_where_and_what() {
    let error = decode_client(br#"{"type":"beat","nr":7}"#).err().expect("refused");
    let text = error.to_string();
    assert!(text.contains("`number`"), "{text}");
}

#[test]
fn what_a_later_version_can_say_is_read_as_far_as_it_is_known_here() {
    client(r#"{"type":"dance","with":["ana"]}"#, |read| assert_eq!(read, Ok(None)));
    server_reads_as(r#"{"type":"dance"}"#, None);
    server_reads_as(r#"{"type":"close","code":"tired","retry_after_ms":0}"#, None);
    reads_as(r#"{"type":"idle","since":{"deep":[{}]}}"#, &ClientFrame::Idle);
    let beat = ClientFrame::Beat(Beat { number: 7, input_age_secs: None });
    reads_as(r#"{"number":7,"mood":"good","mood":"bad","type":"beat"}"#, &beat);
    let entries = vec![Entry { number: 5, state: State::Unknown, ..Entry::default() }];
    let events = ServerFrame::Events { epoch: greendot_protocol::Epoch(9), entries };
    let text =
        r#"{"type":"events","epoch":9,"entries":[{"number":5,"state":"asleep","version":0}]}"#;
    server_reads_as(text, Some(&events));
}

#[test]
fn optional_fields_may_be_absent_or_null() {
    let bare = Hello { session: "1", token: "t", ..Hello::default() };
    let bare = ClientFrame::Hello(bare);
    reads_as(r#"{"type":"hello","session":"1","token":"t"}"#, &bare);
    let nulls = r#"{"type":"hello","session":"1","token":"t","passive":null,"idle":null,
        "input_age_ms":null,"idle_after_ms":null,"mode":null}"#;
    reads_as(nulls, &bare);
    // These are for the server to refuse, which knows better words for it than "unreadable".
    reads_as(r#"{"type":"hello"}"#, &ClientFrame::Hello(Hello::default()));
}

#[test]
fn names_may_be_escaped() {
    reads_as(r#"{"t\u0079pe":"m\u006fde","mode":"\u0061uto"}"#, &ClientFrame::Mode(Mode::Auto));
    reads_as(r#"{"type":"note","note":"\ud83d\ude00\n"}"#, &ClientFrame::Note("😀\n"));
}

#[test]
fn seconds_are_made_of_milliseconds_without_harm() {
    let hello = |input_age_secs, idle_after_secs| {
        ClientFrame::Hello(Hello { input_age_secs, idle_after_secs, ..Hello::default() })
    };
    reads_as(r#"{"type":"hello","input_age_ms":1999}"#, &hello(Some(1), None));
    reads_as(
        r#"{"type":"hello","input_age_ms":18446744073709551615}"#,
        &hello(Some(INPUT_AGE_SECS), None),
    );
    // Less than a second is not "never".
    reads_as(r#"{"type":"hello","idle_after_ms":1}"#, &hello(None, Some(1)));
    reads_as(r#"{"type":"hello","idle_after_ms":0}"#, &hello(None, Some(0)));
    reads_as(r#"{"type":"hello","idle_after_ms":4294967295000}"#, &hello(None, Some(u32::MAX)));
}

#[test]
fn every_close_code_goes_by_its_name() {
    for &code in CloseCode::ALL {
        let text = format!(r#"{{"type":"close","code":"{}","retry_after_ms":1}}"#, code.name());
        let retry_after = greendot_protocol::Span::from_millis(1);
        server_reads_as(&text, Some(&ServerFrame::Close { code, retry_after }));
    }
}

#[test]
fn depth_costs_no_stack() {
    let deep = format!(r#"{{"type":"idle","x":{}"#, "[".repeat(30_000));
    assert_eq!(fault(&deep), Fault::Syntax);
}
