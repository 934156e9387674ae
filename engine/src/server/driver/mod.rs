//! The driver: one node, the clock, and who is to be told what.
//!
//! The node sits behind an ordinary mutex. Nothing is awaited while it is held, and nobody is woken
//! either: outputs are gathered inside and delivered after the lock is gone.

mod answers;
mod core;
mod questions;
mod seat;
mod timer;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use ::metrics::Histogram;
use greendot_protocol::{ClientFrame, Time};
use tokio::runtime::Handle;
use tokio::sync::{Notify, broadcast, mpsc};
use tokio::time::Instant;

use self::core::{Core, Deliveries, line};
pub(super) use self::seat::{Joining, Seat};
use self::timer::run_timer;
use super::alarm::Alarm;
use super::audience::AnyAudience;
use super::beacon::Ticket;
use super::line::{self, Line};
use super::metrics::{Metrics, Now};
use super::turns::{Turn, Turns};
use crate::clock::{Clock, spawn};
use crate::core::{ConnId, Node, Output, Settings, Transition};
use crate::store::{FromStore, Request};

/// What drives one node.
#[derive(Debug)]
pub(super) struct Driver {
    clock: Clock,
    core: Mutex<Core>,
    /// Wakes the timer task when something is due sooner than it knows.
    sooner: Arc<Notify>,
    /// Who waits for a turn of the clock.
    pub(super) turns: Turns,
    me: Weak<Self>,
    metrics: Mutex<Metrics>,
    /// How long heartbeats took.
    beat: Histogram,
    /// Who is asked who may see whom; none: nobody.
    audience: Option<Arc<dyn AnyAudience>>,
    /// How long it may take.
    patience: Duration,
    settings: Settings,
    runtime: Handle,
}

/// Hands a request that was made then to the shared store under its number, without waiting.
pub(super) type Asks = Box<dyn FnMut(Time, u64, Request) + Send>;

impl Driver {
    /// Starts driving; must be called inside a tokio runtime.
    pub(super) fn start(
        clock: Clock,
        node: Node,
        transitions: broadcast::Sender<Transition>,
        audience: Option<Arc<dyn AnyAudience>>,
        store: Option<(Asks, mpsc::UnboundedReceiver<FromStore>)>,
    ) -> Arc<Self> {
        let (asks, said) = store.unzip();
        let settings = *node.settings();
        let rule = settings.audience.unwrap_or_default();
        let sooner = Arc::new(Notify::new());
        let metrics = Metrics::new();
        let driver = Arc::new_cyclic(|me| Self {
            clock,
            core: Mutex::new(Core {
                node,
                lines: Vec::new(),
                ready: VecDeque::new(),
                deliveries: Deliveries::new(),
                acting: None,
                acting_ready: false,
                now: Time::ZERO,
                answers_at: None,
                tickets: HashMap::new(),
                transitions,
                questions: Vec::new(),
                polls: HashMap::new(),
                room_polls: HashMap::new(),
                next_poll: 0,
                locating: HashMap::new(),
                showing: HashMap::new(),
                storing: HashMap::new(),
                timer_at: Time::ZERO,
                drains: false,
                store: asks,
            }),
            sooner: Arc::clone(&sooner),
            turns: Turns::default(),
            me: Weak::clone(me),
            beat: metrics.beat(),
            metrics: Mutex::new(metrics),
            audience,
            patience: Duration::from_millis(rule.deadline.as_millis()),
            settings,
            runtime: Handle::current(),
        });
        spawn(run_timer(clock, Alarm::new(clock), sooner, Arc::downgrade(&driver)));
        if let Some(said) = said {
            spawn(hear_store(said, Arc::downgrade(&driver)));
        }
        driver
    }

    /// One operation on the node, and delivery of what came of it.
    pub(super) fn with<R>(&self, operate: impl FnOnce(Time, &mut Node) -> R) -> R {
        self.operate(|now, core| operate(now, &mut core.node)).0
    }

    /// When whoever asks now is answered.
    pub(super) fn answers_at(&self, now: Time) -> Time {
        self.settings.answers_at(now)
    }

    /// Waits until `at` has come.
    pub(super) fn reach(self: &Arc<Self>, at: Time) -> Turn {
        Turn::new(Arc::clone(self), at)
    }

    /// Whether this time has come.
    pub(super) fn has_come(&self, at: Time) -> bool {
        at <= self.clock.now()
    }

    /// Something is due sooner than the timer task knows.
    pub(super) fn come_sooner(&self) {
        self.sooner.notify_one();
    }

    /// What the application or the store said that some connections wait for: they are told when others are who ask now.
    fn answered(&self, operate: impl FnOnce(Time, &mut Node)) {
        self.operate(|now, core| {
            core.answers_at = Some(self.answers_at(now));
            operate(now, &mut core.node);
        });
    }

    /// A look at the node that changes nothing.
    pub(super) fn look<R>(&self, look: impl FnOnce(Time, &Node) -> R) -> R {
        let core = self.lock();
        look(self.clock.now(), &core.node)
    }

    /// Takes up to so many connections that are to be told what waits for them. Returns whether there were any, though some
    /// may have ended meanwhile.
    pub(super) fn take_ready(&self, most: usize, into: &mut Vec<(ConnId, Arc<Line>)>) -> bool {
        let mut core = self.lock();
        let core = &mut *core;
        let most = most.min(core.ready.len());
        let lines = &core.lines;
        let ready = core.ready.drain(..most);
        into.extend(ready.filter_map(|conn| Some((conn, Arc::clone(line(lines, conn)?)))));
        most > 0
    }

    /// Says `closing` in the name of the connection that was given this ticket, once.
    pub(super) fn closing(&self, ticket: &Ticket) {
        self.operate(|now, core| {
            if let Some(conn) = core.tickets.remove(ticket) {
                core.node.handle_frame(now, conn, &ClientFrame::Closing);
            }
        });
    }

    /// Takes no more connections and closes those that are open with `drain`.
    pub(super) fn drain(&self) {
        self.operate(|now, core| {
            core.drains = true;
            core.node.drain(now);
        });
    }

    /// Brings the metrics up to date.
    pub(super) fn update_metrics(&self) {
        let core = self.lock();
        let node = &core.node;
        let now = Now {
            counts: node.counts(),
            users: node.present_users(),
            ready: core.ready.len(),
            store_waiting: node.store_waiting(),
        };
        let totals = node.totals();
        // Held together, so that of two updates the later one tells what is newer.
        let mut metrics = self.metrics.lock().unwrap_or_else(PoisonError::into_inner);
        drop(core);
        metrics.update(&totals, &now);
    }

    /// A heartbeat that arrived at this moment has been seen to.
    pub(super) fn time_beat(&self, arrived: Instant) {
        self.beat.record(arrived.elapsed().as_secs_f64());
    }

    /// Whether no more connections are taken.
    pub(super) fn drains(&self) -> bool {
        self.lock().drains
    }

    /// Does something with the core, and delivers what came of it. Tells also whether something waits
    /// for the connection in whose name it was done.
    fn operate<R>(&self, operate: impl FnOnce(Time, &mut Core) -> R) -> (R, bool) {
        let mut core = self.lock();
        // Read under the lock: the core's time never runs back.
        core.now = self.clock.now();
        let result = operate(core.now, &mut core);
        core.gather();
        let deliveries = std::mem::take(&mut core.deliveries);
        let questions = std::mem::take(&mut core.questions);
        core.acting = None;
        core.answers_at = None;
        let ready = std::mem::take(&mut core.acting_ready);
        let deadline = core.node.deadline();
        let is_earlier = deadline < core.timer_at;
        let sooner = is_earlier || !core.ready.is_empty();
        if is_earlier {
            core.timer_at = deadline;
        }
        drop(core);
        if sooner {
            self.come_sooner();
        }
        for (line, output) in deliveries {
            deliver(&line, output);
        }
        for question in questions {
            self.put(question);
        }
        (result, ready)
    }

    fn lock(&self) -> MutexGuard<'_, Core> {
        // A panic in the core is a bug that has been reported by then; the others are served on.
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn deliver(line: &Line, output: Output) {
    match output {
        Output::Ping(_) => line.post(line::PING),
        Output::ReadFirst(_) => line.post(line::READ_FIRST),
        Output::Close { code, retry_after, .. } => line.post_close(code, retry_after),
        // Seen to before.
        Output::Ready(_)
        | Output::Transition(_)
        | Output::Store { .. }
        | Output::Answer { .. }
        | Output::Rooms { .. }
        | Output::List { .. }
        | Output::Located { .. }
        | Output::Shown { .. }
        | Output::Stored { .. }
        | Output::Audience { .. }
        | Output::MayJoin { .. } => {}
    }
}

/// Hands the node what the shared store says, as long as somebody holds the driver.
async fn hear_store(mut said: mpsc::UnboundedReceiver<FromStore>, driver: Weak<Driver>) {
    while let Some(message) = said.recv().await {
        let Some(driver) = driver.upgrade() else { return };
        match &message {
            FromStore::Reply(number, reply) => {
                driver.answered(|now, node| node.handle_reply(now, *number, reply));
            }
            FromStore::Notice(number, notice) => {
                driver.with(|now, node| node.handle_notice(now, *number, notice));
            }
        }
    }
}
