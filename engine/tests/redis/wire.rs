//! A line to a server, such as that of a node to its Redis, that can be cut: nothing gets through, and nobody is told. Who
//! dials may also be led to another server, as a proxy does it.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};

use greendot_engine::server::RedisStore;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::common::spawn;

/// Passes on what comes, unless it is cut.
pub(crate) struct Wire {
    port: u16,
    far: Arc<AtomicU16>,
    cut: Arc<Mutex<watch::Sender<bool>>>,
}

/// Connections that nothing gets through, while others are made.
pub(crate) struct Stranded(watch::Sender<bool>);

impl Stranded {
    /// All that waits gets through.
    pub(crate) fn arrive(self) {
        self.0.send_replace(false);
    }
}

impl Wire {
    /// One to the server at this port.
    pub(crate) async fn to(port: u16) -> Self {
        let far = Arc::new(AtomicU16::new(port));
        let leads_to = Arc::clone(&far);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let cut = Arc::new(Mutex::new(watch::Sender::new(false)));
        let present = Arc::clone(&cut);
        spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let is_cut = present.lock().expect("no panic").subscribe();
                let mut begun = is_cut.clone();
                let leads_to = Arc::clone(&leads_to);
                spawn(async move {
                    // Who dials into a cut line waits.
                    if begun.wait_for(|cut| !cut).await.is_err() {
                        return;
                    }
                    let far = ("127.0.0.1", leads_to.load(Ordering::Relaxed));
                    let Ok(far) = TcpStream::connect(far).await else { return };
                    let ((near_in, near_out), (far_in, far_out)) =
                        (near.into_split(), far.into_split());
                    spawn(pass(near_in, far_out, is_cut.clone()));
                    spawn(pass(far_in, near_out, is_cut));
                });
            }
        });
        Self { port, far, cut }
    }

    /// Where to dial.
    pub(crate) fn addr(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.port).into()
    }

    /// Who dials from now on comes to the server at this port; those who are connected stay where they are.
    pub(crate) fn lead_to(&self, port: u16) {
        self.far.store(port, Ordering::Relaxed);
    }

    pub(crate) fn store(&self) -> RedisStore {
        RedisStore::new(format!("redis://127.0.0.1:{}", self.port))
    }

    /// Nothing gets through from now on, or all that waits and comes.
    pub(crate) fn cut(&self, cut: bool) {
        self.cut.lock().expect("no panic").send_replace(cut);
    }

    /// Nothing gets through from now on over the connections that there are. Others can be made.
    pub(crate) fn strand(&self) -> Stranded {
        let mut cut = self.cut.lock().expect("no panic");
        let stranded = std::mem::replace(&mut *cut, watch::Sender::new(false));
        stranded.send_replace(true);
        Stranded(stranded)
    }
}

async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut cut: watch::Receiver<bool>) {
    let mut bytes = vec![0; 16 * 1024];
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        if cut.wait_for(|cut| !cut).await.is_err() || to.write_all(&bytes[..read]).await.is_err() {
            return;
        }
    }
    // An end does not get through either.
    _ = cut.wait_for(|cut| !cut).await;
}
