//! Real processes that die, stand still and come back.

use std::time::Duration;

use greendot_engine::core::Settings;
use greendot_engine::protocol::{ClientFrame, ServerFrame, Span, State, binary};
use greendot_engine::server::RedisStore;
use greendot_redis_server::Redis;

use crate::common::{Client, Heard, Row, Server, builder, quick, spawn, until};
use crate::rig::{Process, cluster, info, redis, share_with, tell};

/// Sessions last long beside what happens here; who is silent for a beat is told to the store.
fn settings() -> Settings {
    Settings { ttl: Span::from_millis(8_000), beat: Span::from_millis(500), ..quick() }
}

async fn share(store: &RedisStore) -> Server {
    share_with(store.clone(), builder().settings(settings())).await
}

/// Ana and bo, each at a server of their own; ana sees that bo is there.
async fn apart(redis: &Redis) -> ([Server; 2], Person, Person) {
    let store = RedisStore::new(redis.url());
    let servers = [share(&store).await, share(&store).await];
    let mut ana = Person::new(&servers[0], "ana", &["bo"]).await;
    let bo = Person::new(&servers[1], "bo", &[]).await;
    ana.until_sees(State::Online).await;
    (servers, ana, bo)
}

/// Shows signs of life for as long as it is held, and keeps what it hears.
struct Person {
    heard: tokio::sync::mpsc::UnboundedReceiver<Vec<Row>>,
    says: tokio::sync::mpsc::UnboundedSender<ClientFrame<'static>>,
    last: Option<Row>,
}

impl Person {
    async fn new(server: &Server, user: &str, watches: &[&str]) -> Self {
        Self::over(server.connect(user, "1").await, watches).await
    }

    async fn over(mut client: Client, watches: &[&str]) -> Self {
        let rows = if watches.is_empty() { Vec::new() } else { client.watch(watches).await };
        let (hears, heard) = tokio::sync::mpsc::unbounded_channel();
        let (says, said) = tokio::sync::mpsc::unbounded_channel();
        hears.send(rows).expect("just made");
        spawn(live(client, hears, said));
        Self { heard, says, last: None }
    }

    /// What is shown now of the one user watched.
    fn sees(&mut self) -> Option<State> {
        while let Ok(rows) = self.heard.try_recv() {
            self.last = rows.last().cloned().or(self.last.take());
        }
        self.last.as_ref().map(|it| it.state)
    }

    fn note(&self) -> &str {
        self.last.as_ref().map_or("", |it| &it.note)
    }

    async fn until_sees(&mut self, state: State) {
        let seen = async {
            while self.sees() != Some(state) {
                pause(20).await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(30), seen).await;
        assert!(waited.is_ok(), "not {state:?}, but {:?}", self.last);
    }

    /// Nothing else is seen for so long, in ms.
    async fn sees_only(&mut self, state: State, millis: u64) {
        for _ in 0..millis / 20 {
            let seen = self.sees();
            assert_eq!(seen, Some(state));
            pause(20).await;
        }
    }

    fn say(&self, frame: ClientFrame<'static>) {
        self.says.send(frame).expect("it lives");
    }
}

async fn live(
    mut client: Client,
    hears: tokio::sync::mpsc::UnboundedSender<Vec<Row>>,
    mut said: tokio::sync::mpsc::UnboundedReceiver<ClientFrame<'static>>,
) {
    loop {
        tokio::select! {
            heard = client.next() => match heard {
                Some(rows) => if hears.send(rows).is_err() { return },
                None => return,
            },
            it = said.recv() => match it {
                Some(frame) => client.send(&frame).await,
                None => return,
            },
            () = pause(150) => {
                let beat = greendot_engine::protocol::Beat { number: 1, input_age_secs: None };
                client.send(&ClientFrame::Beat(beat)).await;
            }
        }
    }
}

impl Client {
    /// The rows of the next frame, if it has any; none at the end.
    async fn next(&mut self) -> Option<Vec<Row>> {
        use futures_util::StreamExt;
        use tokio_tungstenite::tungstenite::Message;
        match self.socket.next().await?.ok()? {
            Message::Binary(bytes) => match binary::decode_server(&bytes).ok()?? {
                ServerFrame::Events { entries, .. } | ServerFrame::Snapshot { entries, .. } => {
                    Some(
                        entries
                            .iter()
                            .map(|it| Row { note: it.note.into(), ..Row::of(it.number, it.state) })
                            .collect(),
                    )
                }
                _ => Some(Vec::new()),
            },
            Message::Close(_) => None,
            _ => Some(Vec::new()),
        }
    }
}

struct Since(std::time::Instant);

#[expect(clippy::disallowed_methods, reason = "measures how long real processes take")]
fn now() -> Since {
    Since(std::time::Instant::now())
}

impl Since {
    #[expect(clippy::disallowed_methods, reason = "measures how long real processes take")]
    fn elapsed_ms(&self) -> u128 {
        self.0.elapsed().as_millis()
    }
}

#[expect(clippy::disallowed_methods, reason = "waits for processes that announce nothing")]
async fn pause(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}

#[tokio::test]
async fn sessions_of_a_killed_server_end_in_time_and_others_go_on() {
    let redis = redis(&[]);
    let store = RedisStore::new(redis.url());
    let one = share(&store).await;
    let mut other = Process::start(&redis.url());
    let mut ana = Person::new(&one, "ana", &["bo"]).await;
    let bo = Person::over(other.connect("bo", "1").await, &[]).await;
    ana.until_sees(State::Online).await;
    let died = now();
    other.kill();
    ana.until_sees(State::Offline).await;
    // No sooner than last heard + ttl - beat, as far as the store can tell: a beat of the node and a
    // sweep less (rule 10).
    let passed = died.elapsed_ms();
    assert!((6_000..=10_000).contains(&passed), "after {passed} ms");
    drop(bo);
    // Its successor has the person back.
    let next = Process::start(&redis.url());
    let _bo = Person::over(next.connect("bo", "1").await, &[]).await;
    ana.until_sees(State::Online).await;
}

#[tokio::test]
async fn who_comes_to_another_server_in_time_never_left() {
    let redis = redis(&[]);
    let store = RedisStore::new(redis.url());
    let one = share(&store).await;
    let mut other = Process::start(&redis.url());
    let mut ana = Person::new(&one, "ana", &["bo"]).await;
    let _gone = Person::over(other.connect("bo", "1").await, &[]).await;
    ana.until_sees(State::Online).await;
    other.kill();
    let _bo = Person::new(&one, "bo", &[]).await;
    ana.sees_only(State::Online, 10_000).await;
}

#[tokio::test]
async fn a_redis_that_stands_still_ends_nobody() {
    let redis = redis(&[]);
    let (_servers, mut ana, bo) = apart(&redis).await;
    redis.pause(true).expect("it runs");
    // Longer than ttl. Sockets are answered all the while: ana's beats are.
    ana.sees_only(State::Online, 10_000).await;
    redis.pause(false).expect("it runs");
    ana.sees_only(State::Online, 3_000).await;
    bo.say(ClientFrame::Idle);
    ana.until_sees(State::Away).await;
}

#[tokio::test]
async fn a_redis_that_comes_back_empty_has_everybody_again() {
    let mut redis = redis(&[]);
    let (_servers, mut ana, bo) = apart(&redis).await;
    redis.kill().expect("it runs");
    ana.sees_only(State::Online, 4_000).await;
    redis.restart().expect("it starts");
    until(|| info(&redis, "keyspace").contains("db0:keys=")).await;
    bo.say(ClientFrame::Idle);
    ana.until_sees(State::Away).await;
    // Nobody was swept for it.
    ana.sees_only(State::Away, 9_000).await;
}

#[tokio::test]
async fn flushed_scripts_are_loaded_again() {
    let redis = redis(&[]);
    let (_servers, mut ana, bo) = apart(&redis).await;
    for state in [State::Away, State::Online, State::Away] {
        tell(&redis, &["SCRIPT", "FLUSH"]);
        bo.say(if state == State::Away { ClientFrame::Idle } else { ClientFrame::Active });
        ana.until_sees(state).await;
    }
}

#[tokio::test]
async fn cut_connections_are_made_again() {
    let redis = redis(&[]);
    let (_servers, mut ana, bo) = apart(&redis).await;
    for state in [State::Away, State::Online, State::Away] {
        tell(&redis, &["CLIENT", "KILL", "TYPE", "pubsub"]);
        bo.say(if state == State::Away { ClientFrame::Idle } else { ClientFrame::Active });
        let seen = tokio::time::timeout(Duration::from_secs(5), ana.until_sees(state)).await;
        assert!(seen.is_ok(), "{state:?}");
    }
}

/// What a script does whose notices are lost: the user changes, and every node was told.
const UNHEARD: &str = "
    local nodes = redis.call('HGETALL', KEYS[1] .. ':nodes')
    for i = 1, #nodes, 2 do
      local row = cmsgpack.unpack(nodes[i + 1])
      row[5] = row[5] + 1
      redis.call('HSET', KEYS[1] .. ':nodes', nodes[i], cmsgpack.pack(row))
    end
    local user = KEYS[1] .. ':u:' .. ARGV[1]
    local record = cmsgpack.unpack(redis.call('HGET', user, 'r'))
    record[14], record[2] = ARGV[2], record[2] + 1
    redis.call('HSET', user, 'r', cmsgpack.pack(record))
    return 1";

#[tokio::test]
async fn lost_notices_heal_within_five_seconds() {
    let redis = redis(&[]);
    let (_servers, mut ana, _bo) = apart(&redis).await;
    let keys = tell(&redis, &["KEYS", "*:u:bo"]);
    let tag = keys.strip_suffix(":u:bo").expect("a tag");
    for note in ["one", "two", "three"] {
        assert_eq!(tell(&redis, &["EVAL", UNHEARD, "1", tag, "bo", note]), "1");
        let seen = async {
            while ana.sees() != Some(State::Online) || ana.note() != note {
                pause(20).await;
            }
        };
        assert!(tokio::time::timeout(Duration::from_secs(5), seen).await.is_ok(), "{note}");
    }
}

#[tokio::test]
async fn a_full_redis_makes_nobody_leave() {
    let redis = redis(&[]);
    let (_servers, mut ana, bo) = apart(&redis).await;
    let set = |bytes| tell(&redis, &["CONFIG", "SET", "maxmemory", bytes]);
    set("1mb");
    ana.sees_only(State::Online, 10_000).await;
    set("0");
    ana.sees_only(State::Online, 3_000).await;
    bo.say(ClientFrame::Idle);
    ana.until_sees(State::Away).await;
}

#[tokio::test]
async fn a_replica_that_takes_over_goes_on_with_everybody() {
    let mut cluster = cluster();
    let replica = cluster.replica().expect("a replica");
    let store = RedisStore::new(cluster.servers[1].url());
    let (one, other) = (share(&store).await, share(&store).await);
    let mut watchers = Vec::new();
    let mut people = Vec::new();
    // Enough for each of the masters to have some.
    for name in ["a", "b", "c", "d", "e", "f"] {
        people.push(Person::new(&other, name, &[]).await);
        watchers.push(Person::new(&one, &format!("watches {name}"), &[name]).await);
    }
    for it in &mut watchers {
        it.until_sees(State::Online).await;
    }
    cluster.servers[0].kill().expect("it runs");
    until(|| info(&replica, "replication").contains("role:master")).await;
    for it in &mut watchers {
        it.sees_only(State::Online, 500).await;
    }
    for it in &people {
        it.say(ClientFrame::Idle);
    }
    for it in &mut watchers {
        it.until_sees(State::Away).await;
    }
}

#[tokio::test]
async fn with_redis_gone_people_still_connect() {
    let mut redis = redis(&[]);
    let store = RedisStore::new(redis.url());
    let one = share(&store).await;
    let _ana = one.connect("ana", "1").await;
    redis.kill().expect("it runs");
    let mut bo = one.open().await;
    bo.hello("bo", "1").await;
    assert!(matches!(bo.hear().await, Heard::Welcome(_)));
}
