//! What nodes and the shared store say to each other.

mod claim;
mod notice;
mod reply;
mod report;
mod request;
mod session;

pub use claim::{Claim, NodeId, SessionName};
pub use notice::Notice;
pub use reply::{HeldBy, Place, Reply};
pub use report::{BarReport, OutlookReport, Report, ScreenReport};
pub use request::Request;
pub use session::{Departed, Register, Silent, Speaker};
