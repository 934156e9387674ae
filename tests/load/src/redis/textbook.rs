//! The textbook way: each heartbeat writes the session's key with its deadline, and the index of deadlines.

use std::io;
use std::time::Duration;

use greendot_redis_server::Redis;

use super::broken;
use super::figures::Figures;

const SCRIPT: &str = "
    redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
    redis.call('ZADD', KEYS[2], ARGV[3], KEYS[1])
    return 1";

/// How often heartbeats that have come are written, in one pipeline.
const EVERY: Duration = Duration::from_millis(10);

/// Writes so many heartbeats, spread evenly, and says what that took.
pub(super) async fn run(
    redis: &Redis,
    sessions: usize,
    beats: u64,
    lasts: Duration,
) -> io::Result<Figures> {
    let client = redis::Client::open(redis.url()).map_err(broken)?;
    let mut connection = client.get_multiplexed_async_connection().await.map_err(broken)?;
    let hash: String = redis::cmd("SCRIPT")
        .arg("LOAD")
        .arg(SCRIPT)
        .query_async(&mut connection)
        .await
        .map_err(broken)?;
    let write = |pipeline: &mut redis::Pipeline, beat: usize| {
        let command = pipeline.cmd("EVALSHA").arg(&hash).arg(2);
        command.arg(format!("session:{}", beat % sessions)).arg("deadlines");
        command.arg("node-1").arg(55_000).arg(1_764_000_000_000_u64 + beat as u64).ignore();
    };
    // They are there before it is measured.
    for from in (0..sessions).step_by(1_000) {
        let mut pipeline = redis::pipe();
        (from..sessions.min(from + 1_000)).for_each(|it| write(&mut pipeline, it));
        pipeline.exec_async(&mut connection).await.map_err(broken)?;
    }
    let before = Figures::read(redis)?;
    let steps = (lasts.as_millis() / EVERY.as_millis()).max(1) as u64;
    let mut tick = tokio::time::interval(EVERY);
    let mut done = 0;
    for step in 1..=steps {
        tick.tick().await;
        let mut pipeline = redis::pipe();
        let until = beats * step / steps;
        (done..until).for_each(|it| write(&mut pipeline, it as usize));
        if done < until {
            pipeline.exec_async(&mut connection).await.map_err(broken)?;
        }
        done = until;
    }
    Ok(Figures::read(redis)?.since(&before))
}
