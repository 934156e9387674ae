//! Redis servers and clusters of a test's own: real processes of `redis-server` on loopback, which end with the value
//! that stands for them.
//!
//! They keep nothing on disk, listen on free ports, and may be killed, paused and started again. What a test asks of
//! them goes word by word ([`Redis::ask`]), so that this crate needs no client, and builds in a moment.

mod cluster;
mod port;
mod reply;
mod server;

pub use cluster::Cluster;
pub use port::free_port;
pub use server::Redis;
