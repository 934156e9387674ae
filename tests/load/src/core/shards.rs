//! Two nodes, each with its own users, on two threads.

use std::thread;

use greendot_engine::core::{ConnId, Node};
use greendot_protocol::Time;

use super::costs::{BEAT, Work, drain, node};
use super::{ROUNDS, each, timed};
use crate::median;
use crate::report::{Budget, Report, Row};

/// Heartbeats of all sessions, so often in a round, by turns on one node and on two: one pass takes some milliseconds, and
/// whatever else the machine does meanwhile shows in it.
const PASSES: usize = 9;

/// Heartbeats of so many sessions on one node, and of the same on two that share nothing: a user's node follows from its name,
/// so that a connection knows its node from its hello on and a heartbeat takes no lock. Each of the two has a core to itself, or
/// the figure says no more than how busy the machine is.
pub fn shards(report: &mut Report, count: usize) {
    let work = Work::new(count);
    let (mut one, mut two) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (mut alone, mut shared) = (nodes(&work, 1), nodes(&work, 2));
        for turn in 0..PASSES {
            one.push(pass(&work, &mut alone, turn));
            two.push(pass(&work, &mut shared, turn));
        }
    }
    let (one, two) = (median(one), median(two));
    report.add(Row {
        key: "two_shards_speedup",
        what: format!("heartbeats, {count}: one node / two; needs 2 idle cores"),
        ours: format!("{two:.1} ns"),
        baseline: format!("{one:.1} ns"),
        figure: one / two,
        budget: Budget::None,
    });
}

/// A node with all sessions or several that share them, and the connections of each in the order in which they are heard.
fn nodes(work: &Work, shards: usize) -> Vec<(Node, Vec<ConnId>)> {
    let of = |shard| {
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
        (node, beats)
    };
    (0..shards).map(of).collect()
}

/// The heartbeats of all sessions, each node's on a thread of its own; wall time in ns each.
fn pass(work: &Work, nodes: &mut [(Node, Vec<ConnId>)], turn: usize) -> f64 {
    let (shards, begins) = (nodes.len(), turn as u64 * BEAT);
    let (time, ()) = timed(|| {
        thread::scope(|scope| {
            for (node, beats) in nodes {
                scope.spawn(move || {
                    for (place, &conn) in beats.iter().enumerate() {
                        let at = begins + work.time(place * shards);
                        node.handle_pong(Time::from_millis(at), conn);
                    }
                });
            }
        });
    });
    each(time, work.order.len())
}
