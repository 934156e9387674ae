//! What a node asks of the store.

use std::sync::Arc;

use greendot_protocol::{Mode, Span};

use super::claim::SessionName;
use super::session::{Departed, Register, Silent, Speaker};
use crate::core::LastSeen;

/// What a node asks of the store.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// A session connects, or is registered again after the store was out of reach.
    Connect(Register),
    /// A session was heard (only where renewals are not thinned).
    Renew(Silent),
    /// A session's connection has ended, or its page goes away: it lingers (rule 3).
    Linger {
        /// The session.
        name: SessionName,
        /// The node's number for the connect.
        seat: u64,
        /// How long ago it was last heard.
        heard_ago: Span,
        /// For how long.
        lasts: Span,
    },
    /// A session that lingered while its connection stood was heard after all.
    Revive(Silent),
    /// A session becomes idle or active.
    SetIdle {
        /// The session.
        name: SessionName,
        /// The node's number for the connect.
        seat: u64,
        /// Idle or active.
        idle: bool,
    },
    /// A session ends, and with it what was held of its earlier connects.
    End(Departed),
    /// The user's own choice.
    SetMode {
        /// The user.
        user: Arc<str>,
        /// The mode.
        mode: Mode,
        /// How long ago that was said, if it could not be told at once: what was said later counts.
        ago: Span,
        /// Over which connect it was said: of one that had been taken over elsewhere by then it has no effect (rule 4). None: the
        /// application says it.
        by: Option<Speaker>,
    },
    /// The user's note.
    SetNote {
        /// The user.
        user: Arc<str>,
        /// The note; empty takes it away.
        note: Arc<str>,
        /// How long ago that was said, if it could not be told at once: what was said later counts.
        ago: Span,
        /// Over which connect it was said: of one that had been taken over elsewhere by then it has no effect (rule 4). None: the
        /// application says it.
        by: Option<Speaker>,
    },
    /// The account is no longer good, or is good again.
    Revoke {
        /// The user.
        user: Arc<str>,
        /// Whether it is revoked.
        revoked: bool,
        /// How long ago that was said, if it could not be told at once: what was said later counts.
        ago: Span,
    },
    /// Tell this node of nobody and nothing any more: what it wants to hear of it asks for anew. What it let go of while
    /// the store was out of reach is forgotten with that.
    HearNothing,
    /// Tell this node of these users from now on; answered with how they stand.
    Subscribe {
        /// The users.
        users: Vec<Arc<str>>,
    },
    /// No more of these.
    Unsubscribe {
        /// The users.
        users: Vec<Arc<str>>,
    },
    /// So many watch each of these users at this node, which is told of them.
    Count {
        /// The users with the number of watchers of each.
        users: Vec<(Arc<str>, u32)>,
    },
    /// How exactly others may see when the user was there last.
    SetLastSeen {
        /// The user.
        user: Arc<str>,
        /// The user's wish.
        wish: LastSeen,
        /// How long ago that was said, if it could not be told at once: what was said later counts.
        ago: Span,
    },
    /// The user hides from the viewer, or shows itself again.
    SetBlock {
        /// The user.
        user: Arc<str>,
        /// From whom.
        viewer: Arc<str>,
        /// Whether it hides.
        blocked: bool,
        /// How long ago that was said, if it could not be told at once: what was said later counts. None: before the store
        /// lost what it held, so that whatever has been said since counts.
        ago: Option<Span>,
    },
    /// What the application said of who may see whom holds no more: every node is told.
    AudienceChanged {
        /// The user who is seen; none: all.
        user: Option<Arc<str>>,
        /// The one who looks; none: all.
        viewer: Option<Arc<str>>,
    },
    /// Tell this node what stands between these users and others from now on; answered with it.
    Look {
        /// Those who look.
        viewers: Vec<Arc<str>>,
    },
    /// No more of these.
    LookAway {
        /// Those who looked.
        viewers: Vec<Arc<str>>,
    },
    /// How these users stand, and what stands between them and the one who asks.
    Read {
        /// Who asks.
        viewer: Arc<str>,
        /// The users.
        users: Vec<Arc<str>>,
    },
    /// Which nodes hold a user's sessions.
    Locate {
        /// The user.
        user: Arc<str>,
    },
    /// Who is present, and what stands between them and the one who asks.
    List {
        /// Who asks.
        viewer: Arc<str>,
        /// No more than so many.
        at_most: usize,
    },
    /// A session goes into a room. The node that holds it says so, of whichever of its connects. A session is in no more than
    /// [`ROOMS`](greendot_protocol::limits::ROOMS): where earlier connects went that this one did not gives way, the longest ago
    /// first.
    Join {
        /// The session.
        name: SessionName,
        /// The room's id.
        room: Arc<str>,
    },
    /// A session leaves a room. The node that holds it says so, of whichever of its connects.
    Leave {
        /// The session.
        name: SessionName,
        /// The room's id.
        room: Arc<str>,
    },
    /// Tell this node who is in these rooms from now on; answered with it.
    LookInto {
        /// The rooms.
        rooms: Vec<Arc<str>>,
    },
    /// No more of these.
    LookOut {
        /// The rooms.
        rooms: Vec<Arc<str>>,
    },
    /// Tell this node of the sessions of these users from now on; answered with a notice for each.
    Own {
        /// The users.
        users: Vec<Arc<str>>,
    },
    /// No more of these.
    Disown {
        /// The users.
        users: Vec<Arc<str>>,
    },
    /// A session is to end because another of its user, or the application, wants it to: where it had connected when that was
    /// said, and nowhere that it has connected since.
    SignOut {
        /// The session.
        name: SessionName,
        /// The node's number for this, among those for connects: those of its own with a lower one came before.
        seat: u64,
        /// How long ago that was said, if it could not be told at once.
        ago: Span,
    },
    /// The node is there: once a second. It covers those of its sessions that have no deadline of
    /// their own, if renewals are thinned.
    Beat {
        /// How long the store has been out of this node's reach until now; zero if it was not.
        away: Span,
        /// Sessions that are covered no more.
        silent: Vec<Silent>,
        /// Sessions that are covered again.
        heard: Vec<(SessionName, u64)>,
    },
    /// End what is due.
    Sweep,
}

impl Request {
    /// The same where it is carried out so long after it was made: what it tells of is that much older.
    pub(in crate::store) fn aged(&self, late: Span) -> Self {
        let mut aged = self.clone();
        let age = |it: &mut Span| *it = *it + late;
        match &mut aged {
            Self::Connect(it) => {
                age(&mut it.connected_ago);
                age(&mut it.heard_ago);
                it.lingers_for = it.lingers_for.map(|it| it - late);
            }
            Self::Renew(it) | Self::Revive(it) => age(&mut it.heard_ago),
            Self::Linger { heard_ago, lasts, .. } => {
                age(heard_ago);
                *lasts = *lasts - late;
            }
            Self::End(it) => {
                age(&mut it.connected_ago);
                age(&mut it.heard_ago);
            }
            Self::SetMode { ago, by, .. } | Self::SetNote { ago, by, .. } => {
                age(ago);
                if let Some(it) = by {
                    age(&mut it.connected_ago);
                }
            }
            Self::Revoke { ago, .. }
            | Self::SignOut { ago, .. }
            | Self::SetLastSeen { ago, .. }
            | Self::SetBlock { ago: Some(ago), .. } => age(ago),
            Self::Beat { silent, .. } => silent.iter_mut().for_each(|it| age(&mut it.heard_ago)),
            _ => {}
        }
        aged
    }

    /// Whether it tells the store what has happened, and needs no answer.
    pub(crate) fn tells(&self) -> bool {
        matches!(
            self,
            Self::Connect(_)
                | Self::Linger { .. }
                | Self::Revive(_)
                | Self::SetIdle { .. }
                | Self::End(_)
                | Self::SetMode { .. }
                | Self::SetNote { .. }
                | Self::Revoke { .. }
                | Self::SignOut { .. }
                | Self::SetLastSeen { .. }
                | Self::SetBlock { .. }
                | Self::Join { .. }
                | Self::Leave { .. }
        )
    }

    /// Whose session, choice or note it tells of, if it tells of one that there still is.
    pub(crate) fn user(&self) -> Option<&str> {
        match self {
            Self::Connect(Register { name, .. })
            | Self::Renew(Silent { name, .. })
            | Self::Revive(Silent { name, .. })
            | Self::Linger { name, .. }
            | Self::SetIdle { name, .. }
            | Self::Join { name, .. }
            | Self::Leave { name, .. } => Some(&name.user),
            Self::SetMode { user, .. }
            | Self::SetNote { user, .. }
            | Self::SetLastSeen { user, .. }
            | Self::SetBlock { user, .. } => Some(user),
            _ => None,
        }
    }
}
