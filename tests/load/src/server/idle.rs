//! What a connection costs that says nothing.

use std::io;

use super::crowd::open_many;
use super::{Baselines, Peer, ROUNDS};
use crate::median;
use crate::report::{Budget, Report, Row};

/// Resident memory for each idle connection, ours beside `ws`.
///
/// # Errors
///
/// If a server cannot be run.
pub async fn idle(report: &mut Report, baselines: &Baselines, conns: usize) -> io::Result<()> {
    let (mut ours, mut ws) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(resident(Peer::Greendot, baselines, conns).await?);
        ws.push(resident(Peer::Ws, baselines, conns).await?);
    }
    let (ours, ws) = (median(ours), median(ws));
    report.add(Row {
        key: "idle_rss_vs_ws",
        what: format!("resident memory an idle connection, {conns} of them: ours / ws"),
        ours: format!("{ours:.0} B"),
        baseline: format!("{ws:.0} B"),
        figure: ours / ws,
        budget: Budget::AtMost(1.0 / 3.0),
    });
    Ok(())
}

async fn resident(peer: Peer, baselines: &Baselines, conns: usize) -> io::Result<f64> {
    let server = baselines.start(peer)?;
    // What it takes for any connection at all is not counted.
    let first = open_many(peer, server.port(), names(0, 100)).await?;
    let before = server.resident()?;
    let rest = open_many(peer, server.port(), names(100, conns)).await?;
    let after = server.resident()?;
    drop((first, rest));
    Ok(after.saturating_sub(before) as f64 / conns as f64)
}

fn names(from: usize, count: usize) -> Vec<String> {
    (from..from + count).map(|number| format!("somebody-{number}")).collect()
}
