//! Very many watchers of one user, in several processes: when each hears of a change, and what that takes the server.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::StreamExt;
use tokio::task::JoinSet;

use super::crowd::{Changers, Client, open_many, watch};
use super::peer::{Heard, Peer};
use super::process::Process;
use crate::percentile;
use crate::piped::Piped;

/// The user whom all watch.
const STAR: u16 = 0;

/// A crowd is told within the interval, 10 s as it ships; with time for a busy machine.
const ROUND: Duration = Duration::from_secs(14);

/// What is to be done.
#[derive(Clone, Copy, Debug)]
pub struct Throng {
    /// Watchers.
    pub watchers: usize,
    /// Processes that they are spread over.
    pub processes: usize,
    /// How often the star changes.
    pub changes: usize,
}

/// Runs it with a server of its own, and says what came of it; whether everybody heard of everything once.
///
/// # Errors
///
/// If the server or a process fails.
pub async fn throng(plan: Throng, program: &Path, server: &Path) -> io::Result<bool> {
    let server = Process::start(server, &["--dev", "--listen", "127.0.0.1:0", "--log", "error"])?;
    let empty = server.resident()?;
    let mut star = Changers::open(Peer::Greendot, server.port(), &[STAR]).await?;
    let mut crews = Vec::new();
    for number in 0..plan.processes {
        let share =
            plan.watchers / plan.processes + usize::from(number < plan.watchers % plan.processes);
        crews.push(Crew::start(program, server.port(), number, share)?);
    }
    for crew in &mut crews {
        crew.0.said()?;
    }
    let (cpu, resident) = (server.cpu()?, server.resident()?);
    let kilobytes = resident.saturating_sub(empty) as f64 / 1e3 / plan.watchers as f64;
    println!("{} watchers: {kilobytes:.2} KB resident each", plan.watchers);
    let mut changed = Vec::new();
    for _ in 0..plan.changes {
        changed.push(micros());
        star.change().await?;
        tokio::time::sleep(ROUND).await;
    }
    let (cpu_now, resident_now) = (server.cpu()?, server.resident()?);
    let mut heard: Vec<Vec<u64>> = vec![Vec::new(); plan.changes];
    let mut odd = 0;
    for crew in crews {
        for times in crew.end()? {
            odd += usize::from(times.len() != plan.changes);
            for (turn, time) in times.into_iter().enumerate().take(plan.changes) {
                heard[turn].push(time.saturating_sub(changed[turn]));
            }
        }
    }
    for (turn, delays) in heard.iter_mut().enumerate() {
        delays.sort_unstable();
        let at = |share| percentile(delays, share).map_or(0.0, |it| it as f64 / 1e6);
        println!(
            "change {}: {} heard; first {:.2} s, p50 {:.2}, p99 {:.2}, last {:.2}",
            turn + 1,
            delays.len(),
            at(0.0),
            at(0.5),
            at(0.99),
            at(1.0)
        );
    }
    let spent = (cpu_now - cpu).as_secs_f64();
    println!(
        "server: {:.2} s of CPU in {} s, {:.1} us a delivery; {:.1} MB resident before, {:.1} MB after",
        spent,
        ROUND.as_secs() * plan.changes as u64,
        spent * 1e6 / (plan.watchers * plan.changes) as f64,
        resident as f64 / 1e6,
        resident_now as f64 / 1e6
    );
    println!("{odd} of them heard more or less than each change once");
    Ok(odd == 0)
}

/// One process of watchers.
struct Crew(Piped);

impl Crew {
    fn start(program: &Path, port: u16, number: usize, watchers: usize) -> io::Result<Self> {
        let numbers = [usize::from(port), number, watchers].map(|it| it.to_string());
        Piped::start(program, &[&["--crew".to_owned()], &numbers[..]].concat()).map(Self)
    }

    /// When each watcher heard of changes.
    fn end(mut self) -> io::Result<Vec<Vec<u64>>> {
        self.0.tell("end")?;
        let line = self.0.said()?;
        self.0.wait()?;
        let times: Option<_> =
            serde_json::from_str::<serde_json::Value>(&line).ok().and_then(|it| {
                let row = |it: &serde_json::Value| {
                    it.as_array()?.iter().map(serde_json::Value::as_u64).collect::<Option<Vec<_>>>()
                };
                it.as_array()?.iter().map(row).collect::<Option<Vec<_>>>()
            });
        times.ok_or_else(|| io::Error::other("a process of watchers said something else"))
    }
}

/// One of the processes: watches, says so, and tells when it heard of changes once it is told to.
///
/// # Errors
///
/// If the server does not take its watchers.
pub async fn crew(port: u16, number: usize, watchers: usize) -> io::Result<()> {
    let peer = Peer::Greendot;
    let names = (0..watchers).map(|it| format!("fan-{number}-{it}")).collect();
    let mut reading = JoinSet::new();
    let mut times = Vec::new();
    for client in watch(peer, open_many(peer, port, names).await?, &[STAR]).await? {
        let heard = Arc::new(Mutex::new(Vec::new()));
        times.push(Arc::clone(&heard));
        reading.spawn(listen(peer, client, heard));
    }
    println!("ready");
    tokio::task::spawn_blocking(|| io::stdin().read_line(&mut String::new())).await??;
    let of = |it: &Arc<Mutex<Vec<u64>>>| it.lock().expect("nobody panics here").clone();
    let times: Vec<Vec<u64>> = times.iter().map(of).collect();
    println!("{}", serde_json::Value::from(times));
    Ok(())
}

async fn listen(peer: Peer, mut client: Client, heard: Arc<Mutex<Vec<u64>>>) {
    while let Some(Ok(message)) = client.next().await {
        if let Heard::Entries(_) = peer.hear(&message) {
            heard.lock().expect("nobody panics here").push(micros());
        }
    }
}

/// The time, the same for all processes of this machine.
fn micros() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_micros() as u64
}
