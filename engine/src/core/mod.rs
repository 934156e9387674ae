//! The pure engine.
//!
//! [`Node`] is the whole of it. Its three parts meet only through typed messages, because they may
//! sit on different machines: [`leases`](self) (this node's sessions, their handles and
//! deadlines; knows no user state), [`directory`] (users, their sessions, mode, state, version; the
//! one place where a flip is decided) and [`watches`](self) (who looks at whom through which
//! gate, and what waits for them).
//!
//! # What things cost
//!
//! Bytes, counted at the allocator by `tests/bytes.rs` and row by row beside each table:
//!
//! | what | bytes |
//! | --- | --- |
//! | a session | 68: 8 that a heartbeat touches, 20 for what else its lease knows, 40 for its name, user and generation; and 4 to 8 on the wheel |
//! | a user | 40 with name, state, version, mode and last seen; and 7 to 11 in the index of names, while that grows up to 18 |
//! | a watch | 112 in its table, 12 for its place in an outbox, 8 in its user's list, 17 to 34 under its number |
//! | a connection that watches | 16 for its outbox, some 250 beside it |
//!
//! Names up to 22 bytes are in the rows, longer ones beside them. A token that ends, a device's label, a note, a room and a
//! mode hidden from others are kept only for those who have them.
//!
//! # What was tried
//!
//! Each by itself, before and after in turns, on two cores of a shared machine; `cargo xtask bench core` shows where it led.
//!
//! - *A lease in one row of 28 bytes, some of them across two cache lines:* 28.6 ns a heartbeat in random order at a million.
//!   The part that a heartbeat touches alone, in 16 bytes and in one piece of memory: 17 to 19 ns. What it is weighed against in
//!   4 bytes, in a table of their own, and what it writes in 8 bytes that it does not read: 5 ns there, 10.2 on a machine with a
//!   larger and slower third level of cache. Time and stamp in one word of 8 bytes, one line in place of two: 8.8 ns there, and
//!   one line less for each connection's end, look and session's end.
//! - *Rows that go by memory:* a processor that reads in words what it has just written in pieces waits until everything stored
//!   before has reached the cache. A profile showed a fifth of a connect each in copying a name and in reading two flags; later
//!   again a third of the look-up of the user, because the row lay in memory for the sake of a cold path that made room, and as
//!   much in a lease that was handed on and in a note that might be there. [`Name`]'s layout, inlining on the way into the
//!   table, room made before the row: 318 ns a connect before the last of these, 233 after, with the next.
//! - *An index of marks and places, in two lines:* the places' line is not in the cache when it is written, and behind it what
//!   a connect stores piles up until no more can be held back. Marks and places of a bucket in one line: the look-up brings
//!   what the insertion writes.
//! - *An index in 256 parts that grow by themselves:* no stall, but a fifth of a connect, since each reads names all over
//!   memory. Moving some rows with each new user, in the order of their rows: no stall either, and names are read as they lie.
//! - *Tables in one piece:* giving 40 MB back at once took 5 to 9 ms. In pieces of 4,096 rows, a few given back in each sweep,
//!   the longest step is about 1 ms, and no table is larger than needed. In steps of 1,024 sessions in place of 4,096: a
//!   quarter of that, and an end takes as long as before.
//! - *Three vectors for each session that ends*, to hold those of its user that end with it: a third of the instructions. Room
//!   that is kept: none.
//! - *A vector of marked watches for each viewer:* an allocation a watcher and change. A list through a table: none.
//! - *Outputs of 72 bytes for users that turn, names in them:* the name was put together from pieces, and an end waited for all
//!   that was stored before. 32 bytes without it, and the name when the driver takes it: the longest step at ten thousand went
//!   from 39 to 16 µs. Reading both halves of a row ahead, users in a pass of their own: the stall in taking a session out is gone.
//! - *Asking a shared store's part for names before asking whether there is such a store:* two allocations a drop, 1,424
//!   instructions; 468 without them.
//! - *An index in the order of hashes, 8 bytes a slot, larger by a third each time:* one line a connect instead of two or three, but
//!   370 instructions for moving entries, as many as the whole look-up takes now. Not taken.
//! - *Looking up user and session for each beat's answer:* two rows more; only the welcome and a mode need them: 333 to 144 ns
//!   for a beat that tells the age of the last input, and its answer.

mod audience;
pub mod directory;
mod gate;
mod leases;
mod moment;
mod name;
mod node;
mod seal;
mod settings;
mod slab;
mod table;
mod watches;
mod wheel;

pub use gate::{DELAY, Fineness, Glimpse, LastSeen, RECENTLY, THIS_WEEK};
pub use name::Name;
pub use node::{
    Answer, AudienceCounts, ConnId, Connect, Ending, Endings, FLAP, HeldSession, Lag, Mark, Node,
    NodeCounts, NodeTotals, Output, Refusal, RoomAnswer, SelfReport, Start, Transition, Who,
};
pub use seal::{seal, unseal};
pub use settings::{AudienceRule, CLIENTS_RETURN, Settings, SettingsError};
