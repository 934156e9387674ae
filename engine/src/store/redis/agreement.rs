//! What the nodes that share a store have agreed upon, and that nobody else's keys are in the way.

use redis::aio::MultiplexedConnection;
use redis::{RedisResult, pipe};

use super::keys::Keys;
use super::{OpenError, RedisStore};
use crate::core::Settings;

/// Tells our keys from others', and this layout of them from later ones.
const PRODUCT: &str = "greendot 1";

/// Agrees with the nodes that are there already, or is the first.
///
/// # Errors
///
/// If they have agreed upon something else, or what is there is not theirs.
pub(super) async fn agree(
    connection: &mut MultiplexedConnection,
    store: &RedisStore,
    keys: &Keys,
) -> Result<(), OpenError> {
    let key = keys.settings();
    let foreign = |key: &str| OpenError::Foreign { key: key.into(), prefix: store.prefix.clone() };
    let kind: String = redis::cmd("TYPE").arg(&key).query_async(connection).await?;
    if kind != "none" && kind != "hash" {
        return Err(foreign(&key));
    }
    let partitions = store.partitions.to_string();
    let ours = [("product", PRODUCT), ("partitions", &partitions), ("cluster", &store.cluster)];
    // The first to come settles each.
    let mut pipeline = pipe();
    let is_new = kind == "none";
    if is_new {
        for (field, value) in ours {
            pipeline.cmd("HSETNX").arg(&key).arg(field).arg(value).ignore();
        }
    }
    pipeline.cmd("HMGET").arg(&key).arg(&ours.map(|it| it.0)[..]);
    let (held,): ([Option<String>; 3],) = pipeline.query_async(connection).await?;
    let [product, held_partitions, cluster] = held.map(Option::unwrap_or_default);
    if product != PRODUCT {
        return Err(foreign(&key));
    }
    if held_partitions != partitions {
        return Err(OpenError::OtherPartitions {
            held: held_partitions,
            asked: store.partitions,
            prefix: store.prefix.clone(),
        });
    }
    if cluster != store.cluster {
        return Err(OpenError::OtherCluster {
            held: cluster,
            ours: store.cluster.clone(),
            prefix: store.prefix.clone(),
        });
    }
    Ok(())
}

/// For how long a node that has not beaten may still be there, in ms: each beats once a second.
const THERE: u64 = 3_000;

/// Agrees upon the periods by which sessions live. Each node has sessions end by its own, those of the others too: with others
/// than theirs it would end who is there. While nobody is there they may be changed. `home`: the server of the first
/// partition.
///
/// # Errors
///
/// If nodes that are there go by others.
pub(super) async fn agree_on_periods(
    connection: &mut MultiplexedConnection,
    home: &mut MultiplexedConnection,
    store: &RedisStore,
    keys: &Keys,
    settings: &Settings,
) -> Result<(), OpenError> {
    const FIELD: &str = "periods";
    let key = keys.settings();
    let ours = format!(
        "beat {} ms, ttl {} ms, expiry_grace {} ms",
        settings.beat.as_millis(),
        settings.ttl.as_millis(),
        settings.expiry_grace.as_millis()
    );
    let (held,): (String,) = pipe()
        .cmd("HSETNX")
        .arg(&key)
        .arg(FIELD)
        .arg(&ours)
        .ignore()
        .cmd("HGET")
        .arg(&key)
        .arg(FIELD)
        .query_async(connection)
        .await?;
    if held == ours {
        return Ok(());
    }
    let mut alive = redis::cmd("EVAL");
    alive.arg(include_str!("../lua/alive.lua")).arg(1).arg(keys.tag(0)).arg(THERE);
    if alive.query_async::<bool>(home).await? {
        return Err(OpenError::OtherPeriods { held, ours, prefix: store.prefix.clone() });
    }
    redis::cmd("HSET").arg(&key).arg(FIELD).arg(&ours).exec_async(connection).await?;
    Ok(())
}

/// Whether the keys of a partition, if there are any, are of the kinds that the scripts make.
///
/// # Errors
///
/// If one is not.
pub(super) async fn look_at_keys(
    connection: &mut MultiplexedConnection,
    store: &RedisStore,
    keys: &Keys,
    partition: usize,
) -> Result<(), OpenError> {
    let tag = keys.tag(partition);
    let of = [("", "hash"), (":nodes", "hash"), (":due", "zset"), (":on", "set")];
    let mut pipeline = pipe();
    for (key, _) in of {
        pipeline.cmd("TYPE").arg(format!("{tag}{key}"));
    }
    let kinds: RedisResult<Vec<String>> = pipeline.query_async(connection).await;
    for (kind, (key, right)) in kinds?.iter().zip(of) {
        if kind != "none" && kind != right {
            return Err(OpenError::Foreign {
                key: format!("{tag}{key}"),
                prefix: store.prefix.clone(),
            });
        }
    }
    Ok(())
}
