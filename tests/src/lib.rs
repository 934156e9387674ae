//! The world that both ends of Greendot are held to: the shipped engine core and the shipped client
//! core, played against each other on a virtual clock.

pub mod file;
pub mod hunt;
pub mod judge;
pub mod say;
pub mod world;
