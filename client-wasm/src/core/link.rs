//! The link: how far the present attempt has got, and where the next one goes.

use alloc::boxed::Box;

use greendot_protocol::{CloseCode, Retry, Span, Time};

use super::Reason;
use super::backoff::Backoff;
use super::output::{Dial, LinkState};
use super::rng::Rng;

/// The link's state machine, without what it carries.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) phase: Phase,
    /// Why it is as it is: a close code, or 0.
    pub(super) why: u16,
    pub(super) dial: Dial,
    node: u32,
    nodes: u32,
    backoff: Backoff,
    /// Until then the server does not want to be dialled.
    not_before: Time,
}

/// How far the link has got.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Phase {
    /// Not started, or ended by the app.
    Closed,
    /// Told not to come back.
    Stopped,
    /// Lost; without a time it waits for the page to be back.
    Waiting { until: Option<Time> },
    /// The token is being fetched.
    Token { by: Time },
    /// The connection is being opened.
    Opening { by: Time, token: Box<str> },
    /// The hello is sent.
    Greeting { by: Time },
    /// Welcomed; snapshots are still to come.
    Loading { by: Time },
    /// Welcomed and loaded.
    Live { since: Time },
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
            backoff: Backoff::default(),
            not_before: Time::ZERO,
        }
    }

    pub(super) fn state(&self) -> LinkState {
        match self.phase {
            Phase::Closed => LinkState::Closed,
            Phase::Stopped => LinkState::Stopped,
            Phase::Waiting { .. } => LinkState::Waiting,
            Phase::Live { .. } => LinkState::Live,
            _ => LinkState::Connecting,
        }
    }

    pub(super) fn node(&self) -> u32 {
        self.node
    }

    /// Whether the hello is out, so that more can be said behind it.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Greeting { .. } | Phase::Loading { .. } | Phase::Live { .. })
    }

    /// Whether the connection has been welcomed.
    pub(super) fn is_welcomed(&self) -> bool {
        matches!(self.phase, Phase::Loading { .. } | Phase::Live { .. })
    }

    pub(super) fn is_live(&self) -> bool {
        matches!(self.phase, Phase::Live { .. })
    }

    pub(super) fn deadline(&self) -> Option<(Time, Reason)> {
        match self.phase {
            Phase::Waiting { until } => Some((until?, Reason::Retry)),
            Phase::Token { by }
            | Phase::Opening { by, .. }
            | Phase::Greeting { by }
            | Phase::Loading { by } => Some((by, Reason::Attempt)),
            Phase::Closed | Phase::Stopped | Phase::Live { .. } => None,
        }
    }

    /// Begins an attempt.
    pub(super) fn begin(&mut self, now: Time) -> Dial {
        self.dial = Dial(self.dial.0.wrapping_add(1));
        self.why = 0;
        self.phase = Phase::Token { by: now + ATTEMPT };
        self.dial
    }

    /// The welcome is there.
    pub(super) fn welcomed(&mut self, now: Time) {
        self.phase = Phase::Loading { by: now + LOADING };
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
        beat: Option<Span>,
        rng: &mut Rng,
    ) -> Option<Span> {
        if let (Phase::Live { since }, Some(beat)) = (&self.phase, beat) {
            // Only a link that has held tells that all is well again; one that opens and breaks,
            // opens and breaks, must not be dialled as if each time were the first.
            if now.since(*since) >= beat {
                self.backoff.reset();
            }
        }
        self.why = loss.code;
        if CloseCode::retry_after(loss.code) == Retry::No {
            self.phase = Phase::Stopped;
            return None;
        }
        if loss.page_left {
            self.phase = Phase::Waiting { until: None };
            return None;
        }
        if loss.node_failed {
            self.node = (self.node + 1) % self.nodes;
        }
        let named = loss.named.min(LONGEST_NAMED);
        let wait = named + self.backoff.next(rng);
        self.not_before = now + named;
        self.phase = Phase::Waiting { until: Some(now + wait) };
        Some(wait)
    }

    /// There is reason to hope: a wait is cut to at most `jitter`, but not below what the server
    /// has named.
    pub(super) fn hasten(&mut self, now: Time, jitter: Span, rng: &mut Rng) {
        if let Phase::Waiting { until } = &mut self.phase {
            let soon = self.not_before.max(now + rng.up_to(jitter));
            *until = Some(until.map_or(soon, |it| it.min(soon)));
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
