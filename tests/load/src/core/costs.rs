//! What a connect, a heartbeat, a session's end and a session itself cost.

use std::hint::black_box;
use std::time::Duration;

use greendot_engine::core::{ConnId, Connect, Node, Output, SelfReport, Settings, Start};
use greendot_protocol::{Beat, ClientFrame, Epoch, Span, Time};

use super::names::Names;
use super::{Published, ROUNDS, each, timed};
use crate::median;
use crate::random::Random;
use crate::report::{Budget, Report, Row};

/// Heartbeats come in over this long.
pub(super) const BEAT: u64 = 15_000;

/// One round's figures, in ns each or bytes.
#[derive(Debug, Default)]
pub(super) struct Round {
    pub(super) connect: f64,
    pub(super) beat: f64,
    /// A beat with its answer.
    answered: f64,
    /// The end of a connection, whose session then lingers.
    pub(super) drop: f64,
    /// A look at a session for which nothing is due.
    look: f64,
    /// The end of a session in a sweep.
    pub(super) end: f64,
    /// The same where both sides end the same: connections have ended before, and graces are over.
    lingered: f64,
    /// The same where nobody is heard any more: leases run out while connections look open.
    expired: f64,
    longest_step: Duration,
    pub(super) bytes: f64,
}

/// A million sessions (or as many as asked for), one a user, in random order.
pub fn sessions(report: &mut Report, count: usize, allocated: fn() -> usize) {
    let work = Work::new(count);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let (mut writes, mut large_writes) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        theirs.push(Round { lingered: published_graces(&work), ..published(&work, allocated) });
        ours.push(Round { expired: greendot_expires(&work), ..greendot(&work, allocated) });
        writes.push(flat_writes::<0>(&work));
        large_writes.push(flat_writes::<LEASE>(&work));
    }
    let of =
        |rounds: &[Round], figure: fn(&Round) -> f64| median(rounds.iter().map(figure).collect());
    let mut ratio = |key, what: &str, figure: fn(&Round) -> f64, least| {
        let (mine, other) = (of(&ours, figure), of(&theirs, figure));
        report.add(Row {
            key,
            what: format!("{what}, {count} sessions"),
            ours: format!("{mine:.1} ns"),
            baseline: format!("{other:.1} ns"),
            figure: other / mine,
            budget: Budget::AtLeast(least),
        });
    };
    ratio("heartbeat_ratio", "heartbeat, published algorithm / ours", |it| it.beat, 6.0);
    ratio("connect_ratio", "connect, published algorithm / ours", |it| it.connect, 3.0);
    ratio("sweep_ratio", "sweep that ends all, published algorithm / ours", |it| it.end, 20.0);
    for (key, what, figure) in [
        (
            "linger_ratio",
            "of these only graces on both sides",
            (|it| it.lingered) as fn(&Round) -> f64,
        ),
        ("expire_ratio", "leases that run out, connections read first", |it| it.expired),
    ] {
        let (mine, other) = (of(&ours, figure), of(&theirs, figure));
        report.add(Row {
            key,
            what: format!("{what}, published algorithm / ours"),
            ours: format!("{mine:.1} ns"),
            baseline: format!("{other:.1} ns"),
            figure: other / mine,
            budget: Budget::None,
        });
    }
    let beat = of(&ours, |it| it.beat);
    for (key, what, writes, budget) in [
        ("heartbeat_vs_write", "8 bytes: what it touches", writes, Budget::AtMost(1.5)),
        ("heartbeat_vs_lease_write", "28 bytes: a whole lease", large_writes, Budget::None),
    ] {
        let write = median(writes);
        report.add(Row {
            key,
            what: format!("heartbeat / random write, flat array, records of {what}"),
            ours: format!("{beat:.1} ns"),
            baseline: format!("{write:.1} ns"),
            figure: beat / write,
            budget,
        });
    }
    for (key, what, figure) in [
        (
            "beat_with_answer_ns",
            "a beat that tells the age of the last input, and its answer",
            of(&ours, |it| it.answered),
        ),
        (
            "drop_ns",
            "a connection's end, in the sweep's baseline but not in ours",
            of(&ours, |it| it.drop),
        ),
        ("look_ns", "a look at a session that goes on, in neither", of(&ours, |it| it.look)),
    ] {
        report.add(Row {
            key,
            what: what.into(),
            ours: format!("{figure:.1} ns"),
            baseline: String::new(),
            figure,
            budget: Budget::None,
        });
    }
    let longest = of(&ours, |it| it.longest_step.as_secs_f64() * 1e3);
    report.add(Row {
        key: "longest_step_ms",
        what: "longest step of a sweep, all due at once".into(),
        ours: format!("{longest:.2} ms"),
        baseline: String::new(),
        figure: longest,
        budget: Budget::AtMost(5.0),
    });
    let (mine, other) = (of(&ours, |it| it.bytes), of(&theirs, |it| it.bytes));
    report.add(Row {
        key: "bytes_per_session",
        what: "memory a session, both names of 16 bytes; theirs has none".into(),
        ours: format!("{mine:.1} B"),
        baseline: format!("{other:.1} B"),
        figure: mine,
        budget: Budget::AtMost(128.0),
    });
}

/// What is done in each round, made beforehand.
pub(super) struct Work {
    users: Names,
    sessions: Names,
    /// Session numbers in random order.
    pub(super) order: Vec<u32>,
}

impl Work {
    pub(super) fn new(count: usize) -> Self {
        let mut order: Vec<u32> = (0..count as u32).collect();
        Random::new(7).shuffle(&mut order);
        Self { users: Names::new('u', count), sessions: Names::new('s', count), order }
    }

    /// Connects the session of this number.
    pub(super) fn connect(&self, node: &mut Node, number: usize) -> ConnId {
        let connect = Connect {
            user: self.users.get(number),
            session: self.sessions.get(number),
            passive: false,
            report: SelfReport::default(),
            token_until: None,
            device: "",
        };
        node.handle_connect(Time::ZERO, &connect).expect("all is well")
    }

    /// The heartbeat's time, spread over a beat interval.
    pub(super) fn time(&self, place: usize) -> u64 {
        1_000 + place as u64 * BEAT / self.order.len() as u64
    }
}

fn published(work: &Work, allocated: fn() -> usize) -> Round {
    let count = work.order.len();
    let before = allocated();
    let mut engine = Published::new(55_000, 10_000);
    let mut turns = 0;
    let (connect, ()) = timed(|| {
        for number in 0..count as u64 {
            engine.connect(0, number, number);
            turns += engine.turned.drain(..).count();
        }
    });
    let bytes = (allocated() - before) as f64 / count as f64;
    let (beat, ()) = timed(|| {
        for (place, &number) in work.order.iter().enumerate() {
            engine.heartbeat(work.time(place), u64::from(number));
        }
    });
    // Each looked at once when its first deadline comes, as in ordinary life, and then all due.
    engine.sweep(56_000 - 1);
    let (end, ()) = timed(|| {
        engine.sweep(1_000_000);
        engine.sweep(1_010_000);
        turns += engine.turned.drain(..).count();
    });
    assert!(engine.is_empty());
    assert_eq!(turns, 2 * count);
    Round {
        connect: each(connect, count),
        beat: each(beat, count),
        answered: each(beat, count),
        drop: 0.0,
        look: 0.0,
        end: each(end, count),
        lingered: 0.0,
        expired: each(end, count),
        longest_step: end,
        bytes,
    }
}

/// Users whose connections have ended go offline when their graces are over; ns each.
fn published_graces(work: &Work) -> f64 {
    let count = work.order.len();
    let mut engine = Published::new(55_000, 10_000);
    for number in 0..count as u64 {
        engine.connect(0, number, number);
    }
    for (place, &number) in work.order.iter().enumerate() {
        engine.drop_conn(1_000 + place as u64 * 9_000 / count as u64, u64::from(number));
    }
    engine.turned.clear();
    let (end, ()) = timed(|| engine.sweep(1_000_000));
    assert_eq!(engine.turned.len(), count);
    each(end, count)
}

/// Nobody is heard any more, and every connection looks open: each is read first, as the rules want it, and ended when there was
/// nothing to read; ns each.
fn greendot_expires(work: &Work) -> f64 {
    let count = work.order.len();
    let mut node = node();
    let conns: Vec<ConnId> = (0..count)
        .map(|number| {
            let conn = work.connect(&mut node, number);
            drain(&mut node);
            conn
        })
        .collect();
    for (place, &number) in work.order.iter().enumerate() {
        node.handle_pong(Time::from_millis(work.time(place)), conns[number as usize]);
    }
    // Pings go out, and nothing comes back, until just before the first is due; and then all are.
    while node.deadline() < Time::from_millis(work.time(0) + 55_000) {
        node.handle_timeout(node.deadline());
        drain(&mut node);
    }
    let mut now = Time::from_millis(work.time(count) + 55_000);
    let (mut sum, mut ended) = (Duration::ZERO, 0);
    while node.counts().sessions > 0 {
        now = now.max(node.deadline());
        let (time, closed) = timed(|| {
            node.handle_timeout(now);
            let mut closed = 0;
            while let Some(output) = node.poll_output() {
                match black_box(output) {
                    Output::ReadFirst(conn) => node.handle_read(now, conn),
                    Output::Close { .. } => closed += 1,
                    _ => {}
                }
            }
            closed
        });
        sum += time;
        ended += closed;
    }
    assert_eq!(ended, count);
    each(sum, count)
}

pub(super) fn greendot(work: &Work, allocated: fn() -> usize) -> Round {
    let count = work.order.len();
    let before = allocated();
    let mut node = node();
    let mut conns: Vec<ConnId> = Vec::with_capacity(count);
    let room = count * size_of::<ConnId>();
    let mut turns = 0;
    let (connect, ()) = timed(|| {
        for number in 0..count {
            conns.push(work.connect(&mut node, number));
            turns += drain(&mut node);
        }
    });
    let bytes = (allocated() - before - room) as f64 / count as f64;
    for &conn in &conns {
        // The welcome is out of the way.
        node.transmit(Time::ZERO, conn, &mut |frame| _ = black_box(frame));
    }
    let beats: Vec<ConnId> = work.order.iter().map(|&number| conns[number as usize]).collect();
    let (beat, ()) = timed(|| {
        for (place, &conn) in beats.iter().enumerate() {
            node.handle_pong(Time::from_millis(work.time(place)), conn);
        }
    });
    let frame = ClientFrame::Beat(Beat { number: 1, input_age_secs: Some(3) });
    let (answered, ()) = timed(|| {
        for (place, &conn) in beats.iter().enumerate() {
            node.handle_frame(Time::from_millis(work.time(place)), conn, &frame);
            while let Some(output) = node.poll_output() {
                _ = black_box(output);
            }
            node.transmit(Time::from_millis(work.time(place)), conn, &mut |frame| {
                _ = black_box(frame);
            });
        }
    });
    // Half a minute later the network is gone: every connection ends, and with it the session when its grace is over.
    let gone = work.time(count) + 30_000;
    let (dropped, ()) = timed(|| {
        for (place, &conn) in beats.iter().enumerate() {
            node.handle_drop(Time::from_millis(gone + place as u64 * 9_000 / count as u64), conn);
        }
    });
    drain(&mut node);
    // Each looked at when the wheel first brings it up, as in ordinary life and as above; then all that are due.
    let first = Time::from_millis(gone + 10_000);
    let mut now = Time::from_millis(gone + 9_000);
    let (looked, ()) = timed(|| {
        while now < first {
            node.handle_timeout(now);
            turns += drain(&mut node);
            now = now.max(node.deadline());
        }
    });
    assert_eq!(node.counts().sessions, count);
    let mut longest_step = Duration::ZERO;
    let mut sum = Duration::ZERO;
    while node.counts().sessions > 0 {
        now = now.max(node.deadline());
        let (step, ()) = timed(|| node.handle_timeout(now));
        longest_step = longest_step.max(step);
        let (drained, ended) = timed(|| drain(&mut node));
        sum += step + drained;
        turns += ended;
    }
    assert_eq!(turns, 2 * count);
    Round {
        connect: each(connect, count),
        beat: each(beat, count),
        answered: each(answered, count),
        drop: each(dropped, count),
        look: each(looked, count),
        end: each(sum, count),
        lingered: each(sum, count),
        expired: 0.0,
        longest_step,
        bytes,
    }
}

/// A node with the shipped settings, in which nobody becomes idle.
pub(super) fn node() -> Node {
    let settings = Settings { idle_after: Span::ZERO, ..Settings::default() };
    Node::new(settings, Time::ZERO, Epoch(1), 0, 7, Start::Fresh)
        .expect("the shipped settings work")
}

/// Takes what the node has to say; counts the users that turned.
pub(super) fn drain(node: &mut Node) -> usize {
    let mut turns = 0;
    while let Some(output) = node.poll_output() {
        turns += usize::from(matches!(black_box(output), Output::Transition(_)));
    }
    turns
}

/// Words of 4 bytes in a lease beside the time.
const LEASE: usize = 5;

/// One write into each of as many records of this many words of 4 bytes and a time, in the same order; ns each. All have been
/// written before, as ours have.
fn flat_writes<const WORDS: usize>(work: &Work) -> f64 {
    #[derive(Clone, Copy)]
    #[repr(C, packed(4))]
    struct Record<const WORDS: usize> {
        heard: u64,
        _rest: [u32; WORDS],
    }
    let mut records = vec![Record { heard: 1, _rest: [1; WORDS] }; work.order.len()];
    let (time, ()) = timed(|| {
        for (place, &number) in work.order.iter().enumerate() {
            records[number as usize].heard = work.time(place);
        }
    });
    black_box(&records);
    each(time, work.order.len())
}
