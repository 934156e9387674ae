//! How soon a node that holds very many sessions is good again once Redis is back.

use std::io;
use std::time::{Duration, Instant};

use greendot_engine::core::{ConnId, Node, Output, Settings};
use greendot_engine::protocol::{ClientFrame, Span, Time};
use greendot_engine::store::redis::{Handle, RedisStore};
use greendot_engine::store::{FromStore, HeldBy, NodeId};
use greendot_redis_server::Redis;
use tokio::sync::mpsc::UnboundedReceiver;

use super::{broken, connect};
use crate::report::{Budget, Report, Row};

/// Redis stands still for so long: until the node takes it for lost.
const AWAY: Duration = Duration::from_secs(10);

/// By then the node is good again, or never will be.
const PATIENCE: Duration = Duration::from_secs(60);

/// Connects under way at a time.
const AT_ONCE: usize = 2_000;

/// Nobody beats here, and nobody is to be reported silent for it.
const BEAT: Span = Span::from_secs(300);

/// Has a node with so many sessions lose its store and find it again.
///
/// # Errors
///
/// If Redis cannot be started, does not do what it is asked, or the node is not good again.
pub async fn outage(report: &mut Report, sessions: usize) -> io::Result<()> {
    let (redis, mut one, _) = One::crowded(sessions).await?;
    redis.pause(true)?;
    one.work_for(AWAY).await;
    redis.pause(false)?;
    one.longest = Duration::ZERO;
    let back = Instant::now();
    while one.node.is_stale() {
        one.work().await;
        if back.elapsed() > PATIENCE {
            return Err(io::Error::other("the node is not good again"));
        }
    }
    let millis = |it: Duration| it.as_secs_f64() * 1e3;
    let figures = [
        ("outage_back_ms", "until all is good again", millis(back.elapsed())),
        ("outage_step_ms", "the node's longest step meanwhile", millis(one.longest)),
    ];
    for (key, what, figure) in figures {
        report.add(Row {
            key,
            what: format!("Redis back, a node with {sessions} sessions: {what}"),
            ours: format!("{figure:.1} ms"),
            baseline: String::new(),
            figure,
            budget: Budget::None,
        });
    }
    Ok(())
}

pub(super) struct One {
    pub(super) node: Node,
    handle: Handle,
    said: UnboundedReceiver<FromStore>,
    begin: Instant,
    /// Connects that have not been answered.
    unanswered: usize,
    /// Requests to the store.
    pub(super) asked: usize,
    /// The longest step.
    pub(super) longest: Duration,
}

impl One {
    /// A node with so many sessions, its Redis, and the connections.
    pub(super) async fn crowded(sessions: usize) -> io::Result<(Redis, Self, Vec<ConnId>)> {
        let redis = Redis::start(&[])?;
        let settings = Settings { beat: BEAT, ttl: BEAT + BEAT + BEAT, ..Settings::default() };
        let id = NodeId(1);
        let (handle, said) =
            RedisStore::new(redis.url()).open(id, &settings, true).await.map_err(broken)?;
        let node = Node::with_store(settings, Time::ZERO, id, true, 7).map_err(broken)?;
        let begin = Instant::now();
        let mut one =
            Self { node, handle, said, begin, unanswered: 0, asked: 0, longest: Duration::ZERO };
        let mut conns = Vec::new();
        for number in 0..sessions {
            conns.extend(one.connect(number));
            while one.unanswered >= AT_ONCE {
                one.work().await;
            }
        }
        while one.unanswered > 0 {
            one.work().await;
        }
        Ok((redis, one, conns))
    }

    pub(super) async fn work_for(&mut self, lasts: Duration) {
        let begin = Instant::now();
        while begin.elapsed() < lasts {
            self.work().await;
        }
    }

    pub(super) fn say(&mut self, conn: ConnId, frame: &ClientFrame<'_>) {
        let now = self.now();
        self.node.handle_frame(now, conn, frame);
        self.drain(now);
    }

    fn now(&self) -> Time {
        Time::from_millis(self.begin.elapsed().as_millis() as u64)
    }

    fn connect(&mut self, number: usize) -> Option<ConnId> {
        let user = format!("user-{number:011}");
        let now = self.now();
        let conn = self.node.handle_connect(now, &connect(&user)).ok();
        self.unanswered += usize::from(conn.is_some());
        self.drain(now);
        conn
    }

    /// Does what is to be done next.
    pub(super) async fn work(&mut self) {
        let wait = self.node.deadline().since(self.now()).as_millis();
        let said = tokio::time::timeout(Duration::from_millis(wait.min(20)), self.said.recv());
        let said = said.await.ok().flatten();
        let (begin, now) = (Instant::now(), self.now());
        match said {
            Some(FromStore::Reply(number, reply)) => {
                let is_of_connect = reply.held != HeldBy::Nobody;
                self.unanswered = self.unanswered.saturating_sub(usize::from(is_of_connect));
                self.node.handle_reply(now, number, &reply);
            }
            Some(FromStore::Notice(number, it)) => self.node.handle_notice(now, number, &it),
            None => {}
        }
        if self.node.deadline() <= now {
            self.node.handle_timeout(now);
        }
        self.drain(now);
        self.longest = self.longest.max(begin.elapsed());
    }

    fn drain(&mut self, now: Time) {
        while let Some(output) = self.node.poll_output() {
            match output {
                Output::Store { number, request } => {
                    self.asked += 1;
                    self.handle.ask(Instant::now(), number, *request);
                }
                Output::ReadFirst(conn) => self.node.handle_read(now, conn),
                Output::Ready(conn) => self.node.transmit(now, conn, &mut |_| {}),
                Output::Ping(conn) => self.node.handle_pong(now, conn),
                _ => {}
            }
        }
    }
}
