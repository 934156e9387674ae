//! What comes out of the client.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::rooms::Room;
use greendot_protocol::{
    Beat, ClientFrame, ErrorCode, Hello, Mode, ModeChoice, Revision, Span, WatchItem,
};

/// One attempt at a connection. Later ones have higher numbers; what is said about an earlier one
/// has no effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dial(pub u32);

/// A watched user's place in the view; stays the same while anyone watches the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Row(pub u32);

/// A part of the app that watches; the app numbers them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Part(pub u32);

/// What waits to be done, in order.
#[derive(Debug, Default)]
pub(super) struct Queue {
    list: Vec<Option<Output>>,
    next: usize,
}

impl Queue {
    #[inline(never)]
    pub(super) fn push(&mut self, output: Output) {
        self.list.push(Some(output));
    }

    pub(super) fn pop(&mut self) -> Option<Output> {
        let output = self.list.get_mut(self.next).and_then(Option::take);
        self.next += 1;
        if output.is_none() {
            self.list.clear();
            self.next = 0;
        }
        output
    }
}

/// What the driver has to do or to tell the app, in this order.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Output {
    /// Get a fresh token, then call [`Client::handle_token`] or [`Client::handle_token_failed`].
    ///
    /// [`Client::handle_token`]: super::Client::handle_token
    /// [`Client::handle_token_failed`]: super::Client::handle_token_failed
    NeedToken {
        /// What the token is for: a connection that is to be dialled, or one that stands and whose
        /// own token ends before long.
        dial: Dial,
    },
    /// Open a connection to this node, counted from 0 in the list that the app gave.
    Dial {
        /// The connection's number from now on.
        dial: Dial,
        /// The node.
        node: u32,
    },
    /// Send this on the open connection.
    Send {
        /// The connection.
        dial: Dial,
        /// What to encode and send.
        frame: Message,
    },
    /// Close this connection, open or still opening; nothing more is to be handled from it, not
    /// even its end.
    CloseSocket {
        /// The connection.
        dial: Dial,
        /// The close code.
        code: u16,
    },
    /// A state or note in this part's view has changed, or the part has begun to watch a user who
    /// is known already.
    Changed {
        /// Whose view.
        part: Part,
        /// Which user.
        row: Row,
    },
    /// What is known of a room has changed.
    Room(Room),
    /// The link's state has changed.
    Link {
        /// What it is now.
        state: LinkState,
        /// The close code that led to it, or 0.
        why: u16,
        /// While waiting: how long until the next dial. None if it waits for the page to be back.
        retry: Option<Span>,
    },
    /// Whether what the view shows may be old. True until said otherwise.
    Stale(bool),
    /// The user's own mode, as now known.
    Mode {
        /// What it is.
        mode: Mode,
        /// Its number, for [`Client::remember_mode`]; 0 while the server has not told any.
        ///
        /// [`Client::remember_mode`]: super::Client::remember_mode
        revision: Revision,
    },
    /// Say `closing` by a beacon: the connection that the ticket belongs to may be dead, and its
    /// server not know it. Whether it arrives is told to nobody.
    Beacon {
        /// The node that gave the ticket.
        node: u32,
        /// What it gave.
        ticket: Box<str>,
    },
    /// Something the app asked for was not done; all else goes on.
    Error {
        /// What was wrong.
        code: ErrorCode,
        /// The row it is about, or the room, where it is about one.
        about: u32,
        /// For people: the culprit and the next step.
        text: Box<str>,
    },
}

/// The link's state as the app sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum LinkState {
    /// Getting a token, opening a connection, or waiting for the welcome or the first snapshot.
    Connecting = 0,
    /// Welcomed, and every user watched at the start has been answered.
    Live = 1,
    /// Lost; the next dial comes by itself.
    Waiting = 2,
    /// Told not to come back.
    Stopped = 3,
    /// Not started, or ended by the app.
    Closed = 4,
}

/// A frame that owns its texts; see [`Message::as_frame`].
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// Who I am.
    Hello(Box<Greeting>),
    /// I am still here.
    Beat(Beat),
    /// Show me these users.
    Watch {
        /// Comes back in the snapshot.
        request: u32,
        /// Numbers and names.
        users: Vec<(u32, Box<str>)>,
    },
    /// These are no longer of interest.
    Unwatch {
        /// Numbers from earlier watches.
        numbers: Vec<u32>,
    },
    /// The user's choice of how to appear.
    Mode(Mode),
    /// The user's note.
    Note(Box<str>),
    /// The person has not touched this device for a while.
    Idle,
    /// The person is back.
    Active,
    /// The page goes away and may come back.
    Closing,
    /// A clean goodbye.
    Bye,
    /// A fresh token, before the old one ends.
    Token(Box<str>),
    /// A room.
    Join {
        /// What stands for it.
        number: u32,
        /// Its id.
        room: Box<str>,
    },
    /// A room no more.
    Leave {
        /// What stands for it.
        number: u32,
    },
}

/// What a hello says.
#[derive(Clone, Debug, PartialEq)]
pub struct Greeting {
    /// The session's id.
    pub session: Box<str>,
    /// The token of this dial.
    pub token: Box<str>,
    /// What the person may call this device; may be empty.
    pub device: Box<str>,
    /// Idle or active.
    pub idle: bool,
    /// Age of the last input in seconds.
    pub input_age_secs: u32,
    /// The app's own idle time, if it set one.
    pub idle_after_secs: Option<u32>,
    /// The user's mode, as known or as chosen anew.
    pub mode: Option<ModeChoice>,
}

impl Message {
    /// The frame to encode, in whichever encoding the connection speaks.
    pub fn as_frame(&self) -> ClientFrame<'_> {
        match self {
            Self::Hello(hello) => ClientFrame::Hello(Hello {
                session: &hello.session,
                token: &hello.token,
                device: &hello.device,
                passive: false,
                idle: Some(hello.idle),
                input_age_secs: Some(hello.input_age_secs),
                idle_after_secs: hello.idle_after_secs,
                mode: hello.mode,
            }),
            Self::Beat(beat) => ClientFrame::Beat(*beat),
            Self::Watch { request, users } => ClientFrame::Watch {
                request: *request,
                users: users
                    .iter()
                    .map(|(number, user)| WatchItem { number: *number, user })
                    .collect(),
            },
            Self::Unwatch { numbers } => ClientFrame::Unwatch { numbers: numbers.clone() },
            Self::Mode(mode) => ClientFrame::Mode(*mode),
            Self::Note(note) => ClientFrame::Note(note),
            Self::Idle => ClientFrame::Idle,
            Self::Active => ClientFrame::Active,
            Self::Closing => ClientFrame::Closing,
            Self::Bye => ClientFrame::Bye,
            Self::Token(token) => ClientFrame::Token(token),
            Self::Join { number, room } => ClientFrame::Join { number: *number, room },
            Self::Leave { number } => ClientFrame::Leave { number: *number },
        }
    }
}
