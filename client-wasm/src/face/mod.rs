//! The clients of a page, as JavaScript reaches them: by numbers, times and bytes alone.
//!
//! A module that takes and gives nothing but numbers needs no glue. What wasm-bindgen makes for strings, classes, closures
//! and JavaScript objects is good code, but came to a sixth of what a page had to load. So here a text or a frame is
//! bytes in memory: the page asks for [room](Face::room_for), writes them there and says how many; what comes out is
//! five numbers in memory, two of which say where the text lies. `greendot-wasm` exports these methods one by one, and
//! `npm/src/wasm/engine.ts` is the other side: sockets, timers and the clock are there.
//!
//! Nothing here calls out, so whatever an output makes the page do, it may call back at once.

mod input;
mod output;

use alloc::boxed::Box;
use alloc::vec::Vec;

use greendot_protocol::{Span, Time};

use crate::core::{Client, Config, Room, Row};

/// All clients of a page and the memory in which they and the page hand each other things.
#[derive(Debug, Default)]
pub struct Face {
    /// Each under its number; those that are freed leave their place to another.
    clients: Vec<Option<Box<Client>>>,
    /// Where the page writes.
    given: Vec<u8>,
    told: Told,
}

/// What the page reads after a call that has something to tell. The numbers of an output are
/// listed in `output.rs`; those not named there mean nothing.
#[derive(Debug, Default)]
#[repr(C)]
struct Told {
    numbers: [u32; 3],
    /// Where the bytes are, and how many.
    at: u32,
    size: u32,
    bytes: Vec<u8>,
}

impl Face {
    /// No client yet.
    pub const fn new() -> Self {
        let told = Told { numbers: [0; 3], at: 0, size: 0, bytes: Vec::new() };
        Self { clients: Vec::new(), given: Vec::new(), told }
    }

    /// Where the page may write so many bytes, until the next call.
    pub fn room_for(&mut self, size: usize) -> *mut u8 {
        // Never smaller: what is written beyond would be somebody else's.
        self.given.resize(size, 0);
        self.given.as_mut_ptr()
    }

    /// Where the page reads five numbers: three of the output, then where its text or frame lies and how many bytes it has.
    pub fn told(&self) -> *const u32 {
        self.told.numbers.as_ptr()
    }

    /// A client that waits for `connect`; returns its number. The session is given in `size` bytes. `idle_after_secs`: -1 is
    /// the server's setting, 0 never. The seeds are random.
    pub fn open(
        &mut self,
        now: f64,
        size: usize,
        nodes: u32,
        idle_after_secs: i32,
        seed: [u32; 2],
    ) -> u32 {
        let idle_after = u64::try_from(idle_after_secs).ok().map(Span::from_secs);
        let seed = u64::from(seed[0]) << 32 | u64::from(seed[1]);
        let config = Config { session: text(&self.given, size), nodes, idle_after, seed };
        let client = Some(Box::new(Client::new(time(now), &config)));
        let free = self.clients.iter().position(Option::is_none);
        let at = free.unwrap_or(self.clients.len());
        if free.is_none() {
            self.clients.push(None);
        }
        self.clients[at] = client;
        at as u32
    }

    /// A client is of no use any more.
    pub fn free(&mut self, client: u32) {
        if let Some(client) = self.clients.get_mut(client as usize) {
            *client = None;
        }
    }

    /// When `TIMEOUT` is to be said next; infinite: never.
    pub fn deadline(&self, client: u32) -> f64 {
        let due = self.client(client).and_then(Client::deadline);
        due.map_or(f64::INFINITY, |(due, _)| due.as_millis() as f64)
    }

    /// 0 offline, 1 online, 2 away, 3 busy, 4 dnd, 5 unknown.
    pub fn state(&self, client: u32, row: u32) -> u32 {
        self.client(client).map_or(0, |it| it.state(Row(row)) as u32)
    }

    /// How long ago the user was last seen; -1: not known. Below that it is no more than a bound: -2 less the age.
    pub fn seen_ago_ms(&self, client: u32, now: f64, row: u32) -> f64 {
        let ago = self.client(client).and_then(|it| it.seen_ago(time(now), Row(row)));
        ago.map_or(-1.0, |(ago, coarse)| {
            let ago = ago.as_millis() as f64;
            if coarse { -2.0 - ago } else { ago }
        })
    }

    /// Tells the user's note; no bytes: there is none.
    pub fn note(&mut self, client: u32, row: u32) {
        let Some(Some(client)) = self.clients.get(client as usize) else { return };
        self.told.tell([0; 3], |out| out.extend_from_slice(client.note(Row(row)).as_bytes()));
    }

    /// Tells what is known of a room: whether anything is, and one more than the count if it is too large to name all, as
    /// numbers; then as bytes for each member the state, the name, and an end that no text holds.
    pub fn room(&mut self, client: u32, room: u32) {
        let Some(Some(client)) = self.clients.get(client as usize) else { return };
        let view = client.room(Room(room)).filter(|it| it.known);
        let count = view.and_then(|it| it.count).map_or(0, |it| it.saturating_add(1));
        self.told.tell([view.is_some().into(), count, 0], |out| {
            for (user, state) in view.iter().flat_map(|it| &it.members) {
                out.push(*state as u8);
                out.extend_from_slice(user.as_bytes());
                out.push(END_OF_NAME);
            }
        });
    }

    fn client(&self, client: u32) -> Option<&Client> {
        self.clients.get(client as usize)?.as_deref()
    }
}

impl Told {
    fn tell(&mut self, numbers: [u32; 3], write: impl FnOnce(&mut Vec<u8>)) {
        self.numbers = numbers;
        self.bytes.clear();
        write(&mut self.bytes);
        self.at = self.bytes.as_ptr() as usize as u32;
        self.size = self.bytes.len() as u32;
    }
}

/// UTF-8 has no such byte.
const END_OF_NAME: u8 = 0xff;

/// The page's clock, in milliseconds.
fn time(now: f64) -> Time {
    Time::from_millis(now as u64)
}

/// A text that was given. Pages write well-formed ones only.
fn text(given: &[u8], size: usize) -> &str {
    given.get(..size).and_then(|it| core::str::from_utf8(it).ok()).unwrap_or_default()
}
