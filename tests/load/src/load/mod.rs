//! Many clients that live: they come and go, change, watch each other, and stand still. Each is the SDK's own core over a
//! real socket. What each sees is held against what the others really did, while it runs and whenever all is quiet.

mod faults;
mod life;
mod line;
mod outcome;
mod plan;
mod stage;
mod truth;
mod vigil;
mod workers;

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

pub use self::faults::Storm;
pub use self::outcome::{Outcome, Tally};
pub use self::plan::{Periods, Plan};
pub use self::stage::{Stage, Staged};
use self::truth::Truth;
pub use self::vigil::Vigil;
pub use self::workers::{Word, Workers};

/// What clients do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// They come, and do nothing else yet.
    Arriving,
    /// They do all that clients do.
    Lively,
    /// Nobody does anything, and who is away stays away.
    Quiet,
    /// Each says what it sees.
    Judging,
}

/// How long the last of them may take to get in.
const ARRIVAL: Duration = Duration::from_secs(180);

/// Runs this process's clients as it is told to on standard input, and tells on standard output when they are in, and what
/// came of it each time it is asked.
///
/// # Errors
///
/// If clients cannot connect at all, or what it is told makes no sense.
pub async fn run(plan: Plan) -> io::Result<()> {
    let truth = Arc::new(Truth::new(&plan));
    let dials = Arc::new(Semaphore::new(0));
    let (phase, phases) = watch::channel(Phase::Arriving);
    let plan = Arc::new(plan);
    let mut lives = JoinSet::new();
    for number in 0..plan.clients {
        let (truth, dials) = (Arc::clone(&truth), Arc::clone(&dials));
        lives.spawn(life::live(Arc::clone(&plan), number, truth, dials, phases.clone()));
    }
    arrive(&plan, &truth, &dials).await?;
    println!("ready");
    truth.begins();
    let mut told = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = told.next_line().await? {
        match Word::parse(&line) {
            Some(Word::Live) => _ = phase.send_replace(Phase::Lively),
            Some(Word::Quiet) => _ = phase.send_replace(Phase::Quiet),
            Some(Word::Fails { store }) => truth.fails(store),
            Some(Word::Works { store }) => truth.works(store),
            Some(Word::Starves) => truth.starves(true),
            Some(Word::Runs) => truth.starves(false),
            Some(Word::Judge) => {
                phase.send_replace(Phase::Judging);
                while truth.judged() < plan.clients {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                println!("{}", truth.outcome().to_json());
            }
            None => {
                return Err(io::Error::other(format!("a process of clients was told {line:?}")));
            }
        }
    }
    lives.abort_all();
    Ok(())
}

/// Lets clients in at the rate of the plan, until all are there.
async fn arrive(plan: &Plan, truth: &Truth, dials: &Semaphore) -> io::Result<()> {
    let mut tick = tokio::time::interval(Duration::from_millis(100));
    let mut allowed = 0;
    while allowed < plan.clients {
        tick.tick().await;
        let more = plan.connect_rate.div_ceil(10).min(plan.clients - allowed);
        dials.add_permits(more);
        allowed += more;
    }
    let patience = Instant::now() + ARRIVAL;
    while truth.arrived() < plan.clients {
        if Instant::now() > patience {
            let text = format!("{} of {} clients are in", truth.arrived(), plan.clients);
            return Err(io::Error::other(text));
        }
        tick.tick().await;
    }
    Ok(())
}
