//! Ports that stay one's own: a server that is killed comes back to the one that its clients know.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

/// Below those that the system gives to connections, so that none takes it while its server is away.
const PORTS: std::ops::Range<u16> = 20_000..32_000;

/// So many are one program's, unless it wants more: programs that start one after the other have numbers one behind the other.
const ROOM: u32 = 64;

/// One on which nobody listens.
///
/// # Errors
///
/// If there is none.
pub fn free_port() -> io::Result<u16> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let count = PORTS.end - PORTS.start;
    // Several programs at a time begin at different places, and what each of them takes has room before the next one's.
    let first = (std::process::id().wrapping_mul(ROOM) % u32::from(count)) as u16;
    for _ in 0..count {
        let step = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = PORTS.start + ((u32::from(first) + u32::from(step)) % u32::from(count)) as u16;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    Err(io::Error::other(format!("no port in {PORTS:?} is free")))
}
