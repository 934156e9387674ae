//! What the JavaScript side provides.

use alloc::string::String;

use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// The object that the app's side implements, called after every borrow has ended. What it
    /// throws is reported on the console and harms nothing.
    #[wasm_bindgen(typescript_type = "object")]
    pub type Host;

    /// A token is wanted; answered by `token` or `tokenFailed` with the same number.
    #[wasm_bindgen(method, catch, js_name = needToken)]
    pub fn need_token(this: &Host, dial: u32) -> Result<(), JsValue>;

    /// The URL of a node.
    #[wasm_bindgen(method, catch)]
    pub fn url(this: &Host, node: u32) -> Result<String, JsValue>;

    /// A state or note in this part's view has changed.
    #[wasm_bindgen(method, catch)]
    pub fn changed(this: &Host, part: u32, row: u32) -> Result<(), JsValue>;

    /// The changes told before came together.
    #[wasm_bindgen(method, catch)]
    pub fn flushed(this: &Host) -> Result<(), JsValue>;

    /// The link's state has changed.
    #[wasm_bindgen(method, catch)]
    pub fn link(this: &Host, state: u32, why: u32, retry_ms: f64) -> Result<(), JsValue>;

    /// Whether the view may be old.
    #[wasm_bindgen(method, catch)]
    pub fn stale(this: &Host, is: bool) -> Result<(), JsValue>;

    /// The user's own mode.
    #[wasm_bindgen(method, catch)]
    pub fn mode(this: &Host, mode: u32) -> Result<(), JsValue>;

    /// Something was not done.
    #[wasm_bindgen(method, catch)]
    pub fn error(this: &Host, code: u32, about: u32, text: &str) -> Result<(), JsValue>;

    /// The right to say `closing` by a beacon.
    #[wasm_bindgen(method, catch)]
    pub fn ticket(this: &Host, ticket: &str) -> Result<(), JsValue>;

    #[wasm_bindgen(js_namespace = console, js_name = error)]
    fn console_error(what: &JsValue);
}

/// A callback that throws has a fault of its own; it must not take the client along.
pub(super) fn report(result: Result<(), JsValue>) {
    if let Err(error) = result {
        console_error(&error);
    }
}
