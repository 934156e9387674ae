//! Tokens: one for each dial, and a fresh one before that of a standing connection ends.

use greendot_protocol::{CloseCode, Span, Time};

use super::Client;
use crate::core::alarms::Reason;
use crate::core::link::{Loss, Phase};
use crate::core::output::{Dial, Message, Output};

/// Why there is no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenFailure {
    /// It could not be had this time; tried again like any other dial.
    Failed,
    /// There is none for this user: the link stops.
    NotAllowed,
}

/// The shortest time between two questions for a fresh token: a server whose tokens last no longer
/// must not make a page fetch without end.
const SHORTEST: Span = Span::from_secs(5);

/// A fresh token that could not be had, or was refused, is asked for again after this time, or half
/// of what is left if that is sooner.
const AGAIN: Span = Span::from_secs(30);

impl Client {
    /// The token that [`Output::NeedToken`] asked for.
    pub fn handle_token(&mut self, now: Time, dial: Dial, token: &str) {
        let now = self.arrive(now);
        if dial != self.link.dial {
            return;
        }
        if self.link.phase == Phase::Token {
            self.link.phase = Phase::Opening;
            self.token = token.into();
            self.outputs.push(Output::Dial { dial, node: self.link.node });
        } else if core::mem::take(&mut self.renews) {
            self.send(now, Message::Token(token.into()));
        }
    }

    /// There is no token for this dial.
    pub fn handle_token_failed(&mut self, now: Time, dial: Dial, why: TokenFailure) {
        let now = self.arrive(now);
        if dial != self.link.dial {
            return;
        }
        if self.link.phase == Phase::Token {
            let code = match why {
                TokenFailure::Failed => 0,
                TokenFailure::NotAllowed => CloseCode::NotAllowed.number(),
            };
            self.lose(now, Loss { code, ..Loss::at(now) });
        } else if core::mem::take(&mut self.renews) && why == TokenFailure::NotAllowed {
            // There is no point in asking again; the old one stays good until it ends.
            self.alarms.clear(Reason::Token);
        }
    }

    /// The connection's token lasts so long from now on; zero: it does not end. A fresh one is
    /// asked for at random after 80 to 90 % of that, so that those who came together do not ask
    /// together.
    pub(super) fn await_token(&mut self, now: Time, lasts: Span) {
        self.alarms.clear(Reason::Token);
        self.token_ends = now + lasts;
        if lasts > Span::ZERO {
            let wait = lasts.fraction(4, 5) + self.rng.up_to(lasts.fraction(1, 10));
            self.alarms.set(Reason::Token, now + wait.max(SHORTEST));
        }
    }

    /// Asks for a fresh token, and again until one was taken.
    pub(super) fn renew_token(&mut self, now: Time) {
        self.renews = true;
        let left = self.token_ends.since(now);
        let again = left.fraction(1, 2).min(AGAIN).max(SHORTEST);
        self.alarms.set(Reason::Token, now + again - self.rng.up_to(again.fraction(1, 5)));
        self.outputs.push(Output::NeedToken { dial: self.link.dial });
    }
}
