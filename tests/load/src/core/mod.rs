//! The engine's core beside the published algorithm.

mod costs;
mod fanout;
mod growth;
mod names;
mod picture;
mod published;
mod shards;
mod throng;

pub use costs::sessions;
pub use fanout::fanout;
pub use growth::{Line, growth, json_of};
pub use picture::picture;
pub use published::Published;
pub use shards::shards;
pub use throng::throng;

use std::time::{Duration, Instant};

/// Rounds of which the median counts.
const ROUNDS: usize = 5;

/// Times one call.
fn timed<R>(work: impl FnOnce() -> R) -> (Duration, R) {
    let begin = Instant::now();
    let result = work();
    (begin.elapsed(), result)
}

/// Nanoseconds each.
fn each(time: Duration, count: usize) -> f64 {
    time.as_nanos() as f64 / count as f64
}
