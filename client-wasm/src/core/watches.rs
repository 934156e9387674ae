//! Which users the present connection is asked to show.
//!
//! What the app begins to watch in one tick goes out as one frame, at once; what follows soon after
//! is gathered, and what it stops watching is kept for a moment. So a list scrolled quickly costs
//! few frames, and a user who is gone, or back in sight, within that moment none.

use alloc::boxed::Box;
use alloc::vec::Vec;

use greendot_protocol::limits::{CLIENT_FRAME_BYTES, WATCHES};
use greendot_protocol::{ErrorCode, Span, Time};

use super::output::{Dial, Message, Output, Queue, Row};
use super::rows::{Rows, Wire};

/// The watches of one connection.
#[derive(Debug, Default)]
pub(super) struct Watches {
    /// The newest request's number; 0: none yet.
    request: u32,
    /// The last of the requests that went out with the hello.
    first: u32,
    /// The next ones go out no sooner.
    next: Time,
}

impl Watches {
    /// Everyone, on a new connection.
    pub(super) fn start(&mut self, rows: &mut Rows, dial: Dial, out: &mut Queue) {
        self.exchange(rows, dial, out, false);
        self.first = self.request;
    }

    /// Whether everyone asked for with the hello has been answered.
    pub(super) fn are_loaded(&self, rows: &mut Rows) -> bool {
        !rows.slots().any(|(_, slot)| {
            slot.epoch.is_none()
                && matches!(slot.wire, Wire::Asked(request) if request <= self.first)
        })
    }

    /// When the watches that begin now are to go out.
    pub(super) fn due(&self, now: Time) -> Time {
        now.max(self.next)
    }

    /// Some have gone out.
    pub(super) fn sent(&mut self, now: Time) {
        self.next = now + GATHERED;
    }

    /// The connection is gone, and with it all that was asked for.
    pub(super) fn lost(&mut self, rows: &mut Rows) {
        *self = Self::default();
        rows.restart();
    }

    /// Ends the needless ones, if it is time to `end` them or their room is wanted; then lets in as
    /// many of the others as there is room for. Whether anything was sent.
    pub(super) fn exchange(
        &mut self,
        rows: &mut Rows,
        dial: Dial,
        out: &mut Queue,
        end: bool,
    ) -> bool {
        let before = self.request;
        let mut sent = false;
        let (mut needless, mut kept, mut wanted) = (Vec::new(), 0, 0);
        for (at, slot) in rows.slots() {
            match (slot.wire, slot.listeners.is_empty()) {
                (Wire::Asked(_), true) => needless.push(number_of(at)),
                (Wire::Asked(_), false) => kept += 1,
                (Wire::Off | Wire::Over, false) => wanted += 1,
                _ => {}
            }
        }
        if end || needless.len() + kept + wanted > WATCHES {
            for number in &needless {
                // Behind the answer to the next request nothing about these can come any more.
                rows.remove(Row(number - 1), Some(self.request + 1));
            }
            if !needless.is_empty() {
                let frame = Message::Unwatch { numbers: needless };
                out.push(Output::Send { dial, frame });
                sent = true;
            }
        } else {
            kept += needless.len();
        }
        self.ask(rows, WATCHES.saturating_sub(kept), dial, out);
        sent || self.request != before
    }

    fn ask(&mut self, rows: &mut Rows, mut room: usize, dial: Dial, out: &mut Queue) {
        let mut users: Vec<(u32, Box<str>)> = Vec::new();
        let mut bytes = 0;
        for (at, slot) in rows.slots() {
            let (Wire::Off | Wire::Over, Some(user)) = (slot.wire, &slot.user) else { continue };
            if slot.listeners.is_empty() {
                continue;
            }
            if room == 0 {
                if slot.wire == Wire::Off {
                    slot.wire = Wire::Over;
                    out.push(Output::Error {
                        code: ErrorCode::TooManyWatches,
                        about: at,
                        text: OVER.into(),
                    });
                }
                continue;
            }
            room -= 1;
            let cost = user.len() + ITEM_BYTES;
            if bytes + cost > FRAME_BYTES {
                self.send(&mut users, dial, out);
                bytes = 0;
            }
            bytes += cost;
            users.push((number_of(at), user.clone()));
            slot.wire = Wire::Asked(self.request + 1);
        }
        if !users.is_empty() {
            self.send(&mut users, dial, out);
        }
    }

    fn send(&mut self, users: &mut Vec<(u32, Box<str>)>, dial: Dial, out: &mut Queue) {
        self.request += 1;
        let users = core::mem::take(users);
        out.push(Output::Send { dial, frame: Message::Watch { request: self.request, users } });
    }
}

const OVER: &str = "a connection may watch 1000 users: this one has to wait until others are \
                    watched no more";

/// The number that stands for a row on the wire; 0 is left out because errors use it for "none".
const fn number_of(at: u32) -> u32 {
    at + 1
}

/// How long a watch that nobody needs any more is kept.
pub(super) const HELD_BACK: Span = Span::from_millis(500);

/// How long watches are gathered after one that went out at once: a scrolling list begins some with
/// each frame that the screen shows, and nobody minds a dot this late in it.
const GATHERED: Span = Span::from_millis(100);

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
        let mut rows = Rows::default();
        for n in 0..count {
            let (row, _) = rows.find_or_insert(&format!("{n:0bytes$}"));
            rows.get_mut(row).expect("just made").listen(Part(1));
        }
        rows
    }

    fn sent(out: &mut Queue) -> Vec<Message> {
        core::iter::from_fn(|| out.pop())
            .filter_map(|output| match output {
                Output::Send { frame, .. } => Some(frame),
                _ => None,
            })
            .collect()
    }

    fn start(rows: &mut Rows) -> Vec<Message> {
        let mut out = Queue::default();
        Watches::default().start(rows, Dial(1), &mut out);
        sent(&mut out)
    }

    #[test]
    fn frames_stay_under_the_limit_and_name_everyone_once() {
        let frames = start(&mut watched(WATCHES, USER_BYTES));
        let mut numbers = Vec::new();
        for frame in &frames {
            let mut bytes = Vec::new();
            encode_client(&frame.as_frame(), &mut bytes);
            assert!(bytes.len() <= CLIENT_FRAME_BYTES, "{} bytes", bytes.len());
            let Message::Watch { users, .. } = frame else { panic!("{frame:?}") };
            numbers.extend(users.iter().map(|(number, _)| *number));
        }
        assert_eq!(numbers, (1..=WATCHES as u32).collect::<Vec<_>>());
        assert_eq!(frames.len(), 5);
    }

    #[test]
    fn five_hundred_users_are_one_frame() {
        assert_eq!(start(&mut watched(500, 22)).len(), 1);
    }

    #[test]
    fn those_held_back_make_room_when_it_is_wanted() {
        let mut rows = watched(WATCHES, 8);
        let (mut watches, mut out) = (Watches::default(), Queue::default());
        watches.start(&mut rows, Dial(1), &mut out);
        sent(&mut out);
        rows.get_mut(Row(3)).expect("watched").unlisten(Part(1));
        let (ana, _) = rows.find_or_insert("ana");
        rows.get_mut(ana).expect("just made").listen(Part(1));
        watches.exchange(&mut rows, Dial(1), &mut out, false);
        let frames = sent(&mut out);
        assert_eq!(frames[0], Message::Unwatch { numbers: [4].into() });
        assert!(matches!(&frames[1], Message::Watch { users, .. } if &*users[0].1 == "ana"));
    }
}
