//! The load tool and the benchmarks of the engine and its server.
//!
//! Every figure stands beside its baseline from the same run: these are ratios, not times, because a machine's other work
//! moves both.
#![expect(
    clippy::disallowed_methods,
    reason = "a driver: it measures time, waits, and starts tasks and processes"
)]

pub mod client;
pub mod core;
mod dial;
pub mod load;
mod random;
pub mod redis;
pub mod report;
pub mod server;

/// The middle one.
pub(crate) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
