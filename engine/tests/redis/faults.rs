//! A Redis that dies, stands still, is full and comes back.

use greendot_engine::protocol::{ClientFrame, Mode, State};
use greendot_engine::server::{NotStored, OutOfReach, RedisStore};

use crate::common::{Heard, PATIENCE, Server, until};
use crate::machine::now;
use crate::people::{Person, apart, share};
use crate::rig::{Process, cluster, info, redis, tell};

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
    died.within(&(6_000..=10_000));
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
async fn what_redis_has_not_taken_is_said_not_to_be_stored() {
    let redis = redis(&[]);
    let one = share(&RedisStore::new(redis.url())).await;
    one.presence.set_block("ana", "bo", true);
    assert_eq!(one.presence.stored("ana").await, Ok(()));
    redis.pause(true).expect("it runs");
    one.presence.set_block("ana", "bo", false);
    assert_eq!(one.presence.stored("ana").await, Err(NotStored));
    redis.pause(false).expect("it runs");
    let taken = async {
        while one.presence.stored("ana").await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, taken).await.expect("it is taken in the end");
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
async fn the_last_choice_counts_of_those_made_while_redis_stood_still() {
    let redis = redis(&[]);
    let (_servers, mut ana, bo) = apart(&redis).await;
    redis.pause(true).expect("it runs");
    // That one waits at Redis, on a line that is given up meanwhile.
    bo.say(ClientFrame::Mode(Mode::Dnd));
    ana.sees_only(State::Online, 3_500).await;
    bo.say(ClientFrame::Mode(Mode::Busy));
    ana.sees_only(State::Online, 500).await;
    redis.pause(false).expect("it runs");
    ana.until_sees(State::Busy).await;
    ana.sees_only(State::Busy, 3_000).await;
}

#[tokio::test]
async fn a_redis_that_comes_back_empty_has_everybody_again() {
    let mut redis = redis(&[]);
    let (_servers, mut ana, bo) = apart(&redis).await;
    redis.kill().expect("it runs");
    // Longer than ttl.
    ana.sees_only(State::Online, 9_000).await;
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
        let said = now();
        bo.say(if state == State::Away { ClientFrame::Idle } else { ClientFrame::Active });
        ana.until_sees(state).await;
        said.within(&(0..=5_000));
    }
}

/// What a script does whose notices are lost: the user changes, and every node was told.
const UNHEARD: &str = "
    local nodes = redis.call('HGETALL', KEYS[1] .. ':nodes')
    for i = 1, #nodes, 2 do
      local row = { cmsgpack.unpack(nodes[i + 1]) }
      row[5] = row[5] + 1
      redis.call('HSET', KEYS[1] .. ':nodes', nodes[i], cmsgpack.pack(unpack(row)))
    end
    local user = KEYS[1] .. ':u:' .. ARGV[1]
    local record = { cmsgpack.unpack(redis.call('HGET', user, 'r')) }
    record[14], record[2] = ARGV[2], record[2] + 1
    redis.call('HSET', user, 'r', cmsgpack.pack(unpack(record)))
    return 1";

#[tokio::test]
async fn lost_notices_heal_within_five_seconds() {
    let redis = redis(&[]);
    let (_servers, mut ana, _bo) = apart(&redis).await;
    let keys = tell(&redis, &["KEYS", "*:u:bo"]);
    let tag = keys.strip_suffix(":u:bo").expect("a tag");
    for note in ["one", "two", "three"] {
        let lost = now();
        assert_eq!(tell(&redis, &["EVAL", UNHEARD, "1", tag, "bo", note]), "1");
        ana.until_reads(note).await;
        lost.within(&(0..=5_000));
        assert_eq!(ana.sees(), Some(State::Online));
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

/// People at one server, enough for each of the masters to have some, and at another somebody who sees each of them there.
async fn spread(store: &RedisStore) -> ([Server; 2], Vec<Person>, Vec<Person>) {
    let servers = [share(store).await, share(store).await];
    let mut people = Vec::new();
    let mut watchers = Vec::new();
    for name in ["a", "b", "c", "d", "e", "f"] {
        people.push(Person::new(&servers[1], name, &[]).await);
        watchers.push(Person::new(&servers[0], &format!("watches {name}"), &[name]).await);
    }
    all_see(&mut watchers, State::Online).await;
    (servers, people, watchers)
}

async fn all_see(watchers: &mut [Person], state: State) {
    for it in watchers {
        it.until_sees(state).await;
    }
}

async fn all_see_only(watchers: &mut [Person], state: State, millis: u64) {
    for it in watchers {
        it.sees_only(state, millis).await;
    }
}

fn all_say(people: &[Person], frame: &ClientFrame<'static>) {
    for it in people {
        it.say(frame.clone());
    }
}

#[tokio::test]
async fn a_replica_that_takes_over_goes_on_with_everybody() {
    let mut cluster = cluster();
    let replica = cluster.replica().expect("a replica");
    let (_servers, people, mut watchers) = spread(&RedisStore::new(cluster.servers[1].url())).await;
    cluster.servers[0].kill().expect("it runs");
    until(|| info(&replica, "replication").contains("role:master")).await;
    all_see_only(&mut watchers, State::Online, 500).await;
    all_say(&people, &ClientFrame::Idle);
    all_see(&mut watchers, State::Away).await;
}

#[tokio::test]
async fn a_replica_that_lacks_the_last_writes_takes_over_and_nothing_old_is_shown() {
    let mut cluster = cluster();
    let replica = cluster.replica().expect("a replica");
    let (_servers, people, mut watchers) = spread(&RedisStore::new(cluster.servers[1].url())).await;
    // From now on it learns nothing, and its master dies with what it has not been told.
    replica.pause(true).expect("it runs");
    tell(&cluster.servers[0], &["CLIENT", "KILL", "TYPE", "replica"]);
    all_say(&people, &ClientFrame::Idle);
    all_see(&mut watchers, State::Away).await;
    cluster.servers[0].kill().expect("it runs");
    replica.pause(false).expect("it runs");
    until(|| info(&replica, "replication").contains("role:master")).await;
    // The numbers that are given again are of another epoch.
    all_see_only(&mut watchers, State::Away, 1_000).await;
    for (state, frame) in [(State::Online, ClientFrame::Active), (State::Away, ClientFrame::Idle)] {
        all_say(&people, &frame);
        all_see(&mut watchers, state).await;
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

#[tokio::test]
async fn with_redis_gone_the_application_is_told_what_nobody_can_say() {
    let mut redis = redis(&[]);
    let (servers, mut ana, _bo) = apart(&redis).await;
    let [one, other] = &servers;
    let _cy = Person::new(other, "cy", &[]).await;
    assert_eq!(one.presence.state("cy").await.state, State::Online);
    redis.kill().expect("it runs");
    // Asked before the node knows that the store is gone, and answered all the same.
    assert_eq!(one.presence.state("cy").await.state, State::Unknown);
    assert_eq!(one.presence.sessions("cy").await, Err(OutOfReach));
    assert_eq!(one.presence.where_is("cy").await, Err(OutOfReach));
    // Whom somebody watches there, and who is there, a node knows.
    assert_eq!(one.presence.state("bo").await.state, State::Online);
    assert_eq!(other.presence.state("cy").await.state, State::Online);
    assert_eq!(other.presence.sessions_here("cy").len(), 1);
    assert_eq!(ana.sees(), Some(State::Online));
}
