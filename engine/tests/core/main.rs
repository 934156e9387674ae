//! One node on a virtual clock: what the scenarios leave open.

mod audience;
mod bad_rooms;
mod bounds;
mod cluster;
mod crowds;
mod endings;
mod gate;
mod last_seen;
mod late_words;
mod openings;
mod outages;
mod own;
mod polls;
mod register;
mod rig;
mod rooms;
mod secrecy;
mod side_channels;
mod stalls;
mod tokens;
mod watching;
