//! What a Redis has done so far.

use std::io;

use greendot_redis_server::Redis;

/// Counted from its start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figures {
    /// Commands, those inside of scripts among them.
    pub(super) commands: f64,
    /// Seconds of processor time of its main thread.
    pub(super) cpu: f64,
    /// Bytes over the network, both ways.
    pub(super) bytes: f64,
}

/// Commands by which it is looked at, and connections are made: not what is measured.
const OURS: [&str; 3] = ["info", "hello", "client"];

impl Figures {
    pub(super) fn read(redis: &Redis) -> io::Result<Self> {
        let info = |section| redis.ask(&["INFO", section]);
        let (stats, cpu, net) = (info("commandstats")?, info("cpu")?, info("stats")?);
        let mut commands = 0.0;
        for line in stats.lines() {
            let Some((name, row)) = line.strip_prefix("cmdstat_").and_then(|it| it.split_once(':'))
            else {
                continue;
            };
            let name = name.split('|').next().unwrap_or(name);
            if OURS.contains(&name) {
                continue;
            }
            let calls = row.split(',').find_map(|it| it.strip_prefix("calls="));
            commands += calls.and_then(|it| it.parse().ok()).unwrap_or(0.0);
        }
        Ok(Self {
            commands,
            cpu: number(&cpu, "used_cpu_sys_main_thread")
                + number(&cpu, "used_cpu_user_main_thread"),
            bytes: number(&net, "total_net_input_bytes") + number(&net, "total_net_output_bytes"),
        })
    }

    pub(super) fn since(&self, before: &Self) -> Self {
        Self {
            commands: self.commands - before.commands,
            cpu: self.cpu - before.cpu,
            bytes: self.bytes - before.bytes,
        }
    }
}

/// Bytes in use.
pub(super) fn memory(redis: &Redis) -> io::Result<f64> {
    Ok(number(&redis.ask(&["INFO", "memory"])?, "used_memory"))
}

/// A field of what the server tells of itself.
pub(crate) fn number(info: &str, name: &str) -> f64 {
    let line = info.lines().find_map(|it| it.strip_prefix(name)?.strip_prefix(':'));
    line.and_then(|it| it.trim().parse().ok()).unwrap_or(0.0)
}
