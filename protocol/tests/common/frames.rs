//! Every kind of frame, with anything in it that a peer may put there.

use greendot_protocol::limits::INPUT_AGE_SECS;
use greendot_protocol::{
    Beat, ClientFrame, CloseCode, Entry, Epoch, ErrorCode, Hello, Member, Mode, ModeChoice,
    OwnSession, Revision, ServerFrame, Span, State, Version, WatchItem, Welcome,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// Calls `check` with a client's frame. A frame borrows its texts, so it can't leave here.
pub(crate) fn with_client_frame(from: &ClientParts, check: impl FnOnce(&ClientFrame<'_>)) {
    let ClientParts { kind, texts: (text, other), number, age, flags, mode, items } = from;
    let frame = match kind {
        0 => ClientFrame::Hello(Hello {
            session: text,
            token: other,
            passive: flags[0],
            idle: flags[1].then_some(flags[2]),
            input_age_secs: *age,
            idle_after_secs: flags[3].then_some(*number),
            mode: flags[4].then_some(ModeChoice {
                mode: *mode,
                revision: Revision(*number),
                fresh: flags[5],
            }),
            device: items.first().map_or("", |it| &it.1),
        }),
        1 => ClientFrame::Beat(Beat { number: *number as u8, input_age_secs: *age }),
        2 => ClientFrame::Watch {
            request: *number,
            users: items.iter().map(|(number, user)| WatchItem { number: *number, user }).collect(),
        },
        3 => ClientFrame::Unwatch { numbers: items.iter().map(|it| it.0).collect() },
        4 => ClientFrame::Mode(*mode),
        5 => ClientFrame::Note(text),
        6 => ClientFrame::Idle,
        7 => ClientFrame::Active,
        8 => ClientFrame::Closing,
        9 => ClientFrame::Bye,
        10 => ClientFrame::Join { number: *number, room: text },
        11 => ClientFrame::Leave { number: *number },
        12 => ClientFrame::Own(flags[0]),
        13 => ClientFrame::Token(text),
        _ => ClientFrame::End { session: text },
    };
    check(&frame);
}

/// Calls `check` with a server's frame.
pub(crate) fn with_server_frame(from: &ServerParts, check: impl FnOnce(&ServerFrame<'_>)) {
    let ServerParts { kind, texts: (text, other), number, spans, flag, mode, code, error, entries } =
        from;
    let span = |index: usize| Span::from_millis(spans[index]);
    let epoch = Epoch(*number);
    let members: Vec<_> = entries.iter().map(|it| Member { user: &it.4, state: it.1 }).collect();
    let sessions = entries.iter().map(|it| OwnSession {
        session: text,
        device: &it.4,
        idle: it.0 & 1 != 0,
        lingering: it.0 & 2 != 0,
        passive: it.2 & 1 != 0,
        this: *flag,
        since_ago: Span::from_millis(it.3.unwrap_or_default()),
    });
    let sessions: Vec<_> = sessions.collect();
    let entries = entries
        .iter()
        .map(|it| Entry {
            number: it.0,
            state: it.1,
            version: Version(it.2),
            seen_ago: it.3.map(Span::from_millis),
            coarse: it.3.is_some() && *flag,
            note: &it.4,
        })
        .collect();
    let frame = match kind {
        0 => ServerFrame::Welcome(Welcome {
            beat: span(0),
            ttl: span(1),
            grace: span(2),
            idle_after: span(3),
            session: text,
            epoch,
            mode: *mode,
            revision: Revision(*number),
            ticket: other,
            stale: *flag,
            token: span(0),
        }),
        1 => ServerFrame::BeatAnswer(*number as u8),
        2 => ServerFrame::Snapshot { epoch, request: *number, entries },
        3 => ServerFrame::Events { epoch, entries },
        4 => ServerFrame::Mode { mode: *mode, revision: Revision(*number) },
        5 => ServerFrame::Error { code: *error, about: *number, text },
        6 => ServerFrame::Stale(*flag),
        7 => ServerFrame::Close { code: *code, retry_after: span(0) },
        8 => ServerFrame::Room { number: *number, members },
        9 => ServerFrame::RoomEvents { number: *number, members },
        10 => ServerFrame::Crowd { number: *number, count: spans[0] as u32, sample: members },
        11 => ServerFrame::Token { lasts: span(0) },
        _ => ServerFrame::Sessions(sessions),
    };
    check(&frame);
}

/// What a client's frame is made of.
#[derive(Clone, Debug)]
pub(crate) struct ClientParts {
    kind: u8,
    texts: (String, String),
    number: u32,
    age: Option<u32>,
    flags: [bool; 6],
    mode: Mode,
    items: Vec<(u32, String)>,
}

/// What a server's frame is made of.
#[derive(Clone, Debug)]
pub(crate) struct ServerParts {
    kind: u8,
    texts: (String, String),
    number: u32,
    spans: [u64; 4],
    flag: bool,
    mode: Mode,
    code: CloseCode,
    error: ErrorCode,
    entries: Vec<(u32, State, u32, Option<u64>, String)>,
}

pub(crate) fn client_parts() -> impl Strategy<Value = ClientParts> {
    let texts = (text(), text());
    let age = proptest::option::of(0..=INPUT_AGE_SECS);
    let mode = select(&Mode::ALL);
    let items = vec((number(), text()), 0..20);
    (0..15u8, texts, number(), age, any::<[bool; 6]>(), mode, items).prop_map(
        |(kind, texts, number, age, flags, mode, items)| ClientParts {
            kind,
            texts,
            number,
            age,
            flags,
            mode,
            items,
        },
    )
}

pub(crate) fn server_parts() -> impl Strategy<Value = ServerParts> {
    let texts = (text(), text());
    let choices = (select(&Mode::ALL), select(CloseCode::ALL), select(&ErrorCode::ALL));
    let seen = proptest::option::of(any::<u64>());
    let entries = vec((number(), select(&State::ALL), number(), seen, text()), 0..20);
    (0..13u8, texts, number(), any::<[u64; 4]>(), any::<bool>(), choices, entries).prop_map(
        |(kind, texts, number, spans, flag, (mode, code, error), entries)| ServerParts {
            kind,
            texts,
            number,
            spans,
            flag,
            mode,
            code,
            error,
            entries,
        },
    )
}

/// Small and large alike: a varint's length is decided by its size.
fn number() -> impl Strategy<Value = u32> {
    (any::<u32>(), 0..32u32).prop_map(|(bits, shift)| bits >> shift)
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "[a-z]{1,8}", "\\PC{0,40}", "[a-z]{120,140}"]
}
