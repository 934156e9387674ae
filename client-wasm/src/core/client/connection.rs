//! What the connection brings.

use alloc::boxed::Box;

use greendot_protocol::{CloseCode, ErrorCode, ServerFrame, Span, Time, Welcome};

use super::Client;
use crate::core::alarms::Reason;
use crate::core::beat::{Answer, Heart};
use crate::core::link::{Loss, Phase};
use crate::core::output::{Dial, Greeting, Message, Output, Row};
use crate::core::rows::Wire;
use crate::core::view::Epochs;

impl Client {
    /// The connection is open.
    pub fn handle_opened(&mut self, now: Time, dial: Dial) {
        let now = self.arrive(now);
        let current = dial == self.link.dial;
        if current && self.link.phase == Phase::Opening {
            self.link.phase = Phase::Greeting;
            self.say_hello(now);
        } else if !current || !self.link.is_open() {
            // Called off, but it opened all the same.
            self.outputs.push(Output::CloseSocket { dial, code: ABANDONED });
        }
    }

    /// All that can be said at once is said at once, without waiting for the welcome.
    fn say_hello(&mut self, now: Time) {
        self.idle.said = self.idle.is_over(now);
        let greeting = Greeting {
            session: self.session.clone(),
            token: core::mem::take(&mut self.token),
            device: self.device.clone(),
            idle: self.idle.said,
            input_age_secs: self.idle.input_age_secs(now),
            idle_after_secs: self.idle.app.map(|it| it.as_secs().min(u64::from(u32::MAX)) as u32),
            mode: self.own.hello(),
        };
        self.send(now, Message::Hello(Box::new(greeting)));
        if let Some(note) = self.own.note_to_say() {
            self.send(now, Message::Note(note));
        }
        self.watches.start(&mut self.rows, self.link.dial, &mut self.outputs);
        let first = self.beat == Span::ZERO;
        self.rooms.start(first, self.link.dial, &mut self.outputs);
    }

    /// A frame was read.
    pub fn handle_frame(&mut self, now: Time, dial: Dial, frame: &ServerFrame<'_>) {
        let now = self.arrive(now);
        if dial != self.link.dial || !self.link.is_open() {
            return;
        }
        if let Some(heart) = &mut self.heart {
            heart.heard(now);
        }
        match frame {
            ServerFrame::Welcome(welcome) => self.on_welcome(now, welcome),
            ServerFrame::BeatAnswer(number) => self.on_answer(now, *number),
            ServerFrame::Snapshot { epoch, request, entries } => {
                let (rows, out) = (&mut self.rows, &mut self.outputs);
                if self.epochs.snapshot(now, rows, *epoch, *request, entries, out) {
                    self.rows.answered(*request);
                    self.go_live_if_loaded(now);
                }
            }
            ServerFrame::Events { epoch, entries } => {
                let (rows, out) = (&mut self.rows, &mut self.outputs);
                self.epochs.events(now, rows, *epoch, entries, out);
            }
            ServerFrame::Mode { mode, revision } => {
                self.own.told(*mode, *revision, self.node_is_stale);
                self.tell_mode();
            }
            ServerFrame::Error { code, about, text } => self.on_error(*code, *about, text),
            ServerFrame::Stale(stale) => {
                self.node_is_stale = *stale;
                self.tell_stale();
            }
            ServerFrame::Close { code, retry_after } => {
                // Its end is as good as there; a dead network may never bring it.
                self.outputs.push(Output::CloseSocket { dial, code: NORMAL });
                self.end(now, code.number(), *retry_after);
            }
            ServerFrame::Room { number, members } => {
                self.rooms.told(*number, members, Some(None), &mut self.outputs);
            }
            ServerFrame::RoomEvents { number, members } => {
                self.rooms.told(*number, members, None, &mut self.outputs);
            }
            ServerFrame::Crowd { number, count, sample } => {
                self.rooms.told(*number, sample, Some(Some(*count)), &mut self.outputs);
            }
            ServerFrame::Token { lasts } => self.await_token(now, *lasts),
            // A frame of a later version.
            _ => {}
        }
    }

    /// What arrived was no frame: this connection makes no sense any more.
    pub fn handle_unreadable(&mut self, now: Time, dial: Dial) {
        let now = self.arrive(now);
        if dial == self.link.dial && self.link.is_open() {
            self.drop_link(now, Loss { node_failed: true, ..Loss::at(now) });
        }
    }

    /// The connection has ended with this code, or could not be opened (1006).
    pub fn handle_closed(&mut self, now: Time, dial: Dial, code: u16) {
        let now = self.arrive(now);
        if dial == self.link.dial && self.link.has_socket() {
            self.end(now, code, Span::ZERO);
        }
    }

    fn on_welcome(&mut self, now: Time, welcome: &Welcome<'_>) {
        if self.link.phase != Phase::Greeting {
            return;
        }
        self.link.welcomed(now, &mut self.alarms);
        let heart = Heart::new(now, welcome.beat, &mut self.rng);
        self.beat = heart.beat();
        self.alarms.set(Reason::Beat, heart.due());
        self.heart = Some(heart);
        self.idle.server = welcome.idle_after;
        self.await_idle();
        self.memory = welcome.ttl + welcome.grace;
        self.await_token(now, welcome.token);
        self.node_is_stale = welcome.stale;
        self.own.welcomed(welcome.mode, welcome.revision, welcome.stale);
        self.tell_mode();
        let ticket: Box<str> = welcome.ticket.into();
        self.beacon = Some((self.link.node, ticket)).filter(|(_, it)| !it.is_empty());
        self.go_live_if_loaded(now);
    }

    fn go_live_if_loaded(&mut self, now: Time) {
        if self.link.phase == Phase::Loading && self.watches.are_loaded(&mut self.rows) {
            self.link.loaded(now, &mut self.alarms);
            self.tell_link(None);
            self.tell_stale();
        }
    }

    fn on_answer(&mut self, now: Time, number: u8) {
        let Some(heart) = &mut self.heart else { return };
        match heart.answered(now, number) {
            Answer::Good => {
                self.alarms.clear(Reason::Answer);
                self.alarms.set(Reason::Beat, heart.due());
                self.doubted = false;
                self.own.beat_answered(self.node_is_stale);
                self.tell_mode();
                self.tell_stale();
            }
            Answer::Late => self.ask_again(now),
            Answer::Old => {}
        }
    }

    fn on_error(&mut self, code: ErrorCode, about: u32, text: &str) {
        // The first two are about a user: the row stays unknown, whatever the snapshot leaves out.
        let refused = match code {
            ErrorCode::BadRoom | ErrorCode::TooManyRooms | ErrorCode::NotAllowed => {
                if let Some(room) = self.rooms.numbered(about) {
                    self.refuse(code, room.0, text);
                }
                return;
            }
            ErrorCode::BadUser => Wire::Refused,
            ErrorCode::TooManyWatches => Wire::Over,
            _ => {
                self.refuse(code, about, text);
                return;
            }
        };
        let Some(row) = about.checked_sub(1).map(Row) else { return };
        if let Some(slot) = self.rows.get_mut(row) {
            slot.wire = refused;
            self.refuse(code, row.0, text);
        }
    }

    /// The connection's end is known, with its code.
    fn end(&mut self, now: Time, code: u16, named: Span) {
        let says_go = [CloseCode::Drain, CloseCode::Full].iter().any(|it| it.number() == code);
        let node_failed = says_go || self.link.phase != Phase::Live;
        self.lose(now, Loss { code, named, node_failed, ..Loss::at(now) });
    }

    /// Gives up the connection of this side.
    pub(super) fn drop_link(&mut self, now: Time, loss: Loss) {
        self.close_socket(ABANDONED);
        self.lose(now, loss);
    }

    /// Says farewell by the means that arrives, and closes the connection.
    pub(super) fn say_farewell(&mut self, now: Time, farewell: Message) {
        if self.link.is_open() {
            self.send(now, farewell);
            self.close_socket(NORMAL);
        } else {
            self.close_socket(ABANDONED);
        }
        // On a link that is not known to be good the frame may be lost, and where there is no link
        // the server may not know it yet: without a word it would wait until the lease runs out.
        let beacon = self.beacon.take();
        if (self.doubted || !self.link.is_open())
            && let Some((node, ticket)) = beacon
        {
            self.outputs.push(Output::Beacon { node, ticket });
        }
    }

    fn close_socket(&mut self, code: u16) {
        if self.link.has_socket() {
            self.outputs.push(Output::CloseSocket { dial: self.link.dial, code });
        }
    }

    /// The link is lost, and comes back by itself unless it is told not to.
    pub(super) fn lose(&mut self, now: Time, loss: Loss) {
        self.forget_connection(loss.since);
        let retry = self.link.lost(now, loss, self.beat, &mut self.alarms, &mut self.rng);
        if self.link.phase == Phase::Stopped {
            // Nothing more is to be said for this session.
            self.beacon = None;
        }
        self.tell_stale();
        self.tell_link(retry);
    }

    /// Nothing of a connection outlives it but the view, and that for a time only.
    pub(super) fn forget_connection(&mut self, since: Time) {
        // Cut off since the first question that was not answered, if one is open.
        let asked = self.heart.as_ref().and_then(Heart::asked_since);
        let since = asked.map_or(since, |it| it.min(since));
        self.heart = None;
        self.renews = false;
        self.alarms.clear_connection();
        self.doubted = false;
        self.node_is_stale = false;
        self.epochs = Epochs::default();
        self.watches.lost(&mut self.rows);
        self.rooms.lost();
        self.own.lost();
        if self.rows.len() > 0 || !self.rooms.is_empty() {
            self.alarms.set_if_clear(Reason::Unknown, since + self.memory);
        }
        self.forget_nobody();
    }

    pub(super) fn dial(&mut self, now: Time) {
        self.dialled_offline = self.offline;
        self.link.begin(now, &mut self.alarms);
        self.tell_link(None);
        self.outputs.push(Output::NeedToken { dial: self.link.dial });
    }
}

const ABANDONED: u16 = CloseCode::Abandoned.number();

/// WebSocket's own code for an end that was meant.
const NORMAL: u16 = 1000;
