//! What fails at random while clients live: servers and their Redis are killed, stopped, and made to stand still.

use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::stage::Stage;
use super::vigil::Vigil;
use super::workers::{Word, Workers};
use crate::random::Random;

/// A server may take so long to stop and to come up again.
const REPLACED: Duration = Duration::from_secs(60);

/// Faults that come and go. The same seed chooses the same ones, in the same order.
#[derive(Debug)]
pub struct Storm {
    random: Random,
    /// How long between two, on average.
    every: Duration,
    /// Nothing fails but by being killed.
    kills: bool,
    begun: Instant,
    open: Vec<Open>,
}

#[derive(Debug)]
struct Open {
    fault: Fault,
    until: Instant,
    mending: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// A server is killed, and comes back.
    Kill(usize),
    /// A server is asked to stop, as in a deploy, and comes back.
    Stop(usize),
    /// A server stands still.
    Pause(usize),
    /// Redis stands still.
    PauseStore,
    /// Redis is killed, and comes back empty.
    KillStore,
    /// Redis forgets its scripts.
    FlushScripts,
    /// Redis ends all connections.
    CutStore,
}

impl Fault {
    fn server(self) -> Option<usize> {
        match self {
            Self::Kill(server) | Self::Stop(server) | Self::Pause(server) => Some(server),
            _ => None,
        }
    }

    fn is_of_store(self) -> bool {
        self.server().is_none()
    }
}

impl Storm {
    /// One with a fault every so often; of all kinds, or `kills` alone.
    pub fn new(seed: u64, every: Duration, kills: bool) -> Self {
        Self { random: Random::new(seed), every, kills, begun: Instant::now(), open: Vec::new() }
    }

    /// Lasts so long, and is over: everything works again.
    ///
    /// # Errors
    ///
    /// If something fails that was not meant to.
    pub fn blow(
        &mut self,
        stage: &mut Stage,
        workers: &mut Workers,
        vigil: &mut Vigil,
        lasts: Duration,
    ) -> io::Result<()> {
        let end = Instant::now() + lasts;
        let mut next = Instant::now() + self.up_to(2 * self.every);
        while Instant::now() < end || !self.open.is_empty() {
            let now = Instant::now();
            if now >= next && now < end {
                next = now + self.up_to(2 * self.every);
                if let Some(fault) = self.choose(stage) {
                    self.begin(fault, end, stage, workers)?;
                }
            }
            let mut open = std::mem::take(&mut self.open);
            for it in &mut open {
                it.mending |= now >= it.until.min(end);
            }
            let mut over = Ok(());
            open.retain_mut(|it| match it.mending.then(|| mend(&mut it.fault, stage)) {
                None | Some(Ok(false)) => true,
                Some(Ok(true)) => {
                    let told = workers.tell(Word::Works { store: it.fault.is_of_store() });
                    over = std::mem::replace(&mut over, Ok(())).and(told);
                    false
                }
                Some(Err(error)) => {
                    over = Err(error);
                    false
                }
            });
            self.open = open;
            over?;
            vigil.look(Some(stage), workers)?;
            sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Replaces one server after the other, as a deploy does. No fault: nobody is to see anything of it.
    ///
    /// # Errors
    ///
    /// If a server does not stop, or does not come up.
    pub fn deploy(
        &mut self,
        stage: &mut Stage,
        workers: &mut Workers,
        vigil: &mut Vigil,
    ) -> io::Result<()> {
        for server in 0..stage.ports().len() {
            println!("{:7.1} s  server {server} is replaced", self.begun.elapsed().as_secs_f64());
            stage.signal(server, "TERM")?;
            let mut fault = Fault::Stop(server);
            let patience = Instant::now() + REPLACED;
            while !mend(&mut fault, stage)? {
                if Instant::now() > patience {
                    return Err(io::Error::other(format!("server {server} is not replaced")));
                }
                vigil.look(Some(stage), workers)?;
                sleep(Duration::from_millis(20));
            }
            // Its clients come back, and find the next one there.
            vigil.rest(Some(stage), workers, Duration::from_secs(5))?;
        }
        Ok(())
    }

    /// One that can happen now: no two to the same, and one server works.
    fn choose(&mut self, stage: &mut Stage) -> Option<Fault> {
        let servers = stage.ports().len() as u64;
        let server = self.random.below(servers) as usize;
        let fault = match self.random.below(14) {
            10..14 if self.kills => Fault::KillStore,
            _ if self.kills => Fault::Kill(server),
            0..5 => Fault::Kill(server),
            5..7 => Fault::Stop(server),
            7..10 => Fault::Pause(server),
            10 => Fault::PauseStore,
            11 => Fault::KillStore,
            12 => Fault::FlushScripts,
            _ => Fault::CutStore,
        };
        let same = |it: &Open| match fault.server() {
            Some(server) => it.fault.server() == Some(server),
            None => it.fault.is_of_store(),
        };
        let failing = self.open.iter().filter(|it| it.fault.server().is_some()).count();
        let may = match fault.server() {
            Some(_) => failing + 1 < servers.max(2) as usize,
            None => stage.redis().is_some(),
        };
        Some(fault).filter(|_| may && !self.open.iter().any(same))
    }

    fn begin(
        &mut self,
        fault: Fault,
        end: Instant,
        stage: &mut Stage,
        workers: &mut Workers,
    ) -> io::Result<()> {
        let lasts = match fault {
            Fault::Kill(_) | Fault::Stop(_) => self.up_to(Duration::from_secs(10)),
            Fault::KillStore => self.up_to(Duration::from_secs(5)),
            // Half of them shorter than a client's patience.
            Fault::Pause(_) | Fault::PauseStore => match self.random.below(2) {
                0 => self.up_to(Duration::from_secs(6)),
                _ => self.up_to(Duration::from_secs(40)),
            },
            Fault::FlushScripts | Fault::CutStore => Duration::ZERO,
        };
        let until = (Instant::now() + lasts).min(end);
        println!(
            "{:7.1} s  {fault:?} for {:.1} s",
            self.begun.elapsed().as_secs_f64(),
            lasts.as_secs_f64()
        );
        workers.tell(Word::Fails { store: fault.is_of_store() })?;
        match (fault, stage.redis()) {
            (Fault::Kill(server), _) => stage.kill(server),
            (Fault::Stop(server), _) => stage.signal(server, "TERM")?,
            (Fault::Pause(server), _) => stage.signal(server, "STOP")?,
            (Fault::PauseStore, Some(redis)) => redis.pause(true)?,
            (Fault::KillStore, Some(redis)) => redis.kill()?,
            (Fault::FlushScripts, Some(redis)) => {
                redis.ask(&["SCRIPT", "FLUSH"])?;
            }
            (Fault::CutStore, Some(redis)) => {
                for kind in ["normal", "pubsub"] {
                    redis.ask(&["CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes"])?;
                }
            }
            (_, None) => {}
        }
        self.open.push(Open { fault, until, mending: false });
        Ok(())
    }

    fn up_to(&mut self, most: Duration) -> Duration {
        Duration::from_millis(self.random.below(most.as_millis().max(1) as u64))
    }
}

/// Sees to it that what failed works again; whether it does yet.
fn mend(fault: &mut Fault, stage: &mut Stage) -> io::Result<bool> {
    match (*fault, stage.redis()) {
        (Fault::Kill(server), _) => stage.comes_up(server),
        (Fault::Stop(server), _) => {
            if stage.has_ended(server)? {
                stage.kill(server);
                *fault = Fault::Kill(server);
            }
            Ok(false)
        }
        (Fault::Pause(server), _) => stage.signal(server, "CONT").map(|()| true),
        (Fault::PauseStore, Some(redis)) => redis.pause(false).map(|()| true),
        (Fault::KillStore, Some(redis)) => redis.restart().map(|()| true),
        _ => Ok(true),
    }
}
