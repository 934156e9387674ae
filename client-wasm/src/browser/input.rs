//! What can be said to the core from here, as values: a closure for each would be several times
//! the code.

use greendot_protocol::{Mode, ServerFrame, Time};

use crate::core::{Client, Dial, Page, Part, Room, Row, TokenFailure};

#[derive(Clone, Copy)]
pub(super) enum Input<'a> {
    Connect,
    Disconnect,
    SignOut,
    Subscribe(Part, &'a str),
    Unsubscribe(Part, Row),
    Join(&'a str),
    Leave(Room),
    Mode(Mode),
    Note(&'a str),
    Page(Page),
    Touch,
    TouchElsewhere,
    Token(Dial, &'a str),
    TokenFailed(Dial, TokenFailure),
    Opened(Dial),
    Frame(Dial, &'a ServerFrame<'a>),
    Unreadable(Dial),
    Closed(Dial, u16),
    Timeout,
}

impl Input<'_> {
    /// Says it. The answer is a row, where one is asked for; a room's place stands in for one.
    pub(super) fn say(self, client: &mut Client, now: Time) -> Row {
        match self {
            Self::Connect => client.connect(now),
            Self::Disconnect => client.disconnect(now),
            Self::SignOut => client.sign_out(now),
            Self::Subscribe(part, user) => return client.subscribe(now, part, user),
            Self::Unsubscribe(part, row) => client.unsubscribe(now, part, row),
            Self::Join(room) => return Row(client.join(now, room).0),
            Self::Leave(room) => client.leave(now, room),
            Self::Mode(mode) => client.set_mode(now, mode),
            Self::Note(note) => client.set_note(now, note),
            Self::Page(page) => client.handle_page(now, page),
            Self::Touch => client.handle_input(now),
            Self::TouchElsewhere => client.handle_input_elsewhere(now),
            Self::Token(dial, token) => client.handle_token(now, dial, token),
            Self::TokenFailed(dial, why) => client.handle_token_failed(now, dial, why),
            Self::Opened(dial) => client.handle_opened(now, dial),
            Self::Frame(dial, frame) => client.handle_frame(now, dial, frame),
            Self::Unreadable(dial) => client.handle_unreadable(now, dial),
            Self::Closed(dial, code) => client.handle_closed(now, dial, code),
            Self::Timeout => client.handle_timeout(now),
        }
        Row::default()
    }
}
