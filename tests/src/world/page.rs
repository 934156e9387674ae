//! The page's script: feeds the client core and does what it asks.

use greendot_client::core::{Client, Dial, LinkState, Message, Output};
use greendot_protocol::binary::{decode_server, encode_client};
use greendot_protocol::{
    Entry, Epoch, Mode, Revision, ServerFrame, Span, State, Time, Version, Welcome,
};

use super::conn::Up;
use super::device::link_name;
use super::log::Callback;
use super::node::token;
use super::trace::server_words;
use super::{Edge, NotBuilt, World};
use crate::file::{FrameStep, Kind, LinkAction};

/// The name of a frame, as the format has it.
fn message_name(message: &Message) -> &'static str {
    match message {
        Message::Hello(_) => "hello",
        Message::Beat(_) => "beat",
        Message::Watch { .. } => "watch",
        Message::Unwatch { .. } => "unwatch",
        Message::Mode(_) => "mode",
        Message::Note(_) => "note",
        Message::Idle => "idle",
        Message::Active => "active",
        Message::Closing => "closing",
        Message::Bye => "bye",
        Message::Token(_) => "token",
        Message::Join { .. } => "join",
        Message::Leave { .. } => "leave",
    }
}

impl World<'_> {
    /// Gives the client an input and does what comes of it.
    pub(super) fn on_client(&mut self, device: usize, input: impl FnOnce(&mut Client, Time)) {
        let now = self.devices[device].clock(self.now);
        if let Some(client) = self.devices[device].client.as_mut() {
            input(client, now);
        }
        self.drain(device);
    }

    /// Does what the client asks, in order. An output's doing may be an input again: its outputs
    /// wait behind those that are there.
    pub(super) fn drain(&mut self, device: usize) {
        while let Some(output) = self.devices[device].client.as_mut().and_then(Client::poll_output)
        {
            let name = &self.devices[device].name;
            self.trace.add(self.now, || format!("{name}: {output:?}"));
            self.obey(device, output);
        }
    }

    fn obey(&mut self, device: usize, output: Output) {
        let clock = self.devices[device].clock(self.now);
        match output {
            Output::NeedToken { dial } => {
                let token = token(&self.devices[device].user, None);
                let reachable = self.devices[device].reachable;
                if let Some(client) = self.devices[device].client.as_mut() {
                    if reachable {
                        client.handle_token(clock, dial, &token);
                    } else {
                        let failed = greendot_client::core::TokenFailure::Failed;
                        client.handle_token_failed(clock, dial, failed);
                    }
                }
            }
            Output::Dial { dial, node } if self.scenario.kind == Kind::Sdk => {
                let _ = node;
                if let Some(client) = self.devices[device].client.as_mut() {
                    client.handle_opened(clock, dial);
                }
            }
            Output::Dial { dial, node } => self.device_dials(device, dial.0, node),
            Output::Send { dial, frame } => self.device_sends(device, dial, &frame),
            Output::CloseSocket { dial, .. } => {
                if let Some(conn) = self.devices[device].conns.remove(&dial.0) {
                    self.close_client_end(conn);
                }
            }
            Output::Changed { part, row } => {
                let client = self.devices[device].client.as_ref();
                let view = client.and_then(|it| it.view(clock, row));
                let (state, note) = view.map_or((State::Unknown, ""), |it| (it.state, it.note));
                if let Some(edges) = &mut self.edges {
                    let name = self.devices[device].users.get(&row.0).map_or("", |it| it);
                    let (user, note) = (edges.keep(name.as_bytes()), edges.keep(note.as_bytes()));
                    edges.add(Edge::Told { device, part: part.0, user, state, note });
                }
                let it = &self.devices[device];
                let part = it.parts.iter().find(|(_, number)| **number == part.0);
                let callback = Callback {
                    at: self.now,
                    part: part.map(|it| it.0.clone()).unwrap_or_default(),
                    user: it.users.get(&row.0).cloned().unwrap_or_default(),
                    state,
                };
                let name = it.name.clone();
                self.log.devices.entry(name).or_default().callbacks.push(callback);
            }
            Output::Beacon { node, ticket } => self.device_beacons(device, node, ticket),
            Output::Room(_) => self.edge(Edge::RoomTold { device }),
            Output::Mode { mode, revision } if revision != Revision(0) => {
                let tab = self.devices[device].tab();
                self.tabs.insert(tab, (mode, revision));
            }
            Output::Link { state, .. } => self.link_told(device, state),
            _ => {}
        }
    }

    fn device_sends(&mut self, device: usize, dial: Dial, message: &Message) {
        let name = self.devices[device].name.clone();
        let now = self.now;
        self.log.devices.entry(name).or_default().sent.push((now, message_name(message)));
        let beat = match message {
            Message::Beat(beat) => Some(beat.number),
            _ => None,
        };
        let conn = self.devices[device].conns.get(&dial.0).copied();
        self.edge(Edge::Says { device, conn, beat });
        if self.scenario.kind == Kind::Sdk {
            self.sdk_answers(device, dial, message);
            return;
        }
        let mut bytes = Vec::new();
        encode_client(&message.as_frame(), &mut bytes);
        if let Some(conn) = conn {
            self.send_up(conn, Up::Frame(bytes));
        }
    }

    pub(super) fn device_reads(&mut self, device: usize, dial: Dial, conn: usize, bytes: &[u8]) {
        let decoded = decode_server(bytes);
        let lost = matches!(decoded, Ok(Some(ServerFrame::BeatAnswer(_))))
            && self.now < self.devices[device].answers_lost_until;
        self.edge(Edge::Got { conn, lost });
        match decoded {
            _ if lost => {}
            Ok(Some(frame)) => {
                let name = &self.devices[device].name;
                self.trace.add(self.now, || format!("{name} ↓ {}", server_words(&frame)));
                self.on_client(device, |it, now| it.handle_frame(now, dial, &frame));
            }
            Ok(None) => {}
            Err(_) => self.on_client(device, |it, now| it.handle_unreadable(now, dial)),
        }
    }

    /// The app's link callback, and what it calls from inside.
    fn link_told(&mut self, device: usize, state: LinkState) {
        let name = self.devices[device].name.clone();
        let word = link_name(state);
        let now = self.now;
        self.edge(Edge::Link { device, state });
        let log = self.log.devices.entry(name).or_default();
        log.links.push((now, word));
        let times = log.links.iter().filter(|it| it.1 == word).count() as u64;
        let actions: Vec<LinkAction> = self.devices[device]
            .hooks
            .iter()
            .filter(|it| it.state == word && it.nth == times)
            .flat_map(|it| it.actions.clone())
            .collect();
        let clock = self.devices[device].clock(self.now);
        for action in actions {
            if let Some(client) = self.devices[device].client.as_mut() {
                match action {
                    LinkAction::Connect => client.connect(clock),
                    LinkAction::Disconnect => client.disconnect(clock),
                }
            }
        }
    }

    /// Kind `sdk`: the script's server answers at once.
    fn sdk_answers(&mut self, device: usize, dial: Dial, message: &Message) {
        let clock = self.devices[device].clock(self.now);
        let settings = &self.scenario.settings;
        let engine = settings.engine;
        let answers = settings.answers;
        let Some(client) = self.devices[device].client.as_mut() else { return };
        match message {
            Message::Hello(hello) => {
                self.sdk.dial = dial;
                let welcome = ServerFrame::Welcome(Welcome {
                    beat: engine.beat,
                    ttl: engine.ttl,
                    grace: engine.grace,
                    idle_after: engine.idle_after,
                    session: &hello.session,
                    epoch: Epoch(0),
                    mode: Mode::Auto,
                    revision: Revision(0),
                    ticket: "",
                    stale: false,
                    token: Span::ZERO,
                });
                client.handle_frame(clock, dial, &welcome);
            }
            Message::Beat(beat) if answers => {
                client.handle_frame(clock, dial, &ServerFrame::BeatAnswer(beat.number));
            }
            Message::Watch { request, users } => {
                let numbers = users.iter().map(|(number, user)| (*number, user.to_string()));
                self.sdk.watched.extend(numbers);
                self.sdk.unanswered.push(*request);
                self.sdk.dial = dial;
            }
            Message::Unwatch { numbers } => {
                for number in numbers {
                    self.sdk.watched.remove(number);
                }
            }
            _ => {}
        }
    }

    pub(super) fn sdk_frame(&mut self, frame: &FrameStep) -> Result<(), NotBuilt> {
        let entries: Vec<Entry<'_>> = frame
            .entries
            .iter()
            .filter_map(|(user, state, version)| {
                let number = self.sdk.watched.iter().find(|it| it.1 == user)?.0;
                Some(Entry {
                    number: *number,
                    state: *state,
                    version: Version(*version),
                    ..Entry::default()
                })
            })
            .collect();
        let epoch = self.sdk.epoch(&frame.epoch);
        let dial = self.sdk.dial;
        if !frame.snapshot {
            let events = ServerFrame::Events { epoch, entries };
            self.on_client(0, |it, now| it.handle_frame(now, dial, &events));
            return Ok(());
        }
        // One snapshot of all that is watched answers every watch that waits.
        let requests = std::mem::take(&mut self.sdk.unanswered);
        let requests = if requests.is_empty() { vec![0] } else { requests };
        for request in requests {
            let snapshot = ServerFrame::Snapshot { epoch, request, entries: entries.clone() };
            self.on_client(0, |it, now| it.handle_frame(now, dial, &snapshot));
        }
        Ok(())
    }

    pub(super) fn sdk_lost(&mut self) -> Result<(), NotBuilt> {
        self.devices[0].reachable = false;
        self.sdk.watched.clear();
        self.sdk.unanswered.clear();
        let dial = self.sdk.dial;
        self.on_client(0, |it, now| it.handle_closed(now, dial, super::conn::LOST));
        Ok(())
    }

    /// A new connection is open: the client's next dial would find it; here it dials now.
    pub(super) fn sdk_back(&mut self) -> Result<(), NotBuilt> {
        self.devices[0].reachable = true;
        self.on_client(0, Client::connect);
        Ok(())
    }
}

/// Kind `sdk`: what the script's server knows of the connection.
#[derive(Debug, Default)]
pub(super) struct SdkServer {
    pub(super) dial: Dial,
    pub(super) watched: std::collections::BTreeMap<u32, String>,
    pub(super) unanswered: Vec<u32>,
    /// Epochs in the file's words; their places stand for them on the wire.
    epochs: Vec<String>,
}

impl SdkServer {
    fn epoch(&mut self, words: &str) -> Epoch {
        let known = self.epochs.iter().position(|it| it == words);
        let place = known.unwrap_or_else(|| {
            self.epochs.push(words.to_owned());
            self.epochs.len() - 1
        });
        Epoch(place as u32 + 1)
    }
}
