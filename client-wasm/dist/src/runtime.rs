//! What std would bring along.
// Unsafe are here two claims about a module with one thread.
#![allow(unsafe_code)]

use core::arch::wasm32;
use core::panic::PanicInfo;
use core::ptr::NonNull;

use crate::bins::{Bins, PAGE, Source};

#[global_allocator]
static ALLOCATOR: Bins<Memory> = Bins::new(Memory);

// SAFETY: a module without the feature "atomics" has one thread; `exports` refuses to be built with it.
unsafe impl Sync for Bins<Memory> {}

/// The module's own memory, which grows at its end.
struct Memory;

// SAFETY: pages that a module has grown by are its own and zero, and nothing else in it asks for any. They begin at a
// multiple of their size.
unsafe impl Source for Memory {
    fn take(&self, bytes: usize) -> Option<NonNull<u8>> {
        let page = wasm32::memory_grow::<0>(bytes / PAGE);
        // Where there are no more, that is -1.
        NonNull::new(core::ptr::with_exposed_provenance_mut(page.checked_mul(PAGE)?))
    }
}

/// Traps. The client never unwinds, and a message would pull in all of `core::fmt`.
#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    wasm32::unreachable()
}
