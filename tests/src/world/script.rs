//! The script's verbs.

use greendot_protocol::ClientFrame;

use super::node::{THROWS, token};
use super::raw::RawHello;
use super::{Edge, NotBuilt, Task, World};
use crate::file::{Kind, Verb};

/// Whether the application calls the engine.
fn is_app_call(verb: &Verb) -> bool {
    matches!(verb, Verb::Block { .. } | Verb::Mode { .. } | Verb::Note { .. } | Verb::Revoke { .. })
}

impl World<'_> {
    pub(super) fn step(&mut self, index: usize) -> Result<(), NotBuilt> {
        let scenario = self.scenario;
        let verb = &scenario.steps[index].verb;
        self.note(|| format!("step {}", scenario.steps[index]));
        if is_app_call(verb) && self.app_waits(index) {
            self.note(|| "it waits for a node that stands still".into());
            return Ok(());
        }
        self.edge(Edge::Step(index));
        match verb {
            Verb::Watch { watcher, users, node, token_until } => {
                self.viewer_watches(watcher, users, node.as_deref(), *token_until);
            }
            Verb::Unwatch { watcher, users } => self.viewer_unwatches(watcher, users),
            Verb::Hangup { watcher } => self.viewer_hangs_up(watcher),
            Verb::Ask { repeat, .. } => self.ask_again(index, *repeat),
            Verb::List { watcher, .. } => self.viewer_lists(index, watcher),
            Verb::Room { who, room, join } if scenario.kind == Kind::Engine => {
                if let Some(name) = self.raw_name(who).map(str::to_owned) {
                    self.raw_goes(&name, room, *join);
                }
            }
            Verb::Block { user, viewer, blocked } => {
                let told = self.node_for_app().is_some();
                self.app.set_block(user, viewer, *blocked, told);
                self.on_engine(|engine, now| engine.set_block(now, user, viewer, *blocked));
            }
            Verb::Renew { watcher } => self.viewer_renews(watcher),
            Verb::Stall { watcher, stalled } => self.viewer_stalls(watcher, *stalled),
            Verb::Connect { user, session, conn, node, passive, idle, beats, fails } => {
                let node = self.node_or_first(node.as_deref());
                let token = if *fails { THROWS.to_owned() } else { token(user, None) };
                let (passive, idle) = (*passive, *idle);
                let hello = RawHello { token: &token, user, session, passive, idle };
                self.raw_connect(conn, node, &hello, *beats);
            }
            Verb::Beat { conn } => {
                self.script_says(conn, &ClientFrame::Beat(Default::default()));
            }
            Verb::Idle { conn, idle } => {
                let frame = if *idle { ClientFrame::Idle } else { ClientFrame::Active };
                self.script_says(conn, &frame);
            }
            Verb::Own { conn, on } => self.script_says(conn, &ClientFrame::Own(*on)),
            Verb::Bye { conn } => {
                self.script_says(conn, &ClientFrame::Bye);
                self.script_leaves(conn);
            }
            Verb::Closing { conn } => {
                self.script_says(conn, &ClientFrame::Closing);
                self.script_leaves(conn);
            }
            Verb::Drop { conn } => {
                if let Some(raw) = self.raws.get(conn).map(|it| it.conn) {
                    self.script_leaves(conn);
                    self.conns[raw].client_open = true;
                    self.close_client_end(raw);
                }
            }
            Verb::Vanish { conn } => {
                if let Some(raw) = self.raws.get_mut(conn) {
                    raw.vanished = true;
                }
            }
            Verb::Mute { conn, until } => {
                if let Some(raw) = self.raws.get_mut(conn) {
                    raw.muted_until = *until;
                }
            }
            Verb::Note { user, note } => self.on_engine(|engine, now| {
                // The format's notes are short; one that is not stays untold, as over the wire.
                let _too_long = engine.set_note(now, user, note);
            }),
            Verb::Mode { user, mode } => {
                self.on_engine(|engine, now| engine.set_mode(now, user, *mode));
            }
            Verb::Revoke { user } => {
                let told = self.node_for_app().is_some();
                self.app.revoke(user, told);
                self.on_engine(|engine, now| engine.revoke(now, user));
            }
            Verb::Cut { node, cut } => {
                let node = self.node_index(node);
                self.nodes[node].cut = *cut;
            }
            Verb::Store { stands } => self.store_stands(*stands),
            Verb::Hold { node, until } => {
                let node = self.node_index(node);
                self.nodes[node].held_until = *until;
            }
            Verb::Drain { node } => {
                let node = self.node_index(node);
                self.drain_node(node);
            }
            Verb::Kill { node } => {
                let node = self.node_index(node);
                self.kill(node);
            }
            Verb::Start { node, empty } => {
                let node = self.node_index(node);
                self.start(node, *empty)?;
            }
            Verb::Pause { node, paused } => {
                let node = self.node_index(node);
                self.pause(node, *paused)?;
            }
            Verb::Refuse { node, until } => {
                let node = self.node_index(node);
                self.nodes[node].refuses_until = *until;
            }
            // No clock of a wall is used in either core (rule 11): there is nothing to skew.
            Verb::Skew { .. } => {}
            other => return self.device_step(other),
        }
        Ok(())
    }

    /// A scripted connection says a frame, unless its client is gone.
    fn script_says(&mut self, name: &str, frame: &ClientFrame<'_>) {
        let Some(raw) = self.raws.get(name) else { return };
        if !raw.vanished {
            self.raw_says(raw.conn, frame);
        }
    }

    /// The page of a scripted connection goes away: nothing more is said.
    fn script_leaves(&mut self, name: &str) {
        if let Some(raw) = self.raws.get_mut(name) {
            raw.leaving = true;
        }
    }

    pub(super) fn input(&mut self, device: usize, every: u64, until: u64) {
        if self.now > until {
            return;
        }
        self.device_input(device);
        let at = self.now + every.max(1);
        self.at(at, super::STEP, Task::Input { device, every, until });
    }
}
