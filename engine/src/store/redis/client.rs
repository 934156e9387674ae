//! What a node asks of Redis, kept in order over all the servers that it takes.

mod routes;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use greendot_protocol::{Span, Time};
use redis::ConnectionInfo;
use tokio::sync::mpsc;

use super::OpenError;
use super::calls::{Call, Calls};
use super::composer::Composer;
use super::keys::Keys;
use super::link::{Event, Link, Ticket};
use super::part::Part;
use super::server::Place;
use crate::clock::{Clock, spawn, timeout};
use crate::store::{FromStore, Request};

/// Requests that may wait to be sent on; a healthy store lets few wait.
const QUEUE: usize = 1 << 15;

/// How long it may take until all partitions are open.
const OPEN: Duration = Duration::from_millis(5_000);

/// Tickets of sweeps that nobody waits for.
const NOBODY: u64 = u64::MAX;

/// What goes to the client: when a request was made, its number, and the request.
pub(super) type Asked = (Instant, u64, Request);

/// A request under way.
#[derive(Debug)]
struct UnderWay {
    number: u64,
    request: Request,
    parts: Vec<Option<(usize, Part)>>,
    missing: usize,
    failed: bool,
}

/// The client's task.
pub(super) struct Client {
    info: ConnectionInfo,
    keys: Keys,
    calls: Calls,
    composer: Composer,
    clock: Clock,
    is_cluster: bool,
    links: Vec<Link>,
    /// By partition: which link goes to its server.
    routes: Vec<usize>,
    under_way: VecDeque<UnderWay>,
    events: (mpsc::UnboundedSender<Event>, mpsc::UnboundedReceiver<Event>),
    out: mpsc::UnboundedSender<FromStore>,
    /// Servers that are needed and out of reach.
    down: Vec<Place>,
    /// When the map may be asked for again; none: it need not be.
    map_at: Option<Time>,
}

impl Client {
    /// Not from 0 on: ages may reach before the start.
    fn now(&self) -> Time {
        self.clock.now() + Span::from_millis(1 << 40)
    }

    pub(super) fn new(
        keys: Keys,
        calls: Calls,
        (is_cluster, map): (bool, Vec<Place>),
        info: ConnectionInfo,
        room_limit: usize,
        fresh: bool,
        out: mpsc::UnboundedSender<FromStore>,
    ) -> Result<Self, OpenError> {
        let mut client = Self {
            composer: Composer::new(keys.clone(), room_limit),
            routes: vec![0; keys.count()],
            info,
            keys,
            calls,
            clock: Clock::start(),
            is_cluster,
            links: Vec::new(),
            under_way: VecDeque::new(),
            events: mpsc::unbounded_channel(),
            out,
            down: Vec::new(),
            map_at: None,
        };
        client.route(&map, fresh)?;
        Ok(client)
    }

    /// How many requests may wait.
    pub(super) fn queue() -> (mpsc::Sender<Asked>, mpsc::Receiver<Asked>) {
        mpsc::channel(QUEUE)
    }

    /// Waits until every partition is open, and works on from there.
    ///
    /// # Errors
    ///
    /// If that takes too long.
    pub(super) async fn start(mut self, asked: mpsc::Receiver<Asked>) -> Result<(), OpenError> {
        let mut left = self.keys.count();
        let opened = async {
            while left > 0 {
                let Some(event) = self.events.1.recv().await else { return };
                if let Event::Opened(_, rows) = &event {
                    left = left.saturating_sub(rows.len());
                }
                self.take(event);
            }
        };
        timeout(OPEN, opened).await.ok_or(OpenError::Silent)?;
        spawn(self.run(asked));
        Ok(())
    }

    /// Works until nobody asks or listens any more.
    async fn run(mut self, mut asked: mpsc::Receiver<Asked>) {
        let mut map: Option<mpsc::Receiver<Vec<Place>>> = None;
        loop {
            tokio::select! {
                biased;
                Some(event) = self.events.1.recv() => self.take(event),
                it = asked.recv() => match it {
                    Some((made, number, request)) => self.ask(made, number, request),
                    None => return,
                },
                places = next(&mut map) => {
                    map = None;
                    if let Some(places) = places
                        && let Err(error) = self.route(&places, false)
                    {
                        tracing::warn!(%error, "Redis moved, and cannot be followed");
                    }
                }
            }
            if self.out.is_closed() {
                return;
            }
            let now = self.now();
            if map.is_none() && self.map_at.is_some_and(|at| at <= now) {
                self.map_at = None;
                map = Some(self.look_up());
            }
        }
    }

    fn ask(&mut self, made: Instant, number: u64, request: Request) {
        let now = self.now();
        self.composer.begin(&request);
        let mut calls = self.calls.made(made, &request);
        if matches!(request, Request::Sweep) {
            calls = self.due(now);
        }
        // Without one of its servers the store is out of reach. A beat goes where it can: sessions are
        // spared there.
        let is_up = self.down.is_empty();
        if !is_up && !matches!(request, Request::Beat { .. }) {
            calls.clear();
        }
        let count = calls.len();
        self.under_way.push_back(UnderWay {
            number,
            request,
            parts: vec![None; count],
            missing: count,
            failed: !is_up,
        });
        for (place, call) in calls.into_iter().enumerate() {
            if !self.send((number, place), call) {
                self.settle((number, place), None);
            }
        }
        self.answer();
    }

    /// Where anything is due, it is ended.
    fn due(&mut self, now: Time) -> Vec<Call> {
        self.composer.take_due(now).into_iter().map(|it| self.calls.sweep(it)).collect()
    }

    fn send(&self, ticket: Ticket, call: Call) -> bool {
        self.links[self.routes[call.partition]].ask(ticket, call)
    }

    fn take(&mut self, event: Event) {
        let now = self.now();
        match event {
            Event::Opened(place, rows) => {
                self.down.retain(|it| *it != place);
                for (partition, row) in rows {
                    match Part::read(&row) {
                        Ok(part) => self.composer.opened(now, partition, &part),
                        Err(_) => tracing::error!("Redis answered what no script answers"),
                    }
                }
            }
            Event::Answered(ticket, partition, row) => match Part::read(&row) {
                Ok(part) if ticket.0 == NOBODY => self.swept(now, partition, part),
                Ok(part) => self.settle(ticket, Some((partition, part))),
                Err(_) => {
                    tracing::error!("Redis answered what no script answers");
                    self.settle(ticket, None);
                }
            },
            Event::Done(ticket) => {
                if let Some(it) = self.under_way(ticket) {
                    it.missing -= 1;
                }
            }
            Event::Failed(ticket) => self.settle(ticket, None),
            Event::Told(partition, row) => match self.composer.hear(now, partition, &row) {
                Ok(notices) => {
                    for (number, notice) in notices {
                        let _ = self.out.send(FromStore::Notice(number, notice));
                    }
                }
                Err(_) => tracing::error!("Redis published what no script publishes"),
            },
            Event::Lost(place) => {
                let is_needed = self.links.iter().any(|it| it.place == place);
                if is_needed && !self.down.contains(&place) {
                    self.down.push(place);
                }
                if self.is_cluster {
                    self.map_at.get_or_insert(now);
                }
            }
        }
        self.answer();
    }

    /// More is due where a slice was not enough: it is ended without being asked for.
    fn swept(&mut self, now: Time, partition: usize, part: Part) {
        let more = part.due == Some(greendot_protocol::Span::ZERO);
        self.composer.swept(now, partition, part);
        if more {
            self.sweep_on(now, partition);
        }
    }

    fn sweep_on(&mut self, now: Time, partition: usize) {
        self.composer.take_due(now);
        let call = self.calls.sweep(partition);
        self.send((NOBODY, partition), call);
    }

    /// A call is answered, or will not be.
    fn settle(&mut self, ticket: Ticket, part: Option<(usize, Part)>) {
        let Some(it) = self.under_way(ticket) else { return };
        it.missing -= 1;
        it.failed |= part.is_none();
        it.parts[ticket.1] = part;
    }

    /// The request that a call is for, if it has not been answered.
    fn under_way(&mut self, (number, _): Ticket) -> Option<&mut UnderWay> {
        let at = self.under_way.partition_point(|it| it.number < number);
        self.under_way.get_mut(at).filter(|it| it.number == number)
    }

    /// Passes on what is answered, in the order in which it was asked. What failed is not answered:
    /// the node sees it by what comes after.
    fn answer(&mut self) {
        let now = self.now();
        while let Some(it) = self.under_way.pop_front_if(|it| it.missing == 0) {
            if it.failed {
                continue;
            }
            let parts: Vec<_> = it.parts.into_iter().flatten().collect();
            let more: Vec<usize> = match it.request {
                Request::Sweep => parts
                    .iter()
                    .filter(|it| it.1.due == Some(greendot_protocol::Span::ZERO))
                    .map(|it| it.0)
                    .collect(),
                _ => Vec::new(),
            };
            let reply = self.composer.compose(now, &it.request, parts);
            let _ = self.out.send(FromStore::Reply(it.number, Box::new(reply)));
            for partition in more {
                self.sweep_on(now, partition);
            }
        }
        for (number, notice) in self.composer.take_untold(now) {
            let _ = self.out.send(FromStore::Notice(number, notice));
        }
    }
}

async fn next(map: &mut Option<mpsc::Receiver<Vec<Place>>>) -> Option<Vec<Place>> {
    match map {
        Some(map) => map.recv().await,
        None => std::future::pending().await,
    }
}
