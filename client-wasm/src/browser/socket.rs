//! The WebSocket of the present dial.

use alloc::rc::Weak;
use alloc::vec::Vec;
use core::cell::RefCell;

use greendot_protocol::SUBPROTOCOL_BINARY;
use js_sys::Uint8Array;
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;
use web_sys::{BinaryType, CloseEvent, MessageEvent, WebSocket};

use super::shell::{Shell, on};
use crate::core::Dial;

/// The socket and its handlers. There is one at a time; handlers are made once and hung on each.
pub(super) struct Socket {
    open: RefCell<Option<(Dial, WebSocket)>>,
    on_open: Closure<dyn Fn()>,
    on_message: Closure<dyn Fn(MessageEvent)>,
    on_close: Closure<dyn Fn(CloseEvent)>,
}

impl Socket {
    pub(super) fn new(shell: &Weak<Shell>) -> Self {
        let opened = on(shell, |shell, ()| shell.opened());
        Self {
            open: RefCell::new(None),
            on_open: Closure::new(move || opened(())),
            on_message: Closure::new(on(shell, |shell, event: MessageEvent| {
                shell.heard(&Uint8Array::new(&event.data()));
            })),
            on_close: Closure::new(on(shell, |shell, event: CloseEvent| {
                shell.closed(event.code());
            })),
        }
    }

    /// Whose events come in.
    pub(super) fn dial(&self) -> Option<Dial> {
        self.open.borrow().as_ref().map(|(dial, _)| *dial)
    }

    /// Opens a connection; false if the browser refuses even to try.
    pub(super) fn dial_to(&self, dial: Dial, url: &str) -> bool {
        self.take();
        let Ok(socket) = WebSocket::new_with_str(url, SUBPROTOCOL_BINARY) else { return false };
        socket.set_binary_type(BinaryType::Arraybuffer);
        socket.set_onopen(Some(self.on_open.as_ref().unchecked_ref()));
        socket.set_onmessage(Some(self.on_message.as_ref().unchecked_ref()));
        socket.set_onclose(Some(self.on_close.as_ref().unchecked_ref()));
        *self.open.borrow_mut() = Some((dial, socket));
        true
    }

    pub(super) fn send(&self, dial: Dial, bytes: &[u8]) {
        let socket = match &*self.open.borrow() {
            Some((open, socket)) if *open == dial => socket.clone(),
            _ => return,
        };
        // It only fails while the socket is not open, and then its end is on its way.
        let _ = socket.send_with_u8_array(bytes);
    }

    /// Closes the dial's connection, whatever it has come to.
    pub(super) fn close(&self, dial: Dial, code: u16) {
        if self.dial() == Some(dial)
            && let Some(socket) = self.take()
        {
            let _ = socket.close_with_code(code);
        }
    }

    /// Lets go of the socket: nothing of it is heard any more.
    pub(super) fn take(&self) -> Option<WebSocket> {
        let (_, socket) = self.open.take()?;
        socket.set_onopen(None);
        socket.set_onmessage(None);
        socket.set_onclose(None);
        Some(socket)
    }
}

/// Copies what was heard, into memory that is used again and again.
pub(super) fn copy(from: &Uint8Array, into: &mut Vec<u8>) {
    into.clear();
    into.resize(from.length() as usize, 0);
    from.copy_to(into);
}
