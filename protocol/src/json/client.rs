//! Frames from a client.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::DecodeError;
use super::read::{Named, Object, Text, kind, object};
use super::secs::{IdleAfter, InputAge};
use crate::{ClientFrame, ClientKind, Mode, Revision};

/// A client's frame as it was read; [`Self::frame`] is the frame itself.
pub struct ClientText<'a>(Client<'a>);

/// What a client says.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(rename = "ClientFrame"))]
pub(crate) enum Client<'a> {
    Hello(Hello<'a>),
    Beat(Beat),
    Watch(Watch<'a>),
    Unwatch(Unwatch),
    Mode(ModeWish),
    Note(Note<'a>),
    Idle,
    Active,
    Closing,
    Bye,
    Token(Token<'a>),
    Join(Join<'a>),
    Leave(Leave),
    Own(Own),
    End(End<'a>),
}

/// The first frame of a connection: who I am.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(optional_fields))]
pub(crate) struct Hello<'a> {
    /// The session's id, a claim inside the user's own names: 1 to 64 bytes.
    #[serde(borrow, default)]
    session: Text<'a>,
    /// What the application checks; says who the user is.
    #[serde(borrow, default)]
    token: Text<'a>,
    /// A passive session does not count for the user's state.
    #[serde(skip_serializing_if = "Option::is_none")]
    passive: Option<bool>,
    /// Idle or active, if the client wants to say; else what was known of the session goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    idle: Option<bool>,
    /// Age of the last input.
    #[serde(skip_serializing_if = "Option::is_none")]
    input_age_ms: Option<InputAge>,
    /// After how long without input this device counts as idle; 0: never. Absent: the server's
    /// own setting.
    #[serde(skip_serializing_if = "Option::is_none")]
    idle_after_ms: Option<IdleAfter>,
    /// The user's mode as this client knows it, or as it was chosen while the link was down.
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<Object<ModeChoice>>,
    /// What the person may call this device, for a list of the user's own sessions.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    device: Option<Text<'a>>,
}

/// A user's mode, with what is needed to weigh it against another.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(optional_fields))]
pub(crate) struct ModeChoice {
    /// The mode.
    mode: Named<Mode>,
    /// The number of the choice, as the server told it last.
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<u32>,
    /// Whether this is a new choice, not yet told, or a repetition of one that the server may have
    /// lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    fresh: Option<bool>,
}

/// A heartbeat.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(optional_fields))]
pub(crate) struct Beat {
    /// 0 to 255; comes back in the answer.
    number: u8,
    /// Age of the last input.
    #[serde(skip_serializing_if = "Option::is_none")]
    input_age_ms: Option<InputAge>,
}

/// Show me these users, each under a number of my choice. Answered by one snapshot.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(crate) struct Watch<'a> {
    /// 1 or more; comes back in the snapshot.
    request: u32,
    /// The users. A number in use already moves to the new user.
    #[serde(borrow)]
    users: Vec<Object<WatchItem<'a>>>,
}

/// One user to watch.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(crate) struct WatchItem<'a> {
    /// The number that will stand for the user on this connection.
    number: u32,
    /// The user's name.
    #[serde(borrow)]
    user: Text<'a>,
}

/// These numbers are no longer of interest.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(crate) struct Unwatch {
    /// Numbers from earlier watches.
    numbers: Vec<u32>,
}

/// My user's own choice of how to appear.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(crate) struct ModeWish {
    /// The mode.
    mode: Named<Mode>,
}

/// My user's note.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(crate) struct Note<'a> {
    /// Empty takes it away.
    #[serde(borrow)]
    note: Text<'a>,
}

/// A fresh token, before the one that the connection rests on ends.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(rename = "FreshToken"))]
pub(crate) struct Token<'a> {
    /// What the application checks; of the same user.
    #[serde(borrow)]
    token: Text<'a>,
}

/// My session goes into a room, and I want to be told who is there.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(crate) struct Join<'a> {
    /// The number that will stand for the room on this connection.
    number: u32,
    /// The room's id.
    #[serde(borrow)]
    room: Text<'a>,
}

/// My session leaves a room.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(crate) struct Leave {
    /// The room's number.
    number: u32,
}

/// Tell me my user's own sessions.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(crate) struct Own {
    /// From now on, or no more.
    on: bool,
}

/// Another session of my user is to end.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(crate) struct End<'a> {
    /// The session's id.
    #[serde(borrow)]
    session: Text<'a>,
}

impl<'a> ClientText<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Option<Self>, DecodeError> {
        let Some(kind) = ClientKind::from_name(&kind(bytes)?) else { return Ok(None) };
        Ok(Some(Self(match kind {
            ClientKind::Hello => Client::Hello(object(bytes)?),
            ClientKind::Beat => Client::Beat(object(bytes)?),
            ClientKind::Watch => Client::Watch(object(bytes)?),
            ClientKind::Unwatch => Client::Unwatch(object(bytes)?),
            ClientKind::Mode => Client::Mode(object(bytes)?),
            ClientKind::Note => Client::Note(object(bytes)?),
            ClientKind::Idle => Client::Idle,
            ClientKind::Active => Client::Active,
            ClientKind::Closing => Client::Closing,
            ClientKind::Bye => Client::Bye,
            ClientKind::Token => Client::Token(object(bytes)?),
            ClientKind::Join => Client::Join(object(bytes)?),
            ClientKind::Leave => Client::Leave(object(bytes)?),
            ClientKind::Own => Client::Own(object(bytes)?),
            ClientKind::End => Client::End(object(bytes)?),
        })))
    }

    /// The frame.
    pub fn frame(&self) -> ClientFrame<'_> {
        match &self.0 {
            Client::Hello(hello) => ClientFrame::Hello(hello.frame()),
            Client::Beat(beat) => ClientFrame::Beat(crate::Beat {
                number: beat.number,
                input_age_secs: beat.input_age_ms.map(|it| it.0),
            }),
            Client::Watch(watch) => ClientFrame::Watch {
                request: watch.request,
                users: watch.users.iter().map(|it| it.0.frame()).collect(),
            },
            Client::Unwatch(unwatch) => ClientFrame::Unwatch { numbers: unwatch.numbers.clone() },
            Client::Mode(wish) => ClientFrame::Mode(wish.mode.0),
            Client::Note(note) => ClientFrame::Note(note.note.as_str()),
            Client::Idle => ClientFrame::Idle,
            Client::Active => ClientFrame::Active,
            Client::Closing => ClientFrame::Closing,
            Client::Bye => ClientFrame::Bye,
            Client::Token(fresh) => ClientFrame::Token(fresh.token.as_str()),
            Client::Join(join) => {
                ClientFrame::Join { number: join.number, room: join.room.as_str() }
            }
            Client::Leave(leave) => ClientFrame::Leave { number: leave.number },
            Client::Own(own) => ClientFrame::Own(own.on),
            Client::End(end) => ClientFrame::End { session: end.session.as_str() },
        }
    }
}

impl<'a> Client<'a> {
    pub(super) fn of(frame: &ClientFrame<'a>) -> Self {
        match frame {
            ClientFrame::Hello(hello) => Self::Hello(Hello::of(hello)),
            ClientFrame::Beat(beat) => Self::Beat(Beat {
                number: beat.number,
                input_age_ms: beat.input_age_secs.map(InputAge),
            }),
            ClientFrame::Watch { request, users } => {
                let item = |it: &crate::WatchItem<'a>| {
                    Object(WatchItem { number: it.number, user: it.user.into() })
                };
                Self::Watch(Watch { request: *request, users: users.iter().map(item).collect() })
            }
            ClientFrame::Unwatch { numbers } => Self::Unwatch(Unwatch { numbers: numbers.clone() }),
            ClientFrame::Mode(mode) => Self::Mode(ModeWish { mode: Named(*mode) }),
            ClientFrame::Note(note) => Self::Note(Note { note: (*note).into() }),
            ClientFrame::Idle => Self::Idle,
            ClientFrame::Active => Self::Active,
            ClientFrame::Closing => Self::Closing,
            ClientFrame::Bye => Self::Bye,
            ClientFrame::Token(token) => Self::Token(Token { token: (*token).into() }),
            ClientFrame::Join { number, room } => {
                Self::Join(Join { number: *number, room: (*room).into() })
            }
            ClientFrame::Leave { number } => Self::Leave(Leave { number: *number }),
            ClientFrame::Own(on) => Self::Own(Own { on: *on }),
            ClientFrame::End { session } => Self::End(End { session: (*session).into() }),
        }
    }
}

impl<'a> Hello<'a> {
    fn of(hello: &crate::Hello<'a>) -> Self {
        Self {
            session: hello.session.into(),
            token: hello.token.into(),
            passive: hello.passive.then_some(true),
            idle: hello.idle,
            input_age_ms: hello.input_age_secs.map(InputAge),
            idle_after_ms: hello.idle_after_secs.map(IdleAfter),
            mode: hello.mode.map(|it| Object(ModeChoice::of(it))),
            device: (!hello.device.is_empty()).then(|| hello.device.into()),
        }
    }

    fn frame(&self) -> crate::Hello<'_> {
        crate::Hello {
            session: self.session.as_str(),
            token: self.token.as_str(),
            passive: self.passive.unwrap_or_default(),
            idle: self.idle,
            input_age_secs: self.input_age_ms.map(|it| it.0),
            idle_after_secs: self.idle_after_ms.map(|it| it.0),
            mode: self.mode.as_ref().map(|it| it.0.choice()),
            device: self.device.as_ref().map_or("", Text::as_str),
        }
    }
}

impl ModeChoice {
    fn of(choice: crate::ModeChoice) -> Self {
        Self {
            mode: Named(choice.mode),
            revision: Some(choice.revision.0),
            fresh: choice.fresh.then_some(true),
        }
    }

    pub(super) fn choice(&self) -> crate::ModeChoice {
        crate::ModeChoice {
            mode: self.mode.0,
            revision: Revision(self.revision.unwrap_or_default()),
            fresh: self.fresh.unwrap_or_default(),
        }
    }
}

impl WatchItem<'_> {
    fn frame(&self) -> crate::WatchItem<'_> {
        crate::WatchItem { number: self.number, user: self.user.as_str() }
    }
}
