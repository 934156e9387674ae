//! Frames from a server.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::DecodeError;
use super::read::{Named, Object, Text, close_code, kind, object};
use crate::{Epoch, ErrorCode, Mode, Revision, ServerFrame, ServerKind, Span, State, Version};

/// A server's frame as it was read; [`Self::frame`] is the frame itself.
pub struct ServerText<'a>(Server<'a>);

/// What a server says.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(rename = "ServerFrame"))]
pub(crate) enum Server<'a> {
    Welcome(Welcome<'a>),
    BeatAnswer(BeatAnswer),
    Snapshot(Snapshot<'a>),
    Events(Events<'a>),
    Mode(OwnMode),
    Error(Failure<'a>),
    Stale(Stale),
    Close(Close<'a>),
    Token(TokenLife),
    Room(Room<'a>),
    RoomEvents(RoomEvents<'a>),
    Crowd(Crowd<'a>),
    Sessions(Sessions<'a>),
}

/// The answer to a hello.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(optional_fields))]
pub(crate) struct Welcome<'a> {
    /// How often the client shows a sign of life.
    beat_ms: u64,
    /// How long a lease lasts after the last sign of life.
    ttl_ms: u64,
    /// How long a session lingers after its connection ended.
    grace_ms: u64,
    /// After how long without input a device counts as idle; 0: never.
    idle_after_ms: u64,
    /// The session's id, as taken.
    #[serde(borrow)]
    session: Text<'a>,
    /// The epoch that the node is in.
    epoch: u32,
    /// The user's mode.
    mode: Named<Mode>,
    /// The number of the choice of mode.
    revision: u32,
    /// The right to say `closing` for this session by a beacon; absent if there is none.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    ticket: Option<Text<'a>>,
    /// Whether the node's word may be old; absent if not.
    #[serde(skip_serializing_if = "Option::is_none")]
    stale: Option<bool>,
    /// How long the token lasts from now on; absent if it does not end.
    #[serde(skip_serializing_if = "Option::is_none")]
    token_ms: Option<u64>,
}

/// The answer to a beat.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(crate) struct BeatAnswer {
    /// The beat's.
    number: u8,
}

/// The state of watched users, whole. Those of the answered watch that are not listed are offline
/// and were never seen.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(crate) struct Snapshot<'a> {
    /// The watch it answers; 0: it answers none and speaks of every user watched on this
    /// connection.
    request: u32,
    /// The epoch of its versions.
    epoch: u32,
    /// The users.
    #[serde(borrow)]
    entries: Vec<Object<Entry<'a>>>,
}

/// Changes of watched users.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(crate) struct Events<'a> {
    /// The epoch of its versions.
    epoch: u32,
    /// The users, each at most once.
    #[serde(borrow)]
    entries: Vec<Object<Entry<'a>>>,
}

/// One user in a snapshot or in events.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(optional_fields))]
pub(crate) struct Entry<'a> {
    /// The client's number for the user.
    number: u32,
    /// What this watcher may see.
    state: Named<State>,
    /// The number of the change, as this watcher was shown them.
    version: u32,
    /// How long ago the user was last seen; only while offline, absent if never.
    #[serde(skip_serializing_if = "Option::is_none")]
    seen_ago_ms: Option<u64>,
    /// Whether that is no more than a bound: the user was seen since, and more is not to be told;
    /// absent if not.
    #[serde(skip_serializing_if = "Option::is_none")]
    coarse: Option<bool>,
    /// The user's note; absent if there is none.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    note: Option<Text<'a>>,
}

/// The user's own mode, as it is now.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(crate) struct OwnMode {
    /// The mode.
    mode: Named<Mode>,
    /// The number of the choice.
    revision: u32,
}

/// Something the client asked for was not done. The connection goes on.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(crate) struct Failure<'a> {
    /// What was wrong.
    code: Named<ErrorCode>,
    /// The watch request, watch number or 0 that it is about.
    about: u32,
    /// For people: the culprit and the next step.
    #[serde(borrow)]
    text: Text<'a>,
}

/// Whether the node's word may be old from now on.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(crate) struct Stale {
    /// True: from now on; false: it is good again.
    stale: bool,
}

/// Said before the connection is closed, where a number alone would not do.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(crate) struct Close<'a> {
    /// The code that the connection will be closed with.
    #[serde(borrow)]
    #[cfg_attr(feature = "typescript", ts(type = "CloseName"))]
    code: Text<'a>,
    /// Come back no sooner than after this time; 0: as the client likes.
    retry_after_ms: u64,
}

/// The fresh token was taken.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(crate) struct TokenLife {
    /// How long it lasts; 0: it does not end.
    lasts_ms: u64,
}

/// Who is in a room, whole: as far as this client may see, each user once.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(crate) struct Room<'a> {
    /// The client's number for the room.
    number: u32,
    /// The members.
    #[serde(borrow)]
    members: Vec<Object<Member<'a>>>,
}

/// What changed in a room.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(crate) struct RoomEvents<'a> {
    /// The client's number for the room.
    number: u32,
    /// The members who came or look otherwise; those who are offline are there no more.
    #[serde(borrow)]
    members: Vec<Object<Member<'a>>>,
}

/// How many are in a room that is too large to name all.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(crate) struct Crowd<'a> {
    /// The client's number for the room.
    number: u32,
    /// About how many users.
    count: u32,
    /// Some of them, the same ones as long as they are there.
    #[serde(borrow)]
    sample: Vec<Object<Member<'a>>>,
}

/// A user in a room.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(crate) struct Member<'a> {
    /// The user's name.
    #[serde(borrow)]
    user: Text<'a>,
    /// What this client may see.
    state: Named<State>,
}

/// The sessions of the client's own user, whole.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(crate) struct Sessions<'a> {
    /// The sessions.
    #[serde(borrow)]
    sessions: Vec<Object<OwnSession<'a>>>,
}

/// A session of the client's own user.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(optional_fields))]
pub(crate) struct OwnSession<'a> {
    /// The session's id.
    #[serde(borrow)]
    session: Text<'a>,
    /// What the person may call the device; absent if nobody said.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    device: Option<Text<'a>>,
    /// Whether the person has not touched the device for a while; absent if not.
    #[serde(skip_serializing_if = "Option::is_none")]
    idle: Option<bool>,
    /// Whether its connection has ended and it still counts; absent if not.
    #[serde(skip_serializing_if = "Option::is_none")]
    lingering: Option<bool>,
    /// Whether it does not count for the user's state; absent if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    passive: Option<bool>,
    /// Whether it is the client's own; absent if not.
    #[serde(skip_serializing_if = "Option::is_none")]
    this: Option<bool>,
    /// How long ago it began.
    since_ago_ms: u64,
}

impl<'a> ServerText<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Option<Self>, DecodeError> {
        let Some(kind) = ServerKind::from_name(&kind(bytes)?) else { return Ok(None) };
        Ok(Some(Self(match kind {
            ServerKind::Welcome => Server::Welcome(object(bytes)?),
            ServerKind::BeatAnswer => Server::BeatAnswer(object(bytes)?),
            ServerKind::Snapshot => Server::Snapshot(object(bytes)?),
            ServerKind::Events => Server::Events(object(bytes)?),
            ServerKind::Mode => Server::Mode(object(bytes)?),
            ServerKind::Error => Server::Error(object(bytes)?),
            ServerKind::Stale => Server::Stale(object(bytes)?),
            ServerKind::Close => {
                let close: Close<'_> = object(bytes)?;
                if close_code(close.code.as_str()).is_none() {
                    return Ok(None);
                }
                Server::Close(close)
            }
            ServerKind::Token => Server::Token(object(bytes)?),
            ServerKind::Room => Server::Room(object(bytes)?),
            ServerKind::RoomEvents => Server::RoomEvents(object(bytes)?),
            ServerKind::Crowd => Server::Crowd(object(bytes)?),
            ServerKind::Sessions => Server::Sessions(object(bytes)?),
        })))
    }

    /// The frame.
    pub fn frame(&self) -> ServerFrame<'_> {
        match &self.0 {
            Server::Welcome(welcome) => ServerFrame::Welcome(welcome.frame()),
            Server::BeatAnswer(answer) => ServerFrame::BeatAnswer(answer.number),
            Server::Snapshot(snapshot) => ServerFrame::Snapshot {
                epoch: Epoch(snapshot.epoch),
                request: snapshot.request,
                entries: snapshot.entries.iter().map(|it| it.0.frame()).collect(),
            },
            Server::Events(events) => ServerFrame::Events {
                epoch: Epoch(events.epoch),
                entries: events.entries.iter().map(|it| it.0.frame()).collect(),
            },
            Server::Mode(own) => {
                ServerFrame::Mode { mode: own.mode.0, revision: Revision(own.revision) }
            }
            Server::Error(failure) => ServerFrame::Error {
                code: failure.code.0,
                about: failure.about,
                text: failure.text.as_str(),
            },
            Server::Stale(stale) => ServerFrame::Stale(stale.stale),
            Server::Close(close) => ServerFrame::Close {
                code: close_code(close.code.as_str()).expect("others were passed over"),
                retry_after: Span::from_millis(close.retry_after_ms),
            },
            Server::Token(life) => ServerFrame::Token { lasts: Span::from_millis(life.lasts_ms) },
            Server::Room(room) => {
                ServerFrame::Room { number: room.number, members: members(&room.members) }
            }
            Server::RoomEvents(events) => {
                ServerFrame::RoomEvents { number: events.number, members: members(&events.members) }
            }
            Server::Crowd(crowd) => ServerFrame::Crowd {
                number: crowd.number,
                count: crowd.count,
                sample: members(&crowd.sample),
            },
            Server::Sessions(own) => {
                ServerFrame::Sessions(own.sessions.iter().map(|it| it.0.frame()).collect())
            }
        }
    }
}

impl<'a> Server<'a> {
    pub(super) fn of(frame: &ServerFrame<'a>) -> Self {
        let rows =
            |entries: &[crate::Entry<'a>]| entries.iter().map(|it| Object(Entry::of(it))).collect();
        match frame {
            ServerFrame::Welcome(welcome) => Self::Welcome(Welcome::of(welcome)),
            ServerFrame::BeatAnswer(number) => Self::BeatAnswer(BeatAnswer { number: *number }),
            ServerFrame::Snapshot { epoch, request, entries } => Self::Snapshot(Snapshot {
                epoch: epoch.0,
                request: *request,
                entries: rows(entries),
            }),
            ServerFrame::Events { epoch, entries } => {
                Self::Events(Events { epoch: epoch.0, entries: rows(entries) })
            }
            ServerFrame::Mode { mode, revision } => {
                Self::Mode(OwnMode { mode: Named(*mode), revision: revision.0 })
            }
            ServerFrame::Error { code, about, text } => {
                Self::Error(Failure { code: Named(*code), about: *about, text: (*text).into() })
            }
            ServerFrame::Stale(stale) => Self::Stale(Stale { stale: *stale }),
            ServerFrame::Close { code, retry_after } => Self::Close(Close {
                code: code.name().into(),
                retry_after_ms: retry_after.as_millis(),
            }),
            ServerFrame::Token { lasts } => Self::Token(TokenLife { lasts_ms: lasts.as_millis() }),
            ServerFrame::Room { number, members } => {
                Self::Room(Room { number: *number, members: rows_of(members) })
            }
            ServerFrame::RoomEvents { number, members } => {
                Self::RoomEvents(RoomEvents { number: *number, members: rows_of(members) })
            }
            ServerFrame::Crowd { number, count, sample } => {
                Self::Crowd(Crowd { number: *number, count: *count, sample: rows_of(sample) })
            }
            ServerFrame::Sessions(sessions) => Self::Sessions(Sessions {
                sessions: sessions.iter().map(|it| Object(OwnSession::of(it))).collect(),
            }),
        }
    }
}

impl<'a> Welcome<'a> {
    fn of(welcome: &crate::Welcome<'a>) -> Self {
        Self {
            beat_ms: welcome.beat.as_millis(),
            ttl_ms: welcome.ttl.as_millis(),
            grace_ms: welcome.grace.as_millis(),
            idle_after_ms: welcome.idle_after.as_millis(),
            session: welcome.session.into(),
            epoch: welcome.epoch.0,
            mode: Named(welcome.mode),
            revision: welcome.revision.0,
            ticket: text_if_any(welcome.ticket),
            stale: welcome.stale.then_some(true),
            token_ms: (welcome.token != Span::ZERO).then(|| welcome.token.as_millis()),
        }
    }

    fn frame(&self) -> crate::Welcome<'_> {
        crate::Welcome {
            beat: Span::from_millis(self.beat_ms),
            ttl: Span::from_millis(self.ttl_ms),
            grace: Span::from_millis(self.grace_ms),
            idle_after: Span::from_millis(self.idle_after_ms),
            session: self.session.as_str(),
            epoch: Epoch(self.epoch),
            mode: self.mode.0,
            revision: Revision(self.revision),
            ticket: self.ticket.as_ref().map_or("", Text::as_str),
            stale: self.stale.unwrap_or_default(),
            token: Span::from_millis(self.token_ms.unwrap_or_default()),
        }
    }
}

impl<'a> Entry<'a> {
    fn of(entry: &crate::Entry<'a>) -> Self {
        Self {
            number: entry.number,
            state: Named(entry.state),
            version: entry.version.0,
            seen_ago_ms: entry.seen_ago.map(Span::as_millis),
            coarse: (entry.coarse && entry.seen_ago.is_some()).then_some(true),
            note: text_if_any(entry.note),
        }
    }

    fn frame(&self) -> crate::Entry<'_> {
        crate::Entry {
            number: self.number,
            state: self.state.0,
            version: Version(self.version),
            seen_ago: self.seen_ago_ms.map(Span::from_millis),
            coarse: self.seen_ago_ms.is_some() && self.coarse.unwrap_or_default(),
            note: self.note.as_ref().map_or("", Text::as_str),
        }
    }
}

pub(super) fn rows_of<'a>(members: &[crate::Member<'a>]) -> Vec<Object<Member<'a>>> {
    let row = |it: &crate::Member<'a>| Member { user: it.user.into(), state: Named(it.state) };
    members.iter().map(|it| Object(row(it))).collect()
}

fn members<'a>(rows: &'a [Object<Member<'_>>]) -> Vec<crate::Member<'a>> {
    let member = |it: &'a Member<'_>| crate::Member { user: it.user.as_str(), state: it.state.0 };
    rows.iter().map(|it| member(&it.0)).collect()
}

impl<'a> OwnSession<'a> {
    fn of(own: &crate::OwnSession<'a>) -> Self {
        Self {
            session: own.session.into(),
            device: text_if_any(own.device),
            idle: own.idle.then_some(true),
            lingering: own.lingering.then_some(true),
            passive: own.passive.then_some(true),
            this: own.this.then_some(true),
            since_ago_ms: own.since_ago.as_millis(),
        }
    }

    fn frame(&self) -> crate::OwnSession<'_> {
        crate::OwnSession {
            session: self.session.as_str(),
            device: self.device.as_ref().map_or("", Text::as_str),
            idle: self.idle.unwrap_or_default(),
            lingering: self.lingering.unwrap_or_default(),
            passive: self.passive.unwrap_or_default(),
            this: self.this.unwrap_or_default(),
            since_ago: Span::from_millis(self.since_ago_ms),
        }
    }
}

fn text_if_any(text: &str) -> Option<Text<'_>> {
    (!text.is_empty()).then(|| text.into())
}
