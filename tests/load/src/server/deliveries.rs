//! What one delivery costs the server.

use std::io;
use std::time::Duration;

use tokio::time::MissedTickBehavior;

use super::crowd::{Changers, Crowd};
use super::{Baselines, Peer, ROUNDS};
use crate::report::{Budget, Report, Row};
use crate::{median, percentile};

/// How often a user changes: each server has the same to do, and after each change the same time to cool down. Ours gathers
/// for a tick of 20 ms before it tells anybody.
const EVERY: Duration = Duration::from_millis(40);

/// What a round showed of one server.
#[derive(Debug, Default)]
struct Figures {
    /// Processor time for each entry delivered, in µs.
    cpu: Vec<f64>,
    times: Vec<Duration>,
}

impl Figures {
    fn cpu(&self) -> f64 {
        median(self.cpu.clone())
    }

    /// The time within which this share of the deliveries came.
    fn within(&self, share: f64) -> Duration {
        percentile(&self.times, share).unwrap_or_default()
    }
}

/// One change to 1,000 watchers, and 50 changes within a tick to the same, on each server.
///
/// # Errors
///
/// If a server cannot be run.
pub async fn deliveries(
    report: &mut Report,
    baselines: &Baselines,
    watchers: usize,
    changes: usize,
) -> io::Result<()> {
    let (mut ours, mut ws, mut socketio, mut bare) =
        (Figures::default(), Figures::default(), Figures::default(), Figures::default());
    let (mut burst, mut ws_burst) = (Figures::default(), Figures::default());
    for _ in 0..ROUNDS {
        for (peer, figures) in [
            (Peer::Greendot, &mut ours),
            (Peer::Ws, &mut ws),
            (Peer::SocketIo, &mut socketio),
            (Peer::Bare, &mut bare),
        ] {
            round(peer, baselines, watchers, 1, changes, figures).await?;
        }
        for (peer, figures) in [(Peer::Greendot, &mut burst), (Peer::Ws, &mut ws_burst)] {
            round(peer, baselines, watchers, 50, changes / 10, figures).await?;
        }
    }
    for (key, name, other, least) in [
        ("cpu_ws_vs_ours", "ws", &mut ws, 2.0),
        ("cpu_socketio_vs_ours", "socket.io", &mut socketio, 2.3),
    ] {
        report.add(Row {
            key,
            what: format!("server CPU a delivery, 1 change to {watchers}: {name} / ours"),
            ours: format!("{:.2} µs", ours.cpu()),
            baseline: format!("{:.2} µs", other.cpu()),
            figure: other.cpu() / ours.cpu(),
            budget: Budget::AtLeast(least),
        });
    }
    report.add(Row {
        key: "cpu_ours_vs_bare",
        what: "the same: ours / a loop of writes and nothing else, the floor".into(),
        ours: format!("{:.2} µs", ours.cpu()),
        baseline: format!("{:.2} µs", bare.cpu()),
        figure: ours.cpu() / bare.cpu(),
        budget: Budget::None,
    });
    report.add(Row {
        key: "burst_ws_vs_ours",
        what: format!("server CPU an entry, 50 changes in a tick to {watchers}: ws / ours"),
        ours: format!("{:.3} µs", burst.cpu()),
        baseline: format!("{:.3} µs", ws_burst.cpu()),
        figure: ws_burst.cpu() / burst.cpu(),
        budget: Budget::AtLeast(20.0),
    });
    for figures in [&mut ours, &mut ws] {
        figures.times.sort();
    }
    for (key, share) in [("p50_ms", 0.5), ("p99_ms", 0.99)] {
        let millis = |it: &Figures| it.within(share).as_secs_f64() * 1e3;
        report.add(Row {
            key,
            what: format!("{key} from the change to a watcher (ours waits a tick of 20 ms); ws"),
            ours: format!("{:.1} ms", millis(&ours)),
            baseline: format!("{:.1} ms", millis(&ws)),
            figure: millis(&ours),
            budget: Budget::None,
        });
    }
    Ok(())
}

async fn round(
    peer: Peer,
    baselines: &Baselines,
    watchers: usize,
    users: u16,
    changes: usize,
    figures: &mut Figures,
) -> io::Result<()> {
    let server = baselines.start(peer)?;
    let users: Vec<u16> = (0..users).collect();
    let mut changers = Changers::open(peer, server.port(), &users).await?;
    let crowd = Crowd::gather(peer, server.port(), watchers, &users).await?;
    let entries = watchers * users.len();
    let mut before = Duration::ZERO;
    // The first ones warm it up.
    let warm_up = changes / 10;
    let mut time = tokio::time::interval(EVERY);
    time.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for turn in 0..changes + warm_up {
        time.tick().await;
        if turn == warm_up {
            crowd.times().await;
            before = server.cpu()?;
        }
        crowd.expect(entries);
        changers.change().await?;
        crowd.all().await?;
    }
    let took = server.cpu()? - before;
    figures.cpu.push(took.as_secs_f64() * 1e6 / (entries * changes) as f64);
    figures.times.extend(crowd.times().await);
    Ok(())
}
