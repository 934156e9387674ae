//! Deadlines, and what is done about them.

use greendot_protocol::{Beat, Time};

use super::Client;
use crate::core::beat::Verdict;
use crate::core::link::{Loss, Phase};
use crate::core::output::{Message, Reason};
use crate::core::view;

impl Client {
    /// When [`Client::handle_timeout`] is to be called next, and why.
    pub fn deadline(&self) -> Option<(Time, Reason)> {
        self.deadlines().into_iter().flatten().min_by_key(|&(at, _)| at)
    }

    /// How many deadlines are held: at most one for each reason.
    pub fn timers(&self) -> usize {
        self.deadlines().into_iter().flatten().count()
    }

    fn deadlines(&self) -> [Option<(Time, Reason)>; 6] {
        let idle = self.idle.after().filter(|_| self.link.is_welcomed() && !self.idle.said);
        [
            self.watches.flush_at.map(|at| (at, Reason::Flush)),
            self.watches.unwatch_at.map(|at| (at, Reason::Unwatch)),
            self.link.deadline(),
            self.heart.as_ref().map(|it| it.deadline()),
            idle.map(|after| (self.idle.last_input + after, Reason::Idle)),
            self.unknown_at.map(|at| (at, Reason::Unknown)),
        ]
    }

    /// Does what is due. Too early a call does nothing.
    pub fn handle_timeout(&mut self, now: Time) {
        let now = self.arrive(now);
        // Each reason's deadline is gone, or later than now, once it is handled.
        while let Some((_, reason)) = self.deadline().filter(|&(at, _)| at <= now) {
            match reason {
                Reason::Flush => {
                    let traffic = self.watches.flush(&mut self.rows);
                    self.send_traffic(now, traffic);
                }
                Reason::Unwatch => {
                    let traffic = self.watches.unwatch(&mut self.rows);
                    self.send_traffic(now, traffic);
                }
                Reason::Attempt => {
                    let node_failed = !matches!(self.link.phase, Phase::Token { .. });
                    self.drop_link(now, Loss { node_failed, ..Loss::at(now) });
                }
                Reason::Retry => self.dial(now),
                Reason::Beat => self.ask(now),
                Reason::Answer => self.on_silence(now),
                Reason::Idle => {
                    self.idle.said = true;
                    self.send(now, Message::Idle);
                }
                Reason::Unknown => {
                    self.unknown_at = None;
                    view::forget(&mut self.rows, &mut self.outputs);
                }
            }
        }
    }

    /// Runs before anything is handled: has the page stood still until now? Also keeps `now` from
    /// going back.
    pub(super) fn arrive(&mut self, now: Time) -> Time {
        let due = self.deadline().map(|(at, _)| at);
        if let Some(still) = self.awake.arrive(now, due) {
            // Time asleep is not time cut off.
            self.unknown_at = self.unknown_at.map(|it| it + still);
            self.suspect(now);
        }
        now.max(self.awake.last())
    }

    /// There is a new reason to doubt the link: its next answer counts, and no earlier one.
    pub(super) fn doubt(&mut self, now: Time) {
        if self.link.is_welcomed() {
            self.ask(now);
            self.doubted = true;
            self.tell_stale();
        }
    }

    /// As [`Client::doubt`], for a timer that was late: a page in which every timer is late must
    /// still notice a dead link.
    fn suspect(&mut self, now: Time) {
        if self.link.is_welcomed() {
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
        self.own.beat_sent();
    }

    fn on_silence(&mut self, now: Time) {
        match self.heart.as_ref().map(|it| it.unanswered(now)) {
            Some(Verdict::Dead(since)) => {
                // It was dead from the question on, not only from now.
                self.drop_link(now, Loss { node_failed: true, ..Loss::at(since) });
            }
            _ => self.ask_again(now),
        }
    }
}
