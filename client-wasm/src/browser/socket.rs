//! The WebSocket of the present dial.

use core::cell::RefCell;

use greendot_protocol::SUBPROTOCOL_BINARY;
use wasm_bindgen::JsValue;

use super::host::Host;
use super::js::WebSocket;
use super::shell::Handler;
use crate::core::Dial;

/// The socket, if there is one. Whatever happens to it is told by calling one handler.
#[derive(Default)]
pub(super) struct Socket(RefCell<Option<(Dial, WebSocket)>>);

impl Socket {
    /// Whose socket it is, and how it stands: one of `WebSocket`'s ready states.
    pub(super) fn state(&self) -> Option<(Dial, u16)> {
        self.0.borrow().as_ref().map(|(dial, socket)| (*dial, socket.ready_state()))
    }

    /// Opens a connection; false if the browser refuses even to try.
    pub(super) fn open(&self, dial: Dial, host: &Host, node: u32, call: &Handler) -> bool {
        let Ok(socket) = host.socket(&host.url(node), SUBPROTOCOL_BINARY) else { return false };
        socket.set_binary_type("arraybuffer");
        hang(&socket, call.as_ref());
        *self.0.borrow_mut() = Some((dial, socket));
        true
    }

    pub(super) fn send(&self, dial: Dial, bytes: &[u8]) {
        if let Some((open, socket)) = &*self.0.borrow()
            && *open == dial
        {
            socket.send(bytes);
        }
    }

    /// Closes the connection, whatever it has come to, and hears no more of it.
    pub(super) fn close(&self, code: u16) {
        if let Some(socket) = self.forget() {
            socket.close(code);
        }
    }

    /// Hears no more of the connection. One that has ended must not be closed with the code it ended
    /// with: `close` throws for the codes that only a browser may give.
    pub(super) fn forget(&self) -> Option<WebSocket> {
        let (_, socket) = self.0.take()?;
        hang(&socket, &JsValue::NULL);
        Some(socket)
    }
}

fn hang(socket: &WebSocket, call: &JsValue) {
    socket.set_onopen(call);
    socket.set_onmessage(call);
    socket.set_onclose(call);
}
