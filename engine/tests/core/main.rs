//! One node on a virtual clock: what the scenarios leave open.

mod bounds;
mod cluster;
mod endings;
mod rig;
mod secrecy;
mod stalls;
mod watching;
