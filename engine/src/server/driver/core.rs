//! What lies behind the driver's lock: the node, and who waits for what.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use greendot_protocol::Time;
use tokio::sync::{broadcast, oneshot};

use super::Asks;
use super::questions::Question;
use crate::core::{Answer, ConnId, Node, Output, Transition};
use crate::server::audience::Pair;
use crate::server::beacon::Ticket;
use crate::server::line::Line;
use crate::server::poll::{RoomsTold, Told};
use crate::store::Place;

pub(super) struct Core {
    pub(super) node: Node,
    /// By the slots of their connections.
    pub(super) lines: Vec<Option<(ConnId, Arc<Line>)>>,
    /// Connections for which something waits, until it is seen to that they are told.
    pub(super) ready: VecDeque<ConnId>,
    /// What is to be said to connections once the lock is gone.
    pub(super) deliveries: Deliveries,
    /// The connection in whose name something is done, and whether something waits for it now: its
    /// own task sees to that.
    pub(super) acting: Option<ConnId>,
    pub(super) acting_ready: bool,
    /// The time of what is being done.
    pub(super) now: Time,
    /// What is being done brings answers to those who asked: they are told at this time.
    pub(super) answers_at: Option<Time>,
    /// Whose ticket is whose. Hashed under a random key, so that the time of a look tells nothing.
    pub(super) tickets: HashMap<Ticket, ConnId>,
    pub(super) transitions: broadcast::Sender<Transition>,
    /// What the application is to be asked once the lock is gone.
    pub(super) questions: Vec<Question>,
    /// Polls whose answer is waited for, those of rooms, and the number of the next one.
    pub(super) polls: HashMap<u64, oneshot::Sender<Told>>,
    pub(super) room_polls: HashMap<u64, oneshot::Sender<RoomsTold>>,
    pub(super) next_poll: u64,
    /// Users whose sessions are being located.
    pub(super) locating: HashMap<u64, oneshot::Sender<Option<Vec<Place>>>>,
    /// Users of whom the application wants to know how they stand.
    pub(super) showing: HashMap<u64, oneshot::Sender<Answer>>,
    /// Those who wait to hear that what was said is stored.
    pub(super) storing: HashMap<u64, oneshot::Sender<bool>>,
    /// When the timer task will look at the node next.
    pub(super) timer_at: Time,
    /// Whether this node takes no more connections.
    pub(super) drains: bool,
    /// Who is asked what the nodes share; none: this one works alone.
    pub(super) store: Option<Asks>,
}

/// What is to be delivered once the lock is gone.
pub(super) type Deliveries = Vec<(Arc<Line>, Output)>;

impl std::fmt::Debug for Core {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Core").field("node", &self.node).finish_non_exhaustive()
    }
}

impl Core {
    pub(super) fn gather(&mut self) {
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
                        ask(self.now, number, *request);
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

    pub(super) fn line(&self, conn: ConnId) -> Option<&Arc<Line>> {
        line(&self.lines, conn)
    }

    /// The connection has this line, or none any more. A later connection's is left as it is.
    pub(super) fn put_line(&mut self, conn: ConnId, line: Option<Arc<Line>>) {
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

pub(super) fn line(lines: &[Option<(ConnId, Arc<Line>)>], conn: ConnId) -> Option<&Arc<Line>> {
    let (whose, line) = lines.get(conn.slot() as usize)?.as_ref()?;
    (*whose == conn).then_some(line)
}
