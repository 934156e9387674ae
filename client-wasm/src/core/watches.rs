//! Which users the present connection is asked to show.
//!
//! What the app begins to watch in one tick goes out as one frame, and what it stops watching is
//! kept for a moment: a list scrolled quickly costs few frames, and a user who is back in sight
//! within that moment none.

use alloc::sync::Arc;
use alloc::vec::Vec;

use greendot_protocol::limits::{CLIENT_FRAME_BYTES, WATCHES};
use greendot_protocol::{Span, Time};

use super::output::{Message, Row};
use super::rows::{Rows, Wire};

/// The watches of one connection.
#[derive(Debug, Default)]
pub(super) struct Watches {
    /// The newest request's number; 0: none yet.
    request: u32,
    /// Requests of the connection's start that are not answered yet.
    awaited: Vec<u32>,
    pub(super) flush_at: Option<Time>,
    pub(super) unwatch_at: Option<Time>,
}

/// What has to be said, and whom there was no room for.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    pub(super) frames: Vec<Message>,
    pub(super) over: Vec<Row>,
}

impl Watches {
    /// Everyone, on a new connection.
    pub(super) fn start(&mut self, rows: &mut Rows) -> Traffic {
        let traffic = self.flush(rows);
        self.awaited = (1..=self.request).collect();
        traffic
    }

    /// Whether everyone asked for at the connection's start has been answered.
    pub(super) fn are_loaded(&self) -> bool {
        self.awaited.is_empty()
    }

    /// Someone is newly watched.
    pub(super) fn begun(&mut self, now: Time) {
        self.flush_at.get_or_insert(now);
    }

    /// Someone on the wire is watched no more.
    pub(super) fn ended(&mut self, now: Time) {
        self.unwatch_at.get_or_insert(now + HELD_BACK);
    }

    /// Asks for those who were not asked for yet; ends the needless ones too, if their room is
    /// wanted.
    pub(super) fn flush(&mut self, rows: &mut Rows) -> Traffic {
        self.flush_at = None;
        let (mut taken, mut wanted) = (0, 0);
        for (_, slot) in rows.slots() {
            match slot.wire {
                Wire::Asked(_) => taken += 1,
                Wire::Off | Wire::Over if !slot.listeners.is_empty() => wanted += 1,
                _ => {}
            }
        }
        if taken + wanted > WATCHES && self.unwatch_at.is_some() {
            return self.unwatch(rows);
        }
        let mut traffic = Traffic::default();
        self.ask(rows, WATCHES.saturating_sub(taken), &mut traffic);
        traffic
    }

    /// Ends what nobody needs, and lets in those who had no room.
    pub(super) fn unwatch(&mut self, rows: &mut Rows) -> Traffic {
        self.unwatch_at = None;
        let mut traffic = Traffic::default();
        let mut numbers = Vec::new();
        let mut taken = 0;
        for (at, slot) in rows.slots() {
            if matches!(slot.wire, Wire::Asked(_)) {
                if slot.listeners.is_empty() {
                    numbers.push(number_of(at));
                } else {
                    taken += 1;
                }
            }
        }
        for number in &numbers {
            // Behind the answer to the next request nothing about these can come any more.
            rows.remove(Row(number - 1), Some(self.request + 1));
        }
        if !numbers.is_empty() {
            traffic.frames.push(Message::Unwatch { numbers });
        }
        self.ask(rows, WATCHES.saturating_sub(taken), &mut traffic);
        traffic
    }

    /// A snapshot has come in answer to `request`.
    pub(super) fn answered(&mut self, rows: &mut Rows, request: u32) {
        self.awaited.retain(|&it| it != request);
        rows.wake_resting(request);
    }

    /// A snapshot about everyone was the first thing heard.
    pub(super) fn all_answered(&mut self) {
        self.awaited.clear();
    }

    /// The connection is gone, and with it all that was asked for.
    pub(super) fn lost(&mut self, rows: &mut Rows) {
        *self = Self::default();
        rows.restart();
    }

    fn ask(&mut self, rows: &mut Rows, mut room: usize, traffic: &mut Traffic) {
        let mut users: Vec<(u32, Arc<str>)> = Vec::new();
        let mut bytes = 0;
        for (at, slot) in rows.slots() {
            let (Wire::Off | Wire::Over, Some(user)) = (slot.wire, &slot.user) else { continue };
            if slot.listeners.is_empty() {
                continue;
            }
            if room == 0 {
                if slot.wire == Wire::Off {
                    slot.wire = Wire::Over;
                    traffic.over.push(Row(at));
                }
                continue;
            }
            room -= 1;
            let cost = user.len() + ITEM_BYTES;
            if bytes + cost > FRAME_BYTES {
                self.request += 1;
                let users = core::mem::take(&mut users);
                traffic.frames.push(Message::Watch { request: self.request, users });
                bytes = 0;
            }
            bytes += cost;
            users.push((number_of(at), Arc::clone(user)));
            slot.wire = Wire::Asked(self.request + 1);
        }
        if !users.is_empty() {
            self.request += 1;
            traffic.frames.push(Message::Watch { request: self.request, users });
        }
    }
}

/// The number that stands for a row on the wire; 0 is left out because errors use it for "none".
const fn number_of(at: u32) -> u32 {
    at + 1
}

/// How long a watch that nobody needs any more is kept.
const HELD_BACK: Span = Span::from_millis(500);

/// The users of one watch frame, in bytes, with room for the frame's own head.
const FRAME_BYTES: usize = CLIENT_FRAME_BYTES - 16;

/// A user costs the name's bytes and at most so many more: three for the number, two for the
/// name's length.
const ITEM_BYTES: usize = 5;

#[cfg(test)]
mod tests {
    use std::format;

    use greendot_protocol::binary::encode_client;
    use greendot_protocol::limits::USER_BYTES;

    use super::*;
    use crate::core::Part;

    fn watched(count: usize, bytes: usize) -> Rows {
        let mut rows = Rows::new(1);
        for n in 0..count {
            let (row, _) = rows.find_or_insert(&format!("{n:0bytes$}"));
            rows.get_mut(row).expect("just made").listen(Part(1));
        }
        rows
    }

    #[test]
    fn frames_stay_under_the_limit_and_name_everyone_once() {
        let mut rows = watched(WATCHES, USER_BYTES);
        let traffic = Watches::default().start(&mut rows);
        let mut numbers = Vec::new();
        for frame in &traffic.frames {
            let mut bytes = Vec::new();
            encode_client(&frame.as_frame(), &mut bytes);
            assert!(bytes.len() <= CLIENT_FRAME_BYTES, "{} bytes", bytes.len());
            let Message::Watch { users, .. } = frame else { panic!("{frame:?}") };
            numbers.extend(users.iter().map(|(number, _)| *number));
        }
        assert_eq!(numbers, (1..=WATCHES as u32).collect::<Vec<_>>());
        assert_eq!(traffic.frames.len(), 5);
    }

    #[test]
    fn five_hundred_users_are_one_frame() {
        let mut rows = watched(500, 22);
        assert_eq!(Watches::default().start(&mut rows).frames.len(), 1);
    }

    #[test]
    fn those_over_the_limit_come_in_when_there_is_room() {
        let mut rows = watched(WATCHES + 2, 8);
        let mut watches = Watches::default();
        let traffic = watches.start(&mut rows);
        assert_eq!(traffic.over, [Row(1000), Row(1001)]);
        assert!(watches.flush(&mut rows).over.is_empty(), "they are named once");
        rows.get_mut(Row(3)).expect("watched").unlisten(Part(1), false);
        watches.ended(Time::ZERO);
        let frames = watches.flush(&mut rows).frames;
        assert_eq!(frames[0], Message::Unwatch { numbers: [4].into() });
        assert!(matches!(&frames[1], Message::Watch { users, .. } if users[0].0 == 1001));
    }
}
