//! What a Redis server says of itself, and which server has which partition.

use std::collections::BTreeMap;

use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{RedisResult, Value};

use super::OpenError;
use super::keys::Keys;

/// The oldest version whose scripts may publish to shards.
const OLDEST: u32 = 7;

/// A server's word about itself.
#[derive(Debug)]
pub(super) struct About {
    fields: BTreeMap<String, String>,
}

impl About {
    pub(super) async fn ask(connection: &mut MultiplexedConnection) -> RedisResult<Self> {
        let mut fields = BTreeMap::new();
        for section in ["server", "memory", "replication"] {
            let text: String = redis::cmd("INFO").arg(section).query_async(connection).await?;
            let lines = text.lines().filter_map(|it| it.split_once(':'));
            fields.extend(lines.map(|(name, value)| (name.into(), value.trim().into())));
        }
        Ok(Self { fields })
    }

    fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", |it| it.as_str())
    }

    /// Tells this run of the server from others, and its time as a master from what it was before.
    pub(super) fn run(&self) -> String {
        format!("{} {}", self.field("run_id"), self.field("master_replid"))
    }

    pub(super) fn is_cluster(&self) -> bool {
        self.field("redis_mode") == "cluster"
    }

    pub(super) fn is_master(&self) -> bool {
        self.field("role") == "master"
    }

    /// # Errors
    ///
    /// If the server cannot be the store.
    pub(super) fn check(&self, at: &str) -> Result<(), OpenError> {
        let version = self.field("redis_version");
        let major = version.split('.').next().and_then(|it| it.parse().ok());
        if major.is_none_or(|it: u32| it < OLDEST) {
            return Err(OpenError::Version { at: at.into(), version: version.into() });
        }
        let policy = self.field("maxmemory_policy");
        if policy != "noeviction" {
            return Err(OpenError::Evicts { at: at.into(), policy: policy.into() });
        }
        if !self.is_master() {
            return Err(OpenError::Replica { at: at.into(), of: self.field("master_host").into() });
        }
        Ok(())
    }
}

/// Where a server is: none, the one that the URL names; else host and port.
pub(super) type Place = Option<(String, u16)>;

/// Which server has each partition, as one of the servers knows it.
///
/// # Errors
///
/// If it does not say, or a slot is nobody's.
pub(super) async fn places(
    connection: &mut MultiplexedConnection,
    keys: &Keys,
) -> Result<Vec<Place>, OpenError> {
    let ranges = ranges(connection).await?;
    (0..keys.count()).map(|it| find(&ranges, keys.slot(it))).collect()
}

/// Which server has a slot.
///
/// # Errors
///
/// If nobody says, or it is nobody's.
pub(super) async fn place_of(
    connection: &mut MultiplexedConnection,
    slot: u16,
) -> Result<Place, OpenError> {
    find(&ranges(connection).await?, slot)
}

async fn ranges(connection: &mut MultiplexedConnection) -> RedisResult<Vec<Range>> {
    let reply = connection.req_packed_command(redis::cmd("CLUSTER").arg("SLOTS")).await?;
    Ok(read_ranges(&reply))
}

fn find(ranges: &[Range], slot: u16) -> Result<Place, OpenError> {
    let range = ranges.iter().find(|it| (it.0..=it.1).contains(&i64::from(slot)));
    range.map(|it| Some(it.2.clone())).ok_or(OpenError::NoMaster(slot))
}

type Range = (i64, i64, (String, u16));

/// From, to and the master of each range of slots.
fn read_ranges(reply: &Value) -> Vec<Range> {
    let Value::Array(rows) = reply else { return Vec::new() };
    let read = |row: &Value| {
        let Value::Array(row) = row else { return None };
        let [Value::Int(from), Value::Int(to), Value::Array(master), ..] = &row[..] else {
            return None;
        };
        let [Value::BulkString(host), Value::Int(port), ..] = &master[..] else { return None };
        let host = String::from_utf8(host.clone()).ok()?;
        Some((*from, *to, (host, u16::try_from(*port).ok()?)))
    };
    rows.iter().filter_map(read).collect()
}
