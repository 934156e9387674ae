//! What the app is shown of the users it watches (rule 8).
//!
//! Each connection starts afresh: versions count only against what this connection has shown, and
//! the view of before stays, stale, until a snapshot of this connection speaks of the user. Inside
//! an epoch only a higher version is taken; a new epoch is entered only by a snapshot, and an
//! epoch once left is never heard again. Events that come before the snapshot they belong behind
//! are kept, the newest of each user and epoch, and weighed against it.

use alloc::boxed::Box;
use alloc::vec::Vec;

use greendot_protocol::sabotage::{Fault, on};
use greendot_protocol::{Entry, Epoch, Span, State, Time, Version};

use super::output::{Output, Queue, Row};
use super::rows::{Rows, Slot, Wire};

/// What the app sees of one user.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shown {
    pub(super) state: State,
    pub(super) version: Version,
    /// How long ago the user was last seen, and when that was said.
    pub(super) seen: Option<(Span, Time)>,
    /// Whether that is no more than a bound.
    pub(super) coarse: bool,
    pub(super) note: Box<str>,
}

impl Default for Shown {
    fn default() -> Self {
        Self {
            state: State::Unknown,
            version: Version(0),
            seen: None,
            coarse: false,
            note: Box::default(),
        }
    }
}

impl Shown {
    fn of(now: Time, entry: &Entry<'_>) -> Self {
        Self {
            state: entry.state,
            version: entry.version,
            seen: entry.seen_ago.map(|ago| (ago, now)),
            coarse: entry.coarse,
            note: entry.note.into(),
        }
    }

    /// What a user looks like who is not listed: offline, and never seen.
    fn absent(version: Version) -> Self {
        Self { state: State::Offline, version, ..Self::default() }
    }
}

/// An event kept for the snapshot it belongs behind.
#[derive(Debug)]
pub(super) struct Early {
    epoch: Epoch,
    shown: Shown,
}

/// The epochs of one connection.
#[derive(Debug, Default)]
pub(super) struct Epochs {
    current: Option<Epoch>,
    left: Vec<Epoch>,
    snapshots: u32,
}

/// Epochs that are remembered as left. A store is lost rarely; more than this on one connection
/// is a server gone wrong, and must not fill the memory.
const LEFT: usize = 64;

impl Epochs {
    /// Takes a snapshot; whether it was of an epoch that is still heard.
    pub(super) fn snapshot(
        &mut self,
        now: Time,
        rows: &mut Rows,
        epoch: Epoch,
        request: u32,
        entries: &[Entry<'_>],
        out: &mut Queue,
    ) -> bool {
        if self.left.contains(&epoch) {
            return false;
        }
        if self.current != Some(epoch) {
            self.enter(epoch);
        }
        self.snapshots = self.snapshots.wrapping_add(1);
        for entry in entries {
            let Some((row, slot)) = asked(rows, entry.number) else { continue };
            slot.listed = self.snapshots;
            let stands = slot.epoch == Some(epoch) && entry.version <= slot.shown.version;
            if !stands {
                settle(row, slot, epoch, Shown::of(now, entry), out);
            }
        }
        // A snapshot without request speaks of every watch that the server knew when it made it:
        // of those whose own answer is still to come it knew nothing.
        let speaks_of = |slot: &Slot| match slot.wire {
            Wire::Asked(_) if request == 0 => slot.epoch.is_some(),
            Wire::Asked(asked) => asked == request,
            _ => false,
        };
        for (at, slot) in rows.slots() {
            if slot.listed != self.snapshots && speaks_of(slot) {
                // Within its epoch a user's version never goes back, not even for the absent.
                let least = if slot.epoch == Some(epoch) { slot.shown.version } else { Version(0) };
                settle(Row(at), slot, epoch, Shown::absent(least), out);
            }
        }
        true
    }

    /// Takes events.
    pub(super) fn events(
        &mut self,
        now: Time,
        rows: &mut Rows,
        epoch: Epoch,
        entries: &[Entry<'_>],
        out: &mut Queue,
    ) {
        if self.left.contains(&epoch) && !on(Fault::EpochUnchecked) {
            return;
        }
        for entry in entries {
            let Some((row, slot)) = asked(rows, entry.number) else { continue };
            let current = self.current == Some(epoch) && slot.epoch == Some(epoch);
            if current || on(Fault::EpochUnchecked) {
                if entry.version > slot.shown.version || on(Fault::VersionUnchecked) {
                    show(row, slot, Shown::of(now, entry), out);
                }
                continue;
            }
            keep(&mut slot.early, epoch, Shown::of(now, entry));
        }
    }

    fn enter(&mut self, epoch: Epoch) {
        if let Some(left) = self.current.replace(epoch) {
            if self.left.len() >= LEFT {
                self.left.clear();
            }
            self.left.push(left);
        }
    }
}

/// Shows nobody's state any more, because nobody can say (rule 12 c): but of those of whom the present connection, which
/// others wait for still, has spoken.
pub(super) fn forget(rows: &mut Rows, out: &mut Queue) {
    if on(Fault::ViewKept) {
        return;
    }
    for (at, slot) in rows.slots() {
        if slot.user.is_some() && slot.epoch.is_none() {
            show(Row(at), slot, Shown::default(), out);
        }
    }
}

/// The row that a number on the wire stands for, if it was asked for on this connection.
fn asked(rows: &mut Rows, number: u32) -> Option<(Row, &mut Slot)> {
    let row = Row(number.checked_sub(1)?);
    let slot = rows.get_mut(row)?;
    matches!(slot.wire, Wire::Asked(_)).then_some((row, slot))
}

/// Epochs of which a user's events are kept at a time, those included whose snapshot came without
/// a word of the user. A node begins another one only when its store has lost data, and sends the
/// snapshots at once: so many on their way together are a server gone wrong, which must not fill
/// the memory. The oldest makes room, the one most likely to be over.
const EARLY: usize = 8;

/// Keeps an event for its epoch's snapshot, unless a newer one is kept already.
fn keep(early: &mut Vec<Early>, epoch: Epoch, shown: Shown) {
    match early.iter_mut().find(|it| it.epoch == epoch) {
        Some(kept) if kept.shown.version >= shown.version => {}
        Some(kept) => kept.shown = shown,
        None => {
            if early.len() >= EARLY {
                early.remove(0);
            }
            early.push(Early { epoch, shown });
        }
    }
}

/// A snapshot's word, unless an event that came before it is newer.
fn settle(row: Row, slot: &mut Slot, epoch: Epoch, mut word: Shown, out: &mut Queue) {
    slot.epoch = Some(epoch);
    for early in core::mem::take(&mut slot.early) {
        if early.epoch != epoch {
            slot.early.push(early);
        } else if early.shown.version > word.version && !on(Fault::VersionUnchecked) {
            word = early.shown;
        }
    }
    show(row, slot, word, out);
}

/// Puts `shown` into the view, and tells those who watch if it looks different.
fn show(row: Row, slot: &mut Slot, shown: Shown, out: &mut Queue) {
    let differs = slot.shown.state != shown.state || slot.shown.note != shown.note;
    slot.shown = shown;
    if differs {
        for &part in &slot.listeners {
            out.push(Output::Changed { part, row });
        }
    }
}
