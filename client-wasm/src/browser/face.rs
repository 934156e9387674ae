//! The class that JavaScript sees.

use alloc::rc::Rc;
use alloc::string::String;

use greendot_protocol::{Mode, Span};
use wasm_bindgen::prelude::*;

use super::host::Host;
use super::input::Input;
use super::shell::Shell;
use crate::core::{Config, Dial, Page, Part, Room, Row, TokenFailure};

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

    /// What the person may call this device, said from the next dial on.
    pub fn device(&self, name: &str) {
        self.0.core.borrow_mut().set_device(name);
    }

    /// Starts the link, or cuts a wait short.
    pub fn connect(&self) {
        self.0.input(Input::Connect);
    }

    /// Ends the link; the session lingers for a while.
    pub fn disconnect(&self) {
        self.0.input(Input::Disconnect);
    }

    /// Ends the link and the session.
    #[wasm_bindgen(js_name = signOut)]
    pub fn sign_out(&self) {
        self.0.input(Input::SignOut);
    }

    /// A part of the app begins to watch a user; returns the user's row.
    pub fn subscribe(&self, part: u32, user: &str) -> u32 {
        self.0.input(Input::Subscribe(Part(part), user)).0
    }

    /// The part watches the user once less.
    pub fn unsubscribe(&self, part: u32, row: u32) {
        self.0.input(Input::Unsubscribe(Part(part), Row(row)));
    }

    /// A part of the app goes into a room; returns the room's number here.
    pub fn join(&self, room: &str) -> u32 {
        self.0.input(Input::Join(room)).0
    }

    /// A part leaves a room once.
    pub fn leave(&self, room: u32) {
        self.0.input(Input::Leave(Room(room)));
    }

    /// What is known of a room, in one text, because each call costs code on both sides: three
    /// characters of 12 bits each for one more than the count of a room too large to name all (0: all
    /// are named), then for each member the state, the length of the name in UTF-16, and the name.
    /// Empty: nothing is known.
    pub fn room(&self, room: u32) -> String {
        let core = self.0.core.borrow();
        let mut text = String::new();
        let Some(view) = core.room(Room(room)).filter(|it| it.known) else { return text };
        let count = view.count.map_or(0, |it| it.saturating_add(1));
        for shift in [24, 12, 0] {
            text.push(small(count >> shift & 0xfff));
        }
        for (user, state) in &view.members {
            text.push(small(*state as u32));
            text.push(small(user.encode_utf16().count() as u32));
            text.push_str(user);
        }
        text
    }

    /// How the user chooses to appear: 0 auto, 1 away, 2 busy, 3 dnd, 4 invisible.
    #[wasm_bindgen(js_name = setMode)]
    pub fn set_mode(&self, mode: u8) {
        if let Some(mode) = Mode::from_wire(mode) {
            self.0.input(Input::Mode(mode));
        }
    }

    /// The user's note; empty takes it away.
    #[wasm_bindgen(js_name = setNote)]
    pub fn set_note(&self, note: &str) {
        self.0.input(Input::Note(note));
    }

    /// Something happened to the page: 0 hidden, 1 visible, 2 frozen, 3 resumed, 4 offline,
    /// 5 online, 6 left (`pagehide`), 7 shown again (`pageshow`, from the cache).
    pub fn page(&self, event: u8) {
        if let Some(page) = Page::ALL.get(usize::from(event)) {
            self.0.input(Input::Page(*page));
        }
    }

    /// The person touched the page, or another one of this browser.
    pub fn input(&self, elsewhere: bool) {
        self.0.input(if elsewhere { Input::TouchElsewhere } else { Input::Touch });
    }

    /// The token that `needToken` asked for.
    pub fn token(&self, dial: u32, token: &str) {
        self.0.input(Input::Token(Dial(dial), token));
    }

    /// There is no token for this dial.
    #[wasm_bindgen(js_name = tokenFailed)]
    pub fn token_failed(&self, dial: u32, not_allowed: bool) {
        let why = if not_allowed { TokenFailure::NotAllowed } else { TokenFailure::Failed };
        self.0.input(Input::TokenFailed(Dial(dial), why));
    }

    /// 0 offline, 1 online, 2 away, 3 busy, 4 dnd, 5 unknown.
    pub fn state(&self, row: u32) -> u8 {
        self.0.core.borrow().state(Row(row)) as u8
    }

    /// How long ago the user was last seen, as of now; -1: not known. Below that it is no more than
    /// a bound: -2 less the age.
    #[wasm_bindgen(js_name = seenAgoMs)]
    pub fn seen_ago_ms(&self, row: u32) -> f64 {
        let ago = self.0.core.borrow().seen_ago(self.0.clock.now(), Row(row));
        ago.map_or(-1.0, |(ago, coarse)| {
            let ago = ago.as_millis() as f64;
            if coarse { -2.0 - ago } else { ago }
        })
    }

    /// The user's note, if there is one.
    pub fn note(&self, row: u32) -> Option<String> {
        let core = self.0.core.borrow();
        Some(core.note(Row(row))).filter(|it| !it.is_empty()).map(String::from)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.0.free();
    }
}

/// A number below 4,096 as a character: none of these is a surrogate.
fn small(number: u32) -> char {
    char::from_u32(number).unwrap_or_default()
}
