//! Polls, which go over HTTP and in JSON alone.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::DecodeError;
use super::client::ModeChoice;
use super::read::{Named, Object, Text, object};
use super::server::{Member, rows_of};
use crate::{Span, State};

/// A poll as it was read; [`Self::poll`] is the poll itself.
pub struct PollText<'a>(Poll<'a>);

/// What a poll asks: a POST to `poll`, below the endpoint's own path.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(optional_fields))]
pub(crate) struct Poll<'a> {
    /// The users, 1 to 1,000 of them; none will do where a session is kept alive.
    #[serde(borrow)]
    users: Vec<Text<'a>>,
    /// What the last answer about the same users in the same order gave; absent: tell everything.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    mark: Option<Text<'a>>,
    /// The session that the poll keeps alive; absent: none.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    session: Option<Text<'a>>,
    /// How soon the next poll comes: the session lives for twice as long. Absent: 30,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    interval_ms: Option<u64>,
    /// Idle or active, if the client wants to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    idle: Option<bool>,
    /// The user's mode as this client knows it, as in a hello.
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<Object<ModeChoice>>,
    /// The rooms that the session is in, these and no others, up to 32; absent: nothing is said of rooms.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    rooms: Option<Vec<Text<'a>>>,
}

/// The answer to a poll.
#[derive(Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(optional_fields))]
pub(crate) struct Polled<'a> {
    /// Whether it speaks of all users asked about: those that are not listed are offline and were
    /// never seen. Else it lists those that look otherwise than the mark told.
    full: bool,
    /// For the next poll of the same users in the same order.
    mark: Text<'a>,
    /// The users.
    users: Vec<Object<PolledUser<'a>>>,
    /// The rooms that the poll named, whole, but for those of which nobody can say who is there; absent if that is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    rooms: Option<Vec<Object<PolledRoom<'a>>>>,
}

/// A room in the answer to a poll.
#[derive(Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(optional_fields))]
pub(crate) struct PolledRoom<'a> {
    /// The room's id.
    room: Text<'a>,
    /// Whether the user may not be there; absent if it may.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<bool>,
    /// About how many are there, if these are only some of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u32>,
    /// Who is there, as far as this user may see.
    members: Vec<Object<Member<'a>>>,
}

/// A user in the answer to a poll.
#[derive(Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(optional_fields))]
pub(crate) struct PolledUser<'a> {
    /// The user's name.
    user: Text<'a>,
    /// What may be seen.
    state: Named<State>,
    /// How long ago the user was last seen; only while offline, absent if never.
    #[serde(skip_serializing_if = "Option::is_none")]
    seen_ago_ms: Option<u64>,
    /// Whether that is no more than a bound; absent if not.
    #[serde(skip_serializing_if = "Option::is_none")]
    coarse: Option<bool>,
    /// The user's note; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<Text<'a>>,
}

/// Why a poll was not answered.
#[derive(Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(crate) struct PollRefused<'a> {
    /// The name of the reason: of a close code, or of an error.
    error: Text<'a>,
    /// For people: the culprit and the next step.
    text: Text<'a>,
}

/// Reads a poll.
///
/// # Errors
///
/// If the bytes are none.
pub fn decode_poll(bytes: &[u8]) -> Result<PollText<'_>, DecodeError> {
    object(bytes).map(PollText)
}

/// Appends the answer to `out`.
pub fn encode_polled(polled: &crate::Polled<'_>, out: &mut Vec<u8>) {
    let users = polled.users.iter().map(|it| Object(PolledUser::of(it))).collect();
    let rooms = polled.rooms.iter().map(|it| Object(PolledRoom::of(it))).collect();
    let rooms = (!polled.rooms.is_empty()).then_some(rooms);
    super::write(&Polled { full: polled.full, mark: polled.mark.into(), users, rooms }, out);
}

/// Appends why a poll was not answered to `out`: the name of the reason, and words for people.
pub fn encode_poll_refused(error: &str, text: &str, out: &mut Vec<u8>) {
    super::write(&PollRefused { error: error.into(), text: text.into() }, out);
}

impl<'a> PolledUser<'a> {
    fn of(user: &crate::PolledUser<'a>) -> Self {
        Self {
            user: user.user.into(),
            state: Named(user.state),
            seen_ago_ms: user.seen_ago.map(Span::as_millis),
            coarse: (user.coarse && user.seen_ago.is_some()).then_some(true),
            note: (!user.note.is_empty()).then(|| user.note.into()),
        }
    }
}

impl<'a> PolledRoom<'a> {
    fn of(room: &crate::PolledRoom<'a>) -> Self {
        Self {
            room: room.room.into(),
            refused: room.refused.then_some(true),
            count: room.count,
            members: rows_of(&room.members),
        }
    }
}

impl PollText<'_> {
    /// The poll.
    pub fn poll(&self) -> crate::Poll<'_> {
        crate::Poll {
            users: self.0.users.iter().map(Text::as_str).collect(),
            mark: self.0.mark.as_ref().map_or("", Text::as_str),
            session: self.0.session.as_ref().map_or("", Text::as_str),
            interval: Span::from_millis(self.0.interval_ms.unwrap_or_default()),
            idle: self.0.idle,
            mode: self.0.mode.as_ref().map(|it| it.0.choice()),
            rooms: self.0.rooms.as_ref().map(|it| it.iter().map(Text::as_str).collect()),
        }
    }
}
