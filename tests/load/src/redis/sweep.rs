//! How late ends are told when very many sessions are due at a time.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use greendot_engine::core::Settings;
use greendot_engine::store::redis::{Handle, RedisStore};
use greendot_engine::store::{FromStore, NodeId, Notice, Register, Reply, Request, SessionName};
use greendot_protocol::{Span, State};
use greendot_redis_server::Redis;
use tokio::sync::mpsc::UnboundedReceiver;

use super::figures::Figures;
use super::{broken, textbook};
use crate::percentile;
use crate::report::{Budget, Report, Row};

/// Nodes; each holds its share of the sessions, sweeps, and is told of the next one's users.
const NODES: usize = 3;

/// All sessions are due within this.
const WITHIN: Duration = Duration::from_secs(1);

/// Connects under way at a time, on each node.
const AT_ONCE: usize = 200;

/// How often a node looks what is there to be done.
const STEP: Duration = Duration::from_millis(5);

/// As many heartbeats as sessions are written the textbook way within this.
const TEXTBOOK: Duration = Duration::from_secs(5);

/// An end may cost Redis as much as so many of the textbook's heartbeats. 100,000 are told within a second of a last deadline that
/// is a second after the first if each takes no more than 20 µs, on a machine where the heartbeat's script takes 6.5: other
/// machines are slower at both.
const AN_END: f64 = 20.0 / 6.5;

/// Has so many sessions end within a second, and tells when each end came to the node that watches; then what an end
/// costs beside a heartbeat that is written the textbook way.
///
/// # Errors
///
/// If Redis cannot be started, does not do what it is asked, or an end is told twice or never.
pub async fn sweep(report: &mut Report, sessions: usize) -> io::Result<()> {
    let redis = Redis::start(&[])?;
    let share = sessions / NODES;
    // Long enough for all to connect, however slow this machine.
    let begin = Instant::now();
    let due = begin + Duration::from_secs(10) + Duration::from_micros(200) * sessions as u32;
    let mut tasks = Vec::new();
    for place in 0..NODES {
        let id = NodeId(place as u64 + 1);
        let store = RedisStore::new(redis.url());
        let (handle, said) = store.open(id, &Settings::default(), true).await.map_err(broken)?;
        let node = Sweeper {
            place,
            share,
            begin,
            due,
            handle,
            said,
            number: 0,
            beaten: begin,
            swept: begin,
        };
        tasks.push(tokio::spawn(node.run()));
    }
    let mut lags = Vec::new();
    tokio::time::sleep_until((due - Duration::from_millis(500)).into()).await;
    let before = Figures::read(&redis)?;
    for task in tasks {
        lags.extend(task.await.map_err(io::Error::other)??);
    }
    let used = Figures::read(&redis)?.since(&before);
    lags.sort_unstable();
    let at = |share| percentile(&lags, share).unwrap_or_default().as_secs_f64() * 1e3;
    let figures = [
        ("sweep_lag_p50_ms", "half of them", at(0.5), Budget::None),
        ("sweep_lag_p99_ms", "99 of 100", at(0.99), Budget::AtMost(1_000.0)),
        ("sweep_lag_max_ms", "the last", at(1.0), Budget::AtMost(1_000.0)),
    ];
    for (key, what, figure, budget) in figures {
        report.add(Row {
            key,
            what: format!("deadline to event, {} due within 1 s: {what}", lags.len()),
            ours: format!("{figure:.0} ms"),
            baseline: String::new(),
            figure,
            budget,
        });
    }
    redis.ask(&["FLUSHALL"])?;
    let beats = sessions as u64;
    let textbook = textbook::run(&redis, sessions, beats, TEXTBOOK).await?;
    let each = used.cpu * 1e6 / lags.len() as f64;
    let heartbeat = textbook.cpu * 1e6 / beats as f64;
    report.add(Row {
        key: "sweep_cpu_ratio",
        what: "Redis CPU of such an end, and of a heartbeat's script".into(),
        ours: format!("{each:.1} µs"),
        baseline: format!("{heartbeat:.1} µs"),
        figure: each / heartbeat,
        budget: Budget::AtMost(AN_END),
    });
    Ok(())
}

struct Sweeper {
    place: usize,
    share: usize,
    begin: Instant,
    /// When the first of the sessions is due.
    due: Instant,
    handle: Handle,
    said: UnboundedReceiver<FromStore>,
    number: u64,
    beaten: Instant,
    swept: Instant,
}

impl Sweeper {
    fn user(&self, place: usize, number: usize) -> Arc<str> {
        format!("user-{}-{number:09}", place % NODES).into()
    }

    fn due_at(&self, number: usize) -> Instant {
        self.due + WITHIN * number as u32 / self.share as u32
    }

    fn ask(&mut self, request: Request) {
        self.number += 1;
        self.handle.ask(Instant::now(), self.number, request);
    }

    /// Beats and sweeps when it is time, as nodes do.
    fn be_there(&mut self) {
        let now = Instant::now();
        if now - self.beaten >= Duration::from_secs(1) || self.number == 0 {
            self.beaten = now;
            self.ask(Request::Beat { away: Span::ZERO, silent: Vec::new(), heard: Vec::new() });
        }
        if now - self.swept >= Duration::from_millis(Settings::default().sweep.as_millis()) {
            self.swept = now;
            self.ask(Request::Sweep);
        }
    }

    /// Waits for the answers to whatever was asked last, and what comes before them.
    async fn settle(&mut self) -> io::Result<Option<Reply>> {
        let last = self.number;
        loop {
            match self.said.recv().await {
                Some(FromStore::Reply(number, reply)) if number == last => return Ok(Some(*reply)),
                Some(_) => {}
                None => return Err(broken("the store is gone")),
            }
        }
    }

    /// The lag of each end of the next node's users.
    async fn run(mut self) -> io::Result<Vec<Duration>> {
        self.be_there();
        for from in (0..self.share).step_by(AT_ONCE) {
            let numbers = from..self.share.min(from + AT_ONCE);
            let users = numbers.clone().map(|it| self.user(self.place + 1, it)).collect();
            self.ask(Request::Subscribe { users });
            for number in numbers {
                let lasts = self.due_at(number).saturating_duration_since(Instant::now());
                let register = Register {
                    name: SessionName {
                        user: self.user(self.place, number),
                        session: "session-of-16-by".into(),
                    },
                    seat: number as u64,
                    connected_ago: Span::ZERO,
                    heard_ago: Span::ZERO,
                    generation: None,
                    passive: false,
                    idle: None,
                    lingers_for: Some(Span::from_millis(lasts.as_millis() as u64)),
                    mode: None,
                    rooms: Vec::new(),
                    no_others: false,
                    device: "".into(),
                };
                self.ask(Request::Connect(register));
            }
            self.settle().await?;
            self.be_there();
        }
        if Instant::now() > self.due {
            return Err(broken(format!("connecting took {:?}", self.begin.elapsed())));
        }
        self.watch().await
    }

    async fn watch(&mut self) -> io::Result<Vec<Duration>> {
        let mut lags = vec![None; self.share];
        let mut missing = self.share;
        let mut tick = tokio::time::interval(STEP);
        let prefix = self.user(self.place + 1, 0);
        let prefix = &prefix[..prefix.len() - 9];
        while missing > 0 {
            tick.tick().await;
            if Instant::now() > self.due + Duration::from_secs(60) {
                return Err(broken(format!("{missing} ends were never told")));
            }
            self.be_there();
            while let Ok(said) = self.said.try_recv() {
                let FromStore::Notice(_, Notice::Changed { report, .. }) = said else { continue };
                if report.public.state != State::Offline {
                    continue;
                }
                let number: usize = report
                    .user
                    .strip_prefix(prefix)
                    .and_then(|it| it.parse().ok())
                    .ok_or_else(|| broken("an unknown user"))?;
                let lag = Instant::now().saturating_duration_since(self.due_at(number));
                if lags[number].replace(lag).is_some() {
                    return Err(broken(format!("the end of {} was told twice", report.user)));
                }
                missing -= 1;
            }
        }
        // Whatever would come twice would be there by now.
        Ok(lags.into_iter().flatten().collect())
    }
}
