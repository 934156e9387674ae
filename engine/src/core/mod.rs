//! The pure engine.
//!
//! [`Node`] is the whole of it. Its three parts meet only through typed messages, because they may
//! sit on different machines: [`leases`](self) (this node's sessions, their handles and
//! deadlines; knows no user state), [`directory`] (users, their sessions, mode, state, version; the
//! one place where a flip is decided) and [`watches`](self) (who looks at whom through which
//! gate, and what waits for them).

mod audience;
pub mod directory;
mod gate;
mod leases;
mod moment;
mod name;
mod node;
mod settings;
mod slab;
mod table;
mod watches;
mod wheel;

pub use gate::{DELAY, Fineness, Glimpse, LastSeen, RECENTLY, THIS_WEEK};
pub use name::Name;
pub use node::{
    Answer, AudienceCounts, ConnId, Connect, Ending, Endings, FLAP, HeldSession, Lag, Mark, Node,
    NodeCounts, NodeTotals, Output, Refusal, SelfReport, Start, Transition,
};
pub use settings::{AudienceRule, CLIENTS_RETURN, Settings, SettingsError};
