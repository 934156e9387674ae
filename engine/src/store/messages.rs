//! What nodes and the shared store say to each other.

use std::sync::Arc;

use greendot_protocol::{Epoch, Mode, ModeChoice, Revision, Span, Time, Version};

use crate::core::LastSeen;
use crate::core::directory::{Face, Roster, SessionView};

/// A run of a node: a new one at each start; 0 where a node works alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u64);

/// Who speaks for a session: which connect, on which run of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Claim {
    /// The node.
    pub node: NodeId,
    /// The node's number for the connect; used once.
    pub seat: u64,
}

/// A session's full name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionName {
    /// The user.
    pub user: Arc<str>,
    /// The session's id.
    pub session: Arc<str>,
}

/// What a node tells of a session that it holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Register {
    /// The session.
    pub name: SessionName,
    /// The node's number for the connect.
    pub seat: u64,
    /// How long ago it connected: of two that claim a session the later holds it.
    pub connected_ago: Span,
    /// How long ago it was last heard.
    pub heard_ago: Span,
    /// Its generation, if the store gave it one already.
    pub generation: Option<u64>,
    /// Whether it is passive.
    pub passive: bool,
    /// Idle or active, if the connect said so.
    pub idle: Option<bool>,
    /// For how long it lingers from now on, if it does.
    pub lingers_for: Option<Span>,
    /// The user's mode, chosen afresh or repeated.
    pub mode: Option<ModeChoice>,
    /// Rooms that it is in, as far as the node knows.
    pub rooms: Vec<Arc<str>>,
    /// Whether it is in no others: it has left what earlier connects of it joined.
    pub no_others: bool,
    /// What the person may call the device; may be empty.
    pub device: Arc<str>,
}

/// The connect of a session that says something of its user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Speaker {
    /// The session's id.
    pub session: Arc<str>,
    /// The node's number for the connect.
    pub seat: u64,
    /// How long ago it connected.
    pub connected_ago: Span,
}

/// A session that has been silent for more than a beat, and so has a deadline of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Silent {
    /// The session.
    pub name: SessionName,
    /// The node's number for the connect.
    pub seat: u64,
    /// How long ago it was heard.
    pub heard_ago: Span,
}

/// A session that has ended at the node that held it. The store may have heard of it as of an earlier connect, or
/// never: what it does not hold was there all the same, and last seen says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departed {
    /// The session.
    pub name: SessionName,
    /// The node's number for the connect.
    pub seat: u64,
    /// How long ago it connected.
    pub connected_ago: Span,
    /// How long ago it was last heard.
    pub heard_ago: Span,
    /// Whether it was passive.
    pub passive: bool,
    /// Whether it said goodbye.
    pub bye: bool,
}

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
    pub(super) fn aged(&self, late: Span) -> Self {
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

/// How a user stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The user.
    pub user: Arc<str>,
    /// What others may see.
    pub public: Face,
    /// What the user's own sessions see.
    pub own: Face,
    /// The note.
    pub note: Arc<str>,
    /// How long ago the user was last seen.
    pub seen_ago: Option<Span>,
    /// Whether the user has been visible in this epoch.
    pub heard: bool,
    /// How exactly the user lets others see when it was there last.
    pub wish: LastSeen,
    /// Counts these wishes.
    pub wishes: u32,
    /// How many watch the user, by the counts of all nodes ([`Request::Count`]).
    pub watchers: u32,
}

/// What stands between one viewer and others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutlookReport {
    /// The viewer.
    pub viewer: Arc<str>,
    /// Of two outlooks of one viewer in one epoch the higher is the newer.
    pub number: u64,
    /// Whether the viewer hides from everybody.
    pub hides: bool,
    /// By the user's name.
    pub bars: Vec<BarReport>,
}

/// What stands, or stood, between a viewer and a user.
#[derive(Clone, Debug, PartialEq)]
pub struct BarReport {
    /// The user.
    pub user: Arc<str>,
    /// By how much the viewer's numbering is behind.
    pub behind: i64,
    /// What the viewer is shown while it stands.
    pub screen: Option<ScreenReport>,
}

/// What a viewer that was shut out is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScreenReport {
    /// The version, in the viewer's numbering.
    pub version: Version,
    /// How long ago the user was last seen.
    pub seen_ago: Option<Span>,
    /// Whether the user had been visible in this epoch.
    pub heard: bool,
}

/// What the store answers. Every answer names the epoch: another one than before means that the
/// store has lost what it held.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The epoch of all versions in it.
    pub epoch: Epoch,
    /// When it was said, by the store's clock; ages in it count from there.
    pub at: Time,
    /// For how long users not heard from are still unknown (rule 12 a).
    pub warming: Span,
    /// Rises by 1 with each notice to this run of the node, which sees from it whether one was lost
    /// on the way. It never starts at the same number twice: a run that the store has forgotten in
    /// a long silence sees that, too.
    pub told: u64,
    /// The answer.
    pub held: HeldBy,
    /// The users of whom it speaks.
    pub reports: Vec<Report>,
    /// What stands between the viewers of whom it speaks and others.
    pub outlooks: Vec<OutlookReport>,
    /// Who is in the rooms of which it speaks.
    pub rooms: Vec<Roster>,
    /// The users whose public face this request turned.
    pub turned: Vec<Report>,
    /// Where the sessions are of the user that was to be located.
    pub places: Vec<Place>,
}

/// Where a session is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The run of a node that holds it.
    pub node: NodeId,
    /// The session's id.
    pub session: Box<str>,
    /// Tells the connects of one id apart; a later one is higher.
    pub generation: u64,
    /// Whether its connection has ended and it still counts.
    pub lingering: bool,
    /// Whether it is idle.
    pub idle: bool,
    /// Whether it is passive.
    pub passive: bool,
    /// When it ends if nothing more is heard of it: by its own deadline, or by its node's lease, which has it end no sooner
    /// than it may (rule 10).
    pub ends_in: Span,
}

/// What a request about a session found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldBy {
    /// The request was not about one session.
    Nobody,
    /// The node that asked holds it.
    You {
        /// The session's generation.
        generation: u64,
        /// The user's mode.
        mode: Mode,
        /// The number of the choice of mode.
        revision: Revision,
        /// Whether it is idle: the flag carries over from where it connected before (rule 4).
        idle: bool,
    },
    /// A later connect holds it.
    Another,
    /// It is over: its lease ran out while its node could not reach the store, and the store has ended it.
    Over,
    /// It may not be held: the account is revoked.
    Revoked,
    /// It may not be held: the user has too many sessions.
    Full,
}

/// What the store tells a node unasked.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// A user whom the node subscribed to has changed.
    Changed {
        /// The epoch of the versions in it.
        epoch: Epoch,
        /// When it was said, by the store's clock; ages in it count from there.
        at: Time,
        /// How the user stands now.
        report: Report,
    },
    /// What stands between a viewer that the node asked about and others has changed.
    Outlook {
        /// The epoch of the versions in it.
        epoch: Epoch,
        /// When it was said, by the store's clock; ages in it count from there.
        at: Time,
        /// What stands between them now.
        outlook: OutlookReport,
    },
    /// Who is in a room that the node looks into has changed.
    Room {
        /// The epoch in which it is so.
        epoch: Epoch,
        /// Who is there now.
        roster: Roster,
    },
    /// The sessions of a user have changed.
    Sessions {
        /// When it was said, by the store's clock; ages in it count from there.
        at: Time,
        /// The user.
        user: Arc<str>,
        /// All of them, with the age of each.
        sessions: Vec<(SessionView, Span)>,
    },
    /// This session is to end: another of its user, or the application, wants it to.
    SignedOut {
        /// The node's number for the connect.
        seat: u64,
    },
    /// It counts, and that is all: what it was about is told another way.
    Nothing,
    /// What the application said of who may see whom holds no more.
    AudienceChanged {
        /// The user who is seen; none: all.
        user: Option<Arc<str>>,
        /// The one who looks; none: all.
        viewer: Option<Arc<str>>,
    },
    /// A later connect holds this session now.
    Replaced {
        /// The node's number for the connect.
        seat: u64,
    },
    /// This session has been ended: its lease ran out, as far as the store knew.
    Ended {
        /// The node's number for the connect.
        seat: u64,
    },
    /// The account of this session is revoked.
    Revoked {
        /// The node's number for the connect.
        seat: u64,
    },
    /// The user of this session has another mode now.
    Mode {
        /// The node's number for the connect.
        seat: u64,
        /// The mode.
        mode: Mode,
        /// The number of the choice.
        revision: Revision,
    },
}
