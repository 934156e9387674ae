//! Why a connection was closed, and whether coming back makes sense.

/// What a client does after a close.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Come back, with jitter.
    Yes,
    /// Stop and tell the app why.
    No,
}

macro_rules! close_codes {
    ($( $(#[$doc:meta])* $name:ident = $number:literal, $text:literal; )*) => {
        /// Close codes of the WebSocket connection. 4000 to 4399: come back; 4400 to 4499: stop.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u16)]
        #[non_exhaustive]
        pub enum CloseCode { $( $(#[$doc])* $name = $number, )* }

        impl CloseCode {
            /// Every code.
            pub const ALL: &'static [Self] = &[ $( Self::$name, )* ];

            /// The code with this number, if it is one of ours.
            pub const fn from_number(number: u16) -> Option<Self> {
                match number { $( $number => Some(Self::$name), )* _ => None }
            }

            /// Its name, as in the docs, the scenarios and the npm package.
            pub const fn name(self) -> &'static str {
                match self { $( Self::$name => $text, )* }
            }
        }
    };
}

close_codes! {
    /// The session's lease had run out; a new connect starts a new one.
    Ended = 4000, "ended";
    /// The node shuts down politely: go to the next one.
    Drain = 4001, "drain";
    /// The node takes no more; come back after the named delay.
    Full = 4002, "full";
    /// The token ran out: come back with a fresh one.
    TokenExpired = 4003, "token_expired";
    /// The application's check of the token failed to answer; not the client's fault.
    CheckFailed = 4004, "check_failed";
    /// No hello came in time.
    HelloTimeout = 4005, "hello_timeout";
    /// The client sent more than it is allowed to in the time.
    TooFast = 4006, "too_fast";
    /// The client called it off itself; never sent by a server.
    Abandoned = 4007, "abandoned";
    /// The frame could not be read.
    BadFrame = 4400, "bad_frame";
    /// The token is missing, malformed or not believed.
    BadToken = 4401, "bad_token";
    /// The application refuses this user.
    NotAllowed = 4403, "not_allowed";
    /// The session id is missing or too long.
    BadSession = 4404, "bad_session";
    /// The same session connected anew; that connection has its place.
    Replaced = 4409, "replaced";
    /// The account or its tokens were revoked.
    Revoked = 4410, "revoked";
    /// Another session of the user has ended this one.
    SignedOut = 4411, "signed_out";
    /// A frame was larger than the limit.
    TooLarge = 4413, "too_large";
    /// None of the offered subprotocols is spoken here.
    WrongVersion = 4426, "wrong_version";
}

impl CloseCode {
    /// The number on the wire.
    pub const fn number(self) -> u16 {
        self as u16
    }

    /// Whether a client comes back by itself after this code.
    pub const fn retry(self) -> Retry {
        Self::retry_after(self.number())
    }

    /// The same for any number: one that is unknown, or not ours (1006 and the like), is a loss
    /// like any other, unless it lies in the range that says stop.
    pub const fn retry_after(number: u16) -> Retry {
        if number >= 4400 && number < 4500 { Retry::No } else { Retry::Yes }
    }
}
