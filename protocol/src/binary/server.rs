//! Frames from a server.

use alloc::vec::Vec;

use super::client::mode;
use super::read::Reader;
use super::{DecodeError, put_text, put_varint};
use crate::{
    CloseCode, Entry, Epoch, ErrorCode, Member, OwnSession, Revision, ServerFrame, ServerKind,
    Span, State, Version, Welcome,
};

const WELCOME: u8 = ServerKind::Welcome.number();
const BEAT_ANSWER: u8 = ServerKind::BeatAnswer.number();
const SNAPSHOT: u8 = ServerKind::Snapshot.number();
const EVENTS: u8 = ServerKind::Events.number();
const MODE: u8 = ServerKind::Mode.number();
const ERROR: u8 = ServerKind::Error.number();
const STALE: u8 = ServerKind::Stale.number();
const CLOSE: u8 = ServerKind::Close.number();
const TOKEN: u8 = ServerKind::Token.number();
const ROOM: u8 = ServerKind::Room.number();
const ROOM_EVENTS: u8 = ServerKind::RoomEvents.number();
const CROWD: u8 = ServerKind::Crowd.number();
const SESSIONS: u8 = ServerKind::Sessions.number();

// An entry's head: the state in the low three bits, then flags.
const STATE_BITS: u8 = 0b111;
const HAS_SEEN: u8 = 1 << 3;
const HAS_NOTE: u8 = 1 << 4;
const IS_COARSE: u8 = 1 << 5;
/// A varint length and that many bytes follow, to be passed over: room for what comes later.
const HAS_EXTENSION: u8 = 1 << 7;

// A session's head.
const IDLE: u8 = 1;
const LINGERING: u8 = 1 << 1;
const PASSIVE: u8 = 1 << 2;
const THIS: u8 = 1 << 3;

/// Appends the frame to `out`.
pub fn encode_server(frame: &ServerFrame<'_>, out: &mut Vec<u8>) {
    match frame {
        ServerFrame::Welcome(welcome) => encode_welcome(welcome, out),
        ServerFrame::BeatAnswer(number) => out.extend_from_slice(&[BEAT_ANSWER, *number]),
        ServerFrame::Snapshot { epoch, request, entries } => {
            out.push(SNAPSHOT);
            put_varint(out, u64::from(*request));
            encode_entries(*epoch, entries, out);
        }
        ServerFrame::Events { epoch, entries } => {
            out.push(EVENTS);
            encode_entries(*epoch, entries, out);
        }
        ServerFrame::Mode { mode, revision } => {
            out.extend_from_slice(&[MODE, *mode as u8]);
            put_varint(out, u64::from(revision.0));
        }
        ServerFrame::Error { code, about, text } => {
            out.extend_from_slice(&[ERROR, *code as u8]);
            put_varint(out, u64::from(*about));
            put_text(out, text);
        }
        ServerFrame::Stale(stale) => out.extend_from_slice(&[STALE, u8::from(*stale)]),
        ServerFrame::Close { code, retry_after } => {
            out.push(CLOSE);
            put_varint(out, u64::from(code.number()));
            put_varint(out, retry_after.as_millis());
        }
        ServerFrame::Token { lasts } => {
            out.push(TOKEN);
            put_varint(out, lasts.as_millis());
        }
        ServerFrame::Room { number, members } => {
            out.push(ROOM);
            put_varint(out, u64::from(*number));
            encode_members(members, out);
        }
        ServerFrame::RoomEvents { number, members } => {
            out.push(ROOM_EVENTS);
            put_varint(out, u64::from(*number));
            encode_members(members, out);
        }
        ServerFrame::Crowd { number, count, sample } => {
            out.push(CROWD);
            put_varint(out, u64::from(*number));
            put_varint(out, u64::from(*count));
            encode_members(sample, out);
        }
        ServerFrame::Sessions(sessions) => {
            out.push(SESSIONS);
            encode_sessions(sessions, out);
        }
    }
}

/// Reads one frame; `None` if its kind, or the code it closes with, is unknown here and the frame
/// is to be passed over.
///
/// # Errors
///
/// If the bytes are no frame.
pub fn decode_server(bytes: &[u8]) -> Result<Option<ServerFrame<'_>>, DecodeError> {
    match bytes.split_first() {
        Some((&SESSIONS, rest)) => {
            Ok(Some(ServerFrame::Sessions(decode_sessions(&mut Reader::new(rest))?)))
        }
        _ => decode_but_sessions(bytes),
    }
}

/// As [`decode_server`], but `sessions` is a kind like one not known: for a client that tells nobody
/// of them, and to which each byte of code counts.
///
/// # Errors
///
/// If it is no frame.
pub fn decode_but_sessions(bytes: &[u8]) -> Result<Option<ServerFrame<'_>>, DecodeError> {
    let mut from = Reader::new(bytes);
    Ok(Some(match from.byte()? {
        WELCOME => ServerFrame::Welcome(decode_welcome(&mut from)?),
        BEAT_ANSWER => ServerFrame::BeatAnswer(from.byte()?),
        SNAPSHOT => {
            let request = from.u32()?;
            let (epoch, entries) = decode_entries(&mut from)?;
            ServerFrame::Snapshot { epoch, request, entries }
        }
        EVENTS => {
            let (epoch, entries) = decode_entries(&mut from)?;
            ServerFrame::Events { epoch, entries }
        }
        MODE => ServerFrame::Mode { mode: mode(from.byte()?)?, revision: Revision(from.u32()?) },
        ERROR => ServerFrame::Error {
            code: ErrorCode::from_wire(from.byte()?),
            about: from.u32()?,
            text: from.text()?,
        },
        STALE => ServerFrame::Stale(from.byte()? != 0),
        CLOSE => {
            let number = u16::try_from(from.u32()?).map_err(|_| DecodeError::Overflow)?;
            let retry_after = Span::from_millis(from.u64()?);
            match CloseCode::from_number(number) {
                Some(code) => ServerFrame::Close { code, retry_after },
                None => return Ok(None),
            }
        }
        TOKEN => ServerFrame::Token { lasts: Span::from_millis(from.u64()?) },
        ROOM => ServerFrame::Room { number: from.u32()?, members: decode_members(&mut from)? },
        ROOM_EVENTS => {
            ServerFrame::RoomEvents { number: from.u32()?, members: decode_members(&mut from)? }
        }
        CROWD => ServerFrame::Crowd {
            number: from.u32()?,
            count: from.u32()?,
            sample: decode_members(&mut from)?,
        },
        _ => return Ok(None),
    }))
}

fn encode_welcome(welcome: &Welcome<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(&[WELCOME, u8::from(welcome.stale)]);
    for span in [welcome.beat, welcome.ttl, welcome.grace, welcome.idle_after] {
        put_varint(out, span.as_millis());
    }
    put_text(out, welcome.session);
    put_varint(out, u64::from(welcome.epoch.0));
    out.push(welcome.mode as u8);
    put_varint(out, u64::from(welcome.revision.0));
    put_text(out, welcome.ticket);
    put_varint(out, welcome.token.as_millis());
}

fn decode_welcome<'a>(from: &mut Reader<'a>) -> Result<Welcome<'a>, DecodeError> {
    Ok(Welcome {
        stale: from.byte()? & 1 != 0,
        beat: Span::from_millis(from.u64()?),
        ttl: Span::from_millis(from.u64()?),
        grace: Span::from_millis(from.u64()?),
        idle_after: Span::from_millis(from.u64()?),
        session: from.text()?,
        epoch: Epoch(from.u32()?),
        mode: mode(from.byte()?)?,
        revision: Revision(from.u32()?),
        ticket: from.text()?,
        // Came later than the rest: a server without it knows of no token that ends.
        token: if from.is_empty() { Span::ZERO } else { Span::from_millis(from.u64()?) },
    })
}

fn encode_entries(epoch: Epoch, entries: &[Entry<'_>], out: &mut Vec<u8>) {
    put_varint(out, u64::from(epoch.0));
    put_varint(out, entries.len() as u64);
    for entry in entries {
        let mut head = entry.state as u8;
        if entry.seen_ago.is_some() {
            head |= HAS_SEEN;
            if entry.coarse {
                head |= IS_COARSE;
            }
        }
        if !entry.note.is_empty() {
            head |= HAS_NOTE;
        }
        put_varint(out, u64::from(entry.number));
        out.push(head);
        put_varint(out, u64::from(entry.version.0));
        if let Some(ago) = entry.seen_ago {
            put_varint(out, ago.as_millis());
        }
        if !entry.note.is_empty() {
            put_text(out, entry.note);
        }
    }
}

fn decode_entries<'a>(from: &mut Reader<'a>) -> Result<(Epoch, Vec<Entry<'a>>), DecodeError> {
    let epoch = Epoch(from.u32()?);
    let count = from.count(3)?;
    let mut entries = Vec::with_capacity(count);
    for _ in 0..count {
        let number = from.u32()?;
        let head = from.byte()?;
        let mut entry = Entry {
            number,
            // A state of a later version is one that this client cannot name.
            state: State::from_wire(head & STATE_BITS).unwrap_or(State::Unknown),
            version: Version(from.u32()?),
            ..Entry::default()
        };
        if head & HAS_SEEN != 0 {
            entry.seen_ago = Some(Span::from_millis(from.u64()?));
            entry.coarse = head & IS_COARSE != 0;
        }
        if head & HAS_NOTE != 0 {
            entry.note = from.text()?;
        }
        if head & HAS_EXTENSION != 0 {
            from.bytes()?;
        }
        entries.push(entry);
    }
    Ok((epoch, entries))
}

fn encode_members(members: &[Member<'_>], out: &mut Vec<u8>) {
    put_varint(out, members.len() as u64);
    for member in members {
        out.push(member.state as u8);
        put_text(out, member.user);
    }
}

#[inline(never)]
fn decode_members<'a>(from: &mut Reader<'a>) -> Result<Vec<Member<'a>>, DecodeError> {
    let count = from.count(2)?;
    let mut members = Vec::with_capacity(count);
    for _ in 0..count {
        let head = from.byte()?;
        let state = State::from_wire(head & STATE_BITS).unwrap_or(State::Unknown);
        members.push(Member { state, user: from.text()? });
        if head & HAS_EXTENSION != 0 {
            from.bytes()?;
        }
    }
    Ok(members)
}

fn encode_sessions(sessions: &[OwnSession<'_>], out: &mut Vec<u8>) {
    put_varint(out, sessions.len() as u64);
    for it in sessions {
        let flag = |is: bool, bit: u8| if is { bit } else { 0 };
        out.push(
            flag(it.idle, IDLE)
                | flag(it.lingering, LINGERING)
                | flag(it.passive, PASSIVE)
                | flag(it.this, THIS),
        );
        put_text(out, it.session);
        put_text(out, it.device);
        put_varint(out, it.since_ago.as_millis());
    }
}

fn decode_sessions<'a>(from: &mut Reader<'a>) -> Result<Vec<OwnSession<'a>>, DecodeError> {
    let count = from.count(4)?;
    let mut sessions = Vec::with_capacity(count);
    for _ in 0..count {
        let head = from.byte()?;
        sessions.push(OwnSession {
            session: from.text()?,
            device: from.text()?,
            idle: head & IDLE != 0,
            lingering: head & LINGERING != 0,
            passive: head & PASSIVE != 0,
            this: head & THIS != 0,
            since_ago: Span::from_millis(from.u64()?),
        });
        if head & HAS_EXTENSION != 0 {
            from.bytes()?;
        }
    }
    Ok(sessions)
}
