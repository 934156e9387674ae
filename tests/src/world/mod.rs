//! A small internet on a virtual clock: nodes, connections, viewers, devices.
//!
//! Nothing sleeps. At each moment arrivals go first, then the script's steps, then the devices'
//! timers, then the nodes': a frame that arrives at a deadline counts before the sweep does.

mod app;
mod conn;
mod device;
mod edges;
mod log;
mod node;
mod page;
mod played;
mod raw;
mod reads;
pub(crate) mod rng;
mod script;
mod standing;
mod store;
mod trace;
mod viewer;
mod wanted;

use std::collections::BTreeMap;

use greendot_engine::core::Mark;
use greendot_engine::core::directory::SessionView;
use greendot_protocol::{Mode, Revision, Time};

pub use self::conn::{Conn, Owner};
pub use self::device::Device;
pub use self::edges::{Bytes, Edge, Edges};
pub use self::log::{Asked, Callback, DeviceLog, Log, ViewerEvent, ViewerSnapshot};
pub use self::node::SimNode;
pub use self::played::use_redis;
pub use self::raw::{Raw, Roster};
use self::rng::Rng;
pub use self::standing::HeldInRun;
use self::trace::Trace;
pub use self::viewer::Viewer;
use self::wanted::Wanted;
use crate::file::{Expect, Kind, Scenario, Verb};

/// What a scenario needs that is not built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotBuilt(pub String);

/// The engines' steady clocks do not begin with the run, so that ages may reach before it.
const ENGINE_ORIGIN: u64 = 1_000_000_000;

/// Things may happen at one moment so often before the run is taken to be going in circles.
const MOST_AT_ONCE: u64 = 5_000_000;

/// What waits for its time.
#[derive(Clone, Debug)]
enum Task {
    /// The script's step of this index.
    Step(usize),
    /// Something arrives at the server's end of a connection.
    Up(usize, conn::Up),
    /// Something arrives at the client's end.
    Down(usize, conn::Down),
    /// A scripted connection's automatic beat.
    RawBeat(String, usize),
    /// A viewer's beat.
    ViewerBeat(String, usize),
    /// A repeated read.
    Ask { step: usize, left: u64 },
    /// Input in a page.
    Input { device: usize, every: u64, until: u64 },
    /// Something from R reaches a node, if it is still in that run.
    FromStore(usize, u64, Box<store::FromStore>),
    /// A beacon reaches a node.
    Beacon(usize, Box<str>),
    /// A broken path is noticed at the server's end.
    ServerSeesEnd(usize),
}

/// The longest that a node takes to answer, in ms.
const SLOWEST: u64 = 1_000;

/// Arrivals and the automatic go before the script's steps.
const ARRIVAL: u8 = 0;
const STEP: u8 = 1;

/// Whether a script can only be played with a shared store.
fn needs_store(scenario: &Scenario) -> bool {
    scenario.nodes.len() > 1
        || scenario.steps.iter().any(|it| {
            matches!(
                it.verb,
                Verb::Start { empty: false, .. } | Verb::Store { .. } | Verb::Cut { .. }
            )
        })
        || scenario
            .expects
            .iter()
            .any(|it| matches!(it.expect, Expect::Published { .. } | Expect::Writes { .. }))
}

/// The world.
pub struct World<'a> {
    scenario: &'a Scenario,
    now: u64,
    /// How many things have happened at this moment.
    at_once: u64,
    rng: Rng,
    tasks: BTreeMap<(u64, u8, u64), Task>,
    order: u64,
    nodes: Vec<SimNode>,
    /// None where a node works alone, with the directory in its own memory.
    store: Option<store::SimStore>,
    /// The steps of asks and lists that wait for their answers.
    asks: BTreeMap<u64, usize>,
    /// The mark of the latest answer under each name.
    marks: BTreeMap<String, Mark>,
    conns: Vec<Conn>,
    raws: BTreeMap<String, Raw>,
    /// Of each session of scripted connections ("user/session"): its latest connection, and the
    /// rooms that it is in.
    seats: BTreeMap<String, raw::Seats>,
    viewers: BTreeMap<String, Viewer>,
    devices: Vec<Device>,
    /// What is kept in tabs' storage beside the session's id, by user and id: the mode and its number.
    tabs: BTreeMap<(String, String), (Mode, Revision)>,
    sdk: page::SdkServer,
    wanted: Wanted<'a>,
    app: app::App,
    log: Log,
    trace: Trace,
    edges: Option<Edges>,
    /// By how much delays vary, in ms, and from what.
    jitter: u64,
    delays: Rng,
}

impl<'a> World<'a> {
    /// A world as it stands at time 0, before any step.
    ///
    /// # Errors
    ///
    /// If the scenario needs what is not built.
    pub fn new(scenario: &'a Scenario, seed: u64, traced: bool) -> Result<Self, NotBuilt> {
        Self::open(scenario, seed, traced, Wanted::of(scenario))
    }

    /// The bytes that the nodes and R hold at the end of a moment, in ms: those that `allocated`
    /// counts no more when they are gone.
    ///
    /// # Errors
    ///
    /// As [`Self::new`] and [`Self::run`].
    pub fn bytes_held(
        scenario: &'a Scenario,
        seed: u64,
        at: u64,
        allocated: fn() -> usize,
    ) -> Result<usize, NotBuilt> {
        let mut world = Self::open(scenario, seed, false, Wanted::default())?;
        world.run(at)?;
        let before = allocated();
        for node in &mut world.nodes {
            node.engine = None;
        }
        world.store = None;
        Ok(before.saturating_sub(allocated()))
    }

    fn open(
        scenario: &'a Scenario,
        seed: u64,
        traced: bool,
        wanted: Wanted<'a>,
    ) -> Result<Self, NotBuilt> {
        let mut world = Self {
            scenario,
            now: 0,
            at_once: 0,
            rng: Rng::new(seed),
            tasks: BTreeMap::new(),
            order: 0,
            nodes: Vec::new(),
            store: None,
            asks: BTreeMap::new(),
            marks: BTreeMap::new(),
            conns: Vec::new(),
            raws: BTreeMap::new(),
            seats: BTreeMap::new(),
            viewers: BTreeMap::new(),
            devices: Vec::new(),
            tabs: BTreeMap::new(),
            sdk: page::SdkServer::default(),
            wanted,
            app: app::App::default(),
            log: Log::default(),
            trace: Trace::new(traced),
            edges: None,
            jitter: 0,
            delays: Rng::new(seed ^ 0x5eed),
        };
        // A node alone keeps its users itself; every other seed it works with a store, too.
        if needs_store(scenario) || seed.is_multiple_of(2) || played::is_used() {
            world.open_store();
        }
        for name in &scenario.nodes {
            world.add_node(name)?;
        }
        if scenario.kind == Kind::Sdk {
            world.open_device("", "s1", Vec::new(), None, None);
        }
        for (index, step) in scenario.steps.iter().enumerate() {
            world.at(step.at, STEP, Task::Step(index));
        }
        Ok(world)
    }

    /// Plays on to the end of `until`, in ms; every moment up to it has then been dealt with.
    ///
    /// # Errors
    ///
    /// If a step needs what is not built.
    pub fn run(&mut self, until: u64) -> Result<(), NotBuilt> {
        while self.turn(until)? {}
        Ok(())
    }

    /// Does the next thing that is to happen up to the end of `until`, with all that follows from
    /// it at once; false if there is none.
    ///
    /// # Errors
    ///
    /// If a step needs what is not built.
    pub fn turn(&mut self, until: u64) -> Result<bool, NotBuilt> {
        let task = self.tasks.first_key_value().map_or(u64::MAX, |(&(at, ..), _)| at);
        let (device_at, device) = self.next_device();
        let (node_at, node) = self.next_node();
        let next = task.min(device_at).min(node_at);
        if next > until {
            self.now = until;
            return Ok(false);
        }
        if next > self.now {
            self.now = next;
            self.at_once = 0;
        }
        self.at_once += 1;
        if self.goes_in_circles() {
            return Err(NotBuilt(format!("an end to what happens at {} ms", self.now)));
        }
        if task <= next {
            if let Some((_, task)) = self.tasks.pop_first() {
                self.perform(task)?;
            }
        } else if device_at <= next {
            self.device_timer(device);
        } else {
            self.node_timer(node);
        }
        self.watch_outboxes();
        Ok(true)
    }

    /// Whether so much happens at one moment that it will never be over.
    pub fn goes_in_circles(&self) -> bool {
        self.at_once > MOST_AT_ONCE
    }

    /// Lets the network's delays vary by up to so many ms from now on; each direction of a
    /// connection keeps its order all the same.
    pub fn vary_delays(&mut self, by: u64) {
        self.jitter = by;
    }

    fn at(&mut self, at: u64, class: u8, task: Task) {
        self.order += 1;
        self.tasks.insert((at, class, self.order), task);
    }

    fn perform(&mut self, task: Task) -> Result<(), NotBuilt> {
        match task {
            Task::Step(index) => self.step(index)?,
            Task::Up(conn, up) => self.arrive_up(conn, up),
            Task::Down(conn, down) => self.arrive_down(conn, down),
            Task::RawBeat(name, conn) => self.raw_beat(&name, conn),
            Task::ViewerBeat(name, conn) => self.viewer_beat(&name, conn),
            Task::Ask { step, left } => self.ask_again(step, left),
            Task::Input { device, every, until } => self.input(device, every, until),
            Task::FromStore(node, run, message) => self.arrive_from_store(node, run, *message),
            Task::Beacon(node, ticket) => self.take_beacon(node, &ticket),
            Task::ServerSeesEnd(conn) => self.server_sees_end(conn),
        }
        Ok(())
    }

    /// The engines' clock.
    fn engine_now(&self) -> Time {
        Time::from_millis(self.now + ENGINE_ORIGIN)
    }

    /// A time of the engines' clock in ms of the run; what lies before the run is 0.
    fn from_engine(at: Time) -> u64 {
        at.as_millis().saturating_sub(ENGINE_ORIGIN)
    }

    /// The present, in ms.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// How long an answer may take, in ms.
    pub fn answer_time(&self) -> u64 {
        SLOWEST + 2 * self.scenario.settings.latency
    }

    /// What has happened.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// A scripted connection, by its name or as the latest one of a session.
    pub fn raw(&self, name: &str) -> Option<&Raw> {
        self.raws.get(self.raw_name(name)?)
    }

    /// A device; in kind `sdk` the only one has no name.
    ///
    /// # Errors
    ///
    /// If the script opened none of this name.
    pub fn device(&self, name: &str) -> Result<&Device, NotBuilt> {
        self.devices
            .iter()
            .find(|it| it.name == name)
            .ok_or_else(|| NotBuilt(format!("a device {name}: the script opens none")))
    }

    /// What a device did and was told.
    pub fn device_log(&self, name: &str) -> Option<&DeviceLog> {
        self.log.devices.get(name)
    }

    /// What a scripted connection, or a device's app, is shown of a room.
    pub fn shown_roster(&self, who: &str, room: &str) -> Option<Roster> {
        match self.raw(who) {
            Some(raw) => raw.roster(room).cloned(),
            None => self.devices.iter().find(|it| it.name == who)?.roster(room),
        }
    }

    /// A device, by its number: devices count in the order in which they were first opened.
    pub fn device_at(&self, device: usize) -> &Device {
        &self.devices[device]
    }

    /// Whether the nodes work with a shared store.
    pub fn shares(&self) -> bool {
        self.store.is_some()
    }

    /// A node's name.
    pub fn node_name(&self, node: usize) -> &str {
        &self.nodes[node].name
    }

    /// The how-many-th generation of its session this is in the run.
    pub fn rank(&self, user: &str, view: &SessionView) -> u64 {
        let key = (user.to_owned(), view.session.to_string());
        let given = self.log.generations.get(&key);
        let place = given.and_then(|it| it.iter().position(|it| *it == view.generation));
        place.map_or(0, |it| it as u64 + 1)
    }

    /// How far ahead the effective deadline of a session is, in ms.
    pub fn lease_ahead(&self, session: &str) -> Option<u64> {
        let (user, session) = session.split_once('/')?;
        let held = self.sessions(user, None);
        let found = held.iter().find(|it| *it.view.session == *session)?;
        Some(found.deadline.saturating_sub(self.now))
    }

    /// The lines of the trace.
    pub fn trace_lines(&self) -> &[(u64, String)] {
        self.trace.lines()
    }

    /// A line about a connection, by the name that the file gives its client.
    fn note_of(&mut self, conn: usize, line: impl FnOnce() -> String) {
        let name = match &self.conns[conn].owner {
            Owner::Raw(name) | Owner::Viewer(name) => name,
            Owner::Device(device, _) => &self.devices[*device].name,
        };
        self.trace.add(self.now, || format!("{name} {}", line()));
    }

    fn note(&mut self, line: impl FnOnce() -> String) {
        self.trace.add(self.now, line);
    }
}
