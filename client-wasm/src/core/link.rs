//! The link: how far the present attempt has got, and where the next one goes.

use greendot_protocol::sabotage::{Fault, on};
use greendot_protocol::{CloseCode, Retry, Span, Time};

use super::alarms::{Alarms, Reason};
use super::backoff::Backoff;
use super::beat::ANSWER;
use super::output::{Dial, LinkState};
use super::rng::Rng;

/// The link's state machine, without what it carries.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) phase: Phase,
    /// Why it is as it is: a close code, or 0.
    pub(super) why: u16,
    pub(super) dial: Dial,
    pub(super) node: u32,
    nodes: u32,
    live_since: Time,
    backoff: Backoff,
    /// Until then the server does not want to be dialled.
    not_before: Time,
    /// The present attempt has had a second round.
    again: bool,
}

/// How far the link has got, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// Not started, or ended by the app.
    Closed,
    /// Told not to come back.
    Stopped,
    /// Lost, and waiting for the page to be back.
    Away,
    /// Lost, and waiting for the next dial.
    Waiting,
    /// The token is being fetched.
    Token,
    /// The connection is being opened.
    Opening,
    /// The hello is sent.
    Greeting,
    /// Welcomed; snapshots are still to come.
    Loading,
    /// Welcomed and loaded.
    Live,
}

/// How a link was lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loss {
    /// Since when nothing can have been heard.
    pub(super) since: Time,
    /// The close code, or 0.
    pub(super) code: u16,
    /// How long the server wants to be left alone.
    pub(super) named: Span,
    /// Whether it speaks against the node, so that the next one is dialled first.
    pub(super) node_failed: bool,
    /// Whether it waits for the page to be back, instead of dialling by itself.
    pub(super) page_left: bool,
}

impl Loss {
    /// A loss at that time about which nothing else is known.
    pub(super) fn at(since: Time) -> Self {
        Self { since, code: 0, named: Span::ZERO, node_failed: false, page_left: false }
    }
}

impl Link {
    pub(super) fn new(nodes: u32) -> Self {
        Self {
            phase: Phase::Closed,
            why: 0,
            dial: Dial(0),
            node: 0,
            nodes: nodes.max(1),
            live_since: Time::ZERO,
            backoff: Backoff::default(),
            not_before: Time::ZERO,
            again: false,
        }
    }

    pub(super) fn state(&self) -> LinkState {
        match self.phase {
            Phase::Closed => LinkState::Closed,
            Phase::Stopped => LinkState::Stopped,
            Phase::Away | Phase::Waiting => LinkState::Waiting,
            Phase::Live => LinkState::Live,
            _ => LinkState::Connecting,
        }
    }

    /// Whether there is a socket, open or opening.
    pub(super) fn has_socket(&self) -> bool {
        self.phase >= Phase::Opening
    }

    /// Whether the hello is out, so that more can be said behind it.
    pub(super) fn is_open(&self) -> bool {
        self.phase >= Phase::Greeting
    }

    /// Begins an attempt.
    pub(super) fn begin(&mut self, now: Time, alarms: &mut Alarms) {
        self.dial = Dial(self.dial.0.wrapping_add(1));
        self.why = 0;
        self.phase = Phase::Token;
        self.again = false;
        alarms.clear(Reason::Retry);
        alarms.set(Reason::Attempt, now + ATTEMPT);
    }

    /// The welcome is there.
    pub(super) fn welcomed(&mut self, now: Time, alarms: &mut Alarms) {
        self.phase = Phase::Loading;
        self.again = false;
        alarms.set(Reason::Attempt, now + LOADING);
    }

    /// A timer was late: what the attempt waits for may wait unread, and has one round more. There is
    /// no third, or a page whose timers are always late would never give an attempt up.
    pub(super) fn try_again(&mut self, now: Time, alarms: &mut Alarms) {
        if !core::mem::replace(&mut self.again, true) && alarms.is_set(Reason::Attempt) {
            alarms.set(Reason::Attempt, alarms.at(Reason::Attempt).max(now + ANSWER));
        }
    }

    /// All that was asked for at the start is there.
    pub(super) fn loaded(&mut self, now: Time, alarms: &mut Alarms) {
        self.phase = Phase::Live;
        self.live_since = now;
        alarms.clear(Reason::Attempt);
        alarms.clear(Reason::Unknown);
    }

    /// The app starts anew: what was before does not count.
    pub(super) fn forget_losses(&mut self) {
        self.backoff.reset();
        self.not_before = Time::ZERO;
    }

    /// The link is lost, after it was live under beats of that interval. Tells how long it waits
    /// now; none if it does not come back by itself.
    pub(super) fn lost(
        &mut self,
        now: Time,
        loss: Loss,
        beat: Span,
        alarms: &mut Alarms,
        rng: &mut Rng,
    ) -> Option<Span> {
        // Only a link that has held tells that all is well again; one that opens and breaks,
        // opens and breaks, must not be dialled as if each time were the first.
        if self.phase == Phase::Live && now.since(self.live_since) >= beat {
            self.backoff.reset();
        }
        self.why = loss.code;
        if CloseCode::retry_after(loss.code) == Retry::No && !on(Fault::ReplacedComesBack) {
            self.phase = Phase::Stopped;
            return None;
        }
        if loss.page_left {
            self.phase = Phase::Away;
            return None;
        }
        if loss.node_failed {
            self.node = (self.node + 1) % self.nodes;
        }
        let named = loss.named.min(LONGEST_NAMED);
        let wait = named + self.backoff.next(rng);
        self.not_before = now + named;
        self.phase = Phase::Waiting;
        alarms.set(Reason::Retry, now + wait);
        Some(wait)
    }

    /// There is reason to hope: a wait is cut to at most `jitter`, but not below what the server
    /// has named.
    pub(super) fn hasten(&mut self, now: Time, jitter: Span, alarms: &mut Alarms, rng: &mut Rng) {
        if matches!(self.phase, Phase::Away | Phase::Waiting) {
            self.phase = Phase::Waiting;
            let soon = self.not_before.max(now + rng.up_to(jitter));
            alarms.set(Reason::Retry, soon.min(alarms.at(Reason::Retry)));
        }
    }
}

/// How long token, connection and welcome may take in all.
const ATTEMPT: Span = Span::from_secs(10);

/// How long the first snapshots may take after the welcome. Beats watch over the link meanwhile,
/// so this only ends what a server has forgotten to answer.
const LOADING: Span = Span::from_secs(30);

/// No server means to send a client away for longer; one that says so is mistaken.
const LONGEST_NAMED: Span = Span::from_secs(3_600);
