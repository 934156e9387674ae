//! The server beside what one would write by hand, over real sockets: each server is a process of its own, the clients are
//! the same for all.

mod bare;
mod crowd;
mod deliveries;
mod idle;
mod peer;
mod process;
mod serve;
mod stalled;
mod throng;

use std::io;
use std::path::{Path, PathBuf};

pub use bare::bare;
pub use deliveries::deliveries;
pub use idle::idle;
pub use peer::Peer;
pub use process::Process;
pub use serve::serve;
pub use stalled::stalled;
pub use throng::{Throng, crew, throng};

/// Rounds of which the median counts; the servers take turns.
const ROUNDS: usize = 5;

/// Where the servers are that this one is measured against.
#[derive(Clone, Debug)]
pub struct Baselines {
    /// The folder of their package, with its dependencies installed.
    pub folder: PathBuf,
}

impl Baselines {
    fn start(&self, peer: Peer) -> io::Result<Process> {
        let script = match peer {
            Peer::Greendot => return Process::start(&std::env::current_exe()?, &["serve"]),
            Peer::Bare => return Process::start(&std::env::current_exe()?, &["bare"]),
            Peer::Ws => "ws.mjs",
            Peer::SocketIo => "socketio.mjs",
        };
        let script = self.folder.join(script);
        Process::start(Path::new("node"), &[&script.to_string_lossy()])
    }
}
