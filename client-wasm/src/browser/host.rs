//! What the JavaScript side provides.

use alloc::string::String;

use wasm_bindgen::prelude::*;

use super::js::WebSocket;

#[wasm_bindgen]
extern "C" {
    /// The object that the app's side implements, called after every borrow has ended.
    ///
    /// It must not throw. If it does, what else there was to tell waits for the next input or
    /// timer, and nothing is lost.
    #[wasm_bindgen(typescript_type = "object")]
    pub type Host;

    /// A token is wanted; answered by `token` or `tokenFailed` with the same number.
    #[wasm_bindgen(method, js_name = needToken)]
    pub fn need_token(this: &Host, dial: u32);

    /// The URL of a node.
    #[wasm_bindgen(method)]
    pub fn url(this: &Host, node: u32) -> String;

    /// A WebSocket to this address, in this subprotocol.
    ///
    /// # Errors
    ///
    /// What its constructor throws.
    #[wasm_bindgen(method, catch)]
    pub fn socket(this: &Host, url: &str, protocol: &str) -> Result<WebSocket, JsValue>;

    /// A state or note in this part's view has changed.
    #[wasm_bindgen(method)]
    pub fn changed(this: &Host, part: u32, row: u32);

    /// What is known of a room has changed.
    #[wasm_bindgen(method)]
    pub fn room(this: &Host, room: u32);

    /// The link's state has changed.
    #[wasm_bindgen(method)]
    pub fn link(this: &Host, state: u32, why: u32, retry_ms: f64);

    /// Whether the view may be old.
    #[wasm_bindgen(method)]
    pub fn stale(this: &Host, is: bool);

    /// The user's own mode.
    #[wasm_bindgen(method)]
    pub fn mode(this: &Host, mode: u32);

    /// Something was not done.
    #[wasm_bindgen(method)]
    pub fn error(this: &Host, code: u32, about: u32, text: &str);

    /// Say `closing` to this node by a beacon.
    #[wasm_bindgen(method)]
    pub fn beacon(this: &Host, node: u32, ticket: &str);
}
