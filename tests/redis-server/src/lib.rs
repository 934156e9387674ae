//! Redis servers and clusters of a test's own: real processes of `redis-server` on loopback, which end with the value
//! that stands for them, and with the program however it ends ([`tie()`]).
//!
//! They keep nothing on disk, listen on free ports, and may be killed, paused and started again. What a test asks of
//! them goes word by word ([`Redis::ask`]), so that this crate needs no client, and builds in a moment.

mod cluster;
mod port;
mod reply;
mod server;
mod tie;

pub use cluster::Cluster;
pub use port::free_port;
pub use server::Redis;
pub use tie::tie;
