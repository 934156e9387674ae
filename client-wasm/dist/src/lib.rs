//! The module that a page loads: `greendot-client` with an allocator and a panic handler, and nothing else.
//!
//! It is a crate of its own because of its size. Without std no formatting code is linked and a panic is a bare trap
//! (`RuntimeError: unreachable` in the page); together with a small allocator that takes several kilobytes off. The
//! client itself stays an ordinary library, which tests build with std.
//!
//! "Duplicate lang item `panic_impl`" from this crate means that the client, or something below it, links std on
//! wasm32: `cargo tree -p greendot-wasm --target wasm32-unknown-unknown -e features` shows who asks for it.
#![cfg_attr(target_arch = "wasm32", no_std)]

#[cfg(target_arch = "wasm32")]
mod exports;

#[cfg(target_arch = "wasm32")]
mod runtime {
    use core::panic::PanicInfo;

    use talc::wasm::{WasmDynamicTalc, new_wasm_dynamic_allocator};

    /// Talc is 2 KB smaller than the default allocator and, unlike the free lists that are smaller still, as quick.
    #[global_allocator]
    static ALLOCATOR: WasmDynamicTalc = new_wasm_dynamic_allocator();

    /// Traps. The client never unwinds, and a message would pull in all of `core::fmt`.
    #[panic_handler]
    fn panic(_: &PanicInfo<'_>) -> ! {
        core::arch::wasm32::unreachable()
    }
}
