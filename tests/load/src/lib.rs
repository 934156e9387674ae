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
mod piped;
mod random;
pub mod redis;
pub mod report;
pub mod server;

/// The middle one.
pub(crate) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// What this share of figures, smallest first, does not exceed; none if there are none.
pub(crate) fn percentile<T: Copy>(sorted: &[T], share: f64) -> Option<T> {
    sorted.get((sorted.len().saturating_sub(1) as f64 * share) as usize).copied()
}
