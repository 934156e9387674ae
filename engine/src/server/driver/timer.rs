//! The timer task: does what is due, and sleeps until more is.

use std::sync::{Arc, Weak};

use greendot_protocol::Time;
use tokio::sync::Notify;

use super::Driver;
use crate::clock::{self, Clock};
use crate::server::alarm::Alarm;
use crate::server::fanout::Fanout;
use crate::server::metrics;

/// Sleeps until the node's next deadline or somebody's turn, again and again, as long as somebody holds the driver; and
/// tells connections what waits for them.
pub(super) async fn run_timer(
    clock: Clock,
    alarm: Alarm,
    sooner: Arc<Notify>,
    driver: Weak<Driver>,
) {
    let mut fanout = Fanout::default();
    let mut updated = clock::moment();
    loop {
        // Not held over the wait, or the end of the last handle would go unnoticed.
        let turn = driver.upgrade().map(|it| {
            if updated.elapsed() >= metrics::EVERY {
                updated = clock::moment();
                it.update_metrics();
            }
            it.turns.turn(clock.now());
            let deadline = it.turn();
            let more = fanout.run(&it);
            (deadline.min(it.turns.next()), more)
        });
        let Some((at, more)) = turn else { return };
        if more || at <= clock.now() {
            // More is due at once; the connections get their turn in between.
            tokio::task::yield_now().await;
            continue;
        }
        tokio::select! {
            () = sooner.notified() => {}
            () = alarm.reach(at) => {}
        }
    }
}

impl Driver {
    /// Does what is due and says when to come again.
    fn turn(&self) -> Time {
        self.operate(|now, core| {
            if core.node.deadline() <= now {
                core.node.handle_timeout(now);
            }
            core.timer_at = core.node.deadline();
            core.timer_at
        })
        .0
    }
}
