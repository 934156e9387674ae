//! What must not be lost on the way to the store: it is kept until it is answered, and said again.

use std::sync::Arc;

use greendot_protocol::{Mode, Time};

use crate::core::gate::LastSeen;
use crate::store::{Departed, Request, SessionName, Speaker};

/// A word that nobody else will say if it is lost. Sessions are not among them: they are
/// registered again as they stand.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Word {
    /// The user's choice, when it was made, and over which connect; none: by the application.
    Mode(Arc<str>, Mode, Time, Option<Over>),
    /// The user's note, since when, and over which connect.
    Note(Arc<str>, Arc<str>, Time, Option<Over>),
    /// The user hides from a viewer, or shows itself again; and since when.
    Block(Arc<str>, Arc<str>, bool, Time),
    /// How exactly others may see when the user was there last, and since when.
    LastSeen(Arc<str>, LastSeen, Time),
    /// The account is no longer good, or is good again; and since when.
    Revoked(Arc<str>, bool, Time),
    /// A session is to end where it had connected by then; the number that has among those of connects.
    SignedOut(SessionName, u64, Time),
    /// A session is in a room, or no more; its node registers it with those that it is in.
    Room(SessionName, Arc<str>, bool),
    /// A session has ended, as it was told then, and when that was.
    Ended(Departed, Time),
}

/// The connect that something was said over: nothing that is told late of an earlier one has any effect (rule 4).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Over {
    session: Arc<str>,
    seat: u64,
    connected: Time,
}

impl Over {
    fn speaker(self, now: Time) -> Speaker {
        let connected_ago = now.since(self.connected);
        Speaker { session: self.session, seat: self.seat, connected_ago }
    }
}

fn connect(now: Time, by: Option<&Speaker>) -> Option<Over> {
    let Speaker { session, seat, connected_ago } = by?;
    Some(Over { session: Arc::clone(session), seat: *seat, connected: now - *connected_ago })
}

impl Word {
    /// The word in a request, if there is one.
    pub(super) fn of(now: Time, request: &Request) -> Option<Self> {
        Some(match request {
            Request::SetMode { user, mode, ago, by } => {
                Self::Mode(Arc::clone(user), *mode, now - *ago, connect(now, by.as_ref()))
            }
            Request::SetNote { user, note, ago, by } => Self::Note(
                Arc::clone(user),
                Arc::clone(note),
                now - *ago,
                connect(now, by.as_ref()),
            ),
            Request::SetBlock { user, viewer, blocked, ago: Some(ago) } => {
                Self::Block(Arc::clone(user), Arc::clone(viewer), *blocked, now - *ago)
            }
            Request::SetLastSeen { user, wish, ago } => {
                Self::LastSeen(Arc::clone(user), *wish, now - *ago)
            }
            Request::Revoke { user, revoked, ago } => {
                Self::Revoked(Arc::clone(user), *revoked, now - *ago)
            }
            Request::SignOut { name, seat, ago } => {
                Self::SignedOut(name.clone(), *seat, now - *ago)
            }
            Request::Connect(it) => {
                // A repeated choice is no word of its own: it is repeated with the session.
                let choice = it.mode.filter(|it| it.fresh)?;
                let connected = now - it.connected_ago;
                let by = Over { session: Arc::clone(&it.name.session), seat: it.seat, connected };
                Self::Mode(Arc::clone(&it.name.user), choice.mode, connected, Some(by))
            }
            Request::Join { name, room } => Self::Room(name.clone(), Arc::clone(room), true),
            Request::Leave { name, room } => Self::Room(name.clone(), Arc::clone(room), false),
            Request::End(it) => Self::Ended(it.clone(), now),
            _ => return None,
        })
    }

    /// The request that says it.
    pub(super) fn request(self, now: Time) -> Request {
        match self {
            Self::Mode(user, mode, at, by) => Request::SetMode {
                user,
                mode,
                ago: now.since(at),
                by: by.map(|it| it.speaker(now)),
            },
            Self::Note(user, note, at, by) => Request::SetNote {
                user,
                note,
                ago: now.since(at),
                by: by.map(|it| it.speaker(now)),
            },
            Self::Block(user, viewer, blocked, at) => {
                Request::SetBlock { user, viewer, blocked, ago: Some(now.since(at)) }
            }
            Self::LastSeen(user, wish, at) => {
                Request::SetLastSeen { user, wish, ago: now.since(at) }
            }
            Self::Revoked(user, revoked, at) => {
                Request::Revoke { user, revoked, ago: now.since(at) }
            }
            Self::SignedOut(name, seat, at) => Request::SignOut { name, seat, ago: now.since(at) },
            Self::Room(name, room, true) => Request::Join { name, room },
            Self::Room(name, room, false) => Request::Leave { name, room },
            Self::Ended(it, at) => Request::End(Departed {
                connected_ago: it.connected_ago + now.since(at),
                heard_ago: it.heard_ago + now.since(at),
                ..it
            }),
        }
    }

    /// Whether the store must not hear of a later word of the user before this one.
    pub(super) fn goes_before(&self, later: &Self) -> bool {
        self.stands_alone() && self.user() == later.user() && !later.overrules(self)
    }

    /// Whether it can be said whatever the store knows of the user's sessions.
    pub(super) fn stands_alone(&self) -> bool {
        match self {
            Self::Ended(it, _) => it.bye,
            Self::SignedOut(..) | Self::Room(..) => false,
            _ => true,
        }
    }

    /// Who chose it, if it is a choice that a client makes and takes for settled by what it is answered.
    pub(super) fn chooser(&self) -> Option<&Arc<str>> {
        match self {
            Self::Mode(user, ..) | Self::Note(user, ..) => Some(user),
            _ => None,
        }
    }

    /// Whose choice it is to be seen no more, by everybody or by one viewer.
    pub(super) fn hider(&self) -> Option<&Arc<str>> {
        match self {
            Self::Mode(user, Mode::Invisible, ..) | Self::Block(user, _, true, _) => Some(user),
            _ => None,
        }
    }

    /// Whether it is something that a user has chosen.
    pub(super) fn is_choice(&self) -> bool {
        !matches!(self, Self::Revoked(..) | Self::SignedOut(..) | Self::Room(..) | Self::Ended(..))
    }

    /// Whether, said in an outage, it may be told later than that the store is back: see [`super::farewells`].
    pub(super) fn may_come_later(&self) -> bool {
        self.is_goodbye() || self.is_choice()
    }

    /// Whether a session has said goodbye, or has been told to.
    pub(super) fn is_goodbye(&self) -> bool {
        match self {
            Self::Ended(it, _) => it.bye,
            Self::SignedOut(..) => true,
            _ => false,
        }
    }

    /// Whose it is.
    pub(super) fn user(&self) -> &Arc<str> {
        match self {
            Self::Mode(user, ..)
            | Self::Note(user, ..)
            | Self::Block(user, ..)
            | Self::LastSeen(user, ..)
            | Self::Revoked(user, ..) => user,
            Self::SignedOut(name, ..) | Self::Room(name, ..) => &name.user,
            Self::Ended(departed, _) => &departed.name.user,
        }
    }

    /// Whether it is said behind what is registered.
    pub(super) fn waits_for_sessions(&self) -> bool {
        matches!(self, Self::Room(..) | Self::Block(_, _, false, _))
    }

    /// Whether this later word leaves nothing of the other.
    pub(super) fn overrules(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Mode(user, ..), Self::Mode(it, ..))
            | (Self::Note(user, ..), Self::Note(it, ..))
            | (Self::LastSeen(user, ..), Self::LastSeen(it, ..))
            | (Self::Revoked(user, ..), Self::Revoked(it, ..)) => user == it,
            (Self::Block(user, viewer, ..), Self::Block(it, by, ..)) => (user, viewer) == (it, by),
            (Self::SignedOut(name, ..), Self::SignedOut(it, ..)) => name == it,
            (Self::Room(name, room, _), Self::Room(it, of, _)) => (name, room) == (it, of),
            _ => self == other,
        }
    }

    /// In which order words are said when the store is back: who hid meanwhile is hidden before anything is registered,
    /// and shown again behind it, or what was over by then would be seen (rule 13); and only of what is registered it
    /// counts that it has left a room.
    pub(super) fn rank(&self) -> u8 {
        match self {
            Self::Revoked(..) => 0,
            Self::Block(_, _, true, _) => 1,
            Self::Mode(..) => 2,
            Self::LastSeen(..) => 3,
            Self::Note(..) => 4,
            Self::SignedOut(..) => 5,
            Self::Ended(it, _) if it.bye => 5,
            Self::Room(..) => 6,
            Self::Block(..) => 7,
            Self::Ended(..) => 8,
        }
    }
}
