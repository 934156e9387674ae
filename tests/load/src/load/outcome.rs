//! What came of the clients' lives.

use serde_json::{Value, json};

use crate::percentile;

/// What clients do.
#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    /// Choose how to appear.
    Change,
    /// Lose the connection, and are back within grace.
    Return,
    /// Say goodbye, and come back after a while.
    Goodbye,
    /// Lose the connection, and cannot come back for longer than grace.
    Vanish,
    /// Their line is cut without a word, for a moment or longer than ttl.
    Cut,
}

/// How many of [`Action`] there are.
const ACTIONS: usize = 5;

/// At most so many examples of what went wrong are kept.
const EXAMPLES: usize = 20;

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// From the dial to the welcome, in µs.
    pub connects: Vec<u64>,
    /// From a change to a watcher's hearing of it, in µs.
    pub deliveries: Vec<u64>,
    /// From a beat to its answer, in µs.
    pub beats: Vec<u64>,
    /// From the moment a client's line is cut to a watcher's seeing it offline, in µs: the server's grace included if it
    /// sees the connection end, else its ttl.
    pub cuts: Vec<u64>,
    /// Views held against the truth in the end.
    pub views: usize,
    /// How often something was wrong, and examples: who looked, at whom, what it saw and what was true.
    pub wrong: Tally,
    /// Users seen offline who had not left.
    pub flaps: Tally,
    /// Connections that broke although their clients did not mean them to.
    pub broken: Tally,
    /// What clients did, in the order of `Action`.
    pub actions: [usize; ACTIONS],
}

/// How often something happened, with examples.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// How often.
    pub count: usize,
    /// Some of them.
    pub examples: Vec<String>,
}

impl Tally {
    fn add(&mut self, example: String) {
        self.count += 1;
        if self.examples.len() < EXAMPLES {
            self.examples.push(example);
        }
    }

    fn join(&mut self, other: Self) {
        self.count += other.count;
        let room = EXAMPLES.saturating_sub(self.examples.len());
        self.examples.extend(other.examples.into_iter().take(room));
    }

    fn to_json(&self) -> Value {
        json!({ "count": self.count, "examples": self.examples })
    }

    fn from_json(json: &Value) -> Option<Self> {
        let texts = json["examples"].as_array()?.iter();
        let examples = texts.map(|it| it.as_str().map(str::to_owned)).collect::<Option<_>>()?;
        Some(Self { count: json["count"].as_u64()? as usize, examples })
    }
}

impl Outcome {
    pub(super) fn wronged(&mut self, text: String) {
        self.wrong.add(text);
    }

    pub(super) fn flapped(&mut self, text: String) {
        self.flaps.add(text);
    }

    pub(super) fn lost(&mut self, text: String) {
        self.broken.add(text);
    }

    /// For another process.
    pub fn to_json(&self) -> Value {
        json!({
            "connects": self.connects, "deliveries": self.deliveries, "beats": self.beats, "cuts": self.cuts,
            "views": self.views, "wrong": self.wrong.to_json(), "flaps": self.flaps.to_json(),
            "broken": self.broken.to_json(), "actions": self.actions,
        })
    }

    /// What [`Self::to_json`] told.
    pub fn from_json(json: &Value) -> Option<Self> {
        let numbers = |key: &str| {
            let numbers = json[key].as_array()?.iter();
            numbers.map(Value::as_u64).collect::<Option<Vec<_>>>()
        };
        let actions = numbers("actions")?.into_iter().map(|it| it as usize).collect::<Vec<_>>();
        Some(Self {
            connects: numbers("connects")?,
            deliveries: numbers("deliveries")?,
            beats: numbers("beats")?,
            cuts: numbers("cuts")?,
            views: json["views"].as_u64()? as usize,
            wrong: Tally::from_json(&json["wrong"])?,
            flaps: Tally::from_json(&json["flaps"])?,
            broken: Tally::from_json(&json["broken"])?,
            actions: actions.try_into().ok()?,
        })
    }

    /// Adds what came of other clients.
    pub fn add(&mut self, other: Self) {
        self.connects.extend(other.connects);
        self.deliveries.extend(other.deliveries);
        self.beats.extend(other.beats);
        self.cuts.extend(other.cuts);
        self.views += other.views;
        self.wrong.join(other.wrong);
        self.flaps.join(other.flaps);
        self.broken.join(other.broken);
        for (sum, more) in self.actions.iter_mut().zip(other.actions) {
            *sum += more;
        }
    }

    /// Whether everybody saw the truth, and no connection broke that was to hold.
    pub fn is_clean(&self) -> bool {
        self.views > 0
            && [&self.wrong, &self.flaps, &self.broken].into_iter().all(|it| it.count == 0)
    }

    /// For people.
    pub fn print(&mut self) {
        let [changes, returns, goodbyes, vanished, cuts] = self.actions;
        println!(
            "{changes} changes, {returns} returns within grace, {goodbyes} goodbyes, {vanished} vanished, \
             {cuts} cut lines"
        );
        for (name, micros) in [
            ("connect", &mut self.connects),
            ("delivery", &mut self.deliveries),
            ("heartbeat", &mut self.beats),
            ("cut line", &mut self.cuts),
        ] {
            micros.sort_unstable();
            let at = |share| percentile(micros, share).map_or(0.0, |it| it as f64 / 1e3);
            println!(
                "{name:<11} p50 {:>8.1} ms   p99 {:>8.1} ms   p99.9 {:>8.1} ms   ({})",
                at(0.5),
                at(0.99),
                at(0.999),
                micros.len()
            );
        }
        println!(
            "truth       {} views, {} wrong, {} flaps, {} broken connections",
            self.views, self.wrong.count, self.flaps.count, self.broken.count
        );
        for tally in [&self.wrong, &self.flaps, &self.broken] {
            for line in &tally.examples {
                println!("  {line}");
            }
        }
    }
}
