//! The driver: one node, the clock, and who is to be told what.
//!
//! The node sits behind an ordinary mutex. Nothing is awaited while it is held, and nobody is woken
//! either: outputs are gathered inside and delivered after the lock is gone.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use ::metrics::Histogram;
use greendot_protocol::{ClientFrame, CloseCode, Span, Time};
use tokio::runtime::Handle;
use tokio::sync::{Notify, broadcast, mpsc, oneshot};
use tokio::time::Instant;

use super::alarm::Alarm;
use super::audience::{AnyAudience, Pair};
use super::beacon::Ticket;
use super::fanout::Fanout;
use super::line::{self, Line};
use super::metrics::{self, Metrics, Now};
use super::poll::{RoomsTold, Told};
use super::turns::{Turn, Turns};
use crate::clock::{self, Clock, spawn, timeout};
use crate::core::{Answer, ConnId, Connect, Node, Output, Settings, Transition};
use crate::store::{FromStore, Place, Request};

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

struct Core {
    node: Node,
    /// By the slots of their connections.
    lines: Vec<Option<(ConnId, Arc<Line>)>>,
    /// Connections for which something waits, until it is seen to that they are told.
    ready: VecDeque<ConnId>,
    /// What is to be said to connections once the lock is gone.
    deliveries: Deliveries,
    /// The connection in whose name something is done, and whether something waits for it now: its
    /// own task sees to that.
    acting: Option<ConnId>,
    acting_ready: bool,
    /// The time of what is being done.
    now: Time,
    /// What is being done brings answers to those who asked: they are told at this time.
    answers_at: Option<Time>,
    /// Whose ticket is whose. Hashed under a random key, so that the time of a look tells nothing.
    tickets: HashMap<Ticket, ConnId>,
    transitions: broadcast::Sender<Transition>,
    /// What the application is to be asked once the lock is gone.
    questions: Vec<Question>,
    /// Polls whose answer is waited for, those of rooms, and the number of the next one.
    polls: HashMap<u64, oneshot::Sender<Told>>,
    room_polls: HashMap<u64, oneshot::Sender<RoomsTold>>,
    next_poll: u64,
    /// Users whose sessions are being located.
    locating: HashMap<u64, oneshot::Sender<Option<Vec<Place>>>>,
    /// Users of whom the application wants to know how they stand.
    showing: HashMap<u64, oneshot::Sender<Answer>>,
    /// Those who wait to hear that what was said is stored.
    storing: HashMap<u64, oneshot::Sender<bool>>,
    /// When the timer task will look at the node next.
    timer_at: Time,
    /// Whether this node takes no more connections.
    drains: bool,
    /// Who is asked what the nodes share; none: this one works alone.
    store: Option<Asks>,
}

/// Hands a request to the shared store under its number, without waiting.
pub(super) type Asks = Box<dyn FnMut(u64, Request) + Send>;

impl std::fmt::Debug for Core {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Core").field("node", &self.node).finish_non_exhaustive()
    }
}

/// A question to the application.
#[derive(Debug)]
enum Question {
    Look { number: u64, pairs: Vec<Pair> },
    MayJoin { ask: u64, user: Arc<str>, room: Arc<str> },
}

/// What is to be delivered once the lock is gone.
type Deliveries = Vec<(Arc<Line>, Output)>;

/// A connection's seat in the core. It is given up when this is dropped, whatever became of the
/// task that held it.
#[derive(Debug)]
pub(super) struct Seat {
    driver: Arc<Driver>,
    pub(super) conn: ConnId,
    /// Whether something waits for this connection.
    ready: bool,
}

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

    /// Gives a connection its seat.
    ///
    /// # Errors
    ///
    /// The code to close it with if it may not have one.
    pub(super) fn seat(
        self: &Arc<Self>,
        connect: &Joining<'_>,
        line: &Arc<Line>,
    ) -> Result<Seat, CloseCode> {
        // Without randomness there are no tickets, and pages do without their beacon.
        let ticket = Ticket::draw().ok();
        if let Some(ticket) = ticket {
            line.set_ticket(ticket);
        }
        let (seated, ready) = self.operate(|now, core| {
            if core.drains {
                return Err(CloseCode::Drain);
            }
            let conn =
                core.node.handle_connect(now, &connect.at(now)).map_err(|refusal| refusal.code)?;
            core.acting = Some(conn);
            // The word to a connection that this one takes over from goes to its line.
            core.gather();
            core.put_line(conn, Some(Arc::clone(line)));
            core.tickets.extend(ticket.map(|it| (it, conn)));
            Ok(conn)
        });
        let driver = Arc::clone(self);
        seated.map(|conn| Seat { driver, conn, ready })
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

    /// Where a user's sessions are; none if nobody can say, or has not said within `limit`.
    pub(super) async fn locate(&self, limit: Duration, user: &str) -> Option<Vec<Place>> {
        let (answer, answered) = oneshot::channel();
        let (number, _) = self.operate(|now, core| {
            core.next_poll += 1;
            let number = core.next_poll;
            core.locating.insert(number, answer);
            core.node.locate(now, number, user);
            number
        });
        let places = timeout(limit, answered).await;
        if places.is_none() {
            self.lock().locating.remove(&number);
        }
        places?.ok()?
    }

    /// How everybody may see a user; none if nobody has said within `limit`.
    pub(super) async fn show(&self, limit: Duration, user: &str) -> Option<Answer> {
        let (answer, answered) = oneshot::channel();
        let (number, _) = self.operate(|now, core| {
            core.next_poll += 1;
            let number = core.next_poll;
            core.showing.insert(number, answer);
            core.node.show(now, number, user);
            number
        });
        let shown = timeout(limit, answered).await;
        if shown.is_none() {
            self.lock().showing.remove(&number);
        }
        shown?.ok()
    }

    /// Whether all that was said here of a user is stored; false if that has not been said within `limit`.
    pub(super) async fn confirm(&self, limit: Duration, user: &str) -> bool {
        let (answer, answered) = oneshot::channel();
        let (number, _) = self.operate(|now, core| {
            core.next_poll += 1;
            let number = core.next_poll;
            core.storing.insert(number, answer);
            core.node.confirm(now, number, user);
            number
        });
        let stored = timeout(limit, answered).await;
        if stored.is_none() {
            self.lock().storing.remove(&number);
        }
        matches!(stored, Some(Ok(true)))
    }

    /// Begins a poll of users and rooms under a number, and waits for the answers, at most so long; none if they did not
    /// come.
    ///
    /// # Errors
    ///
    /// What `begin` refuses it with.
    pub(super) async fn poll(
        &self,
        limit: Duration,
        asks_rooms: bool,
        begin: impl FnOnce(Time, &mut Node, u64) -> Result<(), CloseCode>,
    ) -> Result<Option<(Told, RoomsTold)>, CloseCode> {
        let (answer, answered) = oneshot::channel();
        let (rooms, rooms_answered) = oneshot::channel();
        let (number, _) = self.operate(|now, core| {
            core.next_poll += 1;
            let number = core.next_poll;
            begin(now, &mut core.node, number)?;
            core.polls.insert(number, answer);
            if asks_rooms {
                core.room_polls.insert(number, rooms);
            }
            Ok(number)
        });
        let number = number?;
        let both = async {
            // Where none are asked about, the sender is gone by now.
            let rooms =
                rooms_answered.await.ok().or_else(|| (!asks_rooms).then(RoomsTold::default));
            Some((answered.await.ok()?, rooms?))
        };
        let answers = timeout(limit, both).await;
        if answers.is_none() {
            let mut core = self.lock();
            core.polls.remove(&number);
            core.room_polls.remove(&number);
        }
        Ok(answers.flatten())
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

    /// Does what is due and says when to come again.
    fn turn(&self) -> Time {
        self.operate(|now, core| {
            if core.node.deadline() <= now {
                core.node.handle_timeout(now);
            }
            core.timer_at = core.node.deadline();
            core.timer_at
        })
        .0
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

    /// Asks the application. One that hangs is left alone; the core has its own deadline, and asks
    /// again.
    fn put(&self, question: Question) {
        let Some(audience) = self.audience.clone() else { return };
        let (driver, patience) = (Weak::clone(&self.me), self.patience);
        self.runtime.spawn(async move {
            match question {
                Question::Look { number, pairs } => {
                    let said = timeout(patience, audience.any_look(pairs)).await;
                    let said: Vec<_> = said.into_iter().flatten().map(Some).collect();
                    if let Some(driver) = driver.upgrade() {
                        driver.answered(|now, node| node.handle_audience(now, number, &said));
                    }
                }
                Question::MayJoin { ask, user, room } => {
                    let said = timeout(patience, audience.any_may_join(user, room)).await;
                    if let Some(driver) = driver.upgrade() {
                        let may = said.flatten();
                        driver.answered(|now, node| node.handle_may_join(now, ask, may));
                    }
                }
            }
        });
    }

    fn lock(&self) -> MutexGuard<'_, Core> {
        // A panic in the core is a bug that has been reported by then; the others are served on.
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that wants a seat.
#[derive(Debug)]
pub(super) struct Joining<'a> {
    pub(super) connect: Connect<'a>,
    /// How long the token is good from now on.
    pub(super) token_for: Option<Span>,
}

impl<'a> Joining<'a> {
    fn at(&self, now: Time) -> Connect<'a> {
        Connect { token_until: self.token_for.map(|span| now + span), ..self.connect }
    }
}

impl Core {
    fn gather(&mut self) {
        while let Some(output) = self.node.poll_output() {
            match output {
                Output::Ready(conn) if self.acting == Some(conn) => self.acting_ready = true,
                Output::Ready(conn) => {
                    if let Some(at) = self.answers_at
                        && let Some(line) = self.line(conn)
                    {
                        line.keep_quiet(at);
                    }
                    self.ready.push_back(conn);
                }
                Output::Ping(conn) | Output::ReadFirst(conn) | Output::Close { conn, .. } => {
                    let line = self.line(conn).cloned();
                    self.deliveries.extend(line.map(|line| (line, output)));
                }
                Output::Transition(transition) => {
                    // Sent under the lock, so that each reader gets them in order. Nobody
                    // listening is no error.
                    let _ = self.transitions.send(transition);
                }
                Output::Audience { number, pairs } => {
                    let pairs = pairs.into_iter().map(Pair::new).collect();
                    self.questions.push(Question::Look { number, pairs });
                }
                Output::MayJoin { ask, user, room } => {
                    self.questions.push(Question::MayJoin { ask, user, room });
                }
                Output::Answer { ask, full, mark, users } => {
                    if let Some(answer) = self.polls.remove(&ask) {
                        // Nobody listening is no error: the one who polled is gone.
                        let _ = answer.send(Told { at: self.now, full, mark, users });
                    }
                }
                Output::Rooms { ask, rooms } => {
                    if let Some(answer) = self.room_polls.remove(&ask) {
                        let _ = answer.send(RoomsTold { at: self.now, rooms });
                    }
                }
                Output::Store { number, request } => {
                    if let Some(ask) = self.store.as_mut() {
                        ask(number, *request);
                    }
                }
                Output::Located { ask, places } => {
                    if let Some(answer) = self.locating.remove(&ask) {
                        let _ = answer.send(places);
                    }
                }
                Output::Shown { ask, answer: shown } => {
                    if let Some(answer) = self.showing.remove(&ask) {
                        let _ = answer.send(*shown);
                    }
                }
                Output::Stored { ask, stored } => {
                    if let Some(answer) = self.storing.remove(&ask) {
                        let _ = answer.send(stored);
                    }
                }
                // Nobody lists.
                Output::List { .. } => {}
            }
        }
    }

    fn line(&self, conn: ConnId) -> Option<&Arc<Line>> {
        line(&self.lines, conn)
    }

    /// The connection has this line, or none any more. A later connection's is left as it is.
    fn put_line(&mut self, conn: ConnId, line: Option<Arc<Line>>) {
        let slot = conn.slot() as usize;
        if slot >= self.lines.len() {
            self.lines.resize(slot + 1, None);
        }
        match line {
            Some(line) => self.lines[slot] = Some((conn, line)),
            None if self.line(conn).is_some() => self.lines[slot] = None,
            None => {}
        }
    }
}

fn line(lines: &[Option<(ConnId, Arc<Line>)>], conn: ConnId) -> Option<&Arc<Line>> {
    let (whose, line) = lines.get(conn.slot() as usize)?.as_ref()?;
    (*whose == conn).then_some(line)
}

impl Seat {
    /// One operation on the node in the name of this connection.
    pub(super) fn with<R>(&mut self, operate: impl FnOnce(Time, ConnId, &mut Node) -> R) -> R {
        let conn = self.conn;
        let (result, ready) = self.driver.operate(|now, core| {
            core.acting = Some(conn);
            operate(now, conn, &mut core.node)
        });
        self.ready |= ready;
        result
    }

    /// Whether something waits for this connection, since this was asked last.
    pub(super) fn take_ready(&mut self) -> bool {
        std::mem::take(&mut self.ready)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.driver.operate(|now, core| {
            if let Some(ticket) = core.line(self.conn).and_then(|it| it.ticket().copied()) {
                core.tickets.remove(&ticket);
            }
            core.put_line(self.conn, None);
            core.node.handle_drop(now, self.conn);
        });
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

/// Sleeps until the node's next deadline or somebody's turn, again and again, as long as somebody holds the driver; and
/// tells connections what waits for them.
async fn run_timer(clock: Clock, alarm: Alarm, sooner: Arc<Notify>, driver: Weak<Driver>) {
    let mut fanout = Fanout::default();
    let mut updated = clock::moment();
    loop {
        // Not held over the wait, or the end of the last handle would go unnoticed.
        let turn = driver.upgrade().map(|it| {
            if updated.elapsed() >= metrics::EVERY {
                updated = clock::moment();
                it.update_metrics();
            }
            it.turns.turn(clock.now());
            let deadline = it.turn();
            let more = fanout.run(&it);
            (deadline.min(it.turns.next()), more)
        });
        let Some((at, more)) = turn else { return };
        if more || at <= clock.now() {
            // More is due at once; the connections get their turn in between.
            tokio::task::yield_now().await;
            continue;
        }
        tokio::select! {
            () = sooner.notified() => {}
            () = alarm.reach(at) => {}
        }
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
