//! Many clients that live: they come and go, change, watch each other, and read slowly. What each watcher saw in the end is
//! held against what the others really did.

mod life;
mod truth;

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use self::truth::Truth;

/// What one process of clients is to do.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where the server listens on loopback.
    pub port: u16,
    /// Tells this process's users from those of others.
    pub worker: usize,
    /// Clients, each a user of its own.
    pub clients: usize,
    /// How many of the others each watches.
    pub watches: usize,
    /// How often a client does something, on average.
    pub action_every: Duration,
    /// One client in so many reads nothing for long stretches; 0: none.
    pub slow_one_in: usize,
    /// Clients that dial in a second.
    pub connect_rate: usize,
    /// How long they live, once all are there.
    pub lasts: Duration,
    /// After this long without anybody doing anything everybody must see the truth: the server's grace, and time for its
    /// last words to arrive.
    pub settle: Duration,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// From the dial to the welcome, in µs.
    pub connects: Vec<u64>,
    /// From a change to a watcher's hearing of it, in µs.
    pub deliveries: Vec<u64>,
    /// From a beat to its answer, in µs.
    pub beats: Vec<u64>,
    /// From the moment a client's line is cut to a watcher's seeing it offline, the server's grace included; in µs.
    pub cuts: Vec<u64>,
    /// Views held against the truth in the end.
    pub views: usize,
    /// Those that were wrong: who looked, at whom, what it saw and what was true.
    pub wrong: Vec<String>,
    /// Users seen offline who had not left.
    pub flaps: usize,
    /// Connections that broke although nobody meant them to.
    pub broken: Vec<String>,
    /// What clients did: changes, returns within grace, goodbyes, cut lines.
    pub actions: [usize; 4],
}

/// At most so many examples of what went wrong are kept.
const EXAMPLES: usize = 20;

/// Runs this process's clients.
///
/// # Errors
///
/// If clients cannot connect at all.
pub async fn run(plan: Plan) -> io::Result<Outcome> {
    let truth = Arc::new(Truth::new(&plan));
    let dials = Arc::new(Semaphore::new(0));
    let mut lives = JoinSet::new();
    for number in 0..plan.clients {
        lives.spawn(life::live(plan.clone(), number, Arc::clone(&truth), Arc::clone(&dials)));
    }
    let mut tick = tokio::time::interval(Duration::from_millis(100));
    let mut allowed = 0;
    while allowed < plan.clients {
        tick.tick().await;
        let more = plan.connect_rate.div_ceil(10).min(plan.clients - allowed);
        dials.add_permits(more);
        allowed += more;
    }
    let patience = Instant::now() + Duration::from_secs(60);
    while truth.arrived() < plan.clients {
        if Instant::now() > patience {
            let text = format!("{} of {} clients are in", truth.arrived(), plan.clients);
            return Err(io::Error::other(text));
        }
        tick.tick().await;
    }
    truth.begin();
    tokio::time::sleep(plan.lasts).await;
    truth.end();
    tokio::time::sleep(plan.settle).await;
    let outcome = truth.outcome();
    lives.abort_all();
    Ok(outcome)
}

impl Outcome {
    /// For another process.
    pub fn to_json(&self) -> Value {
        json!({
            "connects": self.connects, "deliveries": self.deliveries, "beats": self.beats, "cuts": self.cuts,
            "views": self.views, "wrong": self.wrong, "flaps": self.flaps, "broken": self.broken,
            "actions": self.actions,
        })
    }

    /// What [`Self::to_json`] told.
    pub fn from_json(json: &Value) -> Option<Self> {
        let numbers = |key: &str| {
            let numbers = json[key].as_array()?.iter();
            numbers.map(Value::as_u64).collect::<Option<Vec<_>>>()
        };
        let texts = |key: &str| {
            let texts = json[key].as_array()?.iter();
            texts.map(|it| it.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
        };
        let count = |value: &Value| value.as_u64().map(|it| it as usize);
        let [changes, returns, goodbyes, cuts] = json["actions"].as_array()?.as_slice() else {
            return None;
        };
        Some(Self {
            connects: numbers("connects")?,
            deliveries: numbers("deliveries")?,
            beats: numbers("beats")?,
            cuts: numbers("cuts")?,
            views: count(&json["views"])?,
            wrong: texts("wrong")?,
            flaps: count(&json["flaps"])?,
            broken: texts("broken")?,
            actions: [count(changes)?, count(returns)?, count(goodbyes)?, count(cuts)?],
        })
    }

    /// Adds what came of another process's clients.
    pub fn add(&mut self, other: Self) {
        self.connects.extend(other.connects);
        self.deliveries.extend(other.deliveries);
        self.beats.extend(other.beats);
        self.cuts.extend(other.cuts);
        self.views += other.views;
        self.wrong.extend(other.wrong);
        self.flaps += other.flaps;
        self.broken.extend(other.broken);
        for (sum, more) in self.actions.iter_mut().zip(other.actions) {
            *sum += more;
        }
    }

    /// Whether everybody saw the truth and nobody was cut off.
    pub fn is_clean(&self) -> bool {
        self.wrong.is_empty() && self.flaps == 0 && self.broken.is_empty()
    }
}
