//! The client itself: what it holds, and what can be asked of it.

mod app;
mod connection;
mod page;
mod timeout;
mod token;

use alloc::boxed::Box;

use greendot_protocol::sabotage::{Fault, on};
use greendot_protocol::{ErrorCode, Mode, Revision, Span, State, Time, Version};

pub use page::Page;
pub use token::TokenFailure;

use super::alarms::{Alarms, Reason};
use super::awake::Awake;
use super::beat::Heart;
use super::link::{Link, Phase};
use super::output::{LinkState, Message, Output, Queue, Row};
use super::own::Own;
use super::rng::Rng;
use super::rooms::{Room, RoomView, Rooms};
use super::rows::Rows;
use super::view::Epochs;
use super::watches::Watches;

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
    session: Box<str>,
    /// What the person may call this device; may be empty.
    device: Box<str>,
    link: Link,
    alarms: Alarms,
    /// The token of the present dial, until its hello.
    token: Box<str>,
    /// The right to say `closing` by a beacon, and the node that gave it: that of the last welcome.
    beacon: Option<(u32, Box<str>)>,
    /// A fresh token for the present connection has been asked for.
    renews: bool,
    /// When the token of the present connection ends, if it does.
    token_ends: Time,
    /// The beats of the present connection, from its welcome on.
    heart: Option<Heart>,
    awake: Awake,
    own: Own,
    rows: Rows,
    epochs: Epochs,
    watches: Watches,
    rooms: Rooms,
    idle: Idle,
    /// The beat interval, as the last welcome said.
    beat: Span,
    /// ttl + grace, as the last welcome said: how long the view outlives the link.
    memory: Span,
    /// The link stands, but nothing has proved that since there was reason to doubt it.
    doubted: bool,
    /// The node's own word that its word may be old.
    node_is_stale: bool,
    /// The browser says that there is no network.
    offline: bool,
    /// The present attempt was begun under `offline`.
    dialled_offline: bool,
    told_stale: bool,
    told_mode: Option<(Mode, Revision)>,
    outputs: Queue,
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
    /// Whether that is no more than a bound: the user was seen since.
    pub coarse: bool,
}

impl Client {
    /// A client that waits for [`Client::connect`].
    pub fn new(now: Time, config: &Config<'_>) -> Self {
        Self {
            rng: Rng::new(config.seed),
            session: config.session.into(),
            device: Box::default(),
            link: Link::new(config.nodes),
            alarms: Alarms::default(),
            token: Box::default(),
            beacon: None,
            renews: false,
            token_ends: now,
            heart: None,
            awake: Awake::new(now),
            own: Own::default(),
            rows: Rows::default(),
            epochs: Epochs::default(),
            watches: Watches::default(),
            rooms: Rooms::default(),
            idle: Idle { app: config.idle_after, server: Span::ZERO, last_input: now, said: false },
            beat: Span::ZERO,
            memory: Span::ZERO,
            doubted: false,
            node_is_stale: false,
            offline: false,
            dialled_offline: false,
            told_stale: true,
            told_mode: None,
            outputs: Queue::default(),
        }
    }

    /// When [`Client::handle_timeout`] is to be called next, and why.
    pub fn deadline(&self) -> Option<(Time, Reason)> {
        self.alarms.next()
    }

    /// How many deadlines are held: at most one for each reason.
    pub fn timers(&self) -> usize {
        self.alarms.count()
    }

    /// What has to be done next; none: nothing until the next input or deadline.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop()
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
        !on(Fault::NeverStale)
            && (self.link.phase != Phase::Live || self.doubted || self.node_is_stale)
    }

    /// What an earlier page of this tab was told of the user's mode, before [`Client::connect`]: who is invisible stays so though
    /// the server has lost everything. If the next token is another user's, its server passes it over.
    pub fn remember_mode(&mut self, mode: Mode, revision: Revision) {
        self.own.remember(mode, revision);
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
        let (seen_ago, coarse) = self.seen_ago(now, row).unzip();
        Some(View {
            state: shown.state,
            version: shown.version,
            note: &shown.note,
            seen_ago,
            coarse: coarse.unwrap_or_default(),
        })
    }

    /// The state that the app is shown; unknown for a row that nobody watches.
    pub fn state(&self, row: Row) -> State {
        self.rows.get(row).map_or(State::Unknown, |it| it.shown.state)
    }

    /// How long ago the user was last seen, as of now, and whether that is no more than a bound.
    pub fn seen_ago(&self, now: Time, row: Row) -> Option<(Span, bool)> {
        let shown = &self.rows.get(row)?.shown;
        let (ago, told) = shown.seen?;
        Some((ago + now.since(told), shown.coarse))
    }

    /// The user's note; empty if there is none.
    pub fn note(&self, row: Row) -> &str {
        self.rows.get(row).map_or("", |it| &it.shown.note)
    }

    /// The place of a room that the app is in.
    pub fn find_room(&self, id: &str) -> Option<Room> {
        self.rooms.find(id)
    }

    /// What is known of a room that the app is in.
    pub fn room(&self, room: Room) -> Option<&RoomView> {
        self.rooms.get(room)
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
        self.outputs.push(Output::Send { dial: self.link.dial, frame });
    }

    #[inline(never)]
    fn refuse(&mut self, code: ErrorCode, about: u32, text: &str) {
        self.outputs.push(Output::Error { code, about, text: text.into() });
    }

    fn tell_link(&mut self, retry: Option<Span>) {
        let (state, why) = (self.link.state(), self.link.why);
        self.outputs.push(Output::Link { state, why, retry });
    }

    fn tell_stale(&mut self) {
        let stale = self.stale();
        if core::mem::replace(&mut self.told_stale, stale) != stale {
            self.outputs.push(Output::Stale(stale));
        }
    }

    fn tell_mode(&mut self) {
        let mode = self.own.mode().map(|it| (it, self.own.revision()));
        if core::mem::replace(&mut self.told_mode, mode) != mode
            && let Some((mode, revision)) = mode
        {
            self.outputs.push(Output::Mode { mode, revision });
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
