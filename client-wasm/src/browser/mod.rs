//! The browser shell: the only code here that knows a browser.
//!
//! It decides nothing. It turns what the page, the socket and the clock say into inputs of the
//! [core](crate::core), and does what comes out. Every call into JavaScript is made while no part
//! of the client is borrowed, so that whatever is called may call back.
// What wasm-bindgen generates holds `unsafe`; none is written here by hand.
#![allow(unsafe_code)]

mod clock;
mod face;
mod host;
mod input;
mod js;
mod shell;
mod socket;

pub use face::Client;
pub use host::Host;
