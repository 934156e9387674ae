//! Deadlines, and what is done about them.

use greendot_protocol::sabotage::{Fault, on};
use greendot_protocol::{Beat, Span, Time};

use super::Client;
use crate::core::alarms::Reason;
use crate::core::beat::{ANSWER, Heart, Verdict};
use crate::core::link::{Loss, Phase};
use crate::core::output::Message;
use crate::core::view;

impl Client {
    /// Does what is due. Too early a call does nothing.
    pub fn handle_timeout(&mut self, now: Time) {
        let now = self.arrive(now);
        // Each reason's deadline is gone, or later than now, once it is handled.
        while let Some((_, reason)) = self.deadline().filter(|&(at, _)| at <= now) {
            self.alarms.clear(reason);
            match reason {
                Reason::Flush | Reason::Unwatch => {
                    let (rows, out) = (&mut self.rows, &mut self.outputs);
                    let end = reason == Reason::Unwatch;
                    let sent = self.watches.exchange(rows, self.link.dial, out, end);
                    if sent {
                        self.watches.sent(now);
                        if let Some(heart) = &mut self.heart {
                            heart.sent(now);
                        }
                    }
                    self.forget_nobody();
                }
                Reason::Attempt => {
                    let node_failed = self.link.phase != Phase::Token;
                    self.drop_link(now, Loss { node_failed, ..Loss::at(now) });
                }
                Reason::Retry => self.dial(now),
                Reason::Beat => match self.heart.as_ref().map(Heart::due) {
                    Some(due) if due > now => self.alarms.set(Reason::Beat, due),
                    _ => self.ask(now),
                },
                Reason::Answer => self.on_silence(now),
                Reason::Idle if self.idle.is_over(now) => {
                    self.idle.said = true;
                    self.send(now, Message::Idle);
                }
                Reason::Idle => self.await_idle(),
                Reason::Token => self.renew_token(now),
                Reason::Unknown => {
                    view::forget(&mut self.rows, &mut self.outputs);
                    self.rooms.forget(&mut self.outputs);
                }
            }
        }
    }

    /// Runs before anything is handled: has the page stood still until now? Also keeps `now` from
    /// going back.
    pub(super) fn arrive(&mut self, now: Time) -> Time {
        let due = self.deadline().map(|(at, _)| at);
        if let Some(still) = self.awake.arrive(now, due) {
            self.was_still(still);
            self.suspect(now);
        }
        now.max(self.awake.last())
    }

    /// Time asleep is not time cut off, and no time that a server takes.
    pub(super) fn was_still(&mut self, still: Span) {
        for reason in [Reason::Unknown, Reason::Attempt] {
            // Adding to "never" leaves it there.
            self.alarms.set(reason, self.alarms.at(reason) + still);
        }
        if let Some(heart) = &mut self.heart {
            heart.was_still(still);
        }
    }

    /// Idle comes up when the last input is long enough ago, if it ever does and is not said yet.
    pub(super) fn await_idle(&mut self) {
        if let Some(after) = self.idle.after().filter(|_| !self.idle.said) {
            self.alarms.set(Reason::Idle, self.idle.last_input + after);
        }
    }

    /// There is a new reason to doubt the link: its next answer counts, and no earlier one.
    pub(super) fn doubt(&mut self, now: Time) {
        if self.heart.is_some() {
            self.ask(now);
            self.doubted = true;
            self.tell_stale();
        }
    }

    /// As [`Client::doubt`], for a timer that was late: a page in which every timer is late must
    /// still notice a dead link.
    fn suspect(&mut self, now: Time) {
        self.link.try_again(now, &mut self.alarms);
        if self.heart.is_some() {
            self.ask_again(now);
            self.doubted = true;
            self.tell_stale();
        }
    }

    /// Sends a beat.
    pub(super) fn ask(&mut self, now: Time) {
        if let Some(heart) = &mut self.heart {
            let number = heart.ask(now, &mut self.rng);
            self.send_beat(now, number);
        }
    }

    pub(super) fn ask_again(&mut self, now: Time) {
        if let Some(number) = self.heart.as_mut().and_then(|it| it.ask_again(now, &mut self.rng)) {
            self.send_beat(now, number);
        }
    }

    fn send_beat(&mut self, now: Time, number: u8) {
        let input_age_secs = Some(self.idle.input_age_secs(now));
        self.send(now, Message::Beat(Beat { number, input_age_secs }));
        self.alarms.clear(Reason::Beat);
        self.alarms.set(Reason::Answer, now + ANSWER);
        self.own.beat_sent();
    }

    fn on_silence(&mut self, now: Time) {
        match self.heart.as_ref().map(|it| it.unanswered(now)) {
            Some(Verdict::Dead(since)) if !on(Fault::SilenceBorne) => {
                // Cut off since then, not only from now.
                self.drop_link(now, Loss { node_failed: true, ..Loss::at(since) });
            }
            _ => self.ask_again(now),
        }
    }
}
