//! What nodes ask, one request at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use greendot_protocol::sabotage::{Fault, on};
use greendot_protocol::{Span, Time};

use super::{AT_ONCE, MemoryStore, NodeRow};
use crate::store::{Claim, HeldBy, NodeId, Notice, Place, Reply, Report, Request, Store};

impl Store for MemoryStore {
    fn handle_late(&mut self, now: Time, late: Span, node: NodeId, request: &Request) -> Reply {
        self.late = if late < AT_ONCE || on(Fault::LateIsNew) { Span::ZERO } else { late };
        let aged;
        let request = if self.late == Span::ZERO {
            request
        } else {
            aged = request.aged(self.late);
            &aged
        };
        let mut turned = Vec::new();
        let mut reports = Vec::new();
        let mut outlooks = Vec::new();
        let mut rooms = Vec::new();
        let mut places = Vec::new();
        let mut held = HeldBy::Nobody;
        if let Request::Beat { away, .. } = request {
            self.note_reach(now, *away);
        }
        // Counted from a time: one whose row was dropped for its silence sees the count jump.
        self.nodes.entry(node).or_insert(NodeRow {
            told: now.as_millis(),
            asked: now,
            ..NodeRow::default()
        });
        if self.warm_until.is_some_and(|at| at <= now) {
            self.warm_until = None;
        }
        match request {
            Request::Connect(register) => held = self.connect(now, node, register, &mut turned),
            Request::Renew(it) => match self.claimed(node, &it.name, it.seat) {
                Some(session) => {
                    self.wrote(now, &it.name.user);
                    self.reseat(session, |seat| seat.heard = seat.heard.max(now - it.heard_ago));
                }
                None => held = HeldBy::Another,
            },
            Request::Linger { name, seat, heard_ago, lasts } => {
                if let Some(session) = self.claimed(node, name, *seat) {
                    self.wrote(now, &name.user);
                    self.directory.linger(session);
                    self.reseat(session, |seat| {
                        seat.lingers_until = Some(now + *lasts);
                        // Its node's signs of life are none of its own any more.
                        seat.covered = false;
                        seat.heard = seat.heard.max(now - *heard_ago);
                    });
                }
            }
            Request::Revive(it) => {
                if let Some(session) = self.claimed(node, &it.name, it.seat) {
                    self.wrote(now, &it.name.user);
                    self.directory.revive(session);
                    let thin = self.thin;
                    self.reseat(session, |seat| {
                        seat.lingers_until = None;
                        seat.covered = thin;
                        seat.heard = seat.heard.max(now - it.heard_ago);
                    });
                }
            }
            Request::SetIdle { name, seat, idle } => {
                if let Some(session) = self.claimed(node, name, *seat) {
                    self.wrote(now, &name.user);
                    let change = self.directory.set_idle(session, *idle);
                    if let Some(user) = self.directory.user_of(session) {
                        self.publish(now, user, change, &mut turned);
                    }
                }
            }
            Request::End(it) => self.depart(now, node, it, &mut turned),
            Request::SetMode { user, by: Some(by), ago, .. }
            | Request::SetNote { user, by: Some(by), ago, .. }
                if self.is_over(now, node, user, by, *ago) => {}
            Request::SetMode { user, mode, ago, .. } => {
                if self.past.is_latest(now, user, node, *ago, |it| &mut it.mode) {
                    self.wrote(now, user);
                    // Who hid was there last when it chose to.
                    let (id, change) = self.directory.set_mode(now - *ago, user, *mode);
                    if let Some(change) = change {
                        self.publish(now, id, change, &mut turned);
                        self.tell_mode(id);
                    }
                }
            }
            Request::SetNote { user, note, ago, .. } => {
                if self.past.is_latest(now, user, node, *ago, |it| &mut it.note) {
                    self.wrote(now, user);
                    let (id, change) = self.directory.set_note(user, note);
                    self.publish(now, id, change, &mut turned);
                }
            }
            Request::Revoke { user, revoked, ago } => {
                if self.past.is_latest(now, user, node, *ago, |it| &mut it.revoked) {
                    self.wrote(now, user);
                    self.revoke(now, user, *revoked, &mut turned);
                }
            }
            Request::SetLastSeen { user, wish, ago } => {
                if self.past.is_latest(now, user, node, *ago, |it| &mut it.wish) {
                    self.wrote(now, user);
                    let (id, new) = self.directory.set_last_seen(user, *wish);
                    if new {
                        // No change that anybody is told of: it counts from the next look on.
                        self.spread(now, id);
                    }
                }
            }
            Request::SetBlock { user, viewer, blocked, ago } => {
                self.set_block(now, node, (user, viewer), *blocked, *ago);
            }
            Request::AudienceChanged { user, viewer } => {
                for node in self.nodes.keys().copied().collect::<Vec<_>>() {
                    let (user, viewer) = (user.clone(), viewer.clone());
                    self.tell(node, Notice::AudienceChanged { user, viewer });
                }
            }
            Request::HearNothing => self.forget_interest(node),
            Request::Look { viewers } => {
                for viewer in viewers {
                    self.lookers.entry(Arc::clone(viewer)).or_default().insert(node);
                    outlooks.push(self.outlook(now, viewer));
                }
            }
            Request::LookAway { viewers } => leave(&mut self.lookers, node, viewers),
            Request::Subscribe { users } => {
                for user in users {
                    self.subscribers.entry(Arc::clone(user)).or_default().entry(node).or_default();
                }
                reports = self.read(now, users);
            }
            Request::Unsubscribe { users } => {
                for user in users {
                    if let Some(nodes) = self.subscribers.get_mut(user) {
                        nodes.remove(&node);
                        if nodes.is_empty() {
                            self.subscribers.remove(user);
                        }
                    }
                }
            }
            Request::Count { users } => {
                for (user, watchers) in users {
                    let nodes = self.subscribers.get_mut(user);
                    if let Some(held) = nodes.and_then(|it| it.get_mut(&node)) {
                        *held = *watchers;
                    }
                }
            }
            Request::Read { viewer, users } => {
                reports = self.read(now, users);
                outlooks.push(self.outlook(now, viewer));
            }
            Request::Locate { user } => places = self.places(now, user),
            Request::List { viewer, at_most } => {
                let present = self.directory.present(*at_most);
                reports = present.into_iter().map(|it| self.report(now, it)).collect();
                outlooks.push(self.outlook(now, viewer));
            }
            Request::Join { name, room } => {
                if let Some(session) = self.held_by(node, name) {
                    self.join(session, room);
                }
            }
            Request::Leave { name, room } => {
                if let Some(session) = self.held_by(node, name) {
                    self.directory.leave(session, room);
                }
            }
            Request::LookInto { rooms: names } => {
                for room in names {
                    self.rooms.entry(Arc::clone(room)).or_default().nodes.insert(node);
                    rooms.push(self.directory.roster(room, self.settings.roster_limit()));
                }
            }
            Request::LookOut { rooms } => {
                for room in rooms {
                    let Some(row) = self.rooms.get_mut(room) else { continue };
                    row.nodes.remove(&node);
                    if row.nodes.is_empty() {
                        self.rooms.remove(room);
                    }
                }
            }
            Request::Own { users } => {
                self.directory.follow_sessions(true);
                for user in users {
                    self.owners.entry(Arc::clone(user)).or_default().insert(node);
                    self.tell_sessions(now, user, &[node]);
                }
            }
            Request::Disown { users } => {
                leave(&mut self.owners, node, users);
                self.directory.follow_sessions(!self.owners.is_empty());
            }
            Request::SignOut { name, seat, ago } => {
                let claim = Claim { node, seat: *seat };
                self.sign_out(now, claim, name, *ago, &mut turned);
            }
            Request::Beat { away, silent, heard } => self.beat(now, node, *away, silent, heard),
            Request::Sweep => self.sweep(now, &mut turned),
        }
        self.tell_rooms(now);
        for user in self.directory.take_followed() {
            let name = self.directory.shared_name(user);
            let nodes = self.owners.get(&name).into_iter().flatten().copied().collect::<Vec<_>>();
            self.tell_sessions(now, &name, &nodes);
        }
        Reply {
            epoch: self.directory.epoch(),
            at: now,
            told: self.nodes.get(&node).map_or(0, |it| it.told),
            warming: self.warm_until.map_or(Span::ZERO, |at| at.since(now)),
            held,
            reports,
            outlooks,
            rooms,
            turned,
            places,
        }
    }

    fn poll_notice(&mut self) -> Option<(NodeId, u64, Notice)> {
        self.notices.pop_front()
    }
}

impl MemoryStore {
    /// How users stand; those never heard of are left out.
    fn read(&self, now: Time, users: &[Arc<str>]) -> Vec<Report> {
        users
            .iter()
            .filter_map(|user| self.directory.find(user))
            .map(|id| self.report(now, id))
            .collect()
    }
}

impl MemoryStore {
    /// Where a user's sessions are.
    fn places(&self, now: Time, user: &str) -> Vec<Place> {
        let Some(id) = self.directory.find(user) else { return Vec::new() };
        let place = |session| {
            let (seat, view) = (self.seats.get(&session)?, self.directory.view(session)?);
            Some(Place {
                node: seat.claim.node,
                session: view.session,
                generation: view.generation,
                lingering: view.lingering,
                idle: view.idle,
                passive: view.passive,
                ends_in: self.deadline_of(seat).since(now),
            })
        };
        self.directory.ids_of(id).filter_map(place).collect()
    }
}

/// The node wants to hear of these no more.
fn leave(interested: &mut BTreeMap<Arc<str>, BTreeSet<NodeId>>, node: NodeId, names: &[Arc<str>]) {
    for name in names {
        if let Some(nodes) = interested.get_mut(name) {
            nodes.remove(&node);
            if nodes.is_empty() {
                interested.remove(name);
            }
        }
    }
}
