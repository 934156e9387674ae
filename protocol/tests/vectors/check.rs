//! Every vector, read and written.

use greendot_protocol::{ClientFrame, ServerFrame, binary, json};

use crate::file::{FRAMES, HOSTILE, LENIENT, Side, Vector, vectors};

/// What reading comes to: the frame as this version writes it in JSON, `null` if it is passed over,
/// or the name of the error.
type Outcome = Result<String, String>;

fn read(from: Side, encoded: &Encoded) -> Outcome {
    match (from, encoded) {
        (Side::Client, Encoded::Binary(bytes)) => binary::decode_client(bytes)
            .map(|frame| frame.map_or_else(passed_over, |it| client_json(&it)))
            .map_err(binary_error),
        (Side::Server, Encoded::Binary(bytes)) => binary::decode_server(bytes)
            .map(|frame| frame.map_or_else(passed_over, |it| server_json(&it)))
            .map_err(binary_error),
        (Side::Client, Encoded::Json(text)) => json::decode_client(text.as_bytes())
            .map(|read| read.map_or_else(passed_over, |it| client_json(&it.frame())))
            .map_err(|error| json_error(&error)),
        (Side::Server, Encoded::Json(text)) => json::decode_server(text.as_bytes())
            .map(|read| read.map_or_else(passed_over, |it| server_json(&it.frame())))
            .map_err(|error| json_error(&error)),
    }
}

enum Encoded {
    Binary(Vec<u8>),
    Json(String),
}

impl Encoded {
    fn of(vector: &Vector) -> Self {
        match (vector.bytes(), &vector.text) {
            (Some(bytes), None) => Self::Binary(bytes),
            (None, Some(text)) => Self::Json(text.clone()),
            _ => panic!("{}: either `bin` or `text`", vector.name),
        }
    }
}

fn passed_over() -> String {
    "null".into()
}

fn client_json(frame: &ClientFrame<'_>) -> String {
    let mut out = Vec::new();
    json::encode_client(frame, &mut out);
    String::from_utf8(out).expect("JSON is text")
}

fn server_json(frame: &ServerFrame<'_>) -> String {
    let mut out = Vec::new();
    json::encode_server(frame, &mut out);
    String::from_utf8(out).expect("JSON is text")
}

fn binary_error(error: binary::DecodeError) -> String {
    use binary::DecodeError::{Choice, Overflow, Text, Truncated};
    match error {
        Truncated => "truncated",
        Overflow => "overflow",
        Text => "text",
        Choice => "choice",
        other => panic!("the vectors have no name for {other:?}"),
    }
    .into()
}

fn json_error(error: &json::DecodeError) -> String {
    match error.fault() {
        json::Fault::Syntax => "syntax",
        json::Fault::Field => "field",
        other => panic!("the vectors have no name for {other:?}"),
    }
    .into()
}

#[test]
fn frames_are_read_and_written_just_so_in_both_encodings() {
    for vector in vectors(FRAMES) {
        let Vector { name, from, json, .. } = &vector;
        let (bytes, json) = (vector.bytes().expect(name), json.as_ref().expect(name).get());
        assert_eq!(read(*from, &Encoded::Binary(bytes.clone())).as_deref(), Ok(json), "{name}");
        assert_eq!(read(*from, &Encoded::Json(json.into())).as_deref(), Ok(json), "{name}");
        let mut written = Vec::new();
        match from {
            Side::Client => {
                let frame = json::decode_client(json.as_bytes()).unwrap().unwrap();
                binary::encode_client(&frame.frame(), &mut written);
            }
            Side::Server => {
                let frame = json::decode_server(json.as_bytes()).unwrap().unwrap();
                binary::encode_server(&frame.frame(), &mut written);
            }
        }
        assert_eq!(written, bytes, "{name}");
    }
}

#[test]
fn what_others_may_write_is_read_as_it_is_meant() {
    for vector in vectors(LENIENT) {
        let meant = vector.reads_as.as_ref().expect(&vector.name).get();
        let read = read(vector.from, &Encoded::of(&vector));
        assert_eq!(read.as_deref(), Ok(meant), "{}", vector.name);
    }
}

#[test]
fn hostile_bytes_and_texts_get_their_error() {
    for vector in vectors(HOSTILE) {
        let error = vector.error.as_deref().expect(&vector.name);
        let read = read(vector.from, &Encoded::of(&vector));
        assert_eq!(read.as_ref().map_err(String::as_str), Err(error), "{}", vector.name);
    }
}
