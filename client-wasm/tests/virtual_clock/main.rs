//! The client core on a virtual clock. One test, one promise.
#![cfg(not(target_arch = "wasm32"))]
#![allow(unreachable_pub, reason = "one binary, no interface")]

mod beats;
mod chaos;
mod last_writer;
mod link;
mod pages;
mod rig;
mod scenarios;
mod scrolling;
mod tokens;
mod view;
mod watches;
