//! What the page calls: the methods of [`Face`], one by one.
// Unsafe are here the names of exports, which must be unlike all others in the module, and one claim, below.
#![allow(unsafe_code)]

use core::cell::RefCell;

use greendot_client::face::Face;

struct Page(RefCell<Face>);

// SAFETY: a module without the feature "atomics", which is refused below, has one thread.
unsafe impl Sync for Page {}

#[cfg(target_feature = "atomics")]
compile_error!("with threads the clients of a page need a lock");

static PAGE: Page = Page(RefCell::new(Face::new()));

macro_rules! exports {
    ($( $name:ident($($argument:ident: $type:ty),*) $(-> $answer:ty)? => $call:expr; )*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $name($($argument: $type),*) $(-> $answer)? {
                let call: fn(&mut Face $(, $type)*) $(-> $answer)? = $call;
                // Nothing in there calls out, so no call finds another one under way.
                call(&mut PAGE.0.borrow_mut() $(, $argument)*)
            }
        )*
    };
}

exports! {
    give(size: usize) -> *mut u8 => Face::room_for;
    told() -> *const u32 => |face| face.told();
    open(now: f64, size: usize, nodes: u32, idle_after_secs: i32, seed: u32, seed2: u32) -> u32 =>
        |face, now, size, nodes, idle, seed, seed2| face.open(now, size, nodes, idle, [seed, seed2]);
    free(client: u32) => Face::free;
    say(client: u32, now: f64, kind: u32, a: u32, b: u32, size: usize) -> u32 =>
        |face, client, now, kind, a, b, size| face.say(client, now, kind, [a, b], size);
    poll(client: u32) -> u32 => Face::poll;
    due(client: u32) -> f64 => |face, client| face.deadline(client);
    state(client: u32, row: u32) -> u32 => |face, client, row| face.state(client, row);
    seen(client: u32, now: f64, row: u32) -> f64 =>
        |face, client, now, row| face.seen_ago_ms(client, now, row);
    note(client: u32, row: u32) => Face::note;
    room(client: u32, room: u32) => Face::room;
}
