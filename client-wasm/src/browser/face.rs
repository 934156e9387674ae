//! The class that JavaScript sees.

use alloc::rc::Rc;
use alloc::string::String;

use greendot_protocol::{Mode, Span, State};
use wasm_bindgen::prelude::*;

use super::host::Host;
use super::shell::Shell;
use crate::core::{self, Config, Dial, Page, Part, Row, TokenFailure, View};

/// A presence client. All calls return at once, and none throws in ordinary use.
#[wasm_bindgen]
pub struct Client(Rc<Shell>);

#[wasm_bindgen]
impl Client {
    /// A client that waits for `connect`. `idle_after_secs`: -1 is the server's setting, 0 never.
    /// The seeds are random 32-bit numbers.
    #[wasm_bindgen(constructor)]
    pub fn new(
        host: Host,
        session: &str,
        nodes: u32,
        idle_after_secs: i32,
        seed: u32,
        seed2: u32,
    ) -> Self {
        let idle_after = u64::try_from(idle_after_secs).ok().map(Span::from_secs);
        let seed = u64::from(seed) << 32 | u64::from(seed2);
        Self(Shell::new(host, &Config { session, nodes, idle_after, seed }))
    }

    /// Starts the link, or cuts a wait short.
    pub fn connect(&self) {
        self.0.input(&mut core::Client::connect);
    }

    /// Ends the link; the session lingers for a while.
    pub fn disconnect(&self) {
        self.0.input(&mut core::Client::disconnect);
    }

    /// Ends the link and the session.
    #[wasm_bindgen(js_name = signOut)]
    pub fn sign_out(&self) {
        self.0.input(&mut core::Client::sign_out);
    }

    /// A part of the app begins to watch a user; returns the user's row.
    pub fn subscribe(&self, part: u32, user: &str) -> u32 {
        let mut row = Row(0);
        self.0.input(&mut |client, now| row = client.subscribe(now, Part(part), user));
        row.0
    }

    /// The part watches the user once less.
    pub fn unsubscribe(&self, part: u32, row: u32) {
        self.0.input(&mut |client, now| client.unsubscribe(now, Part(part), Row(row)));
    }

    /// The part watches nobody any more.
    #[wasm_bindgen(js_name = unsubscribeAll)]
    pub fn unsubscribe_all(&self, part: u32) {
        self.0.input(&mut |client, now| client.unsubscribe_all(now, Part(part)));
    }

    /// How the user chooses to appear: 0 auto, 1 away, 2 busy, 3 dnd, 4 invisible.
    #[wasm_bindgen(js_name = setMode)]
    pub fn set_mode(&self, mode: u8) {
        if let Some(mode) = Mode::from_wire(mode) {
            self.0.input(&mut |client, now| client.set_mode(now, mode));
        }
    }

    /// The user's note; empty takes it away.
    #[wasm_bindgen(js_name = setNote)]
    pub fn set_note(&self, note: &str) {
        self.0.input(&mut |client, now| client.set_note(now, note));
    }

    /// Something happened to the page: 0 hidden, 1 visible, 2 frozen, 3 resumed, 4 offline,
    /// 5 online, 6 left (`pagehide`), 7 shown again (`pageshow`, from the cache).
    pub fn page(&self, event: u8) {
        let page = match event {
            0 => Page::Hidden,
            1 => Page::Visible,
            2 => Page::Frozen,
            3 => Page::Resumed,
            4 => Page::Offline,
            5 => Page::Online,
            6 => Page::Left,
            7 => Page::Shown,
            _ => return,
        };
        self.0.input(&mut |client, now| client.handle_page(now, page));
    }

    /// The person touched the page.
    pub fn input(&self) {
        self.0.input(&mut core::Client::handle_input);
    }

    /// The token that `needToken` asked for.
    pub fn token(&self, dial: u32, token: &str) {
        self.0.input(&mut |client, now| client.handle_token(now, Dial(dial), token));
    }

    /// There is no token for this dial.
    #[wasm_bindgen(js_name = tokenFailed)]
    pub fn token_failed(&self, dial: u32, not_allowed: bool) {
        let why = if not_allowed { TokenFailure::NotAllowed } else { TokenFailure::Failed };
        self.0.input(&mut |client, now| client.handle_token_failed(now, Dial(dial), why));
    }

    /// 0 offline, 1 online, 2 away, 3 busy, 4 dnd, 5 unknown.
    pub fn state(&self, row: u32) -> u8 {
        let mut state = State::Unknown;
        self.view(row, &mut |view| state = view.state);
        state as u8
    }

    /// The number of the change that is shown.
    pub fn version(&self, row: u32) -> u32 {
        let mut version = 0;
        self.view(row, &mut |view| version = view.version.0);
        version
    }

    /// How long ago the user was last seen, as of now; -1: not known.
    #[wasm_bindgen(js_name = seenAgoMs)]
    pub fn seen_ago_ms(&self, row: u32) -> f64 {
        let mut millis = -1.0;
        self.view(row, &mut |view| {
            if let Some(ago) = view.seen_ago {
                millis = ago.as_millis() as f64;
            }
        });
        millis
    }

    /// The user's note, if there is one.
    pub fn note(&self, row: u32) -> Option<String> {
        let mut note = None;
        self.view(row, &mut |view| {
            if !view.note.is_empty() {
                note = Some(view.note.into());
            }
        });
        note
    }
}

impl Client {
    fn view(&self, row: u32, at: &mut dyn FnMut(View<'_>)) {
        self.0.look(&mut |client, now| {
            if let Some(view) = client.view(now, Row(row)) {
                at(view);
            }
        });
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.0.free();
    }
}
