//! Frames from a client.

use alloc::vec::Vec;

use super::read::Reader;
use super::{DecodeError, put_text, put_varint};
use crate::limits::INPUT_AGE_SECS;
use crate::{Beat, ClientFrame, ClientKind, Hello, Mode, ModeChoice, Revision, WatchItem};

const HELLO: u8 = ClientKind::Hello.number();
const BEAT: u8 = ClientKind::Beat.number();
const WATCH: u8 = ClientKind::Watch.number();
const UNWATCH: u8 = ClientKind::Unwatch.number();
const MODE: u8 = ClientKind::Mode.number();
const NOTE: u8 = ClientKind::Note.number();
const IDLE: u8 = ClientKind::Idle.number();
const ACTIVE: u8 = ClientKind::Active.number();
const CLOSING: u8 = ClientKind::Closing.number();
const BYE: u8 = ClientKind::Bye.number();
const TOKEN: u8 = ClientKind::Token.number();
const JOIN: u8 = ClientKind::Join.number();
const LEAVE: u8 = ClientKind::Leave.number();
const OWN: u8 = ClientKind::Own.number();
const END: u8 = ClientKind::End.number();

// The hello's flags.
const PASSIVE: u8 = 1;
const SAYS_IDLE: u8 = 1 << 1;
const IS_IDLE: u8 = 1 << 2;
const HAS_INPUT_AGE: u8 = 1 << 3;
const HAS_IDLE_AFTER: u8 = 1 << 4;
const HAS_MODE: u8 = 1 << 5;
const MODE_IS_FRESH: u8 = 1 << 6;
const HAS_DEVICE: u8 = 1 << 7;

/// Appends the frame to `out`.
pub fn encode_client(frame: &ClientFrame<'_>, out: &mut Vec<u8>) {
    match frame {
        ClientFrame::Hello(hello) => encode_hello(hello, out),
        ClientFrame::Beat(beat) => {
            out.extend_from_slice(&[BEAT, beat.number]);
            put_varint(out, input_age_to_wire(beat.input_age_secs));
        }
        ClientFrame::Watch { request, users } => {
            out.push(WATCH);
            put_varint(out, u64::from(*request));
            put_varint(out, users.len() as u64);
            for item in users {
                put_varint(out, u64::from(item.number));
                put_text(out, item.user);
            }
        }
        ClientFrame::Unwatch { numbers } => {
            out.push(UNWATCH);
            put_varint(out, numbers.len() as u64);
            for &number in numbers {
                put_varint(out, u64::from(number));
            }
        }
        ClientFrame::Mode(mode) => out.extend_from_slice(&[MODE, *mode as u8]),
        ClientFrame::Note(note) => {
            out.push(NOTE);
            put_text(out, note);
        }
        ClientFrame::Idle => out.push(IDLE),
        ClientFrame::Active => out.push(ACTIVE),
        ClientFrame::Closing => out.push(CLOSING),
        ClientFrame::Bye => out.push(BYE),
        ClientFrame::Token(token) => {
            out.push(TOKEN);
            put_text(out, token);
        }
        ClientFrame::Join { number, room } => {
            out.push(JOIN);
            put_varint(out, u64::from(*number));
            put_text(out, room);
        }
        ClientFrame::Leave { number } => {
            out.push(LEAVE);
            put_varint(out, u64::from(*number));
        }
        ClientFrame::Own(on) => out.extend_from_slice(&[OWN, u8::from(*on)]),
        ClientFrame::End { session } => {
            out.push(END);
            put_text(out, session);
        }
    }
}

/// Reads one frame; `None` if its kind is unknown here and the frame is to be passed over.
///
/// # Errors
///
/// If the bytes are no frame.
pub fn decode_client(bytes: &[u8]) -> Result<Option<ClientFrame<'_>>, DecodeError> {
    let mut from = Reader::new(bytes);
    Ok(Some(match from.byte()? {
        HELLO => ClientFrame::Hello(decode_hello(&mut from)?),
        BEAT => ClientFrame::Beat(Beat {
            number: from.byte()?,
            input_age_secs: input_age_from_wire(from.u32()?),
        }),
        WATCH => {
            let request = from.u32()?;
            let count = from.count(2)?;
            let mut users = Vec::with_capacity(count);
            for _ in 0..count {
                users.push(WatchItem { number: from.u32()?, user: from.text()? });
            }
            ClientFrame::Watch { request, users }
        }
        UNWATCH => {
            let count = from.count(1)?;
            let mut numbers = Vec::with_capacity(count);
            for _ in 0..count {
                numbers.push(from.u32()?);
            }
            ClientFrame::Unwatch { numbers }
        }
        MODE => ClientFrame::Mode(mode(from.byte()?)?),
        NOTE => ClientFrame::Note(from.text()?),
        IDLE => ClientFrame::Idle,
        ACTIVE => ClientFrame::Active,
        CLOSING => ClientFrame::Closing,
        BYE => ClientFrame::Bye,
        TOKEN => ClientFrame::Token(from.text()?),
        JOIN => ClientFrame::Join { number: from.u32()?, room: from.text()? },
        LEAVE => ClientFrame::Leave { number: from.u32()? },
        OWN => ClientFrame::Own(from.byte()? != 0),
        END => ClientFrame::End { session: from.text()? },
        _ => return Ok(None),
    }))
}

fn encode_hello(hello: &Hello<'_>, out: &mut Vec<u8>) {
    let flag = |is: bool, bit: u8| if is { bit } else { 0 };
    out.push(HELLO);
    out.push(
        flag(hello.passive, PASSIVE)
            | flag(hello.idle.is_some(), SAYS_IDLE)
            | flag(hello.idle == Some(true), IS_IDLE)
            | flag(hello.input_age_secs.is_some(), HAS_INPUT_AGE)
            | flag(hello.idle_after_secs.is_some(), HAS_IDLE_AFTER)
            | flag(hello.mode.is_some(), HAS_MODE)
            | flag(hello.mode.is_some_and(|choice| choice.fresh), MODE_IS_FRESH)
            | flag(!hello.device.is_empty(), HAS_DEVICE),
    );
    put_text(out, hello.session);
    put_text(out, hello.token);
    if let Some(age) = hello.input_age_secs {
        put_varint(out, u64::from(age.min(INPUT_AGE_SECS)));
    }
    if let Some(after) = hello.idle_after_secs {
        put_varint(out, u64::from(after));
    }
    if let Some(choice) = hello.mode {
        out.push(choice.mode as u8);
        put_varint(out, u64::from(choice.revision.0));
    }
    if !hello.device.is_empty() {
        put_text(out, hello.device);
    }
}

fn decode_hello<'a>(from: &mut Reader<'a>) -> Result<Hello<'a>, DecodeError> {
    let flags = from.byte()?;
    let has = |bit: u8| flags & bit != 0;
    let mut hello = Hello {
        session: from.text()?,
        token: from.text()?,
        passive: has(PASSIVE),
        idle: has(SAYS_IDLE).then_some(has(IS_IDLE)),
        ..Hello::default()
    };
    if has(HAS_INPUT_AGE) {
        hello.input_age_secs = Some(from.u32()?.min(INPUT_AGE_SECS));
    }
    if has(HAS_IDLE_AFTER) {
        hello.idle_after_secs = Some(from.u32()?);
    }
    if has(HAS_MODE) {
        hello.mode = Some(ModeChoice {
            mode: mode(from.byte()?)?,
            revision: Revision(from.u32()?),
            fresh: has(MODE_IS_FRESH),
        });
    }
    if has(HAS_DEVICE) {
        hello.device = from.text()?;
    }
    Ok(hello)
}

pub(super) fn mode(byte: u8) -> Result<Mode, DecodeError> {
    Mode::from_wire(byte).ok_or(DecodeError::Choice)
}

/// 0 for "not told", else the age and one: at most two bytes as a varint.
fn input_age_to_wire(age: Option<u32>) -> u64 {
    age.map_or(0, |secs| u64::from(secs.min(INPUT_AGE_SECS)) + 1)
}

fn input_age_from_wire(value: u32) -> Option<u32> {
    value.checked_sub(1).map(|secs| secs.min(INPUT_AGE_SECS))
}
