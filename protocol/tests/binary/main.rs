//! The compact encoding, from both directions.

mod frames;
mod hostile;
mod round_trips;
mod sizes;
