//! How soon it is told that very many have said goodbye at a node: all at once, as when tabs load a new release, or while Redis
//! was away.

use std::io;
use std::time::{Duration, Instant};

use greendot_engine::protocol::ClientFrame;
use greendot_redis_server::Redis;

use super::outage::One;
use crate::report::{Budget, Report, Row};

/// Redis stands still for so long before they say it, and for as long after.
const AWAY: Duration = Duration::from_secs(5);

/// How often it is looked who is still there.
const LOOKS_EVERY: Duration = Duration::from_millis(20);

/// By then all is told, or never will be.
const PATIENCE: Duration = Duration::from_secs(60);

/// How many users are there, by partition keys.
fn present(redis: &Redis, keys: &[&str]) -> io::Result<usize> {
    let count = |it: &&str| redis.ask(&["SCARD", it])?.parse::<usize>().map_err(io::Error::other);
    keys.iter().map(count).sum()
}

/// Four in five of a node's sessions say goodbye.
///
/// # Errors
///
/// If Redis cannot be started, does not do what it is asked, or is not told of all.
pub async fn exodus(report: &mut Report, sessions: usize) -> io::Result<()> {
    let leave = sessions / 5 * 4;
    for away in [false, true] {
        let (redis, mut one, conns) = One::crowded(sessions).await?;
        let keys = redis.ask(&["KEYS", "*:on"])?;
        let keys: Vec<&str> = keys.lines().collect();
        if present(&redis, &keys)? != sessions {
            return Err(io::Error::other("not all are there to begin with"));
        }
        if away {
            redis.pause(true)?;
            one.work_for(AWAY).await;
        }
        let asked = one.asked;
        let mut begin = Instant::now();
        for conn in conns.iter().take(leave) {
            one.say(*conn, &ClientFrame::Bye);
        }
        if away {
            one.work_for(AWAY).await;
            redis.pause(false)?;
            begin = Instant::now();
        }
        one.longest = Duration::ZERO;
        while present(&redis, &keys)? > sessions - leave {
            one.work_for(LOOKS_EVERY).await;
            if begin.elapsed() > PATIENCE {
                return Err(io::Error::other("not all goodbyes are told"));
            }
        }
        let (back, step) = (begin.elapsed().as_secs_f64() * 1e3, one.longest.as_secs_f64() * 1e3);
        let (told, stepped, when) = if away {
            ("exodus_outage_ms", "exodus_outage_step_ms", "in an outage, from its end")
        } else {
            ("exodus_ms", "exodus_step_ms", "at once")
        };
        let asked = (one.asked - asked) as f64 / leave as f64;
        let figures = [
            (told, format!("until all is told; asked {asked:.2} times of Redis each"), back),
            (stepped, "the node's longest step meanwhile".to_owned(), step),
        ];
        for (key, what, figure) in figures {
            report.add(Row {
                key,
                what: format!("{leave} of {sessions} say goodbye {when}: {what}"),
                ours: format!("{figure:.1} ms"),
                baseline: String::new(),
                figure,
                budget: Budget::None,
            });
        }
    }
    Ok(())
}
