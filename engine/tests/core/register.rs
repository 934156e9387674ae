//! A session as a store is told of it.

use greendot_engine::protocol::Span;
use greendot_engine::store::{Register, SessionName};

/// One that connects now, and is heard now.
pub(crate) fn register(user: &str, session: &str, seat: u64) -> Register {
    Register {
        name: SessionName { user: user.into(), session: session.into() },
        seat,
        connected_ago: Span::ZERO,
        heard_ago: Span::ZERO,
        generation: None,
        passive: false,
        idle: None,
        lingers_for: None,
        mode: None,
        rooms: Vec::new(),
        no_others: false,
        device: "".into(),
    }
}
