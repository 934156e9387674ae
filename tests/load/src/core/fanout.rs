//! One change of a user whom very many watch.

use std::hint::black_box;

use greendot_engine::core::{Connect, Node, SelfReport, Settings, Start};
use greendot_protocol::{ClientFrame, Epoch, Mode, Span, Time, WatchItem};

use super::names::Names;
use super::{ROUNDS, each, timed};
use crate::median;
use crate::report::{Budget, Report, Row};

/// One change to 100,000 watchers (or as many as asked for), until every outbox holds it, beside a loop that pushes one
/// pointer into each of as many vectors.
pub fn fanout(report: &mut Report, watchers: usize) {
    let (mine, other) = one_change(watchers);
    report.add(Row {
        key: "fanout_vs_push",
        what: format!("one change to {watchers} watchers / one push into each of as many vectors"),
        ours: format!("{mine:.1} ns"),
        baseline: format!("{other:.1} ns"),
        figure: mine / other,
        budget: Budget::AtMost(3.0),
    });
}

/// What one change costs for each of so many watchers, and what a push costs; ns.
pub(super) fn one_change(watchers: usize) -> (f64, f64) {
    // All at once, where the shipped settings would spread them over ten seconds.
    let mut node = crowd(watchers, Settings { crowd_limit: watchers, ..Settings::default() });
    let (mut ours, mut pushes) = (Vec::new(), Vec::new());
    let mut vectors: Vec<Vec<*const u8>> = (0..watchers).map(|_| Vec::with_capacity(4)).collect();
    let entry = 7u8;
    for round in 0..4 * ROUNDS {
        let mode = if round % 2 == 0 { Mode::Dnd } else { Mode::Busy };
        let now = Time::from_millis(10_000 + 100 * round as u64);
        let (time, ready) = timed(|| {
            node.set_mode(now, "celebrity", mode);
            let mut ready = 0;
            while node.deadline() <= now + Span::from_millis(20) {
                node.handle_timeout(now + Span::from_millis(20));
                while let Some(output) = node.poll_output() {
                    _ = black_box(output);
                    ready += 1;
                }
            }
            ready
        });
        assert!(ready >= watchers, "{ready} of {watchers} were told");
        let later = now + Span::from_millis(21);
        for conn in node.conn_ids() {
            node.transmit(later, conn, &mut |frame| _ = black_box(frame));
        }
        let (push, ()) = timed(|| {
            for outbox in &mut vectors {
                outbox.push(&raw const entry);
            }
        });
        for outbox in &mut vectors {
            black_box(outbox).clear();
        }
        ours.push(each(time, watchers));
        pushes.push(each(push, watchers));
    }
    (median(ours), median(pushes))
}

/// A node on which so many watch one user, and have been told of it.
pub(super) fn crowd(watchers: usize, settings: Settings) -> Node {
    let names = Names::new('w', watchers);
    let mut node =
        Node::new(settings, Time::ZERO, Epoch(1), 0, 7, Start::Fresh).expect("they work");
    let connect = |user| Connect {
        user,
        session: "tab",
        passive: false,
        device: "",
        report: SelfReport::default(),
        token_until: None,
    };
    node.handle_connect(Time::ZERO, &connect("celebrity")).expect("all is well");
    let watch =
        ClientFrame::Watch { request: 1, users: vec![WatchItem { number: 1, user: "celebrity" }] };
    for number in 0..watchers {
        let conn =
            node.handle_connect(Time::ZERO, &connect(names.get(number))).expect("all is well");
        node.handle_frame(Time::ZERO, conn, &watch);
        while node.poll_output().is_some() {}
        node.transmit(Time::ZERO, conn, &mut |frame| _ = black_box(frame));
    }
    node
}
