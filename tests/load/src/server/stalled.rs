//! Readers that stall while a user changes again and again.

use std::io;
use std::time::Duration;

use futures_util::SinkExt;

use super::crowd::{Changers, Crowd, hear, open};
use super::peer::Heard;
use super::{Baselines, Peer, ROUNDS};
use crate::median;
use crate::report::{Budget, Report, Row};

/// How much the server's memory grows while five watchers read nothing.
///
/// # Errors
///
/// If a server cannot be run.
pub async fn stalled(report: &mut Report, baselines: &Baselines, changes: usize) -> io::Result<()> {
    let (mut ours, mut ws) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(growth(Peer::Greendot, baselines, changes).await?);
        ws.push(growth(Peer::Ws, baselines, changes).await?);
    }
    let (ours, ws) = (median(ours), median(ws));
    report.add(Row {
        key: "stalled_growth_mb",
        what: format!("growth with 5 stalled readers, {changes} changes of one user; ws"),
        ours: format!("{ours:.2} MB"),
        baseline: format!("{ws:.2} MB"),
        figure: ours,
        budget: Budget::AtMost(1.0),
    });
    Ok(())
}

async fn growth(peer: Peer, baselines: &Baselines, changes: usize) -> io::Result<f64> {
    let server = baselines.start(peer)?;
    let mut changers = Changers::open(peer, server.port(), &[0]).await?;
    let crowd = Crowd::gather(peer, server.port(), 1, &[0]).await?;
    let mut stalled = Vec::new();
    for number in 0..5 {
        let mut client = open(peer, server.port(), &format!("stalled-{number}")).await?;
        for message in peer.watch(&[0]) {
            client.send(message).await.map_err(io::Error::other)?;
        }
        while matches!(hear(peer, &mut client).await?, Heard::Welcome) {}
        stalled.push(client);
    }
    // A tenth beforehand: what any change takes at first is not counted.
    run(&mut changers, changes / 10, peer, &crowd).await?;
    let before = server.resident()?;
    run(&mut changers, changes, peer, &crowd).await?;
    let after = server.resident()?;
    drop(stalled);
    Ok(after.saturating_sub(before) as f64 / (1024.0 * 1024.0))
}

/// So many changes, as fast as the server takes them.
async fn run(changers: &mut Changers, changes: usize, peer: Peer, crowd: &Crowd) -> io::Result<()> {
    for change in 0..changes {
        changers.change().await?;
        if change % 1_000 == 0 {
            tokio::task::yield_now().await;
        }
    }
    if peer == Peer::Ws {
        crowd.expect(changes);
        crowd.all().await?;
    } else {
        // States in between are skipped: the last one is awaited.
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    Ok(())
}
