//! One change of a user whom very many watch, as it ships: spread over the interval.

use std::hint::black_box;
use std::time::Duration;

use greendot_engine::core::{ConnId, Output, Settings};
use greendot_protocol::{Mode, Time};

use super::fanout::crowd;
use super::{each, timed};
use crate::percentile;
use crate::report::{Budget, Report, Row};

/// One change to 200,000 watchers (or as many as asked for), on the virtual clock, until each has its frame.
pub fn throng(report: &mut Report, watchers: usize, allocated: fn() -> usize) {
    let settings = Settings::default();
    let empty = allocated();
    let mut node = crowd(watchers, settings);
    let held = allocated() - empty;
    let began = Time::from_millis(10_000);
    let (mut spent, ()) = timed(|| node.set_mode(began, "celebrity", Mode::Dnd));
    let mut longest = spent;
    let mut most = held;
    let mut delays: Vec<u64> = Vec::with_capacity(watchers);
    let mut ready: Vec<ConnId> = Vec::new();
    let end = began + settings.crowd_every + settings.crowd_every;
    while node.deadline() < end {
        let now = node.deadline();
        let (step, ()) = timed(|| {
            node.handle_timeout(now);
            while let Some(output) = node.poll_output() {
                if let Output::Ready(conn) = output {
                    ready.push(conn);
                }
            }
        });
        longest = longest.max(step);
        let (sent, ()) = timed(|| {
            for conn in ready.drain(..) {
                node.transmit(now, conn, &mut |frame| {
                    _ = black_box(frame);
                    delays.push(now.since(began).as_millis());
                });
            }
        });
        spent += step + sent;
        most = most.max(allocated() - empty);
    }
    assert_eq!(delays.len(), watchers, "each is told once");
    delays.sort_unstable();
    let at = |share| percentile(&delays, share).map_or(0.0, |it| it as f64 / 1e3);
    let millis = |it: Duration| it.as_secs_f64() * 1e3;
    let mut figure = |key, what: &str, ours: String, figure, budget| {
        let what = format!("{what}, one change to {watchers}");
        report.add(Row { key, what, ours, baseline: String::new(), figure, budget });
    };
    let cpu = each(spent, watchers);
    figure("crowd_cpu_ns", "processor time a watcher", format!("{cpu:.0} ns"), cpu, Budget::None);
    let step = millis(longest);
    figure("crowd_step_ms", "longest step", format!("{step:.2} ms"), step, Budget::AtMost(5.0));
    let (resting, grown) = (held as f64 / watchers as f64, (most - held) as f64 / watchers as f64);
    let bytes = format!("{resting:.0} B");
    figure("crowd_bytes", "memory a watcher, session included", bytes, resting, Budget::None);
    figure(
        "crowd_more_bytes",
        "more while it is told",
        format!("{grown:.1} B"),
        grown,
        Budget::None,
    );
    let interval = (settings.crowd_every + settings.tick).as_millis() as f64 / 1e3;
    for (key, what, share, budget) in [
        ("crowd_p50_s", "delay, p50", 0.5, Budget::None),
        ("crowd_p99_s", "delay, p99", 0.99, Budget::None),
        ("crowd_last_s", "delay, the last", 1.0, Budget::AtMost(interval)),
    ] {
        figure(key, what, format!("{:.2} s", at(share)), at(share), budget);
    }
}
