//! What the app asks for.

use greendot_protocol::limits::{NOTE_BYTES, USER_BYTES};
use greendot_protocol::{ErrorCode, Mode, State, Time};

use super::Client;
use crate::core::alarms::Reason;
use crate::core::link::Phase;
use crate::core::output::{Message, Output, Part, Row};
use crate::core::rooms::Room;
use crate::core::rows::Wire;
use crate::core::watches::HELD_BACK;

impl Client {
    /// Starts the link, or cuts a wait short: dials at once. While it is connecting or live this
    /// does nothing.
    pub fn connect(&mut self, now: Time) {
        let now = self.arrive(now);
        self.thaw(now);
        match self.link.phase {
            Phase::Closed | Phase::Stopped => {
                self.link.forget_losses();
                self.dial(now);
            }
            Phase::Away | Phase::Waiting => self.dial(now),
            _ => {}
        }
    }

    /// Ends the link; the session lingers, as if the page might come back. What is watched is kept
    /// for the next [`Client::connect`].
    pub fn disconnect(&mut self, now: Time) {
        self.close(now, Message::Closing);
    }

    /// Says a clean goodbye and ends the link; the session ends at once. What is watched is kept
    /// for the next [`Client::connect`].
    ///
    /// Whoever connects next may be somebody else: the mode is shown no more, and taken along only for the same user.
    pub fn sign_out(&mut self, now: Time) {
        self.close(now, Message::Bye);
        self.own.part();
        self.told_mode = None;
    }

    fn close(&mut self, now: Time, farewell: Message) {
        let now = self.arrive(now);
        if self.link.phase == Phase::Closed {
            return;
        }
        self.say_farewell(now, farewell);
        self.forget_connection(now);
        self.link.why = 0;
        self.link.phase = Phase::Closed;
        self.tell_stale();
        self.tell_link(None);
    }

    /// What the person may call this device, said from the next hello on.
    pub fn set_device(&mut self, device: &str) {
        self.device = device.into();
    }

    /// A part of the app begins to watch a user, unless it does already.
    ///
    /// A name that no server would take, or one more user than a connection may watch, is answered
    /// with [`Output::Error`]; the row is there all the same and stays unknown.
    pub fn subscribe(&mut self, now: Time, part: Part, user: &str) -> Row {
        let now = self.arrive(now);
        let (row, made) = self.rows.find_or_insert(user);
        let Some(slot) = self.rows.get_mut(row) else { return row };
        if slot.listen(part) && slot.shown.state != State::Unknown {
            self.outputs.push(Output::Changed { part, row });
        }
        if made && (user.is_empty() || user.len() > USER_BYTES) {
            slot.wire = Wire::Refused;
            let text = "a user's name has 1 to 128 bytes: this one is not watched";
            self.refuse(ErrorCode::BadUser, row.0, text);
        } else if slot.wire == Wire::Off && self.link.is_open() {
            self.alarms.set_if_clear(Reason::Flush, self.watches.due(now));
        }
        row
    }

    /// The part watches the user no more.
    pub fn unsubscribe(&mut self, now: Time, part: Part, row: Row) {
        let now = self.arrive(now);
        let Some(slot) = self.rows.get_mut(row) else { return };
        if !slot.unlisten(part) {
            return;
        }
        if matches!(slot.wire, Wire::Asked(_)) {
            self.alarms.set_if_clear(Reason::Unwatch, now + HELD_BACK);
            return;
        }
        self.rows.remove(row, None);
        self.forget_nobody();
    }

    /// With nobody watched and in no room there is nobody to be forgotten.
    pub(super) fn forget_nobody(&mut self) {
        if self.rows.len() == 0 && self.rooms.is_empty() {
            self.alarms.clear(Reason::Unknown);
        }
    }

    /// A part of the app goes into a room, and wants to be told who is there. Joined more than once,
    /// it has to be left as often.
    pub fn join(&mut self, now: Time, room: &str) -> Room {
        let now = self.arrive(now);
        let open = self.link.is_open();
        let (place, number) = self.rooms.join(room);
        if let Some(number) = number.filter(|_| open) {
            self.send(now, Message::Join { number, room: room.into() });
        }
        place
    }

    /// A part leaves a room once.
    pub fn leave(&mut self, now: Time, room: Room) {
        let now = self.arrive(now);
        let open = self.link.is_open();
        let number = self.rooms.leave(room);
        if let Some(number) = number.filter(|_| open) {
            self.send(now, Message::Leave { number });
        }
        self.forget_nobody();
    }

    /// The user chooses how to appear. While there is no connection the choice is kept, and said
    /// in the next hello.
    pub fn set_mode(&mut self, now: Time, mode: Mode) {
        let now = self.arrive(now);
        let said = self.link.is_open();
        // The server answers a choice only if it changes something: one that does not would stay
        // open, so it is not said. But what was told may be old, and another choice to be overruled.
        if !said || self.stale() || !self.own.is_settled_on(mode) {
            self.own.choose(mode, said);
            if said {
                self.send(now, Message::Mode(mode));
            }
        }
        self.tell_mode();
    }

    /// The user's note; empty takes it away. Said as soon as there is a connection.
    pub fn set_note(&mut self, now: Time, note: &str) {
        let now = self.arrive(now);
        if note.len() > NOTE_BYTES {
            let text = "a note has up to 256 bytes: the old one stays; shorten it";
            self.refuse(ErrorCode::NoteTooLong, 0, text);
            return;
        }
        let said = self.link.is_open();
        self.own.write(note, said);
        if said {
            self.send(now, Message::Note(note.into()));
        }
    }
}
