//! The same scripts in lockstep, by a clock that is set: a store for tests on a virtual clock.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use greendot_protocol::{Span, Time};
use redis::{Connection, RedisResult};

use super::OpenError;
use super::calls::{Call, Calls};
use super::composer::Composer;
use super::keys::Keys;
use super::part::Part;
use super::scripts::Scripts;
use crate::core::Settings;
use crate::store::{NodeId, Notice, Reply, Request, Store};

/// What a partition's scripts have published: by turns to which node, and what.
type Published = (usize, Vec<Vec<u8>>);

/// What partitions have answered and published.
type Ran = (Vec<(usize, Part)>, Vec<Published>);

/// A store whose scripts go by the clock that they are handed. One program at a time may play
/// under a prefix.
pub struct PlayedRedis {
    connection: Connection,
    keys: Keys,
    prefix: String,
    scripts: Arc<Scripts>,
    settings: Settings,
    thin: bool,
    /// Whether a partition that is found empty never held anything.
    fresh: bool,
    nodes: BTreeMap<NodeId, (Calls, Composer)>,
    notices: VecDeque<(NodeId, u64, Notice)>,
}

impl std::fmt::Debug for PlayedRedis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PlayedRedis").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

impl PlayedRedis {
    /// A store that is empty at `now`.
    ///
    /// # Errors
    ///
    /// If Redis cannot be reached or the scripts cannot be loaded.
    pub fn open(
        url: &str,
        prefix: &str,
        partitions: u16,
        settings: Settings,
        thin: bool,
        now: Time,
    ) -> Result<Self, OpenError> {
        let mut connection = redis::Client::open(url)?.get_connection()?;
        let scripts = Scripts::played();
        for text in scripts.texts() {
            let _: String = redis::cmd("SCRIPT").arg("LOAD").arg(text).query(&mut connection)?;
        }
        let mut store = Self {
            connection,
            keys: Keys::new(prefix, partitions)?,
            prefix: prefix.into(),
            scripts: Arc::new(scripts),
            settings,
            thin,
            fresh: true,
            nodes: BTreeMap::new(),
            notices: VecDeque::new(),
        };
        store.begin(now)?;
        Ok(store)
    }

    /// It loses what it held. Others find that out when they ask next; its periods begin now, as if one had at once.
    ///
    /// # Errors
    ///
    /// If Redis does not do what it is asked.
    pub fn wipe(&mut self, now: Time) -> Result<(), OpenError> {
        self.fresh = false;
        Ok(self.begin(now)?)
    }

    fn begin(&mut self, now: Time) -> RedisResult<()> {
        self.clear()?;
        let opening = self.opening(NodeId(0)).1;
        self.run(now, &opening).map(|_| ())
    }

    /// How a node asks, and what it asks first.
    fn opening(&self, node: NodeId) -> (Calls, Vec<Call>) {
        let (keys, scripts) = (self.keys.clone(), Arc::clone(&self.scripts));
        let calls = Calls::new(keys, scripts, node, &self.settings, self.thin, None);
        let mut opening: Vec<_> =
            (0..self.keys.count()).map(|it| calls.open(it, self.fresh)).collect();
        for it in &mut opening {
            it.command.arg("played").arg(1);
        }
        (calls, opening)
    }

    fn clear(&mut self) -> RedisResult<()> {
        let pattern = format!("{{{}:*", self.prefix);
        let mut scan = redis::cmd("SCAN");
        scan.cursor_arg(0).arg("MATCH").arg(pattern).arg("COUNT").arg(1_000);
        let keys: Vec<String> =
            scan.iter(&mut self.connection)?.collect::<RedisResult<Vec<String>>>()?;
        if keys.is_empty() {
            return Ok(());
        }
        redis::cmd("UNLINK").arg(keys).exec(&mut self.connection)
    }

    /// What calls are answered, and what the scripts published, in the order of the partitions. On one way there and back:
    /// that is what most of a run's time goes into.
    fn run(&mut self, now: Time, calls: &[Call]) -> RedisResult<Ran> {
        if calls.is_empty() {
            return Ok((Vec::new(), Vec::new()));
        }
        let mut pipeline = redis::pipe();
        let partitions: BTreeSet<usize> = calls.iter().map(|it| it.partition).collect();
        for it in &partitions {
            let clock = format!("{}:clock", self.keys.tag(*it));
            pipeline.cmd("SET").arg(clock).arg(now.as_millis()).ignore();
        }
        for call in calls {
            pipeline.add_command(call.command.clone());
        }
        for it in &partitions {
            let told = format!("{}:told", self.keys.tag(*it));
            pipeline.cmd("LRANGE").arg(&told).arg(0).arg(-1);
            pipeline.cmd("DEL").arg(told).ignore();
        }
        let mut answers: Vec<redis::Value> = pipeline.query(&mut self.connection)?;
        let lists = answers.split_off(calls.len());
        let lists: Vec<Vec<Vec<u8>>> =
            lists.into_iter().map(redis::from_redis_value).collect::<Result<_, _>>()?;
        let rows: Vec<Vec<u8>> =
            answers.into_iter().map(redis::from_redis_value).collect::<Result<_, _>>()?;
        let part = |(call, row): (&Call, Vec<u8>)| {
            let part = Part::read(&row)
                .unwrap_or_else(|_| panic!("an answer: {}", String::from_utf8_lossy(&row)));
            (call.partition, part)
        };
        let parts = calls.iter().zip(rows).map(part).collect();
        Ok((parts, partitions.into_iter().zip(lists).collect()))
    }

    fn ask(
        &mut self,
        now: Time,
        late: Span,
        node: NodeId,
        request: &Request,
    ) -> RedisResult<Reply> {
        let partitions = self.keys.count();
        if !self.nodes.contains_key(&node) {
            let (calls, opening) = self.opening(node);
            let mut composer = Composer::new(self.keys.clone(), self.settings.roster_limit());
            for (partition, part) in self.run(now, &opening)?.0 {
                composer.opened(now, partition, &part);
            }
            self.nodes.insert(node, (calls, composer));
        }
        let Some((calls, composer)) = self.nodes.get_mut(&node) else {
            unreachable!("just put there")
        };
        composer.begin(request);
        calls.asked_at((now - late).as_millis() as i64);
        let calls = match request {
            Request::Sweep => (0..partitions).map(|it| calls.sweep(it)).collect(),
            _ => calls.of(request),
        };
        let (parts, published) = self.run(now, &calls)?;
        self.hear(now, &published);
        let Some((_, composer)) = self.nodes.get_mut(&node) else { unreachable!("as above") };
        Ok(composer.compose(now, request, parts))
    }

    fn hear(&mut self, now: Time, published: &[Published]) {
        for (partition, list) in published {
            for pair in list.chunks_exact(2) {
                let node = String::from_utf8_lossy(&pair[0]).parse().map_or(NodeId(0), NodeId);
                let Some((_, composer)) = self.nodes.get_mut(&node) else { continue };
                let notices = composer
                    .hear(now, *partition, &pair[1])
                    .unwrap_or_else(|_| panic!("a notice: {}", String::from_utf8_lossy(&pair[1])));
                self.notices.extend(notices.into_iter().map(|(number, it)| (node, number, it)));
            }
        }
        for (node, (_, composer)) in &mut self.nodes {
            let untold = composer.take_untold(now);
            self.notices.extend(untold.into_iter().map(|(number, it)| (*node, number, it)));
        }
    }
}

impl Drop for PlayedRedis {
    fn drop(&mut self) {
        // What is left does no harm but take room.
        let _ = self.clear();
    }
}

impl Store for PlayedRedis {
    /// # Panics
    ///
    /// If Redis does not do what it is asked: this is a test.
    fn handle_late(&mut self, now: Time, late: Span, node: NodeId, request: &Request) -> Reply {
        self.ask(now, late, node, request).unwrap_or_else(|error| panic!("{request:?}: {error}"))
    }

    fn poll_notice(&mut self) -> Option<(NodeId, u64, Notice)> {
        self.notices.pop_front()
    }
}
