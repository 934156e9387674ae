//! A simulator that hunts: random worlds, an oracle that knows only the rules, and a shrinker.
//!
//! A world is a scenario like any other, made from a seed ([`generate::world`]); the oracle watches
//! the run from outside ([`oracle`]). One that breaks a rule is made smaller while it still breaks
//! the same one, and written out as a scenario file.

pub mod generate;
pub mod oracle;
mod play;
mod report;
#[cfg(feature = "sabotage")]
pub mod sabotage;
mod shrink;

pub use self::play::{Plan, Played};
pub use self::report::Report;
pub use self::shrink::shrink;
