//! Servers that stop, stand still, and are cut off from their Redis.

use greendot_engine::protocol::{ClientFrame, State};
use greendot_engine::server::RedisStore;

use crate::machine::now;
use crate::people::{Person, pause, share};
use crate::rig::{Process, redis};
use crate::wire::Wire;

/// By ttl less beat, a renewal of the node and a sweep less, to ttl and a renewal more, with time for a busy machine.
const ENDS: std::ops::RangeInclusive<u128> = 6_000..=10_500;

#[tokio::test]
async fn a_server_that_is_asked_to_stop_ends_no_session_by_that_alone() {
    let redis = redis(&[]);
    let one = share(&RedisStore::new(redis.url())).await;
    let mut other = Process::start(&redis.url());
    let mut ana = Person::new(&one, "ana", &["bo"]).await;
    let mut eve = Person::new(&one, "eve", &["dee"]).await;
    let _bo = Person::over(other.connect("bo", "1").await, &[]).await;
    let _dee = Person::over(other.connect("dee", "1").await, &[]).await;
    ana.until_sees(State::Online).await;
    eve.until_sees(State::Online).await;
    let stopped = now();
    other.stop();
    // Who comes to another server was never gone, and who does not is gone when its lease has run out.
    let _dee = Person::new(&one, "dee", &[]).await;
    ana.until_sees(State::Offline).await;
    stopped.within(&ENDS);
    assert_eq!(eve.sees(), Some(State::Online));
}

#[tokio::test]
async fn servers_are_replaced_one_by_one_and_nobody_sees_it() {
    let redis = redis(&[]);
    let one = share(&RedisStore::new(redis.url())).await;
    let mut ana = Person::new(&one, "ana", &["bo"]).await;
    let mut servers = [0; 3].map(|_| Process::start(&redis.url()));
    let mut bo = Person::over(servers[0].connect("bo", "1").await, &[]).await;
    ana.until_sees(State::Online).await;
    for turn in 0..3 {
        servers[turn].stop();
        bo.until_gone().await;
        bo = Person::over(servers[(turn + 1) % 3].connect("bo", "1").await, &[]).await;
        servers[turn] = Process::start(&redis.url());
        ana.sees_only(State::Online, 1_000).await;
    }
    // Nor afterwards, by what the servers before left behind.
    ana.sees_only(State::Online, 9_000).await;
    bo.say(ClientFrame::Idle);
    ana.until_sees(State::Away).await;
}

#[tokio::test]
async fn sessions_of_a_server_that_stands_still_end_in_time_and_go_on_if_they_were_heard() {
    let redis = redis(&[]);
    let one = share(&RedisStore::new(redis.url())).await;
    let still = Process::start(&redis.url());
    let mut ana = Person::new(&one, "ana", &["bo"]).await;
    let mut eve = Person::new(&one, "eve", &["dee"]).await;
    let mut bo = Person::over(still.connect("bo", "1").await, &[]).await;
    let _left = Person::over(still.connect("dee", "1").await, &[]).await;
    ana.until_sees(State::Online).await;
    eve.until_sees(State::Online).await;
    let paused = now();
    still.pause(true);
    let mut dee = Person::new(&one, "dee", &[]).await;
    ana.until_sees(State::Offline).await;
    paused.within(&ENDS);
    still.pause(false);
    // Its clients spoke all the while: what waits on a connection is read before its session ends (rule 1).
    ana.until_sees(State::Online).await;
    assert_eq!(bo.ended(), None);
    // Who had moved on was never gone, and is at its new place.
    eve.sees_only(State::Online, 1_000).await;
    assert_eq!(dee.ended(), None);
    dee.say(ClientFrame::Idle);
    eve.until_sees(State::Away).await;
}

#[tokio::test]
async fn a_server_that_stood_still_covers_its_sessions_again() {
    let redis = redis(&[]);
    let one = share(&RedisStore::new(redis.url())).await;
    let mut other = Process::start(&redis.url());
    let mut ana = Person::new(&one, "ana", &["bo"]).await;
    let _early = Person::over(other.connect("early", "1").await, &[]).await;
    other.pause(true);
    pause(4_000).await;
    other.pause(false);
    let bo = Person::over(other.connect("bo", "1").await, &[]).await;
    ana.until_sees(State::Online).await;
    // Beats of the node, which its sessions live by.
    ana.sees_only(State::Online, 4_000).await;
    let died = now();
    other.kill();
    ana.until_sees(State::Offline).await;
    died.within(&ENDS);
    drop(bo);
}

#[tokio::test]
async fn a_server_that_is_cut_off_says_so_and_serves_on() {
    let redis = redis(&[]);
    let wire = Wire::to(redis.port()).await;
    let other = share(&RedisStore::new(redis.url())).await;
    let cut_off = share(&wire.store()).await;
    let mut ana = Person::new(&other, "ana", &["bo"]).await;
    let mut bo = Person::new(&cut_off, "bo", &["ana"]).await;
    ana.until_sees(State::Online).await;
    bo.until_sees(State::Online).await;
    let cut = now();
    wire.cut(true);
    // Rule 12: within 5 s, and nobody turns offline for it where nothing can be known.
    bo.until_stale(true).await;
    cut.within(&(0..=5_000));
    // The others cannot know either, until its lease has run out.
    ana.until_sees(State::Offline).await;
    cut.within(&ENDS);
    bo.sees_only(State::Online, 1_000).await;
    assert_eq!(bo.ended(), None, "no connection is closed for it");
    let _cy = Person::new(&cut_off, "cy", &[]).await;
    wire.cut(false);
    ana.until_sees(State::Online).await;
    bo.until_stale(false).await;
    bo.say(ClientFrame::Idle);
    ana.until_sees(State::Away).await;
    // Who came to it meanwhile is known everywhere.
    let mut eve = Person::new(&other, "eve", &["cy"]).await;
    eve.until_sees(State::Online).await;
}

#[tokio::test]
async fn what_a_dead_server_asked_of_a_redis_that_stood_still_is_not_done_afterwards() {
    let redis = redis(&[]);
    let one = share(&RedisStore::new(redis.url())).await;
    let mut other = Process::start(&redis.url());
    let mut ana = Person::new(&one, "ana", &["bo"]).await;
    redis.pause(true).expect("it runs");
    // Its connect waits at Redis, is given up, and the server dies.
    let _gone = Person::over(other.connect("bo", "1").await, &[]).await;
    other.kill();
    // The person is at another server since; that one can tell Redis no sooner than it goes on.
    let mut bo = Person::new(&one, "bo", &[]).await;
    ana.until_stale(true).await;
    redis.pause(false).expect("it runs");
    ana.until_sees(State::Online).await;
    // Whatever waited there was older than where the person is now.
    ana.sees_only(State::Online, 3_000).await;
    assert_eq!(bo.ended(), None, "nobody took the session");
    bo.say(ClientFrame::Idle);
    ana.until_sees(State::Away).await;
}

#[tokio::test]
async fn what_comes_late_over_a_line_that_was_given_up_is_not_done_any_more() {
    let redis = redis(&[]);
    let wire = Wire::to(redis.port()).await;
    let (one, other) = (share(&RedisStore::new(redis.url())).await, share(&wire.store()).await);
    let mut ana = Person::new(&one, "ana", &["bo"]).await;
    let bo = Person::new(&other, "bo", &[]).await;
    ana.until_sees(State::Online).await;
    let stranded = wire.strand();
    bo.say(ClientFrame::Idle);
    // Told anew over another line.
    ana.until_sees(State::Away).await;
    bo.say(ClientFrame::Active);
    ana.until_sees(State::Online).await;
    stranded.arrive();
    ana.sees_only(State::Online, 2_000).await;
    bo.say(ClientFrame::Idle);
    ana.until_sees(State::Away).await;
}

#[tokio::test]
async fn while_redis_stands_still_sockets_are_answered_and_memory_stays_bounded() {
    const PEOPLE: usize = 40;
    let redis = redis(&[]);
    let server = Process::start(&redis.url());
    let mut all = Vec::new();
    for number in 0..PEOPLE {
        all.push(server.connect(&format!("user {number}"), "1").await);
    }
    let mut ana = server.connect("ana", "1").await;
    redis.pause(true).expect("it runs");
    let mut sizes = Vec::new();
    for turn in 0..200u8 {
        for client in &mut all {
            client.send(&if turn % 2 == 0 { ClientFrame::Idle } else { ClientFrame::Active }).await;
            client.send(&ClientFrame::Note(if turn % 2 == 0 { "here" } else { "there" })).await;
        }
        let asked = now();
        ana.beat_through(turn).await;
        // Far below the time that Redis does not answer.
        asked.within(&(0..=4_000));
        sizes.push(server.resident());
        pause(100).await;
    }
    // The store is given up after 3 s, and for some seconds more the first attempts to reach it take what they need. From then on
    // nothing grows with what is said: 8,000 words in the second half, of which not even 64 bytes each may be kept.
    let (half, end) = (sizes[sizes.len() / 2], sizes[sizes.len() - 1]);
    assert!(end <= half + 512 * 1024, "{half} bytes resident, and {end} at the end");
    redis.pause(false).expect("it runs");
    let mut eve = Person::over(server.connect("eve", "1").await, &["user 7"]).await;
    eve.until_sees(State::Online).await;
    // The last of what was said has reached it.
    eve.until_reads("there").await;
}
