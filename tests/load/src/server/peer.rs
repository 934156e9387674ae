//! How each of the servers is spoken to.

use greendot_protocol::{
    ClientFrame, Hello, Mode, SUBPROTOCOL_BINARY, ServerFrame, WatchItem, binary,
};
use tokio_tungstenite::tungstenite::Message;

/// A server that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// Ours.
    Greendot,
    /// Presence by hand on `ws`.
    Ws,
    /// Presence by hand on Socket.IO.
    SocketIo,
    /// A loop of writes and nothing else.
    Bare,
}

/// What a message from a server is to a client that counts.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Heard {
    /// The client may speak now.
    Welcome,
    /// How so many watched users stand.
    Entries(usize),
    /// The answer to a watch, where that is no such entry.
    Snapshot,
    /// It wants an answer.
    Answer(Message),
    /// Nothing that is counted.
    Other,
}

impl Peer {
    /// Where its endpoint is.
    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Greendot => "presence",
            Self::Ws | Self::Bare => "",
            Self::SocketIo => "socket.io/?EIO=4&transport=websocket",
        }
    }

    /// The subprotocol, if it takes one.
    pub(super) fn subprotocol(self) -> Option<&'static str> {
        (self == Self::Greendot).then_some(SUBPROTOCOL_BINARY)
    }

    /// What a client says first; none if the server speaks first.
    pub(super) fn hello(self, user: &str) -> Option<Message> {
        match self {
            Self::Greendot => Some(frame(&ClientFrame::Hello(Hello {
                session: "load",
                token: user,
                ..Hello::default()
            }))),
            Self::Ws | Self::SocketIo | Self::Bare => None,
        }
    }

    /// Whether a client waits for a word of the server before it goes on.
    pub(super) fn welcomes(self) -> bool {
        !matches!(self, Self::Ws | Self::Bare)
    }

    /// Asks to see the users of these numbers.
    pub(super) fn watch(self, users: &[u16]) -> Vec<Message> {
        match self {
            Self::Greendot => {
                let names: Vec<String> = users.iter().map(|&it| user(it)).collect();
                let items = users.iter().zip(&names);
                let users =
                    items.map(|(&it, user)| WatchItem { number: u32::from(it), user }).collect();
                vec![frame(&ClientFrame::Watch { request: 1, users })]
            }
            Self::Ws | Self::Bare => users.iter().map(|it| message(1, *it, 0)).collect(),
            Self::SocketIo => {
                users.iter().map(|it| Message::text(format!("42[\"watch\",{it}]"))).collect()
            }
        }
    }

    /// Sets the state of a user; each turn gives another.
    pub(super) fn change(self, user: u16, turn: u32) -> Message {
        match self {
            Self::Greendot => {
                let mode = if turn.is_multiple_of(2) { Mode::Dnd } else { Mode::Busy };
                frame(&ClientFrame::Mode(mode))
            }
            Self::Ws | Self::Bare => message(2, user, 1 + (turn % 2) as u8),
            Self::SocketIo => Message::text(format!("42[\"set\",{user},{}]", 1 + turn % 2)),
        }
    }

    /// Reads what a server said.
    pub(super) fn hear(self, message: &Message) -> Heard {
        match (self, message) {
            (Self::Greendot, Message::Binary(bytes)) => match binary::decode_server(bytes) {
                Ok(Some(ServerFrame::Welcome(_))) => Heard::Welcome,
                Ok(Some(ServerFrame::Events { entries, .. })) => Heard::Entries(entries.len()),
                Ok(Some(ServerFrame::Snapshot { .. })) => Heard::Snapshot,
                _ => Heard::Other,
            },
            (Self::Ws | Self::Bare, Message::Binary(_)) => Heard::Entries(1),
            (Self::SocketIo, Message::Text(text)) => match text.as_str() {
                "2" => Heard::Answer(Message::text("3")),
                it if it.starts_with('0') => Heard::Answer(Message::text("40")),
                it if it.starts_with("40") => Heard::Welcome,
                it if it.starts_with("42") => Heard::Entries(1),
                _ => Heard::Other,
            },
            _ => Heard::Other,
        }
    }

    /// Whether a watch is answered with an entry that is not a change.
    pub(super) fn tells_at_watch(self) -> bool {
        self != Self::Greendot
    }
}

/// The name of the user of this number.
pub(super) fn user(number: u16) -> String {
    format!("user-{number}")
}

fn frame(frame: &ClientFrame<'_>) -> Message {
    let mut bytes = Vec::new();
    binary::encode_client(frame, &mut bytes);
    Message::binary(bytes)
}

fn message(kind: u8, user: u16, state: u8) -> Message {
    let [low, high] = user.to_le_bytes();
    Message::binary(vec![kind, low, high, state])
}
