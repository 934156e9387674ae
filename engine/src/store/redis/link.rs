//! One server: its connection, and what goes over it.
//!
//! Scripts go in batches, one batch at a time, in the order in which they were asked for. What the
//! server publishes comes over the same connection, so that a notice and an answer of one partition
//! keep their order. While the connection is down whatever is asked fails at once: nothing waits
//! for a server that does not answer.

use std::collections::HashMap;
use std::time::Duration;

use greendot_protocol::Time;
use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{AsyncConnectionConfig, PushInfo, PushKind, RedisResult, Value};
use tokio::sync::mpsc;

use super::OpenError;
use super::calls::{Call, Calls, SLICE};
use super::part::Part;
use super::server::{About, Place};
use super::stamps::Stamps;
use crate::clock::{sleep, spawn, timeout};

/// How long a server may take for a batch.
const ANSWER: Duration = Duration::from_millis(2_500);

/// How long a connection may take.
const DIAL: Duration = Duration::from_millis(2_000);

/// The shortest and the longest wait before a lost connection is tried again.
const RETRY: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(1_000));

/// Scripts in a batch.
const BATCH: usize = 256;

/// What was made within so long goes together, as if it had been made at once: as the scripts have it.
const AT_ONCE: i64 = 50;

/// Scripts that may wait for a server. A healthy one lets few wait.
const QUEUE: usize = 1 << 15;

/// Names a call among those under way.
pub(super) type Ticket = (u64, usize);

/// What a link tells.
#[derive(Debug)]
pub(super) enum Event {
    /// The link is up: what its partitions answered when they were opened.
    Opened(Place, Vec<(usize, Vec<u8>)>),
    /// A call was answered, by this partition.
    Answered(Ticket, usize, Vec<u8>),
    /// A call was carried out with the one that was answered before it.
    Done(Ticket),
    /// A call was not carried out, or nobody knows.
    Failed(Ticket),
    /// Notices to this node, from a partition.
    Told(usize, Vec<u8>),
    /// A server is gone, or has not the partitions that it was taken to have.
    Lost(Place),
}

/// A server that can be asked.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) place: Place,
    queue: mpsc::Sender<(Ticket, Call)>,
}

impl Link {
    /// A link to a server that has these partitions.
    pub(super) fn start(
        client: redis::Client,
        place: Place,
        calls: &Calls,
        partitions: Vec<usize>,
        fresh: bool,
        events: mpsc::UnboundedSender<Event>,
    ) -> Self {
        let (queue, waiting) = mpsc::channel(QUEUE);
        let opening = Opening {
            partitions: partitions.iter().map(|&it| (it, calls.channel(it))).collect(),
            scripts: calls.scripts().texts().to_vec(),
            opens: partitions.iter().map(|&it| calls.open(it, fresh)).collect(),
            opens_anew: partitions.iter().map(|&it| calls.open(it, false)).collect(),
        };
        let stamps = calls.stamps.clone();
        let line = Line { client, place: place.clone(), opening, stamps, events };
        spawn(line.run(waiting));
        Self { place, queue }
    }

    /// Asks; false if that cannot be done now.
    pub(super) fn ask(&self, ticket: Ticket, call: Call) -> bool {
        self.queue.try_send((ticket, call)).is_ok()
    }
}

/// What is said first on a connection.
struct Opening {
    partitions: Vec<(usize, String)>,
    scripts: Vec<String>,
    /// All but the run of the server.
    opens: Vec<Call>,
    /// The same from the second time on.
    opens_anew: Vec<Call>,
}

struct Line {
    client: redis::Client,
    place: Place,
    opening: Opening,
    stamps: Option<Stamps>,
    events: mpsc::UnboundedSender<Event>,
}

impl Line {
    /// Ends with the last [`Link`] to it.
    async fn run(mut self, mut waiting: mpsc::Receiver<(Ticket, Call)>) {
        let mut pause = RETRY.0;
        loop {
            let failed = match timeout(DIAL, self.connect()).await.unwrap_or(Err(OpenError::Silent))
            {
                Ok(connection) => {
                    pause = RETRY.0;
                    self.opening.opens.clone_from(&self.opening.opens_anew);
                    match self.serve(connection, &mut waiting).await {
                        Some(failed) => failed,
                        None => return,
                    }
                }
                Err(failed) => failed,
            };
            tracing::warn!(server = ?self.place, error = %failed, "Redis is out of reach");
            if self.events.send(Event::Lost(self.place.clone())).is_err() {
                return;
            }
            // Nothing waits for a server that does not answer.
            let until = sleep(pause);
            tokio::pin!(until);
            loop {
                tokio::select! {
                    () = &mut until => break,
                    asked = waiting.recv() => match asked {
                        Some((ticket, _)) => self.fail(ticket),
                        None => return,
                    }
                }
            }
            pause = (pause * 2).min(RETRY.1);
        }
    }

    fn fail(&self, ticket: Ticket) {
        // Nobody is left to hear it when all ends.
        let _ = self.events.send(Event::Failed(ticket));
    }

    async fn connect(&self) -> Result<MultiplexedConnection, OpenError> {
        let (events, partitions) = (self.events.downgrade(), self.opening.partitions.clone());
        let pushed = move |push: PushInfo| {
            if push.kind == PushKind::SMessage
                && let [Value::BulkString(channel), Value::BulkString(row)] = &push.data[..]
                && let Some((partition, _)) =
                    partitions.iter().find(|it| it.1.as_bytes() == &channel[..])
                && let Some(events) = events.upgrade()
            {
                let _ = events.send(Event::Told(*partition, row.clone()));
            }
            Ok::<(), redis::aio::SendError>(())
        };
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(DIAL))
            .set_response_timeout(Some(ANSWER))
            .set_push_sender(pushed);
        let mut connection =
            self.client.get_multiplexed_async_connection_with_config(&config).await?;
        let about = About::ask(&mut connection).await?;
        let place = self.place.as_ref().map_or("the server", |it| &it.0);
        about.check(place)?;
        let mut pipeline = redis::pipe();
        for (_, channel) in &self.opening.partitions {
            pipeline.cmd("SSUBSCRIBE").arg(channel);
        }
        let line = self.stamps.as_ref().map_or(0, Stamps::next_line);
        for it in &self.opening.opens {
            let mut command = it.command.clone();
            command.arg(about.run()).arg(line);
            pipeline.add_command(command);
        }
        for it in &self.opening.scripts {
            pipeline.cmd("SCRIPT").arg("LOAD").arg(it);
        }
        let count = self.opening.partitions.len();
        let all = 2 * count + self.opening.scripts.len();
        let answers = connection.req_packed_commands(&pipeline, 0, all).await?;
        let mut opened = Vec::new();
        for (answer, (partition, _)) in
            answers.into_iter().skip(count).zip(&self.opening.partitions)
        {
            match answer.extract_error()? {
                Value::BulkString(row) => opened.push((*partition, row)),
                other => return Err(OpenError::Answer(format!("{other:?}"))),
            }
        }
        // Before anything is asked of this server, which may be another one than before.
        if let Some(stamps) = &self.stamps {
            stamps.compare(&mut connection, self.partitions()).await?;
            stamps.take_line(self.partitions(), line);
        }
        let _ = self.events.send(Event::Opened(self.place.clone(), opened));
        Ok(connection)
    }

    /// Works until the connection is lost, which it returns, or nobody asks any more.
    async fn serve(
        &self,
        mut connection: MultiplexedConnection,
        waiting: &mut mpsc::Receiver<(Ticket, Call)>,
    ) -> Option<OpenError> {
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            if waiting.recv_many(&mut batch, BATCH).await == 0 {
                return None;
            }
            let (pipeline, joined) = pipeline_of(&batch);
            let count = joined.len();
            let asked = self.stamps.as_ref().map(Stamps::now);
            let mut answered = connection.req_packed_commands(&pipeline, 0, count).await;
            if answered.as_ref().is_ok_and(|it| all_unknown(it)) {
                answered = self.ask_anew(&mut connection, &pipeline, count).await;
            }
            let failed = match answered {
                Ok(answers) => {
                    self.read_clock(asked, &answers);
                    self.pass_on(&batch, &joined, answers)
                }
                Err(error) => {
                    self.fail_all(&batch, &joined);
                    Some(OpenError::Redis(error))
                }
            };
            batch.clear();
            if failed.is_some() {
                return failed;
            }
        }
    }

    fn partitions(&self) -> impl Iterator<Item = usize> {
        self.opening.partitions.iter().map(|it| it.0)
    }

    /// Learns from the answers to what was asked then how the server's clock stands.
    fn read_clock(&self, asked: Option<Time>, answers: &[Value]) {
        if let (Some(stamps), Some(asked)) = (&self.stamps, asked)
            && let Some(Value::BulkString(row)) = answers.last()
            && let Ok(told) = Part::time_of(row)
        {
            stamps.hear(self.partitions(), asked, told);
        }
    }

    /// The scripts were flushed: loads them again, and asks once more.
    async fn ask_anew(
        &self,
        connection: &mut MultiplexedConnection,
        pipeline: &redis::Pipeline,
        count: usize,
    ) -> RedisResult<Vec<Value>> {
        let mut loading = redis::pipe();
        for it in &self.opening.scripts {
            loading.cmd("SCRIPT").arg("LOAD").arg(it);
        }
        connection.req_packed_commands(&loading, 0, self.opening.scripts.len()).await?;
        connection.req_packed_commands(pipeline, 0, count).await
    }

    /// Passes answers on, up to the first error if there is one.
    fn pass_on(
        &self,
        batch: &[(Ticket, Call)],
        joined: &[Vec<usize>],
        answers: Vec<Value>,
    ) -> Option<OpenError> {
        for (at, (answer, calls)) in answers.into_iter().zip(joined).enumerate() {
            let failed = match answer {
                Value::BulkString(row) => {
                    let [first, others @ ..] = &calls[..] else { continue };
                    let (ticket, call) = &batch[*first];
                    let _ = self.events.send(Event::Answered(*ticket, call.partition, row));
                    for other in others {
                        let _ = self.events.send(Event::Done(batch[*other].0));
                    }
                    continue;
                }
                // Made before this line was there.
                Value::ServerError(error) if error.code() == "PAST" => {
                    self.fail_all(batch, &joined[at..=at]);
                    continue;
                }
                Value::ServerError(error) => OpenError::Redis(error.into()),
                other => OpenError::Answer(format!("{other:?}")),
            };
            self.fail_all(batch, &joined[at..]);
            return Some(failed);
        }
        None
    }

    /// Those that were not answered; of those after the first no one knows.
    fn fail_all(&self, batch: &[(Ticket, Call)], joined: &[Vec<usize>]) {
        for call in joined.iter().flatten() {
            self.fail(batch[*call].0);
        }
    }
}

/// What is sent for these calls, and which of them each command carries out: what may go together does, in the order of its
/// partition.
fn pipeline_of(batch: &[(Ticket, Call)]) -> (redis::Pipeline, Vec<Vec<usize>>) {
    let mut commands: Vec<redis::Cmd> = Vec::with_capacity(batch.len());
    let mut joined: Vec<Vec<usize>> = Vec::with_capacity(batch.len());
    // By partition: its last command, if others may go with that.
    let mut open: HashMap<usize, usize> = HashMap::new();
    for (place, (_, call)) in batch.iter().enumerate() {
        let with = open.get(&call.partition).copied().filter(|it| {
            let first = &batch[joined[*it][0]].1;
            joined[*it].len() < SLICE && call.asked - first.asked < AT_ONCE
        });
        match (&call.joins, with) {
            (Some(words), Some(at)) => {
                commands[at].arg(words);
                joined[at].push(place);
            }
            (joins, _) => {
                match joins {
                    Some(_) => open.insert(call.partition, commands.len()),
                    None => open.remove(&call.partition),
                };
                commands.push(call.command.clone());
                joined.push(vec![place]);
            }
        }
    }
    let mut pipeline = redis::Pipeline::with_capacity(commands.len());
    for command in commands {
        pipeline.add_command(command);
    }
    (pipeline, joined)
}

/// Whether the server has forgotten the scripts, and so has run none.
fn all_unknown(answers: &[Value]) -> bool {
    answers.iter().all(|it| matches!(it, Value::ServerError(error) if error.code() == "NOSCRIPT"))
}
