//! The loop around the core.

use alloc::rc::{Rc, Weak};
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};

use greendot_protocol::Time;
use greendot_protocol::binary::{decode_server, encode_client};
use greendot_protocol::limits::SERVER_FRAME_BYTES;
use js_sys::Uint8Array;

use super::clock::{Clock, Timer};
use super::host::{Host, report};
use super::socket::{Socket, copy};
use crate::core::{Client, Config, Output, Page};

/// The core and all that it needs of a browser.
pub(super) struct Shell {
    core: RefCell<Client>,
    host: Host,
    clock: Clock,
    timer: Timer,
    socket: Socket,
    /// Frames on their way in or out.
    bytes: RefCell<Vec<u8>>,
    /// Itself, while a microtask is on its way.
    kept: Cell<Option<Rc<Self>>>,
    me: Weak<Self>,
    /// The outputs are being drained, further up the stack.
    draining: Cell<bool>,
    freed: Cell<bool>,
}

impl Shell {
    pub(super) fn new(host: Host, config: &Config<'_>) -> Rc<Self> {
        let clock = Clock::new();
        let now = clock.now();
        Rc::new_cyclic(|weak: &Weak<Self>| Self {
            core: RefCell::new(Client::new(now, config)),
            host,
            clock,
            timer: Timer::new(weak),
            kept: Cell::new(None),
            me: weak.clone(),
            socket: Socket::new(weak),
            bytes: RefCell::default(),
            draining: Cell::new(false),
            freed: Cell::new(false),
        })
    }

    /// Looks at the core.
    pub(super) fn look<T>(&self, at: impl FnOnce(&Client, Time) -> T) -> T {
        at(&self.core.borrow(), self.clock.now())
    }

    /// One input, then all that follows from it.
    #[inline(never)]
    pub(super) fn input(&self, call: &mut dyn FnMut(&mut Client, Time)) {
        let (now, jumped) = self.clock.read();
        {
            let core = &mut *self.core.borrow_mut();
            if jumped {
                core.handle_page(now, Page::Resumed);
            }
            call(core, now);
        }
        self.drain();
    }

    pub(super) fn timed(&self) {
        let _kept = self.kept.take();
        self.timer.fired();
        self.input(&mut Client::handle_timeout);
    }

    pub(super) fn opened(&self) {
        if let Some(dial) = self.socket.dial() {
            self.input(&mut |core, now| core.handle_opened(now, dial));
        }
    }

    pub(super) fn heard(&self, data: &Uint8Array) {
        let Some(dial) = self.socket.dial() else { return };
        // Taken out while it is in use: what follows from a frame may send some.
        let mut bytes = self.bytes.take();
        let frame = if data.length() as usize <= SERVER_FRAME_BYTES {
            copy(data, &mut bytes);
            decode_server(&bytes)
        } else {
            bytes.clear();
            decode_server(&bytes)
        };
        self.input(&mut |core, now| match &frame {
            Ok(Some(frame)) => core.handle_frame(now, dial, frame),
            Ok(None) => {}
            Err(_) => core.handle_unreadable(now, dial),
        });
        drop(frame);
        self.bytes.replace(bytes);
    }

    pub(super) fn closed(&self, code: u16) {
        if let Some(dial) = self.socket.dial() {
            self.socket.take();
            self.input(&mut |core, now| core.handle_closed(now, dial, code));
        }
    }

    /// The JavaScript object is gone.
    pub(super) fn free(&self) {
        self.freed.set(true);
        self.timer.disarm();
        if let Some(socket) = self.socket.take() {
            let _ = socket.close();
        }
    }

    /// Does all that the core wants done. Inputs made from inside a callback only add to it: the
    /// order of things is the core's.
    fn drain(&self) {
        if self.draining.replace(true) {
            return;
        }
        let mut untold = false;
        while !self.freed.get() {
            let output = self.core.borrow_mut().poll_output();
            match output {
                Some(output) => {
                    untold |= matches!(output, Output::Changed { .. });
                    self.obey(output);
                }
                None if core::mem::take(&mut untold) => report(self.host.flushed()),
                None => break,
            }
        }
        self.draining.set(false);
        self.arm();
    }

    fn arm(&self) {
        let deadline = self.core.borrow().deadline();
        match deadline {
            Some((due, _)) if !self.freed.get() => {
                if self.timer.arm(self.clock.now(), due) {
                    self.kept.set(self.me.upgrade());
                }
            }
            _ => self.timer.disarm(),
        }
    }

    fn obey(&self, output: Output) {
        match output {
            Output::NeedToken { dial } => report(self.host.need_token(dial.0)),
            Output::Dial { dial, node } => {
                let url = self.host.url(node);
                if !url.is_ok_and(|url| self.socket.dial_to(dial, &url)) {
                    self.input(&mut |core, now| core.handle_closed(now, dial, NOT_OPENED));
                }
            }
            Output::Send { dial, frame } => {
                let mut bytes = self.bytes.take();
                bytes.clear();
                encode_client(&frame.as_frame(), &mut bytes);
                self.socket.send(dial, &bytes);
                self.bytes.replace(bytes);
            }
            Output::CloseSocket { dial, code } => self.socket.close(dial, code),
            Output::Changed { part, row } => report(self.host.changed(part.0, row.0)),
            Output::Link { state, why, retry } => {
                let retry = retry.map_or(-1.0, |it| it.as_millis() as f64);
                report(self.host.link(state as u32, why.into(), retry));
            }
            Output::Stale(is) => report(self.host.stale(is)),
            Output::Mode(mode) => report(self.host.mode(mode as u32)),
            Output::Ticket(ticket) => report(self.host.ticket(&ticket)),
            Output::Error { code, about, text } => {
                report(self.host.error(code as u32, about, &text));
            }
        }
    }
}

/// A handler that does nothing once the shell is gone.
pub(super) fn on<T: 'static>(shell: &Weak<Shell>, call: fn(&Shell, T)) -> impl Fn(T) + 'static {
    let shell = shell.clone();
    move |event| {
        if let Some(shell) = shell.upgrade() {
            call(&shell, event);
        }
    }
}

/// WebSocket's code for a connection that did not come about.
const NOT_OPENED: u16 = 1006;
