//! The client core on a virtual clock. One test, one promise.
#![cfg(not(target_arch = "wasm32"))]
#![allow(missing_docs)]

mod rig;
mod scenarios;
