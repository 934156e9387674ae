//! What the store tells a node unasked.

use std::sync::Arc;

use greendot_protocol::{Epoch, Mode, Revision, Span, Time};

use super::report::{OutlookReport, Report};
use crate::core::directory::{Roster, SessionView};

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
        /// The later one is passive and this one was not: the user was seen when this one was heard last, which its node
        /// is to tell.
        passive: bool,
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
