//! The few things of a browser that are used.
//!
//! web-sys and js-sys name them all, but linking them costs a page half a kilobyte even where
//! hardly any is used (they bring what asynchronous code would need), and that is a twentieth of
//! what this client may weigh. So these are declared by hand.

use wasm_bindgen::prelude::*;

use super::shell::Handler;

#[wasm_bindgen]
extern "C" {
    /// The host opens it.
    pub type WebSocket;

    #[wasm_bindgen(method, getter, js_name = readyState)]
    pub(super) fn ready_state(this: &WebSocket) -> u16;

    #[wasm_bindgen(method, setter, js_name = binaryType)]
    pub(super) fn set_binary_type(this: &WebSocket, kind: &str);

    #[wasm_bindgen(method, setter)]
    pub(super) fn set_onopen(this: &WebSocket, call: &JsValue);

    #[wasm_bindgen(method, setter)]
    pub(super) fn set_onmessage(this: &WebSocket, call: &JsValue);

    #[wasm_bindgen(method, setter)]
    pub(super) fn set_onclose(this: &WebSocket, call: &JsValue);

    /// Throws only while the socket is opening; nothing is sent then.
    #[wasm_bindgen(method)]
    pub(super) fn send(this: &WebSocket, bytes: &[u8]);

    /// Throws for codes that are reserved, 1006 among them, whatever has become of the socket.
    #[wasm_bindgen(method)]
    pub(super) fn close(this: &WebSocket, code: u16);

    /// What a socket's handler is given, of whichever kind.
    pub(super) type Event;

    #[wasm_bindgen(method, getter)]
    pub(super) fn code(this: &Event) -> u16;

    #[wasm_bindgen(method, getter)]
    pub(super) fn data(this: &Event) -> JsValue;

    pub(super) type Uint8Array;

    #[wasm_bindgen(constructor)]
    pub(super) fn new(buffer: &JsValue) -> Uint8Array;

    #[wasm_bindgen(method, getter)]
    pub(super) fn length(this: &Uint8Array) -> u32;

    #[wasm_bindgen(js_namespace = ["Uint8Array", "prototype", "set"], js_name = call)]
    pub(super) fn copy(into: &mut [u8], from: &Uint8Array);

    #[wasm_bindgen(js_namespace = performance, js_name = now)]
    pub(super) fn steady_now() -> f64;

    #[wasm_bindgen(js_namespace = Date, js_name = now)]
    pub(super) fn wall_now() -> f64;

    #[wasm_bindgen(js_name = setTimeout)]
    pub(super) fn set_timeout(call: &Handler, millis: f64) -> JsValue;

    #[wasm_bindgen(js_name = clearTimeout)]
    pub(super) fn clear_timeout(id: &JsValue);

    #[wasm_bindgen(js_name = queueMicrotask)]
    pub(super) fn queue_microtask(call: &Handler);
}
