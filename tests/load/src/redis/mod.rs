//! What renewals cost Redis, beside one script for each heartbeat on the same server; and how late ends are told.

mod exodus;
mod figures;
mod outage;
mod sessions;
mod sweep;
mod textbook;

use std::io;
use std::time::Duration;

use greendot_engine::core::{Connect, SelfReport};
use greendot_redis_server::Redis;

pub use self::exodus::exodus;
pub(crate) use self::figures::number;
use self::figures::{Figures, memory};
pub use self::outage::outage;
pub use self::sweep::sweep;
use crate::report::{Budget, Report, Row};

/// Nodes that share the sessions.
const NODES: usize = 3;

/// Measures.
///
/// # Errors
///
/// If Redis cannot be started, or does not do what it is asked.
pub async fn renewals(report: &mut Report, sessions: usize, lasts: Duration) -> io::Result<()> {
    let redis = Redis::start(&[])?;
    let empty = memory(&redis)?;
    let nodes = sessions::Nodes::start(&redis.url(), NODES, sessions).await?;
    let full = memory(&redis)?;
    let before = Figures::read(&redis)?;
    let beats = nodes.live(lasts).await;
    let ours = Figures::read(&redis)?.since(&before);
    drop(nodes);
    redis.ask(&["FLUSHALL"])?;
    let textbook = textbook::run(&redis, sessions, beats, lasts).await?;
    let seconds = lasts.as_secs_f64();
    let rows = [
        ("commands_ratio", "commands a second", 1.0 / 50.0, ours.commands, textbook.commands),
        ("cpu_ratio", "Redis CPU, ms a second", 1.0 / 10.0, ours.cpu * 1e3, textbook.cpu * 1e3),
        ("bytes_ratio", "bytes in and out a second", f64::INFINITY, ours.bytes, textbook.bytes),
    ];
    for (key, what, budget, ours, baseline) in rows {
        report.add(Row {
            key,
            what: format!("{what}, {sessions} sessions on {NODES} nodes"),
            ours: format!("{:.1}", ours / seconds),
            baseline: format!("{:.1}", baseline / seconds),
            figure: ours / baseline,
            budget: if budget.is_finite() { Budget::AtMost(budget) } else { Budget::None },
        });
    }
    report.add(Row {
        key: "bytes_a_session",
        what: "Redis memory of a user with one session".into(),
        ours: format!("{:.0} B", (full - empty) / sessions as f64),
        baseline: String::new(),
        figure: (full - empty) / sessions as f64,
        budget: Budget::None,
    });
    Ok(())
}

/// A tab of the user's connects.
fn connect(user: &str) -> Connect<'_> {
    Connect {
        user,
        session: "session-of-16-by",
        passive: false,
        report: SelfReport::default(),
        token_until: None,
        device: "",
    }
}

fn broken(error: impl std::fmt::Display) -> io::Error {
    io::Error::other(format!("Redis: {error}"))
}
