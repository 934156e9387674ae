//! The module that a page loads: `greendot-client` with an allocator and a panic handler, and nothing else.
//!
//! It is a crate of its own because of its size. Without std no formatting code is linked and a panic is a bare trap
//! (`RuntimeError: unreachable` in the page); together with an allocator of its own that takes several kilobytes off. The
//! client itself stays an ordinary library, which tests build with std.
//!
//! "Duplicate lang item `panic_impl`" from this crate means that the client, or something below it, links std on
//! wasm32: `cargo tree -p greendot-wasm --target wasm32-unknown-unknown -e features` shows who asks for it.
#![cfg_attr(target_arch = "wasm32", no_std)]

// On the host only to be tested.
#[cfg(any(target_arch = "wasm32", test))]
mod bins;
#[cfg(target_arch = "wasm32")]
mod exports;
#[cfg(target_arch = "wasm32")]
mod runtime;
