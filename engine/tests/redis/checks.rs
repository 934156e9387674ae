//! What is refused at the start, and how it is said.

use greendot_engine::core::Settings;
use greendot_engine::protocol::Span;
use greendot_engine::server::{OpenError, RedisStore};
use greendot_engine::store::redis as store;
use greendot_redis_server::free_port;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;

use crate::common::{builder, quick, short_lived, spawn};
use crate::people::pause;
use crate::rig::{cluster, redis, share, tell};

async fn refused(store: RedisStore) -> String {
    let error: OpenError = builder().redis(store).open().await.expect_err("it is refused");
    error.to_string()
}

#[tokio::test]
async fn a_url_that_is_none_is_named() {
    let error = refused(RedisStore::new("localhost 6379")).await;
    assert!(error.contains("redis://user:password@host:6379"), "{error}");
}

#[tokio::test]
async fn nobody_there_is_said_with_the_place() {
    let place = format!("127.0.0.1:{}", free_port().expect("a port"));
    let error = refused(RedisStore::new(format!("redis://{place}"))).await;
    assert!(error.contains(&place) && error.contains("refused"), "{error}");
}

#[tokio::test]
async fn a_wrong_password_is_said_and_not_shown() {
    let redis = redis(&["--requirepass", "right"]);
    let place = redis.place();
    for url in [format!("redis://{place}"), format!("redis://:wrong@{place}")] {
        let error = refused(RedisStore::new(url)).await;
        let says = error.contains("NOAUTH") || error.contains("assword");
        assert!(error.contains(&place) && says && !error.contains("wrong"), "{error}");
    }
    share(RedisStore::new(format!("redis://:right@{place}"))).await;
}

#[tokio::test]
async fn a_redis_that_is_too_old_is_refused() {
    let place = old_redis().await;
    let error = refused(RedisStore::new(format!("redis://{place}"))).await;
    for word in [&*place, "6.2.14", "7 or later"] {
        assert!(error.contains(word), "{error}");
    }
}

/// What answers as a Redis 6 does, as far as it is asked.
async fn old_redis() -> String {
    const ABOUT: &str = "redis_version:6.2.14\r\nredis_mode:standalone\r\nrole:master\r\n\
                         maxmemory_policy:noeviction\r\n";
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let place = listener.local_addr().expect("bound").to_string();
    spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let mut stream = BufReader::new(stream);
            let mut line = String::new();
            // Of a request each word has a line of its own, and its length one before it.
            while stream.read_line(&mut line).await.is_ok_and(|it| it > 0) {
                let answer = match line.trim() {
                    "HELLO" => "%1\r\n+proto\r\n:3\r\n".to_owned(),
                    "CLIENT" => "+OK\r\n".to_owned(),
                    "INFO" => format!("${}\r\n{ABOUT}\r\n", ABOUT.len()),
                    _ => String::new(),
                };
                line.clear();
                if stream.write_all(answer.as_bytes()).await.is_err() {
                    break;
                }
            }
        }
    });
    place
}

#[tokio::test]
async fn a_redis_that_evicts_is_refused() {
    let redis = redis(&["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"]);
    let error = refused(RedisStore::new(redis.url())).await;
    assert!(error.contains("allkeys-lru") && error.contains("noeviction"), "{error}");
}

#[tokio::test]
async fn a_replica_is_refused() {
    let master = redis(&[]);
    let redis = redis(&["--replicaof", &format!("127.0.0.1 {}", master.port())]);
    let error = refused(RedisStore::new(redis.url())).await;
    assert!(error.contains("replica of 127.0.0.1"), "{error}");
}

#[tokio::test]
async fn keys_of_another_product_are_left_alone() {
    let redis = redis(&[]);
    tell(&redis, &["SET", "{chat}:settings", "theirs"]);
    let error = refused(RedisStore::new(redis.url()).prefix("chat")).await;
    assert!(error.contains("{chat}:settings") && error.contains("--redis-prefix"), "{error}");
    assert_eq!(tell(&redis, &["GET", "{chat}:settings"]), "theirs");
    tell(&redis, &["HSET", "{talk}:settings", "a", "b"]);
    let error = refused(RedisStore::new(redis.url()).prefix("talk")).await;
    assert!(error.contains("{talk}:settings"), "{error}");
}

#[tokio::test]
async fn two_clusters_do_not_share_a_prefix() {
    let redis = redis(&[]);
    let store = RedisStore::new(redis.url());
    let _one = share(store.clone().cluster("staging")).await;
    let error = refused(store.clone().cluster("production")).await;
    for word in ["staging", "production", "--redis-prefix"] {
        assert!(error.contains(word), "{error}");
    }
    share(store.cluster("production").prefix("other")).await;
}

/// Nobody has named them, but they go by other periods.
#[tokio::test]
async fn two_clusters_with_other_periods_do_not_share_a_prefix() {
    const CHANGED: &str = "beat 200 ms, ttl 6000 ms, expiry_grace 0 ms";
    for (url, _grounds) in [single(), clustered()] {
        let store = RedisStore::new(url);
        // They end soon once nobody is there.
        let first = || builder().settings(short_lived()).redis(store.clone()).open();
        let one = first().await.expect("the first");
        let settings = Settings { ttl: Span::from_millis(6_000), ..quick() };
        let other = || builder().settings(settings).redis(store.clone()).open();
        let error = other().await.expect_err("it is refused").to_string();
        for word in [CHANGED, "ttl 5500 ms", "--redis-prefix"] {
            assert!(error.contains(word), "{error}");
        }
        // Once nobody is there any more they may be changed, and then the first are the others.
        drop(one);
        let opened = loop {
            match other().await {
                Err(OpenError::Store(store::OpenError::OtherPeriods { .. })) => pause(100).await,
                opened => break opened,
            }
        };
        let _changed = opened.expect("nobody is there");
        let error = first().await.expect_err("it is refused").to_string();
        assert!(error.contains(CHANGED), "{error}");
    }
}

/// A Redis, and what keeps it running.
fn single() -> (String, Box<dyn std::any::Any>) {
    let redis = redis(&[]);
    (redis.url(), Box::new(redis))
}

fn clustered() -> (String, Box<dyn std::any::Any>) {
    let cluster = cluster();
    (cluster.servers[2].url(), Box::new(cluster))
}

#[tokio::test]
async fn all_nodes_must_count_the_same_partitions() {
    let redis = redis(&[]);
    let store = RedisStore::new(redis.url());
    let _one = share(store.clone()).await;
    let error = refused(store.partitions(4)).await;
    assert!(error.contains("8 partitions") && error.contains("not 4"), "{error}");
}
