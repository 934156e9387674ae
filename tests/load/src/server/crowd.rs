//! Clients that watch, and count what they are told.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use tokio::sync::{Mutex, Notify, Semaphore};
use tokio::task::JoinSet;

use super::peer::{Heard, Peer, user};
use crate::dial::{Socket, dial};

/// Connections that are opened at a time.
const AT_A_TIME: usize = 64;

/// A server that says nothing for so long has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// One connection, past its welcome.
pub(super) type Client = Socket;

/// Opens a connection as this user and waits for the welcome.
///
/// # Errors
///
/// If the server does not take it.
pub(super) async fn open(peer: Peer, port: u16, name: &str) -> io::Result<Client> {
    let mut client = dial(port, peer.path(), peer.subprotocol()).await?;
    if let Some(hello) = peer.hello(name) {
        client.send(hello).await.map_err(io::Error::other)?;
    }
    if peer.welcomes() {
        while !matches!(hear(peer, &mut client).await?, Heard::Welcome) {}
    }
    Ok(client)
}

/// The next thing that the server says; questions are answered.
///
/// # Errors
///
/// If the connection ends, or nothing comes.
pub(super) async fn hear(peer: Peer, client: &mut Client) -> io::Result<Heard> {
    let message = tokio::time::timeout(PATIENCE, client.next()).await;
    let message = message.map_err(|_| io::Error::other("the server says nothing"))?;
    let message = message.ok_or_else(|| io::Error::other("the server closed"))?;
    match peer.hear(&message.map_err(io::Error::other)?) {
        Heard::Answer(answer) => {
            client.send(answer).await.map_err(io::Error::other)?;
            Ok(Heard::Other)
        }
        heard => Ok(heard),
    }
}

/// Opens connections, many at a time.
///
/// # Errors
///
/// If one is not taken.
pub(super) async fn open_many(
    peer: Peer,
    port: u16,
    names: Vec<String>,
) -> io::Result<Vec<Client>> {
    let gate = Arc::new(Semaphore::new(AT_A_TIME));
    let mut opening = JoinSet::new();
    for name in names {
        let gate = Arc::clone(&gate);
        opening.spawn(async move {
            let _turn = gate.acquire().await.map_err(io::Error::other)?;
            open(peer, port, &name).await
        });
    }
    let mut clients = Vec::new();
    while let Some(opened) = opening.join_next().await {
        clients.push(opened.map_err(io::Error::other)??);
    }
    Ok(clients)
}

/// Has all clients watch these users, and waits until each has been told how they stand.
///
/// # Errors
///
/// If the server does not take it.
pub(super) async fn watch(
    peer: Peer,
    mut clients: Vec<Client>,
    users: &[u16],
) -> io::Result<Vec<Client>> {
    for client in &mut clients {
        for message in peer.watch(users) {
            client.send(message).await.map_err(io::Error::other)?;
        }
    }
    for client in &mut clients {
        let mut first = if peer.tells_at_watch() { users.len() } else { 1 };
        while first > 0 {
            let heard = hear(peer, client).await?;
            first -= usize::from(matches!(heard, Heard::Entries(_) | Heard::Snapshot));
        }
    }
    Ok(clients)
}

/// Clients that all watch the same users.
#[derive(Debug)]
pub(super) struct Crowd {
    tally: Arc<Tally>,
    _reading: JoinSet<()>,
}

#[derive(Debug, Default)]
struct Tally {
    entries: AtomicUsize,
    wanted: AtomicUsize,
    reached: Notify,
    /// When the change went out that is timed, and how long each delivery of it took.
    times: Mutex<Vec<Duration>>,
    begun: std::sync::Mutex<Option<Instant>>,
}

impl Crowd {
    /// So many clients that watch these users, each seen once.
    ///
    /// # Errors
    ///
    /// If the server does not take them.
    pub(super) async fn gather(
        peer: Peer,
        port: u16,
        size: usize,
        users: &[u16],
    ) -> io::Result<Self> {
        let names = (0..size).map(|number| format!("watcher-{number}")).collect();
        let clients = watch(peer, open_many(peer, port, names).await?, users).await?;
        let tally = Arc::new(Tally::default());
        let mut reading = JoinSet::new();
        for client in clients {
            reading.spawn(count(peer, client, Arc::clone(&tally)));
        }
        Ok(Self { tally, _reading: reading })
    }

    /// From now on so many entries are awaited.
    pub(super) fn expect(&self, entries: usize) {
        self.tally.wanted.fetch_add(entries, Ordering::SeqCst);
        *self.tally.begun.lock().expect("nobody panics here") = Some(Instant::now());
    }

    /// Waits until all that are expected have come.
    ///
    /// # Errors
    ///
    /// If they do not come.
    pub(super) async fn all(&self) -> io::Result<()> {
        let all = async {
            loop {
                let reached = self.tally.reached.notified();
                let entries = self.tally.entries.load(Ordering::SeqCst);
                if entries >= self.tally.wanted.load(Ordering::SeqCst) {
                    return;
                }
                reached.await;
            }
        };
        let waited = tokio::time::timeout(PATIENCE, all).await;
        waited.map_err(|_| io::Error::other("not all entries came"))
    }

    /// How long each delivery took, since they were taken last; in order.
    pub(super) async fn times(&self) -> Vec<Duration> {
        let mut times = std::mem::take(&mut *self.tally.times.lock().await);
        times.sort();
        times
    }
}

async fn count(peer: Peer, mut client: Client, tally: Arc<Tally>) {
    while let Some(Ok(message)) = client.next().await {
        match peer.hear(&message) {
            Heard::Entries(entries) => {
                let begun = *tally.begun.lock().expect("nobody panics here");
                if let Some(begun) = begun {
                    tally.times.lock().await.push(begun.elapsed());
                }
                let sum = tally.entries.fetch_add(entries, Ordering::SeqCst) + entries;
                if sum >= tally.wanted.load(Ordering::SeqCst) {
                    tally.reached.notify_one();
                }
            }
            Heard::Answer(answer) => _ = client.send(answer).await,
            _ => {}
        }
    }
}

/// Connections that change users: each its own.
#[derive(Debug)]
pub(super) struct Changers {
    peer: Peer,
    clients: Vec<(u16, Client)>,
    turn: u32,
}

impl Changers {
    /// One for each of these users.
    ///
    /// # Errors
    ///
    /// If the server does not take them.
    pub(super) async fn open(peer: Peer, port: u16, users: &[u16]) -> io::Result<Self> {
        let mut clients = Vec::new();
        for &number in users {
            clients.push((number, open(peer, port, &user(number)).await?));
        }
        Ok(Self { peer, clients, turn: 0 })
    }

    /// Each user changes once, all at about the same time.
    ///
    /// # Errors
    ///
    /// If the server has closed.
    pub(super) async fn change(&mut self) -> io::Result<()> {
        self.turn += 1;
        for (number, client) in &mut self.clients {
            client.send(self.peer.change(*number, self.turn)).await.map_err(io::Error::other)?;
        }
        Ok(())
    }
}
