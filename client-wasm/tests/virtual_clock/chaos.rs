//! Whatever is said to it, in whichever order: it does not panic, keeps one connection at most,
//! and what it has told is what it holds.

use greendot_client::core::{
    Client, Config, Dial, LinkState, Output, Page, Part, Row, TokenFailure,
};
use greendot_protocol::{
    CloseCode, Entry, Epoch, ErrorCode, Mode, Revision, ServerFrame, Span, State, Time, Version,
    Welcome,
};
use proptest::prelude::{Strategy, any};
use proptest::{collection, prop_assert, prop_assert_eq, proptest};

/// One thing said, with what it is said about.
#[derive(Clone, Debug)]
struct Deed {
    kind: u8,
    /// How much time has passed, in milliseconds.
    pause: u64,
    a: u32,
    b: u32,
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let pause = proptest::prop_oneof![
        6 => 0..50u64,
        3 => 50..6_000u64,
        1 => 6_000..400_000u64,
    ];
    let deed = (0..26u8, pause, 0..6u32, any::<u32>()).prop_map(|(kind, pause, a, b)| Deed {
        kind,
        pause,
        a,
        b,
    });
    collection::vec(deed, 1..200)
}

/// What has come out, and what must be true of it.
#[derive(Default)]
struct Told {
    link: Option<LinkState>,
    stale: Option<bool>,
    token_for: Option<Dial>,
    socket: Option<Dial>,
    ended: Option<Dial>,
}

impl Told {
    fn drain(&mut self, client: &mut Client) {
        while let Some(output) = client.poll_output() {
            match output {
                Output::Link { state, .. } => {
                    assert_ne!(self.link, Some(state), "told twice");
                    self.link = Some(state);
                }
                Output::Stale(is) => {
                    assert_ne!(self.stale.unwrap_or(true), is, "told twice");
                    self.stale = Some(is);
                }
                Output::NeedToken { dial } => self.token_for = Some(dial),
                Output::Dial { dial, node } => {
                    assert_eq!(self.socket, None, "one connection at a time");
                    assert!(node < 2);
                    self.socket = Some(dial);
                }
                Output::Send { dial, .. } => {
                    assert!([self.socket, self.ended].contains(&Some(dial)));
                }
                Output::CloseSocket { dial, .. } => {
                    self.socket.take_if(|it| *it == dial);
                }
                _ => {}
            }
        }
        assert_eq!(self.link.unwrap_or(LinkState::Closed), client.link());
        assert_eq!(self.stale.unwrap_or(true), client.stale());
        assert!(!client.stale() || client.timers() <= 8);
    }
}

fn frame(deed: &Deed) -> ServerFrame<'static> {
    let (a, b) = (deed.a, deed.b);
    let entries = || {
        let entry = |number| Entry {
            number,
            state: State::ALL[(b % 6) as usize],
            version: Version(b % 9),
            seen_ago: (b & 1 == 1).then_some(Span::from_millis(u64::from(b) << 31)),
            coarse: false,
            note: if b & 2 == 2 { "note" } else { "" },
        };
        (0..b % 5).map(entry).chain([entry(b)]).collect()
    };
    match b % 9 {
        0 => ServerFrame::Welcome(Welcome {
            beat: Span::from_millis(u64::from(b)),
            ttl: Span::from_millis(u64::from(b) << 33),
            grace: Span::from_millis(u64::MAX),
            idle_after: Span::from_millis(u64::from(b >> 8)),
            stale: a == 0,
            ticket: "ticket",
            token: Span::from_millis(u64::from(b) << (a * 6)),
            ..Welcome::default()
        }),
        1 => ServerFrame::Snapshot { epoch: Epoch(a), request: b % 3, entries: entries() },
        2 => ServerFrame::Events { epoch: Epoch(a), entries: entries() },
        3 => ServerFrame::BeatAnswer(b as u8),
        4 => ServerFrame::Mode { mode: Mode::ALL[a as usize % 5], revision: Revision(b) },
        5 => ServerFrame::Error { code: ErrorCode::from_wire(a as u8), about: b % 9, text: "" },
        6 => ServerFrame::Stale(a == 0),
        7 => ServerFrame::Token { lasts: Span::from_millis(u64::from(b) << (a * 6)) },
        _ => ServerFrame::Close {
            code: CloseCode::ALL[b as usize % CloseCode::ALL.len()],
            retry_after: Span::from_millis(u64::from(b) << (a * 6)),
        },
    }
}

const NAMES: [&str; 6] = ["ana", "bo", "cy", "", "di", "ed"];

fn say(client: &mut Client, now: Time, told: &mut Told, deed: &Deed) {
    let (part, row) = (Part(deed.a % 3), Row(deed.b % 7));
    let (asked, socket) = (told.token_for.unwrap_or_default(), told.socket.unwrap_or_default());
    match deed.kind {
        0 => client.connect(now),
        1 => client.disconnect(now),
        2 => client.sign_out(now),
        3..6 => _ = client.subscribe(now, part, NAMES[deed.a as usize]),
        6 | 7 => client.unsubscribe(now, part, row),
        8 => client.set_mode(now, Mode::ALL[deed.a as usize % 5]),
        9 => client.set_note(now, "x".repeat(deed.b as usize % 300).as_str()),
        10 | 11 => client.handle_page(now, Page::ALL[deed.b as usize % 8]),
        12 if deed.a < 3 => client.handle_input_elsewhere(now),
        12 => client.handle_input(now),
        13..16 => client.handle_token(now, asked, "token"),
        16 if deed.a < 3 => client.handle_token_failed(now, asked, TokenFailure::Failed),
        16 => client.handle_token_failed(now, asked, TokenFailure::NotAllowed),
        17..20 => client.handle_opened(now, socket),
        20 => {
            client.handle_closed(now, socket, if deed.a == 0 { deed.b as u16 } else { 1006 });
            // A late timer that came to light only now may have made it ask, in vain.
            told.ended = told.socket.take();
        }
        21 => client.handle_frame(now, socket, &frame(&Deed { b: deed.b & !7, ..*deed })),
        22 => client.handle_unreadable(now, socket),
        23 => client.handle_opened(now, Dial(deed.b % 9)),
        _ => client.handle_frame(now, socket, &frame(deed)),
    }
}

proptest! {
    #[test]
    fn no_order_of_things_breaks_it(script in deeds(), seed: u64, throttled: bool) {
        let mut now = Time::from_millis(1_000);
        let config = Config { session: "s1", nodes: 2, idle_after: None, seed };
        let mut client = Client::new(now, &config);
        let mut told = Told::default();
        for deed in &script {
            now = now + Span::from_millis(deed.pause);
            if !throttled {
                client.handle_timeout(now);
                told.drain(&mut client);
                prop_assert!(client.deadline().is_none_or(|(at, _)| at > now), "it would spin");
            }
            say(&mut client, now, &mut told, deed);
            told.drain(&mut client);
        }
        // However it was left, it can be ended, and then nothing is kept but what is watched.
        client.sign_out(now);
        told.drain(&mut client);
        for row in NAMES.iter().filter_map(|user| client.row(user)).collect::<Vec<_>>() {
            // No part asked more often than there were deeds.
            for part in (0..3).flat_map(|part| vec![Part(part); script.len()]) {
                client.unsubscribe(now, part, row);
            }
        }
        told.drain(&mut client);
        prop_assert_eq!((client.timers(), client.listeners(), client.rows()), (0, 0, 0));
        prop_assert_eq!(told.socket, None);
    }
}
