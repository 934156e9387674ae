//! What a page says.

use greendot_protocol::binary::decode_but_sessions;
use greendot_protocol::{Mode, Revision};

use super::{Face, text, time};
use crate::core::{Dial, Page, Part, Room, Row, TokenFailure};

impl Face {
    /// Says something to a client, by its kind below, with two numbers and with `size` of the bytes that were given. The
    /// answer is a row or a room's number, where one is asked for. Afterwards there may be [outputs](Face::poll) and
    /// another [deadline](Face::deadline).
    pub fn say(&mut self, client: u32, now: f64, kind: u32, numbers: [u32; 2], size: usize) -> u32 {
        let Some(Some(client)) = self.clients.get_mut(client as usize) else { return 0 };
        let now = time(now);
        let [a, b] = numbers;
        let dial = Dial(a);
        let text = || text(&self.given, size);
        match kind {
            CONNECT => client.connect(now),
            DISCONNECT => client.disconnect(now),
            SIGN_OUT => client.sign_out(now),
            DEVICE => client.set_device(text()),
            MODE => {
                if let Some(mode) = Mode::from_wire(a as u8) {
                    match b {
                        0 => client.set_mode(now, mode),
                        _ => client.remember_mode(mode, Revision(b)),
                    }
                }
            }
            NOTE => client.set_note(now, text()),
            SUBSCRIBE => return client.subscribe(now, Part(a), text()).0,
            UNSUBSCRIBE => client.unsubscribe(now, Part(a), Row(b)),
            JOIN => return client.join(now, text()).0,
            LEAVE => client.leave(now, Room(a)),
            PAGE => {
                if let Some(&page) = Page::ALL.get(a as usize) {
                    client.handle_page(now, page);
                }
            }
            INPUT => client.handle_input(now),
            INPUT_ELSEWHERE => client.handle_input_elsewhere(now),
            TOKEN => client.handle_token(now, dial, text()),
            TOKEN_FAILED => client.handle_token_failed(now, dial, TokenFailure::Failed),
            NOT_ALLOWED => client.handle_token_failed(now, dial, TokenFailure::NotAllowed),
            OPENED => client.handle_opened(now, dial),
            // A user's own sessions are read beside this, in a part of the package that few pages load.
            FRAME => match decode_but_sessions(self.given.get(..size).unwrap_or_default()) {
                Ok(Some(frame)) => client.handle_frame(now, dial, &frame),
                Ok(None) => {}
                Err(_) => client.handle_unreadable(now, dial),
            },
            CLOSED => client.handle_closed(now, dial, b as u16),
            TIMEOUT => client.handle_timeout(now),
            _ => {}
        }
        0
    }
}

// The kinds, each with its numbers and bytes.
const CONNECT: u32 = 0;
const DISCONNECT: u32 = 1;
const SIGN_OUT: u32 = 2;
/// The device's name.
const DEVICE: u32 = 3;
/// The mode's number; and the number of its choice, if that is what an earlier page was told.
const MODE: u32 = 4;
/// The note.
const NOTE: u32 = 5;
/// The part; the user. Answered by the row.
const SUBSCRIBE: u32 = 6;
/// The part and the row.
const UNSUBSCRIBE: u32 = 7;
/// The room's id. Answered by its number.
const JOIN: u32 = 8;
/// The room's number.
const LEAVE: u32 = 9;
/// The event, by its place in [`Page::ALL`].
const PAGE: u32 = 10;
const INPUT: u32 = 11;
const INPUT_ELSEWHERE: u32 = 12;
/// The dial; the token.
const TOKEN: u32 = 13;
/// The dial.
const TOKEN_FAILED: u32 = 14;
/// The dial: there is no token for this user.
const NOT_ALLOWED: u32 = 15;
/// The dial.
const OPENED: u32 = 16;
/// The dial; the frame.
const FRAME: u32 = 17;
/// The dial and the close code.
const CLOSED: u32 = 18;
const TIMEOUT: u32 = 19;
