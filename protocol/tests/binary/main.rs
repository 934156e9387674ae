//! The compact encoding, from both directions.

#[path = "../common/mod.rs"]
mod common;
mod hostile;
mod round_trips;
mod sizes;
