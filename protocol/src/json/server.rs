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

fn text_if_any(text: &str) -> Option<Text<'_>> {
    (!text.is_empty()).then(|| text.into())
}
