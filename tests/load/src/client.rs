//! What a herd of clients does to a server that comes back: real client cores on a virtual clock.
//!
//! All of them are live when the server dies, and are told at once. While it is away each dial is refused at once, as a
//! machine does whose process is gone; once it is there again it takes each dial, and answers each hello and each beat.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use greendot_client::core::{Client, Config, Dial, LinkState, Message, Output};
use greendot_protocol::{Epoch, ServerFrame, Span, Time, Welcome};

use crate::report::{Budget, Report, Row};

/// How long a frame takes, one way, in ms.
const LATENCY: u64 = 25;
/// When the server dies, in ms: every link has held for far longer than a beat.
const DEATH: u64 = 60_000;
/// The stretch in which the worst load is looked for, in ms.
const WORST: u64 = 100;

/// The figures of one outage.
struct Return {
    /// The largest share of all clients that dial within [`WORST`], once the server is there again.
    peak: f64,
    /// When 95 % of them are live again, in seconds since then.
    back_95: f64,
}

/// The herd's figures, with so many clients.
pub fn herd(report: &mut Report, clients: usize) {
    let long = outage(clients, 10_000);
    let short = outage(clients, 1_000);
    let mut row = |key, what: &str, ours: String, figure, most| {
        let what = format!("{what}, {clients} clients");
        let (baseline, budget) = (String::new(), Budget::AtMost(most));
        report.add(Row { key, what, ours, baseline, figure, budget });
    };
    let percent = |share: f64| format!("{:.2} %", 100.0 * share);
    row(
        "herd_10s_peak",
        "after 10 s away: in the worst 100 ms",
        percent(long.peak),
        long.peak,
        0.02,
    );
    row(
        "herd_1s_peak",
        "after 1 s away: in the worst 100 ms",
        percent(short.peak),
        short.peak,
        0.05,
    );
    let back = format!("{:.1} s", long.back_95);
    row("back_95_s", "after 10 s away: 95 % are live again", back, long.back_95, 22.0);
}

/// What happens to one client, and when.
type Event = Reverse<(u64, usize, What)>;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Timer,
    Refused(u32),
    Opened(u32),
    Welcome(u32),
    Answer(u32, u8),
}

struct Herd {
    clients: Vec<Client>,
    events: BinaryHeap<Event>,
    /// When the server is there again, in ms.
    birth: u64,
    /// When dials reached the server that was there again, in ms.
    dials: Vec<u64>,
    /// When each client was live again, in ms.
    back: Vec<Option<u64>>,
}

fn outage(clients: usize, millis: u64) -> Return {
    let mut herd = Herd {
        clients: Vec::new(),
        events: BinaryHeap::new(),
        birth: DEATH + millis,
        dials: Vec::new(),
        back: vec![None; clients],
    };
    for seed in 0..clients as u64 {
        let config = Config { session: "s1", nodes: 1, idle_after: None, seed };
        herd.clients.push(Client::new(Time::ZERO, &config));
        herd.act(0, seed as usize, Client::connect);
    }
    herd.run(DEATH);
    for client in 0..clients {
        assert_eq!(herd.clients[client].link(), LinkState::Live);
        // Nobody dials twice while all is well.
        herd.act(DEATH, client, |it, now| it.handle_closed(now, Dial(1), LOST));
    }
    herd.run(DEATH + millis + 120_000);
    let mut back: Vec<u64> = herd.back.iter().map(|it| it.expect("all are back")).collect();
    back.sort_unstable();
    let back_95 = back[clients * 95 / 100] - herd.birth;
    Return { peak: herd.peak() as f64 / clients as f64, back_95: back_95 as f64 / 1_000.0 }
}

/// A connection that ended without a close, or did not come about.
const LOST: u16 = 1006;

impl Herd {
    fn run(&mut self, until: u64) {
        while let Some(&Reverse((at, client, what))) =
            self.events.peek().filter(|it| it.0.0 < until)
        {
            self.events.pop();
            match what {
                What::Timer => {
                    // One that was set before the deadline moved finds nothing to do.
                    self.act(at, client, Client::handle_timeout);
                }
                What::Refused(dial) => {
                    self.act(at, client, |it, now| it.handle_closed(now, Dial(dial), LOST));
                }
                What::Opened(dial) => {
                    self.act(at, client, |it, now| it.handle_opened(now, Dial(dial)))
                }
                What::Welcome(dial) => {
                    self.hear(at, client, dial, &ServerFrame::Welcome(welcome()))
                }
                What::Answer(dial, number) => {
                    self.hear(at, client, dial, &ServerFrame::BeatAnswer(number));
                }
            }
        }
    }

    fn hear(&mut self, at: u64, client: usize, dial: u32, frame: &ServerFrame<'_>) {
        self.act(at, client, |it, now| it.handle_frame(now, Dial(dial), frame));
    }

    /// One input of a client, and all that comes of it.
    fn act(&mut self, at: u64, client: usize, input: impl FnOnce(&mut Client, Time)) {
        let now = Time::from_millis(at);
        input(&mut self.clients[client], now);
        while let Some(output) = self.clients[client].poll_output() {
            self.obey(at, client, output);
        }
        if let Some((due, _)) = self.clients[client].deadline() {
            self.events.push(Reverse((due.as_millis().max(at), client, What::Timer)));
        }
    }

    fn obey(&mut self, at: u64, client: usize, output: Output) {
        let away = (DEATH..self.birth).contains(&(at + LATENCY));
        let mut later = |what| self.events.push(Reverse((at + 2 * LATENCY, client, what)));
        match output {
            Output::NeedToken { dial } => {
                self.clients[client].handle_token(Time::from_millis(at), dial, "token");
            }
            Output::Dial { dial, .. } if away => later(What::Refused(dial.0)),
            Output::Dial { dial, .. } => {
                later(What::Opened(dial.0));
                if at >= DEATH {
                    self.dials.push(at + LATENCY);
                }
            }
            Output::Send { dial, frame: Message::Hello(_) } => later(What::Welcome(dial.0)),
            Output::Send { dial, frame: Message::Beat(beat) } if !away => {
                later(What::Answer(dial.0, beat.number));
            }
            Output::Link { state: LinkState::Live, .. } if at >= DEATH => {
                self.back[client].get_or_insert(at);
            }
            _ => {}
        }
    }

    /// The most dials within any stretch of [`WORST`].
    fn peak(&self) -> usize {
        let mut dials = self.dials.clone();
        dials.sort_unstable();
        let mut first = 0;
        let mut most = 0;
        for (last, &at) in dials.iter().enumerate() {
            while at - dials[first] >= WORST {
                first += 1;
            }
            most = most.max(last + 1 - first);
        }
        most
    }
}

/// The shipped settings.
fn welcome() -> Welcome<'static> {
    Welcome {
        beat: Span::from_secs(15),
        ttl: Span::from_secs(55),
        grace: Span::from_secs(10),
        session: "s1",
        epoch: Epoch(7),
        ..Welcome::default()
    }
}
