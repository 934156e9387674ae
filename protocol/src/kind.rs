//! The kinds of frames: the one list that both encodings, the golden files and the documents rest on.

use crate::{ClientFrame, ServerFrame};

macro_rules! kinds {
    (
        $(#[$about:meta])* $kind:ident of $frame:ident;
        $( $name:ident = $number:literal, $text:literal; )*
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        #[non_exhaustive]
        pub enum $kind {
            $(
                #[doc = concat!("[`", stringify!($frame), "::", stringify!($name), "`]")]
                $name = $number,
            )*
        }

        impl $kind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[ $( Self::$name, )* ];

            /// Its name in JSON.
            pub const fn name(self) -> &'static str {
                match self { $( Self::$name => $text, )* }
            }

            /// The kind with this name, if it is one known here.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $( $text => Some(Self::$name), )* _ => None }
            }

            /// Its number in binary.
            pub const fn number(self) -> u8 {
                self as u8
            }
        }

        impl $frame<'_> {
            /// The frame's kind.
            pub const fn kind(&self) -> $kind {
                match self { $( Self::$name { .. } => $kind::$name, )* }
            }
        }
    };
}

kinds! {
    /// What a client's frame is.
    ClientKind of ClientFrame;
    Hello = 1, "hello";
    Beat = 2, "beat";
    Watch = 3, "watch";
    Unwatch = 4, "unwatch";
    Mode = 5, "mode";
    Note = 6, "note";
    Idle = 7, "idle";
    Active = 8, "active";
    Closing = 9, "closing";
    Bye = 10, "bye";
    Token = 11, "token";
    Join = 12, "join";
    Leave = 13, "leave";
    Own = 14, "own";
    End = 15, "end";
}

kinds! {
    /// What a server's frame is.
    ServerKind of ServerFrame;
    Welcome = 1, "welcome";
    BeatAnswer = 2, "beat_answer";
    Snapshot = 3, "snapshot";
    Events = 4, "events";
    Mode = 5, "mode";
    Error = 6, "error";
    Stale = 7, "stale";
    Close = 8, "close";
    Token = 9, "token";
    Room = 10, "room";
    RoomEvents = 11, "room_events";
    Crowd = 12, "crowd";
    Sessions = 13, "sessions";
}
