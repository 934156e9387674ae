//! Redis as the shared store (7 or later, or Valkey 7.2 or later), single or a Cluster.
//!
//! Users are spread over partitions, and every key of a partition carries its hash tag, so that one
//! script sees and changes all there is of a user: the same rules as in
//! [`MemoryStore`](super::MemoryStore), in the language of Redis (`../lua`). Deadlines go by the
//! clock of Redis alone. What a node sees of the partitions is put together here.

mod agreement;
mod calls;
mod client;
mod composer;
mod dial;
mod keys;
mod link;
mod notice;
mod part;
#[cfg(feature = "redis-played")]
mod played;
mod scripts;
mod server;
mod stamps;
mod words;

use std::sync::Arc;
use std::time::Instant;

use thiserror::Error;
use tokio::sync::mpsc;

use self::calls::Calls;
use self::client::{Asked, Client};
use self::dial::{connection_info, first_look};
use self::keys::Keys;
use self::scripts::Scripts;
use self::stamps::Stamps;
use super::{FromStore, NodeId, Request};
use crate::core::Settings;

#[cfg(feature = "redis-played")]
pub use played::PlayedRedis;

/// Where the shared store is, and how it is shared.
///
/// ```
/// use greendot_engine::store::redis::RedisStore;
///
/// let store = RedisStore::new("redis://127.0.0.1:6379").prefix("chat").cluster("production");
/// ```
#[derive(Clone)]
pub struct RedisStore {
    url: String,
    prefix: String,
    partitions: u16,
    cluster: String,
}

impl std::fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The URL may hold a password.
        f.debug_struct("RedisStore")
            .field("prefix", &self.prefix)
            .field("partitions", &self.partitions)
            .field("cluster", &self.cluster)
            .finish_non_exhaustive()
    }
}

impl RedisStore {
    /// The Redis at this URL (`redis://user:password@host:port/database`), or the Redis Cluster of
    /// which the server there is one.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), prefix: "greendot".into(), partitions: 8, cluster: "main".into() }
    }

    /// What all keys begin with, after a brace. Default `greendot`. Two clusters of nodes that use
    /// one Redis need two.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Over how many hash slots users are spread. Default 8. All nodes must say the same, and no
    /// more masters than that have anything to do.
    #[must_use]
    pub fn partitions(mut self, partitions: u16) -> Self {
        self.partitions = partitions;
        self
    }

    /// The name of the cluster of nodes. Default `main`. A node of another name is turned away:
    /// who runs two clusters and names them cannot mix them up.
    #[must_use]
    pub fn cluster(mut self, name: impl Into<String>) -> Self {
        self.cluster = name.into();
        self
    }

    /// Opens the store for a run of a node, on the current tokio runtime. `fresh`: nobody was there
    /// before, should it be found empty.
    ///
    /// # Errors
    ///
    /// If it cannot be reached, or cannot be the store.
    pub async fn open(
        &self,
        node: NodeId,
        settings: &Settings,
        fresh: bool,
    ) -> Result<(Handle, mpsc::UnboundedReceiver<FromStore>), OpenError> {
        let info = connection_info(&self.url)?;
        let keys = Keys::new(&self.prefix, self.partitions)?;
        let map = first_look(&info, self, &keys, settings).await?;
        let scripts = Arc::new(Scripts::new());
        let stamps = Some(Stamps::new(keys.count()));
        let calls = Calls::new(keys.clone(), scripts, node, settings, true, stamps);
        let (out, said) = mpsc::unbounded_channel();
        let (asks, asked) = Client::queue();
        let client = Client::new(keys, calls, map, info, settings.roster_limit(), fresh, out)?;
        client.start(asked).await?;
        Ok((Handle { asks }, said))
    }
}

/// Asks the store. Nothing waits here: what cannot be sent on now is not asked, and not answered.
#[derive(Clone, Debug)]
pub struct Handle {
    asks: mpsc::Sender<Asked>,
}

impl Handle {
    /// Asks this under a number, higher than that of whatever was asked before. `made`: when that was said, which is the node's
    /// `now`: by that it is put in order with what other nodes say. Returns whether there was room for it: a node takes an answer
    /// that does not come for a store that is out of reach.
    pub fn ask(&self, made: Instant, number: u64, request: Request) -> bool {
        self.asks.try_send((made, number, request)).is_ok()
    }
}

/// Why the store could not be opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The URL is none.
    #[error("no Redis URL ({reason}): give one as in redis://user:password@host:6379")]
    Url {
        /// What is wrong with it.
        reason: String,
    },
    /// The server could not be reached, or turned us away.
    #[error("cannot connect to Redis at {at}: {error}")]
    Connect {
        /// Where.
        at: String,
        /// Why.
        error: ::redis::RedisError,
    },
    /// The server takes connections and says nothing.
    #[error("Redis does not answer: is it loading, or paused?")]
    Silent,
    /// The server is too old.
    #[error("Redis at {at} is version {version}; 7 or later is needed, or Valkey 7.2 or later")]
    Version {
        /// Where.
        at: String,
        /// What it says it is.
        version: String,
    },
    /// The server throws keys away when memory is short.
    #[error(
        "Redis at {at} has maxmemory-policy {policy}, and would throw away who is online: set it to \
         noeviction, or use a Redis of its own"
    )]
    Evicts {
        /// Where.
        at: String,
        /// The policy.
        policy: String,
    },
    /// The server only copies another.
    #[error("Redis at {at} is a replica of {of}: give the URL of the master")]
    Replica {
        /// Where.
        at: String,
        /// Its master.
        of: String,
    },
    /// Nobody has a part of the keys.
    #[error("no master of the Redis Cluster has slot {0}: see CLUSTER INFO")]
    NoMaster(u16),
    /// Somebody else's key is where ours would be.
    #[error(
        "{key} in Redis is not ours: another product uses {prefix:?}; choose another --redis-prefix"
    )]
    Foreign {
        /// The key.
        key: String,
        /// Our prefix.
        prefix: String,
    },
    /// The nodes that are there already go by another number of partitions.
    #[error(
        "under {prefix:?} users are spread over {held} partitions, not {asked}: all nodes must say \
         the same; to change it, take another prefix"
    )]
    OtherPartitions {
        /// What they go by.
        held: String,
        /// What was asked for.
        asked: u16,
        /// The prefix.
        prefix: String,
    },
    /// The nodes that are there go by other periods: they are another cluster's, or all of one have to be changed at a time.
    #[error(
        "the nodes that share {prefix:?} in Redis go by {held}, and this one by {ours}: give another \
         cluster its own --redis-prefix; to change the periods of one, stop its nodes first, or move \
         to another prefix"
    )]
    OtherPeriods {
        /// What they go by.
        held: String,
        /// What this one was to go by.
        ours: String,
        /// The prefix.
        prefix: String,
    },
    /// Another cluster of nodes has this prefix.
    #[error(
        "{prefix:?} in Redis belongs to the cluster {held:?}, and this is {ours:?}: give each its own \
         --redis-prefix"
    )]
    OtherCluster {
        /// Whose it is.
        held: String,
        /// This node's.
        ours: String,
        /// The prefix.
        prefix: String,
    },
    /// The prefix cannot be one.
    #[error("{0:?} is no prefix: give 1 to 64 bytes without braces, as in \"greendot\"")]
    Prefix(String),
    /// There cannot be so many partitions.
    #[error("{asked} partitions: give 1 to {most}")]
    Partitions {
        /// How many were asked for.
        asked: u16,
        /// The most there may be.
        most: u16,
    },
    /// Redis answered what it should not.
    #[error("Redis answered {0}")]
    Answer(String),
    /// Redis did not do what it was asked.
    #[error("Redis: {0}")]
    Redis(#[from] ::redis::RedisError),
}
