//! The loop around the core.

use alloc::rc::{Rc, Weak};
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};

use greendot_protocol::binary::{decode_but_sessions, encode_client};
use greendot_protocol::limits::SERVER_FRAME_BYTES;
use wasm_bindgen::prelude::*;

use super::clock::{Clock, Timer};
use super::host::Host;
use super::input::Input;
use super::js::{Event, Uint8Array, copy};
use super::socket::Socket;
use crate::core::{Client, Config, Dial, Output, Page, Row};

/// What the browser calls for all that happens: the timer without an argument, the socket with its
/// event. One closure, because each kind of it costs code on both sides.
pub(super) type Handler = Closure<dyn Fn(JsValue)>;

/// The core and all that it needs of a browser.
pub(super) struct Shell {
    pub(super) core: RefCell<Client>,
    host: Host,
    pub(super) clock: Clock,
    timer: Timer,
    socket: Socket,
    handler: Handler,
    me: Weak<Self>,
    /// Itself, while a microtask is on its way.
    kept: Cell<Option<Rc<Self>>>,
    freed: Cell<bool>,
}

impl Shell {
    pub(super) fn new(host: Host, config: &Config<'_>) -> Rc<Self> {
        let clock = Clock::default();
        Rc::new_cyclic(|me: &Weak<Self>| {
            let called = me.clone();
            Self {
                core: RefCell::new(Client::new(clock.now(), config)),
                host,
                clock,
                timer: Timer::new(),
                socket: Socket::default(),
                handler: Closure::new(move |event| {
                    if let Some(shell) = called.upgrade() {
                        shell.called(event);
                    }
                }),
                me: me.clone(),
                kept: Cell::new(None),
                freed: Cell::new(false),
            }
        })
    }

    /// One input, then all that follows from it.
    #[inline(never)]
    pub(super) fn input(&self, input: Input<'_>) -> Row {
        let (now, jumped) = self.clock.read();
        let (row, deadline) = {
            let core = &mut *self.core.borrow_mut();
            if jumped {
                core.handle_page(now, Page::Resumed);
            }
            (input.say(core, now), core.deadline())
        };
        // Before anything is told: a callback that throws must not leave the client without.
        match deadline {
            Some((due, _)) if !self.freed.get() => {
                if self.timer.arm(now, due, &self.handler) {
                    self.kept.set(self.me.upgrade());
                }
            }
            _ => self.timer.disarm(),
        }
        self.drain();
        row
    }

    /// Something happened.
    fn called(&self, event: JsValue) {
        if event.is_undefined() {
            let _kept = self.kept.take();
            self.timer.fired();
            self.input(Input::Timeout);
            return;
        }
        let Some((dial, state)) = self.socket.state() else { return };
        let data = event.unchecked_ref::<Event>().data();
        // A message first: it may have waited in a frozen page until behind it the socket had closed.
        if !data.is_undefined() {
            self.heard(dial, &Uint8Array::new(&data));
        } else if state >= CLOSING {
            self.socket.forget();
            self.input(Input::Closed(dial, event.unchecked_ref::<Event>().code()));
        } else {
            self.input(Input::Opened(dial));
        }
    }

    fn heard(&self, dial: Dial, data: &Uint8Array) {
        let mut bytes = Vec::new();
        // One that is too large is left unread, which is no frame either.
        if data.length() as usize <= SERVER_FRAME_BYTES {
            bytes.resize(data.length() as usize, 0);
            copy(&mut bytes, data);
        }
        // A user's own sessions are read beside this, in a part of the package that few pages load.
        match &decode_but_sessions(&bytes) {
            Ok(Some(frame)) => _ = self.input(Input::Frame(dial, frame)),
            Ok(None) => {}
            Err(_) => _ = self.input(Input::Unreadable(dial)),
        }
    }

    /// The JavaScript object is gone.
    pub(super) fn free(&self) {
        self.freed.set(true);
        self.timer.disarm();
        self.socket.close(GOING_AWAY);
    }

    /// Does all that the core wants done. What a callback causes is done inside that callback,
    /// and the order of things stays the core's.
    fn drain(&self) {
        while !self.freed.get() {
            let output = self.core.borrow_mut().poll_output();
            let Some(output) = output else { break };
            self.obey(output);
        }
    }

    fn obey(&self, output: Output) {
        match output {
            Output::NeedToken { dial } => self.host.need_token(dial.0),
            Output::Dial { dial, node } => {
                if !self.socket.open(dial, &self.host, node, &self.handler) {
                    self.input(Input::Closed(dial, NOT_OPENED));
                }
            }
            Output::Send { dial, frame } => {
                let mut bytes = Vec::new();
                encode_client(&frame.as_frame(), &mut bytes);
                self.socket.send(dial, &bytes);
            }
            Output::CloseSocket { dial, code } => {
                if self.socket.state().is_some_and(|(open, _)| open == dial) {
                    self.socket.close(code);
                }
            }
            Output::Changed { part, row } => self.host.changed(part.0, row.0),
            Output::Room(room) => self.host.room(room.0),
            Output::Link { state, why, retry } => {
                let retry = retry.map_or(-1.0, |it| it.as_millis() as f64);
                self.host.link(state as u32, why.into(), retry);
            }
            Output::Stale(is) => self.host.stale(is),
            Output::Mode(mode) => self.host.mode(mode as u32),
            Output::Beacon { node, ticket } => self.host.beacon(node, &ticket),
            Output::Error { code, about, text } => self.host.error(code as u32, about, &text),
        }
    }
}

/// The ready state from which on a socket is of no use.
const CLOSING: u16 = 2;

/// WebSocket's codes for a page that goes, and for a connection that did not come about.
const GOING_AWAY: u16 = 1000;
const NOT_OPENED: u16 = 1006;
