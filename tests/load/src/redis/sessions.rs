//! Nodes whose sessions show signs of life as clients do, without sockets.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use greendot_engine::core::{ConnId, Node, Output, Settings};
use greendot_engine::store::redis::{Handle, RedisStore};
use greendot_engine::store::{FromStore, NodeId};
use greendot_protocol::{Beat, ClientFrame, Time};
use tokio::sync::mpsc::UnboundedReceiver;

use super::{broken, connect};

/// Clients that connect in a step of [`STEP`] on each node.
const AT_ONCE: usize = 40;
const STEP: Duration = Duration::from_millis(10);

/// What all nodes are told.
#[derive(Debug, Default)]
struct Shared {
    stopped: AtomicBool,
    settled: AtomicUsize,
    beats: AtomicU64,
}

/// Nodes with their sessions.
#[derive(Debug)]
pub(super) struct Nodes {
    shared: Arc<Shared>,
}

impl Nodes {
    /// Starts nodes that share the sessions evenly, and waits until all are in.
    pub(super) async fn start(url: &str, nodes: usize, sessions: usize) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        for place in 0..nodes {
            let id = NodeId(place as u64 + 1);
            let store = RedisStore::new(url);
            let (handle, said) =
                store.open(id, &Settings::default(), true).await.map_err(broken)?;
            let share = sessions / nodes + usize::from(place < sessions % nodes);
            let one = One::new(place, id, handle, said).map_err(broken)?;
            tokio::spawn(one.run(share, Arc::clone(&shared)));
        }
        while shared.settled.load(Ordering::Relaxed) < nodes {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        // The last words of the connects.
        tokio::time::sleep(Duration::from_secs(3)).await;
        Ok(Self { shared })
    }

    /// Lets them live for so long, and counts their beats.
    pub(super) async fn live(&self, lasts: Duration) -> u64 {
        let before = self.shared.beats.load(Ordering::Relaxed);
        tokio::time::sleep(lasts).await;
        self.shared.beats.load(Ordering::Relaxed) - before
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
    }
}

struct One {
    place: usize,
    node: Node,
    handle: Handle,
    said: UnboundedReceiver<FromStore>,
    begin: Instant,
    /// When each connection shows the next sign of life.
    due: BinaryHeap<Reverse<(Time, ConnId)>>,
    /// Spreads beats; any numbers will do.
    dice: u64,
}

impl One {
    fn new(
        place: usize,
        id: NodeId,
        handle: Handle,
        said: UnboundedReceiver<FromStore>,
    ) -> Result<Self, greendot_engine::core::SettingsError> {
        let node = Node::with_store(Settings::default(), Time::ZERO, id, true, 7)?;
        let begin = Instant::now();
        Ok(Self { place, node, handle, said, begin, due: BinaryHeap::new(), dice: 1 })
    }

    /// A beat up to 20 % early, as clients have it.
    fn next_beat(&mut self, now: Time) -> Time {
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let beat = Settings::default().beat;
        let early = self.dice >> 33;
        now + beat.fraction(800 + early % 200, 1_000)
    }

    async fn run(mut self, share: usize, shared: Arc<Shared>) {
        let mut tick = tokio::time::interval(STEP);
        let mut there = 0;
        let mut settled = false;
        while !shared.stopped.load(Ordering::Relaxed) {
            tick.tick().await;
            let now = Time::from_millis(self.begin.elapsed().as_millis() as u64);
            while let Ok(message) = self.said.try_recv() {
                match message {
                    FromStore::Reply(number, reply) => self.node.handle_reply(now, number, &reply),
                    FromStore::Notice(number, it) => self.node.handle_notice(now, number, &it),
                }
            }
            for _ in 0..AT_ONCE.min(share - there) {
                let user = format!("user-{}-{there:09}", self.place);
                if let Ok(conn) = self.node.handle_connect(now, &connect(&user)) {
                    let at = self.next_beat(now);
                    self.due.push(Reverse((at, conn)));
                }
                there += 1;
            }
            while let Some(Reverse((_, conn))) = self.due.peek().filter(|it| it.0.0 <= now) {
                let conn = *conn;
                self.due.pop();
                let beat = Beat { number: 0, input_age_secs: None };
                self.node.handle_frame(now, conn, &ClientFrame::Beat(beat));
                shared.beats.fetch_add(1, Ordering::Relaxed);
                let at = self.next_beat(now);
                self.due.push(Reverse((at, conn)));
            }
            if self.node.deadline() <= now {
                self.node.handle_timeout(now);
            }
            while let Some(output) = self.node.poll_output() {
                if let Output::Store { number, request } = output {
                    self.handle.ask(Instant::now(), number, *request);
                }
            }
            if there == share && !settled {
                settled = true;
                shared.settled.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}
