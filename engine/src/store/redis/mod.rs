//! Redis as the shared store (7 or later, or Valkey 7.2 or later), single or a Cluster.
//!
//! Users are spread over partitions, and every key of a partition carries its hash tag, so that one
//! script sees and changes all there is of a user: the same rules as in
//! [`MemoryStore`](super::MemoryStore), in the language of Redis (`../lua`). Deadlines go by the
//! clock of Redis alone. What a node sees of the partitions is put together here.

mod calls;
mod composer;
mod keys;
mod notice;
mod part;
#[cfg(feature = "redis-played")]
mod played;
mod scripts;
mod words;

use thiserror::Error;

#[cfg(feature = "redis-played")]
pub use played::PlayedRedis;

/// Why the store could not be opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The prefix cannot be one.
    #[error("{0:?} is no prefix: give 1 to 64 bytes without braces, as in \"greendot\"")]
    Prefix(String),
    /// There cannot be so many partitions.
    #[error("{asked} partitions: give 1 to {most}")]
    Partitions {
        /// How many were asked for.
        asked: u16,
        /// The most there may be.
        most: u16,
    },
    /// Redis did not do what it was asked.
    #[error("Redis: {0}")]
    Redis(#[from] ::redis::RedisError),
}
