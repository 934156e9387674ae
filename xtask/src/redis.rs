//! Servers that share their users through a real Redis.

use anyhow::Result;
use greendot_redis_server::Redis;

use crate::run::cargo;
use crate::{server, simulator};

/// The tests that start their own Redis, and then the world's, with one that this starts.
pub(crate) fn run() -> Result<()> {
    server::build()?;
    // Those that hold stores to the rules wait far more than they work; those with faults in them want the machine.
    let tests = "test -p greendot-engine --features cli --test redis --";
    cargo(&format!("{tests} conformance --test-threads 12")).run()?;
    cargo(&format!("{tests} --skip conformance --test-threads 4")).run()?;
    let redis = Redis::start(&[])?;
    simulator::over_redis(&redis.url())?;
    simulator::hunt_over_redis(&redis.url())
}
