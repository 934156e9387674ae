//! A node, its clock, and a driver that a test can hold back.

use std::collections::BTreeSet;
use std::sync::Arc;

use greendot_engine::core::{
    Answer, ConnId, Connect, Ending, Fineness, Mark, Node, Output, Refusal, RoomAnswer, SelfReport,
    Settings, Start, Transition,
};
use greendot_engine::protocol::{
    Beat, ClientFrame, Entry, Epoch, ErrorCode, Member, Mode, OwnSession, ServerFrame, Span, State,
    Time, WatchItem, binary,
};

/// The numbers of the rules' scenarios.
pub(crate) fn settings() -> Settings {
    Settings {
        beat: Span::from_secs(10),
        ttl: Span::from_secs(30),
        grace: Span::from_secs(5),
        expiry_grace: Span::ZERO,
        sweep: Span::from_secs(1),
        tick: Span::ZERO,
        idle_after: Span::from_secs(600),
        warmup: None,
        ..Settings::default()
    }
}

pub(crate) struct Rig {
    pub(crate) node: Node,
    pub(crate) now: Time,
    /// Whether the driver says at once that it has read what waits (which is nothing).
    pub(crate) reads: bool,
    pub(crate) ready: BTreeSet<ConnId>,
    pub(crate) pings: Vec<ConnId>,
    pub(crate) to_read: Vec<ConnId>,
    pub(crate) closed: Vec<(ConnId, Ending)>,
    pub(crate) transitions: Vec<Transition>,
    /// What the application was asked: who may see whom, and who may join.
    pub(crate) questions: Vec<(u64, Vec<Pair>)>,
    pub(crate) joins: Vec<(u64, Arc<str>, Arc<str>)>,
    pub(crate) answers: Vec<(bool, Mark, Vec<Answer>)>,
    pub(crate) rooms: Vec<RoomAnswer>,
}

/// What a connection was sent, owned.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Heard {
    Welcome(Mode),
    BeatAnswer(u8),
    Snapshot(u32, Vec<Row>),
    Events(Vec<Row>),
    Mode(Mode),
    Error(ErrorCode, u32),
    Token(Span),
    Room(u32, Vec<(String, State)>),
    RoomEvents(u32, Vec<(String, State)>),
    Crowd(u32, u32, usize),
    /// (session, device, idle, lingering, this)
    Sessions(Vec<(String, String, bool, bool, bool)>),
}

/// (viewer, user)
pub(crate) type Pair = (Arc<str>, Arc<str>);

/// (number, state, version)
pub(crate) type Row = (u32, State, u32);

impl Rig {
    pub(crate) fn new() -> Self {
        Self::with(settings(), Start::Fresh)
    }

    pub(crate) fn with(settings: Settings, start: Start) -> Self {
        let node = Node::new(settings, Time::ZERO, Epoch(1), 0, 1, start).expect("they work");
        Self {
            node,
            now: Time::ZERO,
            reads: true,
            ready: BTreeSet::new(),
            pings: Vec::new(),
            to_read: Vec::new(),
            closed: Vec::new(),
            transitions: Vec::new(),
            questions: Vec::new(),
            joins: Vec::new(),
            answers: Vec::new(),
            rooms: Vec::new(),
        }
    }

    /// Lets time pass to this second of the run; deadlines are kept on the way.
    pub(crate) fn until(&mut self, secs: f64) {
        let end = Time::from_millis((secs * 1000.0) as u64);
        while self.node.deadline() <= end {
            self.now = self.now.max(self.node.deadline());
            self.node.handle_timeout(self.now);
            self.drain();
        }
        self.now = self.now.max(end);
    }

    /// The process stands still until this second: nothing is done on the way.
    pub(crate) fn stand_still_until(&mut self, secs: f64) {
        self.now = Time::from_millis((secs * 1000.0) as u64);
    }

    pub(crate) fn connect(&mut self, user: &str, session: &str) -> ConnId {
        self.try_connect(user, session, None).expect("may connect")
    }

    pub(crate) fn try_connect(
        &mut self,
        user: &str,
        session: &str,
        token_until: Option<Time>,
    ) -> Result<ConnId, Refusal> {
        let report = SelfReport::default();
        let connect = Connect { user, session, passive: false, report, token_until, device: "" };
        let conn = self.node.handle_connect(self.now, &connect);
        self.drain();
        conn
    }

    pub(crate) fn frame(&mut self, conn: ConnId, frame: &ClientFrame<'_>) {
        self.node.handle_frame(self.now, conn, frame);
        self.drain();
    }

    pub(crate) fn beat(&mut self, conn: ConnId) {
        self.frame(conn, &ClientFrame::Beat(Beat { number: 1, input_age_secs: None }));
    }

    pub(crate) fn watch(&mut self, conn: ConnId, request: u32, users: &[(u32, &str)]) {
        let users = users.iter().map(|&(number, user)| WatchItem { number, user }).collect();
        self.frame(conn, &ClientFrame::Watch { request, users });
    }

    pub(crate) fn drop_conn(&mut self, conn: ConnId) {
        self.node.handle_drop(self.now, conn);
        self.drain();
    }

    pub(crate) fn drain(&mut self) {
        while let Some(output) = self.node.poll_output() {
            match output {
                Output::Ready(conn) => _ = self.ready.insert(conn),
                Output::Ping(conn) => self.pings.push(conn),
                Output::ReadFirst(conn) if self.reads => self.node.handle_read(self.now, conn),
                Output::ReadFirst(conn) => self.to_read.push(conn),
                Output::Close { conn, code, .. } => self.closed.push((conn, code)),
                Output::Transition(transition) => self.transitions.push(transition),
                Output::Audience { number, pairs } => self.questions.push((number, pairs)),
                Output::MayJoin { ask, user, room } => self.joins.push((ask, user, room)),
                Output::Answer { full, mark, users, .. } => self.answers.push((full, mark, users)),
                Output::Rooms { rooms, .. } => self.rooms = rooms,
                other => panic!("{other:?} is new here"),
            }
        }
    }

    /// What the connection gets, if it was called ready.
    pub(crate) fn hear(&mut self, conn: ConnId) -> Vec<Heard> {
        if !self.ready.remove(&conn) {
            return Vec::new();
        }
        let mut heard = Vec::new();
        self.node.transmit(self.now, conn, &mut |frame| heard.push(owned(frame)));
        heard
    }

    /// The bytes of what the connection gets, frame by frame.
    pub(crate) fn hear_bytes(&mut self, conn: ConnId) -> Vec<usize> {
        self.ready.remove(&conn);
        let mut sizes = Vec::new();
        self.node.transmit(self.now, conn, &mut |frame| {
            let mut bytes = Vec::new();
            binary::encode_server(frame, &mut bytes);
            sizes.push(bytes.len());
        });
        sizes
    }

    /// Answers the oldest question of who may see whom.
    pub(crate) fn allow(&mut self, answer: impl Fn(&str, &str) -> Option<Fineness>) {
        let (number, pairs) = self.questions.remove(0);
        let answers: Vec<_> = pairs.iter().map(|it| answer(&it.0, &it.1)).collect();
        self.node.handle_audience(self.now, number, &answers);
        self.drain();
    }

    pub(crate) fn state(&self, user: &str) -> State {
        self.node.read_public(self.now, user, |seen| seen.state())
    }
}

fn owned(frame: &ServerFrame<'_>) -> Heard {
    match frame {
        ServerFrame::Welcome(welcome) => Heard::Welcome(welcome.mode),
        ServerFrame::BeatAnswer(number) => Heard::BeatAnswer(*number),
        ServerFrame::Snapshot { request, entries, .. } => Heard::Snapshot(*request, rows(entries)),
        ServerFrame::Events { entries, .. } => Heard::Events(rows(entries)),
        ServerFrame::Mode { mode, .. } => Heard::Mode(*mode),
        ServerFrame::Error { code, about, .. } => Heard::Error(*code, *about),
        ServerFrame::Token { lasts } => Heard::Token(*lasts),
        ServerFrame::Room { number, members } => Heard::Room(*number, people(members)),
        ServerFrame::RoomEvents { number, members } => Heard::RoomEvents(*number, people(members)),
        ServerFrame::Crowd { number, count, sample } => Heard::Crowd(*number, *count, sample.len()),
        ServerFrame::Sessions(sessions) => {
            let row = |it: &OwnSession<'_>| {
                (it.session.into(), it.device.into(), it.idle, it.lingering, it.this)
            };
            Heard::Sessions(sessions.iter().map(row).collect())
        }
        other => panic!("{other:?} is new here"),
    }
}

fn people(members: &[Member<'_>]) -> Vec<(String, State)> {
    members.iter().map(|it| (it.user.to_owned(), it.state)).collect()
}

fn rows(entries: &[Entry<'_>]) -> Vec<Row> {
    entries.iter().map(|it| (it.number, it.state, it.version.0)).collect()
}
