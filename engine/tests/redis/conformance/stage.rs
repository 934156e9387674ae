//! Grounds to play on, and nodes that ask the store there.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use greendot_engine::core::Settings;
use greendot_engine::protocol::{Epoch, Span, State, Time};
use greendot_engine::store::redis::{Handle, RedisStore};
use greendot_engine::store::{
    FromStore, HeldBy, MemoryStore, NodeId, Notice, Register, Reply, Report, Request, SessionName,
    Silent, Store,
};
use greendot_redis_server::{Cluster, Redis};
use tokio::sync::mpsc;

pub(super) use crate::register::register;

/// Longer than anything here takes, on a machine however busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// Periods short enough to wait for, and long beside what a request takes on a busy machine.
pub(super) fn settings() -> Settings {
    Settings {
        beat: Span::from_millis(500),
        ttl: Span::from_millis(2_000),
        grace: Span::from_millis(200),
        sweep: Span::from_millis(20),
        room_limit: 3,
        ..Settings::default()
    }
}

/// A store of a test's own.
pub(super) struct Stage {
    ground: Ground,
    prefix: String,
    settings: Settings,
}

enum Ground {
    Memory(Arc<Mutex<Memory>>),
    Single(Arc<Redis>),
    Cluster(Arc<Cluster>),
}

/// The store in memory, asked as one that is elsewhere.
struct Memory {
    store: MemoryStore,
    begin: std::time::Instant,
    nodes: HashMap<NodeId, mpsc::UnboundedSender<FromStore>>,
}

/// Tests that run at a time share one; it ends with the last of them.
fn shared<T>(held: &Mutex<Weak<T>>, start: impl FnOnce() -> T) -> Arc<T> {
    let mut held = held.lock().expect("it starts");
    held.upgrade().unwrap_or_else(|| {
        let it = Arc::new(start());
        *held = Arc::downgrade(&it);
        it
    })
}

impl Stage {
    fn on(ground: Ground, settings: Settings) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let prefix = format!("case{}", NEXT.fetch_add(1, Ordering::Relaxed));
        Self { ground, prefix, settings }
    }

    pub(super) fn memory() -> Self {
        Self::on(Ground::Memory(Memory::shared(settings())), settings())
    }

    pub(super) fn single() -> Self {
        static HELD: Mutex<Weak<Redis>> = Mutex::new(Weak::new());
        Self::on(Ground::Single(shared(&HELD, || crate::rig::redis(&[]))), settings())
    }

    pub(super) fn cluster() -> Self {
        static HELD: Mutex<Weak<Cluster>> = Mutex::new(Weak::new());
        Self::on(Ground::Cluster(shared(&HELD, crate::rig::cluster)), settings())
    }

    /// Another of the kind, whose nodes go by these settings.
    pub(super) fn with(&self, settings: Settings) -> Self {
        let ground = match &self.ground {
            Ground::Memory(_) => Ground::Memory(Memory::shared(settings)),
            Ground::Single(redis) => Ground::Single(Arc::clone(redis)),
            Ground::Cluster(cluster) => Ground::Cluster(Arc::clone(cluster)),
        };
        Self::on(ground, settings)
    }

    /// What its nodes go by.
    pub(super) fn settings(&self) -> Settings {
        self.settings
    }

    fn servers(&self) -> &[Redis] {
        match &self.ground {
            Ground::Memory(_) => &[],
            Ground::Single(redis) => std::slice::from_ref(&**redis),
            Ground::Cluster(cluster) => &cluster.servers,
        }
    }

    /// A node that starts, and asks from now on.
    pub(super) async fn node(&self) -> Node {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NodeId(NEXT.fetch_add(1, Ordering::Relaxed));
        let (asks, said) = match &self.ground {
            Ground::Memory(memory) => {
                let (out, said) = mpsc::unbounded_channel();
                memory.lock().expect("no panic").nodes.insert(id, out);
                (Asks::Memory(Arc::clone(memory)), said)
            }
            _ => {
                let store = RedisStore::new(self.servers()[0].url()).prefix(&self.prefix);
                let (handle, said) =
                    store.open(id, &self.settings, true).await.expect("the store opens");
                (Asks::Redis(handle), said)
            }
        };
        let mut node = Node { id, asks, said, number: 0, told: None, notices: VecDeque::new() };
        node.beat().await;
        node.notices.clear();
        node
    }

    /// The store loses what it held.
    pub(super) fn lose(&self) {
        if let Ground::Memory(memory) = &self.ground {
            let mut memory = memory.lock().expect("no panic");
            let now = memory.now();
            memory.store = self::memory(self.settings, now, Epoch(2), true);
        }
        for server in self.servers() {
            let keys = server.ask(&["KEYS", &format!("{{{}:*", self.prefix)]).expect("keys");
            for key in keys.lines() {
                server.ask(&["DEL", key]).expect("it goes");
            }
        }
    }
}

/// When a store in memory begins: ages reach before that.
const ORIGIN: u64 = 1_000_000_000;

fn memory(settings: Settings, now: Time, epoch: Epoch, warming: bool) -> MemoryStore {
    MemoryStore::new(settings, true, now, epoch, 7, warming)
}

impl Memory {
    #[expect(clippy::disallowed_methods, reason = "the store's clock is real, as Redis' is")]
    fn shared(settings: Settings) -> Arc<Mutex<Self>> {
        let store = memory(settings, Time::from_millis(ORIGIN), Epoch(1), false);
        let begin = std::time::Instant::now();
        Arc::new(Mutex::new(Self { store, begin, nodes: HashMap::new() }))
    }

    #[expect(clippy::disallowed_methods, reason = "the store's clock is real, as Redis' is")]
    fn now(&self) -> Time {
        Time::from_millis(ORIGIN + self.begin.elapsed().as_millis() as u64)
    }

    fn ask(&mut self, node: NodeId, number: u64, request: &Request) {
        let reply = self.store.handle(self.now(), node, request);
        while let Some((to, number, notice)) = self.store.poll_notice() {
            if let Some(to) = self.nodes.get(&to) {
                // One that is gone hears nothing.
                let _ = to.send(FromStore::Notice(number, notice));
            }
        }
        let _ = self.nodes[&node].send(FromStore::Reply(number, Box::new(reply)));
    }
}

enum Asks {
    Memory(Arc<Mutex<Memory>>),
    Redis(Handle),
}

/// A node, as far as the store sees one.
pub(super) struct Node {
    pub(super) id: NodeId,
    asks: Asks,
    said: mpsc::UnboundedReceiver<FromStore>,
    number: u64,
    /// The number of the last notice, or of those told by an answer.
    told: Option<u64>,
    notices: VecDeque<Notice>,
}

impl Node {
    fn send(&mut self, request: Request) -> u64 {
        self.number += 1;
        match &self.asks {
            Asks::Memory(memory) => {
                memory.lock().expect("no panic").ask(self.id, self.number, &request);
            }
            Asks::Redis(handle) => {
                #[expect(clippy::disallowed_methods, reason = "a real store goes by a real clock")]
                let now = std::time::Instant::now();
                assert!(handle.ask(now, self.number, request), "there is room for it")
            }
        }
        self.number
    }

    async fn next(&mut self) -> FromStore {
        let said = tokio::time::timeout(PATIENCE, self.said.recv()).await;
        said.expect("the store speaks").expect("the store is there")
    }

    fn note(&mut self, number: u64, notice: Notice) {
        if let Some(told) = self.told {
            assert_eq!(number, told + 1, "{notice:?}");
        }
        self.told = Some(number);
        if notice != Notice::Nothing {
            self.notices.push_back(notice);
        }
    }

    /// Asks, and waits for the answer. What is told meanwhile is kept.
    pub(super) async fn ask(&mut self, request: Request) -> Reply {
        let asked = self.send(request);
        loop {
            match self.next().await {
                FromStore::Notice(number, notice) => self.note(number, notice),
                FromStore::Reply(number, reply) => {
                    assert_eq!(number, asked);
                    self.told.get_or_insert(reply.told);
                    return *reply;
                }
            }
        }
    }

    /// Asks, and says how long it took to be answered.
    #[expect(clippy::disallowed_methods, reason = "the store's clock is real, as Redis' is")]
    pub(super) async fn ask_timed(&mut self, request: Request) -> (Reply, Duration) {
        let asked = std::time::Instant::now();
        let reply = self.ask(request).await;
        (reply, asked.elapsed())
    }

    /// Asks all this, one behind the other, and waits for the answers. What is told meanwhile is kept.
    pub(super) async fn ask_all(&mut self, requests: Vec<Request>) -> Vec<Reply> {
        let asked: Vec<u64> = requests.into_iter().map(|it| self.send(it)).collect();
        let mut replies = Vec::new();
        while replies.len() < asked.len() {
            match self.next().await {
                FromStore::Notice(number, notice) => self.note(number, notice),
                FromStore::Reply(number, reply) => {
                    assert_eq!(number, asked[replies.len()]);
                    replies.push(*reply);
                }
            }
        }
        replies
    }

    /// The next notice.
    pub(super) async fn hear(&mut self) -> Notice {
        loop {
            if let Some(notice) = self.notices.pop_front() {
                return notice;
            }
            match self.next().await {
                FromStore::Notice(number, notice) => self.note(number, notice),
                FromStore::Reply(..) => unreachable!("nothing was asked"),
            }
        }
    }

    /// Notices up to the first for which this holds; that one alone is returned.
    pub(super) async fn hear_until(&mut self, holds: impl Fn(&Notice) -> bool) -> Notice {
        loop {
            let notice = self.hear().await;
            if holds(&notice) {
                return notice;
            }
        }
    }

    /// How a user stands that the node subscribed to, when next something is said of it.
    pub(super) async fn hear_of(&mut self, user: &str) -> Report {
        let of_user =
            |it: &Notice| matches!(it, Notice::Changed { report, .. } if &*report.user == user);
        match self.hear_until(of_user).await {
            Notice::Changed { report, .. } => report,
            _ => unreachable!("as asked"),
        }
    }

    /// Nothing has been told to it that it has not heard. The store answers what it is asked after what it told.
    pub(super) async fn hears_no_more(&mut self) {
        self.beat().await;
        assert_eq!(self.notices, []);
    }

    /// It is there.
    pub(super) async fn beat(&mut self) -> Reply {
        self.beat_with(Vec::new(), Vec::new()).await
    }

    pub(super) async fn beat_with(
        &mut self,
        silent: Vec<Silent>,
        heard: Vec<(SessionName, u64)>,
    ) -> Reply {
        self.ask(Request::Beat { away: Span::ZERO, silent, heard }).await
    }

    /// Ends what is due, if anything is.
    pub(super) async fn sweep(&mut self) -> Reply {
        self.ask(Request::Sweep).await
    }

    /// A session connects.
    pub(super) async fn connect(&mut self, user: &str, session: &str, seat: u64) -> HeldBy {
        self.register(register(user, session, seat)).await
    }

    pub(super) async fn register(&mut self, register: Register) -> HeldBy {
        self.ask(Request::Connect(register)).await.held
    }

    pub(super) async fn subscribe(&mut self, users: &[&str]) -> Vec<Report> {
        let users = users.iter().map(|it| (*it).into()).collect();
        self.ask(Request::Subscribe { users }).await.reports
    }

    /// How a user stands, if anything is known of it.
    pub(super) async fn read(&mut self, user: &str) -> Option<Report> {
        let request = Request::Read { viewer: "reader".into(), users: vec![user.into()] };
        self.ask(request).await.reports.pop()
    }

    pub(super) async fn state_of(&mut self, user: &str) -> State {
        self.read(user).await.map_or(State::Offline, |it| it.public.state)
    }
}

pub(super) fn name(user: &str, session: &str) -> SessionName {
    SessionName { user: user.into(), session: session.into() }
}

pub(super) fn silent(user: &str, session: &str, seat: u64, heard_ago: u64) -> Silent {
    Silent { name: name(user, session), seat, heard_ago: Span::from_millis(heard_ago) }
}

#[expect(clippy::disallowed_methods, reason = "the clock of Redis is real")]
pub(super) async fn pause(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}
