//! Users: their sessions, mode, note, state and version. The one place where a flip is decided.
//!
//! The directory knows no connection and no deadline: it is told that a session connected, became
//! idle or ended, and answers with what changed. Every rule about a user's state is here, once.

mod face;
mod index;
mod outlook;
mod people;
mod record;
mod rooms;
mod sessions;
mod users;

pub use face::Face;
pub use outlook::{Bar, Outlook, Screen};
pub use people::UserId;
pub use record::Record;
pub use rooms::Roster;
pub use sessions::{Connected, Joining, SessionId, SessionView};
pub use users::{Change, Directory};
