//! Two nodes, each with its own users, on two threads.

use std::thread;

use greendot_engine::core::{ConnId, Node};
use greendot_protocol::Time;

use super::costs::{Work, drain, node};
use super::{ROUNDS, each, timed};
use crate::median;
use crate::report::{Budget, Report, Row};

/// Heartbeats of so many sessions on one node, and of the same on two that share nothing: a user's node follows from its name,
/// so that a connection knows its node from its hello on and a heartbeat takes no lock.
pub fn shards(report: &mut Report, count: usize) {
    let work = Work::new(count);
    let (mut one, mut two) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        one.push(round(&work, 1));
        two.push(round(&work, 2));
    }
    let (one, two) = (median(one), median(two));
    report.add(Row {
        key: "two_shards_speedup",
        what: format!("heartbeats of {count} sessions: one node / two on two threads"),
        ours: format!("{two:.1} ns"),
        baseline: format!("{one:.1} ns"),
        figure: one / two,
        budget: Budget::None,
    });
}

/// The heartbeats of all sessions; wall time in ns each.
fn round(work: &Work, shards: usize) -> f64 {
    let mut nodes: Vec<(Node, Vec<ConnId>)> = Vec::new();
    for shard in 0..shards {
        let mut node = node();
        // The names have been mixed already, and the order too.
        let mine = work.order.iter().filter(|it| **it as usize % shards == shard);
        let mut numbers: Vec<u32> = mine.copied().collect();
        let order = numbers.clone();
        numbers.sort_unstable();
        let mut conns = vec![None; work.order.len()];
        for number in numbers {
            conns[number as usize] = Some(work.connect(&mut node, number as usize));
            drain(&mut node);
        }
        let beats = order.iter().filter_map(|it| conns[*it as usize]).collect();
        nodes.push((node, beats));
    }
    let (time, ()) = timed(|| {
        thread::scope(|scope| {
            for (node, beats) in &mut nodes {
                scope.spawn(move || {
                    for (place, &conn) in beats.iter().enumerate() {
                        let at = work.time(place * shards);
                        node.handle_pong(Time::from_millis(at), conn);
                    }
                });
            }
        });
    });
    each(time, work.order.len())
}
