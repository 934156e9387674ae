//! From one server that works alone to several behind the same address.

use greendot_engine::protocol::State;

use crate::common::Client;
use crate::machine::now;
use crate::people::Person;
use crate::rig::{Process, redis};
use crate::wire::Wire;

/// How long a server says `unknown` of those not heard from: ttl + grace of these tests, with time for a busy machine.
const WARMUP: std::ops::RangeInclusive<u128> = 8_000..=12_000;

async fn come(front: &Wire, user: &str, watches: &[&str]) -> Person {
    Person::over(Client::connect(front.addr(), user, "1").await, watches).await
}

#[tokio::test]
async fn on_the_way_from_one_server_to_many_nobody_is_shown_as_gone() {
    let redis = redis(&[]);
    let alone = Process::alone();
    let front = Wire::to(alone.port()).await;
    // It has just started, too: who has come is known.
    let mut bo = come(&front, "bo", &[]).await;
    let mut cy = come(&front, "cy", &[]).await;
    let mut ana = come(&front, "ana", &["bo"]).await;
    ana.until_sees(State::Online).await;
    // The first with a store takes all who come, and the one without stops at once: none is at either while others are at the
    // other, where they would be gone.
    let began = now();
    let first = Process::start(&redis.url());
    front.lead_to(first.port());
    alone.ask_to_stop();
    for person in [&mut ana, &mut bo, &mut cy] {
        person.until_gone().await;
    }
    assert_eq!(ana.sees(), Some(State::Online), "she saw it to the last");
    // Who comes back before those it watches is told that nobody can say.
    let mut ana = come(&front, "ana", &["bo"]).await;
    let mut eve = come(&front, "eve", &["cy"]).await;
    ana.sees_only(State::Unknown, 500).await;
    let mut bo = come(&front, "bo", &[]).await;
    ana.until_sees(State::Online).await;
    // Who has not come back by the end of the warm-up is gone, and not before.
    eve.until_sees(State::Offline).await;
    began.within(&WARMUP);
    assert_eq!(ana.sees(), Some(State::Online));
    // The second joins, and knows at once what the first knows. From here on servers come and go.
    let second = Process::start(&redis.url());
    let mut fay = Person::over(second.connect("fay", "1").await, &["bo"]).await;
    fay.until_sees(State::Online).await;
    front.lead_to(second.port());
    first.ask_to_stop();
    bo.until_gone().await;
    let _bo = come(&front, "bo", &[]).await;
    fay.sees_only(State::Online, 10_000).await;
}
