//! Watchers: raw viewers with healthy connections.

use std::collections::BTreeMap;

use greendot_protocol::binary::decode_server;
use greendot_protocol::{Beat, ClientFrame, Hello, ServerFrame, State, WatchItem};

use super::conn::{Down, Up};
use super::log::{ViewerEvent, ViewerSnapshot};
use super::node::token;
use super::trace::server_words;
use super::{ARRIVAL, Owner, Task, World};

/// A watcher.
#[derive(Debug, Default)]
pub struct Viewer {
    pub(super) conn: Option<usize>,
    pub(super) stalled: bool,
    /// The users behind the numbers that stand on this connection.
    numbers: BTreeMap<u32, String>,
    /// The number under which each of them is told.
    standing: BTreeMap<String, u32>,
    next: u32,
    requests: BTreeMap<u32, Vec<u32>>,
}

impl World<'_> {
    pub(super) fn viewer_watches(
        &mut self,
        name: &str,
        users: &[String],
        node: Option<&str>,
        token_until: Option<u64>,
    ) {
        let open = self.viewers.entry(name.to_owned()).or_default().conn;
        let conn = match open.filter(|&it| self.conns[it].client_open) {
            Some(conn) => conn,
            None => self.viewer_connects(name, node, token_until),
        };
        let Some(viewer) = self.viewers.get_mut(name) else { return };
        let mut items = Vec::new();
        for user in users {
            viewer.next += 1;
            viewer.numbers.insert(viewer.next, user.clone());
            // A later watch of a user takes the place of an earlier one.
            if let Some(before) = viewer.standing.insert(user.clone(), viewer.next) {
                viewer.numbers.remove(&before);
            }
            items.push(viewer.next);
        }
        let request = viewer.next;
        viewer.requests.insert(request, items.clone());
        let users: Vec<WatchItem<'_>> =
            items.iter().zip(users).map(|(&number, user)| WatchItem { number, user }).collect();
        self.raw_says(conn, &ClientFrame::Watch { request, users });
    }

    fn viewer_connects(
        &mut self,
        name: &str,
        node: Option<&str>,
        token_until: Option<u64>,
    ) -> usize {
        let node = self.node_or_first(node);
        let conn = self.dial(node, Owner::Viewer(name.to_owned()));
        // What an earlier connection did not read is no concern of this one.
        self.viewers.insert(name.to_owned(), Viewer { conn: Some(conn), ..Viewer::default() });
        self.raw_says(
            conn,
            &ClientFrame::Hello(Hello {
                session: "viewer",
                token: &token(name, token_until),
                passive: true,
                ..Hello::default()
            }),
        );
        let at = self.now + self.beat();
        self.at(at, ARRIVAL, Task::ViewerBeat(name.to_owned(), conn));
        conn
    }

    pub(super) fn viewer_beat(&mut self, name: &str, conn: usize) {
        if !self.conns[conn].client_open {
            return;
        }
        self.raw_says(conn, &ClientFrame::Beat(Beat::default()));
        let at = self.now + self.beat();
        self.at(at, ARRIVAL, Task::ViewerBeat(name.to_owned(), conn));
    }

    pub(super) fn viewer_unwatches(&mut self, name: &str, users: &[String]) {
        let Some(viewer) = self.viewers.get_mut(name) else { return };
        let Some(conn) = viewer.conn else { return };
        let numbers: Vec<u32> = users.iter().filter_map(|it| viewer.standing.remove(it)).collect();
        for number in &numbers {
            viewer.numbers.remove(number);
        }
        self.raw_says(conn, &ClientFrame::Unwatch { numbers });
    }

    /// Hands in a fresh token, which does not end.
    pub(super) fn viewer_renews(&mut self, name: &str) {
        if let Some(conn) = self.viewers.get(name).and_then(|it| it.conn) {
            self.raw_says(conn, &ClientFrame::Token(&token(name, None)));
        }
    }

    pub(super) fn viewer_hangs_up(&mut self, name: &str) {
        if let Some(conn) = self.viewers.get_mut(name).and_then(|it| it.conn.take()) {
            self.close_client_end(conn);
        }
    }

    pub(super) fn viewer_stalls(&mut self, name: &str, stalled: bool) {
        let Some(viewer) = self.viewers.get_mut(name) else { return };
        viewer.stalled = stalled;
        let Some(conn) = viewer.conn.filter(|_| !stalled) else { return };
        if let Some(id) = self.conns[conn].engine {
            let node = self.conns[conn].node;
            self.deliver(node, id);
            self.pump(node);
        }
    }

    pub(super) fn viewer_takes(&mut self, name: &str, conn: usize, down: &Down) {
        match down {
            Down::Ping => self.send_up(conn, Up::Pong),
            Down::Frame(bytes) => self.viewer_reads(name, conn, bytes),
            Down::Failed | Down::Closed(_) => self.close_client_end(conn),
            Down::Opened => {}
        }
    }

    fn viewer_reads(&mut self, name: &str, conn: usize, bytes: &[u8]) {
        let Ok(Some(frame)) = decode_server(bytes) else { return };
        self.note(|| format!("{name} ↓ {}", server_words(&frame)));
        let at = self.now;
        self.keep_words(name, || server_words(&frame));
        let Some(viewer) = self.viewers.get_mut(name) else { return };
        match frame {
            ServerFrame::Snapshot { request, entries, .. } => {
                let asked: Vec<u32> = match request {
                    0 => viewer.numbers.keys().copied().collect(),
                    _ => viewer.requests.remove(&request).unwrap_or_default(),
                };
                let entries = asked
                    .iter()
                    .filter_map(|number| Some((number, viewer.numbers.get(number)?.clone())))
                    .map(|(number, user)| {
                        let entry = entries.iter().find(|it| it.number == *number);
                        let (state, version) =
                            entry.map_or((State::Offline, 0), |it| (it.state, it.version.0));
                        (user, state, version)
                    })
                    .collect();
                let snapshot = ViewerSnapshot { at, entries };
                self.log.snapshots.entry(name.to_owned()).or_default().push(snapshot);
            }
            ServerFrame::Events { epoch, entries } => {
                for entry in entries {
                    let Some(user) = viewer.numbers.get(&entry.number).cloned() else { continue };
                    let (state, version) = (entry.state, entry.version.0);
                    let event = ViewerEvent { at, conn, user, state, version, epoch };
                    self.log.events.entry(name.to_owned()).or_default().push(event);
                }
            }
            _ => {}
        }
    }
}
