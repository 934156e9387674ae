//! One node on a virtual clock: what the scenarios leave open.

mod bounds;
mod endings;
mod rig;
mod stalls;
mod watching;
