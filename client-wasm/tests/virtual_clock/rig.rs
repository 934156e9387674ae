//! A client on a virtual clock, with a server that is played by hand.

use greendot_client::core::{Client, Config, Dial, LinkState, Message, Output, Part, Reason, Row};
use greendot_protocol::{
    CloseCode, Entry, Epoch, ServerFrame, Span, State, Time, Version, Welcome,
};

/// Numbers of the given scenarios: beat 10, ttl 30, grace 5.
pub const BEAT: Span = Span::from_secs(10);

pub fn secs(secs: f64) -> Time {
    Time::from_millis((secs * 1000.0).round() as u64)
}

type Call = fn(&mut Client, Time);

/// What one test needs to see of a run.
pub struct Rig {
    pub client: Client,
    pub now: Time,
    /// Every output so far, with its time.
    pub log: Vec<(Time, Output)>,
    /// Hands out a token and opens each dial at once, and welcomes each hello.
    pub serve: bool,
    /// Answers beats at once.
    pub answer: bool,
    pub welcome: Welcome<'static>,
    /// What the app does inside the callback of a link's state, once.
    pub on_link: Option<(LinkState, Call)>,
    pub dial: Dial,
    requests: Vec<u32>,
}

impl Rig {
    pub fn new() -> Self {
        Self::with(&Config { session: "s1", nodes: 1, idle_after: None, seed: 1 })
    }

    pub fn with(config: &Config<'_>) -> Self {
        let now = Time::ZERO;
        Self {
            client: Client::new(now, config),
            now,
            log: Vec::new(),
            serve: true,
            answer: true,
            welcome: Welcome {
                beat: BEAT,
                ttl: Span::from_secs(30),
                grace: Span::from_secs(5),
                session: "s1",
                epoch: Epoch(7),
                ..Welcome::default()
            },
            on_link: None,
            dial: Dial(0),
            requests: Vec::new(),
        }
    }

    /// A live client that watches these users as part 1, all of them online with version 1.
    pub fn live(users: &[&str]) -> Self {
        let mut rig = Self::new();
        for user in users {
            rig.subscribe(1, user);
        }
        rig.act(Client::connect);
        let online: Vec<_> = users.iter().map(|user| (*user, State::Online, 1)).collect();
        if !users.is_empty() {
            rig.snapshot(7, &online);
        }
        assert_eq!(rig.client.link(), LinkState::Live);
        rig
    }

    /// Calls the client now and does what comes out.
    pub fn act<T>(&mut self, call: impl FnOnce(&mut Client, Time) -> T) -> T {
        let result = call(&mut self.client, self.now);
        self.drain();
        result
    }

    /// Lets the time pass up to `to`, with every deadline kept.
    pub fn run(&mut self, to: f64) {
        let to = secs(to);
        while let Some((at, _)) = self.client.deadline().filter(|&(at, _)| at <= to) {
            self.now = self.now.max(at);
            self.act(Client::handle_timeout);
        }
        self.now = to;
    }

    /// Lets the time pass while nothing of the client runs.
    pub fn sleep(&mut self, to: f64) {
        self.now = secs(to);
    }

    pub fn subscribe(&mut self, part: u32, user: &str) -> Row {
        self.act(|client, now| client.subscribe(now, Part(part), user))
    }

    pub fn row(&self, user: &str) -> Row {
        self.client.row(user).expect("watched")
    }

    pub fn frame(&mut self, frame: &ServerFrame<'_>) {
        let dial = self.dial;
        self.act(|client, now| client.handle_frame(now, dial, frame));
    }

    fn entries(&self, list: &[(&str, State, u32)]) -> Vec<Entry<'static>> {
        list.iter()
            .map(|&(user, state, version)| Entry {
                number: self.row(user).0 + 1,
                state,
                version: Version(version),
                ..Entry::default()
            })
            .collect()
    }

    /// A snapshot in answer to the oldest open request, or to none.
    pub fn snapshot(&mut self, epoch: u32, list: &[(&str, State, u32)]) {
        // What was watched in this tick is asked for first.
        self.act(Client::handle_timeout);
        let request = if self.requests.is_empty() { 0 } else { self.requests.remove(0) };
        let entries = self.entries(list);
        self.frame(&ServerFrame::Snapshot { epoch: Epoch(epoch), request, entries });
    }

    pub fn event(&mut self, epoch: u32, user: &str, state: State, version: u32) {
        let entries = self.entries(&[(user, state, version)]);
        self.frame(&ServerFrame::Events { epoch: Epoch(epoch), entries });
    }

    /// The connection breaks.
    pub fn reset(&mut self) {
        self.closed(1006);
    }

    pub fn closed(&mut self, code: u16) {
        let dial = self.dial;
        self.act(|client, now| client.handle_closed(now, dial, code));
    }

    pub fn closed_by(&mut self, code: CloseCode) {
        self.closed(code.number());
    }

    /// State and version, as shown.
    pub fn shown(&self, user: &str) -> (State, u32) {
        let view = self.client.view(self.now, self.row(user)).expect("watched");
        (view.state, view.version.0)
    }

    pub fn outputs<T>(&self, from: f64, pick: impl Fn(&Output) -> Option<T>) -> Vec<T> {
        let late = self.log.iter().filter(|(at, _)| *at >= secs(from));
        late.filter_map(|(_, output)| pick(output)).collect()
    }

    /// Changes told to a part since then.
    pub fn changes(&self, part: u32, from: f64) -> usize {
        let told = |output: &Output| {
            matches!(output, Output::Changed { part: it, .. } if it.0 == part).then_some(())
        };
        self.outputs(from, told).len()
    }

    pub fn links(&self, from: f64) -> Vec<LinkState> {
        self.outputs(from, |output| match output {
            Output::Link { state, .. } => Some(*state),
            _ => None,
        })
    }

    pub fn stales(&self, from: f64) -> Vec<bool> {
        self.outputs(from, |output| match output {
            Output::Stale(is) => Some(*is),
            _ => None,
        })
    }

    pub fn sent(&self, from: f64) -> Vec<Message> {
        self.outputs(from, |output| match output {
            Output::Send { frame, .. } => Some(frame.clone()),
            _ => None,
        })
    }

    pub fn beats(&self, from: f64) -> usize {
        self.sent(from).iter().filter(|it| matches!(it, Message::Beat(_))).count()
    }

    /// Nodes dialled since then.
    pub fn dials(&self, from: f64) -> Vec<u32> {
        self.outputs(from, |output| match output {
            Output::Dial { node, .. } => Some(*node),
            _ => None,
        })
    }

    pub fn why_due(&self) -> Option<Reason> {
        self.client.deadline().map(|(_, why)| why)
    }

    fn drain(&mut self) {
        while let Some(output) = self.client.poll_output() {
            self.log.push((self.now, output.clone()));
            self.obey(&output);
        }
    }

    fn obey(&mut self, output: &Output) {
        let now = self.now;
        match output {
            Output::Link { state, .. } => {
                if let Some((_, call)) = self.on_link.take_if(|(on, _)| on == state) {
                    call(&mut self.client, now);
                }
            }
            Output::NeedToken { dial } if self.serve => {
                self.client.handle_token(now, *dial, "token");
            }
            Output::Dial { dial, .. } => {
                self.dial = *dial;
                self.requests.clear();
                if self.serve {
                    self.client.handle_opened(now, *dial);
                }
            }
            Output::Send { dial, frame } => match frame {
                Message::Hello(_) if self.serve => {
                    let welcome = ServerFrame::Welcome(self.welcome.clone());
                    self.client.handle_frame(now, *dial, &welcome);
                }
                Message::Watch { request, .. } => self.requests.push(*request),
                Message::Beat(beat) if self.answer => {
                    self.client.handle_frame(now, *dial, &ServerFrame::BeatAnswer(beat.number));
                }
                _ => {}
            },
            _ => {}
        }
    }
}
