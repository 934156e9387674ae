//! Who is still there: signs of life of nodes and what they cover, and the sweep.

use std::collections::BTreeMap;

use greendot_protocol::sabotage::{Fault, on};
use greendot_protocol::{Span, Time};

use super::seats::Seat;
use super::{HEALS, MemoryStore, ON_TIME, RENEWED_EVERY, UNREACHED};
use crate::core::directory::{SessionId, UserId};
use crate::store::{NodeId, Notice, Report, SessionName, Silent};

/// For how long a session that has ended is remembered at least: a node that stood still for so long and
/// goes on tells of it as if it had not ended.
const REMEMBERED: Span = Span::from_secs(300);

impl MemoryStore {
    /// When any node's beat came last, if one ever did.
    fn last_beat(&self) -> Option<Time> {
        self.nodes.values().map(|it| it.beaten).max().filter(|it| *it != Time::ZERO)
    }

    /// A beat comes; for so long the store has been out of its node's reach.
    pub(super) fn note_reach(&mut self, now: Time, away: Span) {
        if now.since(self.last_beat().unwrap_or(self.begun)) >= UNREACHED {
            // Out of reach, or all of them stood still: that shows when they have spoken.
            self.reached_again = Some(now);
        }
        if away != Span::ZERO && self.was_unreached(now) && !on(Fault::NobodySpared) {
            // No node could renew anything meanwhile: nobody is swept for one ttl (rule 10).
            self.spared_until = now + self.settings.ttl;
        }
    }

    /// Whether it is only just that nodes beat again, after a time in which none did.
    fn was_unreached(&self, now: Time) -> bool {
        self.reached_again.is_some_and(|at| now.since(at) < HEALS)
    }

    /// Whether anybody is swept, as far as beats tell of which the last came then.
    fn sweeps(&self, now: Time, beaten: Time) -> bool {
        now >= self.spared_until && !self.was_unreached(now) && now.since(beaten) < UNREACHED
    }

    /// Ends what is due; whoever sweeps, each is ended once.
    pub(super) fn sweep(&mut self, now: Time, turned: &mut Vec<Report>) {
        if !self.sweeps(now, self.last_beat().unwrap_or_default()) {
            return;
        }
        let mut ended: Vec<SessionId> =
            self.due.iter().take_while(|(at, _)| *at <= now).map(|(_, session)| *session).collect();
        for (node, sessions) in &self.covered {
            let renewed = self.nodes.get(node).map_or(Time::ZERO, |it| it.renewed);
            if renewed + RENEWED_EVERY + self.settings.ttl - self.settings.beat <= now {
                // The node has died. Sessions that are not due yet stay.
                ended.extend(
                    sessions.iter().filter(|it| {
                        self.seats.get(it).is_some_and(|it| self.deadline_of(it) <= now)
                    }),
                );
            }
        }
        if on(Fault::CoveredForever) {
            return;
        }
        let mut by_user: BTreeMap<UserId, Vec<(SessionId, Time)>> = BTreeMap::new();
        for session in ended {
            let Some(&seat) = self.seats.get(&session) else { continue };
            let Some(user) = self.directory.user_of(session) else { continue };
            if !self.is_due(now, &seat) {
                continue;
            }
            let heard = self.heard_of(&seat);
            self.tell(seat.claim.node, Notice::Ended { seat: seat.claim.seat });
            by_user.entry(user).or_default().push((session, heard));
        }
        // One change a user, however many of its sessions end: their order shows nowhere.
        for (user, sessions) in by_user {
            let name = self.directory.shared_name(user);
            self.wrote(now, &name);
            self.end_all(now, user, &sessions, turned);
        }
        let ttl = self.settings.ttl;
        self.past.forget(now, (ttl + ttl).max(REMEMBERED));
        // By then all has ended that goes by the node's lease.
        let keep = ttl + self.settings.expiry_grace + ttl;
        let covered = &self.covered;
        let gone: Vec<NodeId> = self
            .nodes
            .iter()
            .filter(|(node, it)| it.asked + keep <= now && !covered.contains_key(node))
            .map(|(node, _)| *node)
            .collect();
        for node in gone {
            self.forget_node(node);
        }
    }

    /// Whether a sweep ends the session.
    fn is_due(&self, now: Time, seat: &Seat) -> bool {
        let spared = self.nodes.get(&seat.claim.node).map_or(Time::ZERO, |it| it.spared_until);
        self.deadline_of(seat) <= now && (now >= spared || seat.lingers_until.is_some())
    }

    /// Ends these sessions of a user, each heard then, and with them those that are due, unless nobody is swept now: what
    /// the user would be between one end and the next it never was. A node that has not beaten for long may be the first to come
    /// back: nobody is swept for what it tells.
    pub(super) fn end_due(
        &mut self,
        now: Time,
        node: NodeId,
        user: UserId,
        these: &[(SessionId, Time)],
        turned: &mut Vec<Report>,
    ) {
        let mut ended = these.to_vec();
        let beaten = self.nodes.get(&node).map_or(Time::ZERO, |it| it.beaten);
        let swept = self.sweeps(now, beaten);
        for session in self.directory.ids_of(user).filter(|_| swept).collect::<Vec<_>>() {
            let seat = self.seats.get(&session).copied().filter(|it| self.is_due(now, it));
            let Some(seat) = seat.filter(|_| !these.iter().any(|it| it.0 == session)) else {
                continue;
            };
            self.tell(seat.claim.node, Notice::Ended { seat: seat.claim.seat });
            ended.push((session, self.heard_of(&seat)));
        }
        let name = self.directory.shared_name(user);
        self.wrote(now, &name);
        self.end_all(now, user, &ended, turned);
    }

    /// A run of a node that asks no more and holds nothing any more.
    fn forget_node(&mut self, node: NodeId) {
        self.nodes.remove(&node);
        self.forget_interest(node);
    }

    /// The node is told of nobody and nothing any more.
    pub(super) fn forget_interest(&mut self, node: NodeId) {
        self.rooms.retain(|_, row| {
            row.nodes.remove(&node);
            !row.nodes.is_empty()
        });
        self.subscribers.retain(|_, nodes| {
            nodes.remove(&node);
            !nodes.is_empty()
        });
        for interested in [&mut self.lookers, &mut self.owners] {
            interested.retain(|_, nodes| {
                nodes.remove(&node);
                !nodes.is_empty()
            });
        }
    }

    /// The node covers nothing any more but what it registers from now on.
    fn uncover(&mut self, node: NodeId) {
        for session in self.covered.get(&node).cloned().unwrap_or_default() {
            let heard = self.seats.get(&session).map(|it| self.heard_of(it));
            self.reseat(session, |seat| {
                seat.covered = false;
                seat.heard = heard.unwrap_or(seat.heard);
            });
        }
    }

    pub(super) fn beat(
        &mut self,
        now: Time,
        node: NodeId,
        away: Span,
        silent: &[Silent],
        heard: &[(SessionName, u64)],
    ) {
        let ttl = self.settings.ttl;
        let Some(row) = self.nodes.get_mut(&node) else { return };
        // After a gap who was silent in it is not known yet. The node tells that with a beat right behind.
        if now.since(row.beaten) < ON_TIME {
            row.renewed = now;
        }
        (row.beaten, row.asked) = (now, now);
        if away != Span::ZERO {
            row.spared_until = if on(Fault::NobodySpared) { now } else { now + ttl };
            self.uncover(node);
        }
        for it in silent {
            if let Some(session) = self.claimed(node, &it.name, it.seat) {
                let at = now - it.heard_ago;
                self.wrote(now, &it.name.user);
                self.reseat(session, |seat| {
                    seat.covered = false;
                    seat.heard = seat.heard.max(at);
                });
            }
        }
        for (name, seat) in heard {
            if let Some(session) = self.claimed(node, name, *seat) {
                self.wrote(now, &name.user);
                let thin = self.thin;
                // One that lingers by now is not: its node's signs of life are none of its own.
                self.reseat(session, |seat| seat.covered = thin && seat.lingers_until.is_none());
            }
        }
    }
}
