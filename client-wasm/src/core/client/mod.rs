//! The client itself: what it holds, and what can be asked of it.

mod app;
mod connection;
mod page;
mod timeout;

use alloc::collections::VecDeque;
use alloc::sync::Arc;

use greendot_protocol::{Mode, Span, State, Time, Version};

pub use connection::TokenFailure;
pub use page::Page;

use super::awake::Awake;
use super::beat::Heart;
use super::link::Link;
use super::output::{LinkState, Message, Output, Row};
use super::own::Own;
use super::rng::Rng;
use super::rows::Rows;
use super::view::Epochs;
use super::watches::{Traffic, Watches};

/// What a client is told at its start.
#[derive(Clone, Copy, Debug)]
pub struct Config<'a> {
    /// The session's id: the same again after a reload, another in another tab.
    pub session: &'a str,
    /// How many nodes there are to dial; the next is tried when one fails.
    pub nodes: u32,
    /// After how long without input the device counts as idle; zero: never; none: the server's
    /// setting.
    pub idle_after: Option<Span>,
    /// Where all jitter comes from.
    pub seed: u64,
}

/// A presence client without clock, socket or timer; see the [module](super) for how it is driven.
#[derive(Debug)]
pub struct Client {
    rng: Rng,
    session: Arc<str>,
    link: Link,
    /// The beats of the present connection, from its welcome on.
    heart: Option<Heart>,
    awake: Awake,
    own: Own,
    rows: Rows,
    epochs: Epochs,
    watches: Watches,
    idle: Idle,
    /// ttl + grace, as the last welcome said: how long the view outlives the link.
    memory: Span,
    /// When the view is forgotten; only while cut off.
    unknown_at: Option<Time>,
    /// The link stands, but nothing has proved that since there was reason to doubt it.
    doubted: bool,
    /// The node's own word that its word may be old.
    node_is_stale: bool,
    /// The browser says that there is no network.
    offline: bool,
    /// The present attempt was begun under `offline`.
    dialled_offline: bool,
    told_stale: bool,
    told_mode: Option<Mode>,
    outputs: VecDeque<Output>,
}

/// When the person was last here, and what the server was told of it.
#[derive(Debug)]
struct Idle {
    app: Option<Span>,
    server: Span,
    last_input: Time,
    said: bool,
}

/// One user, as the app is shown them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View<'a> {
    /// The state.
    pub state: State,
    /// The version it was told with; means nothing but to tests.
    pub version: Version,
    /// The user's note; empty if there is none.
    pub note: &'a str,
    /// How long ago the user was last seen, as of now; only while offline.
    pub seen_ago: Option<Span>,
}

impl Client {
    /// A client that waits for [`Client::connect`].
    pub fn new(now: Time, config: &Config<'_>) -> Self {
        Self {
            rng: Rng::new(config.seed),
            session: config.session.into(),
            link: Link::new(config.nodes),
            heart: None,
            awake: Awake::new(now),
            own: Own::default(),
            rows: Rows::new(config.seed),
            epochs: Epochs::default(),
            watches: Watches::default(),
            idle: Idle { app: config.idle_after, server: Span::ZERO, last_input: now, said: false },
            memory: Span::ZERO,
            unknown_at: None,
            doubted: false,
            node_is_stale: false,
            offline: false,
            dialled_offline: false,
            told_stale: true,
            told_mode: None,
            outputs: VecDeque::new(),
        }
    }

    /// What has to be done next; none: nothing until the next input or deadline.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// The link's state.
    pub fn link(&self) -> LinkState {
        self.link.state()
    }

    /// The close code that led to the link's state, or 0.
    pub fn why(&self) -> u16 {
        self.link.why
    }

    /// Whether the view may be old.
    pub fn stale(&self) -> bool {
        !self.link.is_live() || self.doubted || self.node_is_stale
    }

    /// The user's own mode, if anyone has said it.
    pub fn mode(&self) -> Option<Mode> {
        self.own.mode()
    }

    /// The row of a watched user.
    pub fn row(&self, user: &str) -> Option<Row> {
        self.rows.find(user)
    }

    /// What the app is shown of a watched user.
    pub fn view(&self, now: Time, row: Row) -> Option<View<'_>> {
        let shown = &self.rows.get(row)?.shown;
        Some(View {
            state: shown.state,
            version: shown.version,
            note: &shown.note,
            seen_ago: shown.seen.map(|(ago, told)| ago + now.since(told)),
        })
    }

    /// How many users are watched, those included whose watch is about to be ended.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// How many interests of parts in users there are.
    pub fn listeners(&self) -> usize {
        self.rows.listeners()
    }

    fn send(&mut self, now: Time, frame: Message) {
        if let Some(heart) = &mut self.heart {
            heart.sent(now);
        }
        self.outputs.push_back(Output::Send { dial: self.link.dial, frame });
    }

    fn send_traffic(&mut self, now: Time, traffic: Traffic) {
        for frame in traffic.frames {
            self.send(now, frame);
        }
        for row in traffic.over {
            self.refuse_over(row);
        }
    }

    fn tell_link(&mut self, retry: Option<Span>) {
        let (state, why) = (self.link.state(), self.link.why);
        self.outputs.push_back(Output::Link { state, why, retry });
    }

    fn tell_stale(&mut self) {
        let stale = self.stale();
        if core::mem::replace(&mut self.told_stale, stale) != stale {
            self.outputs.push_back(Output::Stale(stale));
        }
    }

    fn tell_mode(&mut self) {
        let mode = self.own.mode();
        if core::mem::replace(&mut self.told_mode, mode) != mode {
            self.outputs.extend(mode.map(Output::Mode));
        }
    }
}

impl Idle {
    /// How long until idle; none: never.
    fn after(&self) -> Option<Span> {
        Some(self.app.unwrap_or(self.server)).filter(|&it| it > Span::ZERO)
    }

    fn is_over(&self, now: Time) -> bool {
        self.after().is_some_and(|after| now.since(self.last_input) >= after)
    }

    fn input_age_secs(&self, now: Time) -> u32 {
        let most = greendot_protocol::limits::INPUT_AGE_SECS;
        now.since(self.last_input).as_secs().min(u64::from(most)) as u32
    }
}
