//! The allocator: a list of free blocks for each power of two.
//!
//! It is written by hand because of its size: with talc, the smallest general one that is as quick, a page loads half a
//! kilobyte more, of twenty. For that, a block is up to twice what was asked for, and one that is free is used again for its
//! own size alone. So memory grows to the most that was ever held of each size, and no further: a client holds some hundred
//! bytes a watched user, and one frame at a time of at most 512 KB.
// An allocator hands out memory: that is unsafe by its nature. Each use says why it holds.
#![allow(unsafe_code)]

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use core::ptr::{self, NonNull};

/// Where memory comes from.
///
/// # Safety
///
/// What it gives is nobody else's, for ever, as long as asked for, and begins at a multiple of [`LEAST`].
pub(crate) unsafe trait Source {
    /// So many bytes in a row, a multiple of [`PAGE`]; none if there are no more.
    fn take(&self, bytes: usize) -> Option<NonNull<u8>>;
}

/// Memory is taken in pages, WebAssembly's.
pub(crate) const PAGE: usize = 65_536;

/// The smallest block: room for a free one's link, and the strictest alignment that anything here wants.
const LEAST: usize = 16;

/// As many sizes as there are powers of two in 32 bits.
const SIZES: usize = 32;

/// A free block begins with the next free one of its size, or null.
type Link = Cell<*mut u8>;

pub(crate) struct Bins<S> {
    source: S,
    free: [Link; SIZES],
    /// What was taken last and not handed out yet: where it begins, and how much it is.
    rest: Link,
    left: Cell<usize>,
}

impl<S: Source> Bins<S> {
    pub(crate) const fn new(source: S) -> Self {
        Self {
            source,
            free: [const { Cell::new(ptr::null_mut()) }; SIZES],
            rest: Cell::new(ptr::null_mut()),
            left: Cell::new(0),
        }
    }

    /// A block that never was in use; null if there is no more memory.
    fn fresh(&self, size: usize) -> *mut u8 {
        if self.left.get() < size {
            let bytes = size.next_multiple_of(PAGE);
            let Some(more) = self.source.take(bytes) else { return ptr::null_mut() };
            // Pages mostly follow each other, and then nothing is lost of what was left.
            if self.rest.get().wrapping_add(self.left.get()) != more.as_ptr() {
                self.rest.set(more.as_ptr());
                self.left.set(0);
            }
            self.left.set(self.left.get() + bytes);
        }
        let block = self.rest.get();
        self.rest.set(block.wrapping_add(size));
        self.left.set(self.left.get() - size);
        block
    }
}

/// Which power of two holds it; none if it is none of ours.
fn power_of(layout: Layout) -> Option<u32> {
    // Sizes are below 2^31 here, the largest that a `Layout` can have where addresses have 32 bits.
    (layout.align() <= LEAST)
        .then(|| layout.size().max(LEAST).next_power_of_two().trailing_zeros())
        .filter(|&power| (power as usize) < SIZES)
}

// SAFETY: a block is either in the list of its size or with whoever asked for it: `alloc` takes it out before it gives it
// away, and `dealloc` is called once for each. Blocks do not overlap, as `fresh` cuts each from what no other has. Each begins
// at a multiple of `LEAST`, because the source does and all sizes are; stricter alignments are refused. A size is the power
// of two at or above what the layout says, which is the same when a block comes back, and never below what was asked for.
unsafe impl<S: Source> GlobalAlloc for Bins<S> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(power) = power_of(layout) else { return ptr::null_mut() };
        let free = &self.free[power as usize];
        let block = free.get();
        if block.is_null() {
            return self.fresh(1 << power);
        }
        // SAFETY: a block in the list is at least `LEAST` bytes, aligned for it, and begins with what `dealloc` wrote.
        free.set(unsafe { block.cast::<*mut u8>().read() });
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let Some(power) = power_of(layout) else { return };
        let free = &self.free[power as usize];
        // SAFETY: the block is nobody's any more, at least `LEAST` bytes, and aligned for it.
        unsafe { block.cast::<*mut u8>().write(free.get()) };
        free.set(block);
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises that the new size, too, makes a layout.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        if power_of(new) == power_of(layout) {
            return block;
        }
        // SAFETY: the layout has a size, as the caller promises.
        let moved = unsafe { self.alloc(new) };
        if !moved.is_null() {
            // SAFETY: both blocks hold the smaller of the two sizes, and the new one is another than the old one, which is given
            // back once and not looked at again.
            unsafe {
                ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
                self.dealloc(block, layout);
            }
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// Pages of a test: some in a row, then a gap, as where somebody else grows the memory, too.
    #[derive(Default)]
    struct Pages {
        held: RefCell<Vec<Vec<u128>>>,
        taken: Cell<usize>,
        most: Option<usize>,
    }

    // SAFETY: each is a vector of its own, kept until the end, of 16 bytes an item.
    unsafe impl Source for &Pages {
        fn take(&self, bytes: usize) -> Option<NonNull<u8>> {
            self.taken.set(self.taken.get() + bytes);
            if self.most.is_some_and(|most| self.taken.get() > most) {
                return None;
            }
            let mut held = self.held.borrow_mut();
            held.push(vec![0; bytes / 16]);
            NonNull::new(held.last_mut()?.as_mut_ptr().cast())
        }
    }

    struct Held {
        block: *mut u8,
        layout: Layout,
        mark: u8,
    }

    impl Held {
        fn bytes(&mut self) -> &mut [u8] {
            // SAFETY: it was handed out with this size, and is nobody else's: that is what the test is about.
            unsafe { std::slice::from_raw_parts_mut(self.block, self.layout.size()) }
        }

        /// Whether all is as it was written.
        fn is_whole(&mut self) -> bool {
            let mark = self.mark;
            self.bytes().iter().all(|&it| it == mark)
        }
    }

    #[test]
    fn blocks_are_apart_aligned_and_keep_what_is_written() {
        let pages = Pages::default();
        let bins = Bins::new(&pages);
        let mut held: Vec<Held> = Vec::new();
        let mut seed = 1u64;
        let mut draw = |most: usize| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % most
        };
        for step in 0..50_000u32 {
            let power = draw(15);
            let size = 1 + draw(1 << power);
            match draw(3) {
                0 if !held.is_empty() => {
                    let mut it = held.swap_remove(draw(held.len()));
                    assert!(it.is_whole(), "step {step}");
                    // SAFETY: handed out by these bins, with this layout, and forgotten here.
                    unsafe { bins.dealloc(it.block, it.layout) };
                }
                1 if !held.is_empty() => {
                    let at = draw(held.len());
                    let it = &mut held[at];
                    // SAFETY: handed out by these bins, with this layout.
                    it.block = unsafe { bins.realloc(it.block, it.layout, size) };
                    let kept = it.layout.size().min(size);
                    it.layout = Layout::from_size_align(size, it.layout.align()).unwrap();
                    let mark = it.mark;
                    assert!(it.bytes()[..kept].iter().all(|&byte| byte == mark), "step {step}");
                    it.bytes().fill(mark);
                }
                _ if held.len() < 200 => {
                    let layout = Layout::from_size_align(size, 1 << draw(5)).unwrap();
                    // SAFETY: the layout has a size.
                    let block = unsafe { bins.alloc(layout) };
                    assert!(!block.is_null() && block.addr().is_multiple_of(layout.align()));
                    let mut it = Held { block, layout, mark: step as u8 };
                    it.bytes().fill(step as u8);
                    held.push(it);
                }
                _ => {}
            }
        }
        assert!(held.iter_mut().all(Held::is_whole));
        // 200 blocks of at most 16 KB each, and of each size no more than were ever held.
        assert!(pages.taken.get() < 200 * 16_384, "{} bytes", pages.taken.get());
    }

    #[test]
    fn what_is_given_back_is_used_again() {
        let pages = Pages::default();
        let bins = Bins::new(&pages);
        for size in (1..3_000).cycle().take(100_000) {
            let layout = Layout::from_size_align(size, 8).unwrap();
            // SAFETY: the layout has a size, and the block comes back with the same.
            unsafe { bins.dealloc(bins.alloc(layout), layout) };
        }
        assert_eq!(pages.taken.get(), PAGE);
    }

    #[test]
    fn what_cannot_be_had_is_refused() {
        let pages = Pages { most: Some(2 * PAGE), ..Pages::default() };
        let bins = Bins::new(&pages);
        let refused = |size, align| {
            // SAFETY: the layout has a size.
            unsafe { bins.alloc(Layout::from_size_align(size, align).unwrap()) }.is_null()
        };
        assert!(refused(8, 32), "a stricter alignment");
        assert!(!refused(PAGE, 16));
        assert!(!refused(PAGE / 2, 16), "what is left serves");
        assert!(refused(PAGE * 2, 16), "no more memory");
        assert!(!refused(PAGE / 2, 16), "which leaves the rest as it was");
    }
}
