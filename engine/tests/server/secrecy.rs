//! Invisible is gone, over real sockets: one who hides is told of with the same bytes, in the same
//! number and order, as one who left or never was there, and no later.
//!
//! Bytes are compared for equality. Times are compared by their ranks: were one kind of user answered
//! later than another, its ranks would be higher than chance allows. They are ranked among those of the same question, asked after the same
//! wait: an onlooker knows both, and beside the ticks that lie between two waits nothing else would be seen. The kinds take turns in a
//! random order, so that a busy machine is busy for all of them.

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use greendot_engine::core::Settings;
use greendot_engine::protocol::{
    Beat, ClientFrame, Epoch, Mode, ServerFrame, Span, WatchItem, binary,
};
use greendot_engine::server::{Contacts, Limits};
use tokio_tungstenite::MaybeTlsStream;
use tokio_tungstenite::tungstenite::Message;

use crate::common::{Client, Server, builder, quick};

/// Rounds of each test; in each of them every kind has its turn. More make a stronger onlooker:
/// `GREENDOT_ROUNDS=5000 cargo test -p greendot-engine --release --test server secrecy`.
fn rounds() -> usize {
    std::env::var("GREENDOT_ROUNDS").map_or(150, |it| it.parse().expect("a number of rounds"))
}

/// How far apart two kinds' ranks may be, in standard deviations. All tests together compare twelve pairs of kinds, so that chance
/// alone goes beyond it in one of [`RUNS`] runs: the share of that for one pair, by Bonferroni, is one in 60,000, on either side.
const CHANCE: f64 = 4.3;

/// Pairs that are compared in a run of all tests, and runs of which one fails by chance.
const PAIRS: f64 = 12.0;
const RUNS: f64 = 4_000.0;

/// Numbers that look random.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }

    /// The first numbers in some order.
    fn order(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<_> = (0..count).collect();
        for at in (1..count).rev() {
            order.swap(at, self.roll(at + 1));
        }
        order
    }
}

/// What was asked, and after which wait, if the one who asks has a choice; and how long it took.
type Timed = ((usize, usize), Duration);

/// By how many standard deviations the ranks of `one` among all are off the average (Mann and
/// Whitney), where only those are ranked together of which the same was asked (van Elteren). Equal times share their ranks.
fn apart(one: &[Timed], other: &[Timed]) -> f64 {
    let mut all: Vec<_> = one.iter().map(|&(asked, time)| (asked, time, 1.0)).collect();
    all.extend(other.iter().map(|&(asked, time)| (asked, time, 0.0)));
    all.sort_by_key(|it| (it.0, it.1));
    let (mut off, mut variance) = (0.0, 0.0);
    for asked in all.chunk_by(|a, b| a.0 == b.0) {
        let (mut m, mut sum, mut ties, mut before) = (0.0, 0.0, 0.0, 0.0);
        for alike in asked.chunk_by(|a, b| a.1 == b.1) {
            let size = alike.len() as f64;
            let ones = alike.iter().map(|it| it.2).sum::<f64>();
            m += ones;
            sum += ones * (before + (size + 1.0) / 2.0);
            ties += size.powi(3) - size;
            before += size;
        }
        let (count, n) = (before, before - m);
        if m * n > 0.0 {
            let weight = 1.0 / (count + 1.0);
            off += weight * (sum - m * (count + 1.0) / 2.0);
            variance +=
                weight * weight * m * n / 12.0 * (count + 1.0 - ties / (count * (count - 1.0)));
        }
    }
    if variance > 0.0 { off / variance.sqrt() } else { 0.0 }
}

#[test]
fn ranks_tell_what_is_later_and_only_that() {
    let mut dice = Dice(1);
    // Between 100 and 300 µs, and now and then as late as a busy machine is.
    let mut times = |late: u64| -> Vec<Timed> {
        let mut time = |_| {
            let rare = if dice.roll(20) == 0 { 40_000 } else { 0 };
            // Those who waited for another tick are ranked apart.
            let tick = dice.roll(2);
            let time = 100 + late + dice.roll(200) as u64 + rare + 4_000 * tick as u64;
            ((0, tick), Duration::from_micros(time))
        };
        (0..300).map(&mut time).collect()
    };
    // The chance of one pair to go beyond it, by the tail of the normal distribution (Mills' ratio, a little too high).
    let density = (-CHANCE * CHANCE / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    assert!(2.0 * density / CHANCE * PAIRS < 1.0 / RUNS, "{}", 2.0 * density / CHANCE * PAIRS);
    let (one, same, later) = (times(0), times(0), times(80));
    assert!(apart(&one, &same).abs() < CHANCE / 2.0);
    assert!(apart(&later, &one) > CHANCE && apart(&one, &later) < -CHANCE);
    let flat = vec![((0, 0), Duration::ZERO); 9];
    assert!(apart(&flat, &flat).abs() < 1.0);
}

/// What an onlooker was told of each kind, and how long it took each time.
struct Kind {
    name: &'static str,
    frames: Vec<Vec<u8>>,
    times: Vec<Timed>,
}

impl Kind {
    fn of(name: &'static str) -> Self {
        Self { name, frames: Vec::new(), times: Vec::new() }
    }
}

/// Every kind is like the first.
fn assert_alike(kinds: &[Kind]) {
    let (first, others) = kinds.split_first().expect("a kind");
    assert!(!first.frames.is_empty());
    for other in others {
        assert_eq!(first.frames, other.frames, "{} and {}", first.name, other.name);
        for (one, than) in [(first, other), (other, first)] {
            let later = apart(&one.times, &than.times);
            println!(
                "{} later than {}: {later:.2} ({} times)",
                one.name,
                than.name,
                one.times.len()
            );
            assert!(later < CHANCE, "{} is later than {} by {later}", one.name, than.name);
        }
    }
}

/// The next binary message.
async fn message(client: &mut Client) -> Vec<u8> {
    loop {
        match client.socket.next().await {
            Some(Ok(Message::Binary(bytes))) => return bytes.into(),
            Some(Ok(Message::Ping(_))) => {}
            other => panic!("no frame, but {other:?}"),
        }
    }
}

/// All messages up to the answer to a beat: behind it nothing is left of what was sent before.
async fn settle(client: &mut Client, into: &mut Vec<Vec<u8>>) {
    client.send(&ClientFrame::Beat(Beat { number: 9, input_age_secs: None })).await;
    loop {
        let bytes = message(client).await;
        let last = matches!(binary::decode_server(&bytes), Ok(Some(ServerFrame::BeatAnswer(9))));
        into.push(bytes);
        if last {
            return;
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "an onlooker has a clock")]
fn clock() -> Instant {
    Instant::now()
}

/// Waits for a part of a tick: answers and events go by the clock, and an onlooker may choose when to ask. What it measures begins
/// before that, with what it was told last: it shares its thread with the server here, and would find when it gets its own turn, and not
/// when it is answered.
#[expect(clippy::disallowed_methods, reason = "an onlooker has a clock")]
async fn at_some_time(dice: &mut Dice) -> usize {
    let wait = dice.roll(5);
    tokio::time::sleep(Duration::from_millis(wait as u64)).await;
    wait
}

/// Tells the questions of one test apart.
fn what(ask: &ClientFrame<'_>) -> usize {
    match ask {
        ClientFrame::Watch { users, .. } => users.len(),
        ClientFrame::Leave { .. } => 1,
        _ => 0,
    }
}

/// Asks, and takes the time until the first message that comes of it.
async fn timed(eve: &mut Client, ask: &ClientFrame<'_>, kind: &mut Kind, dice: &mut Dice) {
    let asked = clock();
    let wait = at_some_time(dice).await;
    eve.send(ask).await;
    let answer = message(eve).await;
    kind.times.push(((what(ask), wait), clock() - asked));
    kind.frames.push(answer);
}

/// Somebody whom the onlooker may not see, and who lives on.
struct Secret(Vec<Client>);

impl Secret {
    /// Does something, whatever the onlooker asks; it is over when this returns.
    async fn live(&mut self, dice: &mut Dice) {
        let deed = dice.roll(3);
        for client in &mut self.0 {
            client
                .send(&match deed {
                    0 => ClientFrame::Idle,
                    1 => ClientFrame::Active,
                    _ => ClientFrame::Note(["", "out", "in a talk"][dice.roll(3)]),
                })
                .await;
            settle(client, &mut Vec::new()).await;
        }
    }
}

/// No rate limits, which would tell of the test only; and beats so rare that none comes in between.
fn server() -> greendot_engine::server::Builder {
    let limits = Limits {
        frames_per_second: 1_000_000,
        burst: 1_000_000,
        polls_per_second: 1_000_000,
        poll_burst: 1_000_000,
        names_per_second: 1_000_000,
        name_burst: 1_000_000,
        ..Limits::default()
    };
    let settings = Settings {
        beat: Span::from_secs(60),
        ttl: Span::from_secs(200),
        tick: Span::from_millis(4),
        ..quick()
    };
    builder().settings(settings).limits(limits)
}

fn watch(user: &str) -> ClientFrame<'_> {
    ClientFrame::Watch { request: 1, users: vec![WatchItem { number: 1, user }] }
}

/// Connects, and lets no frame wait for the answer to an earlier one.
async fn arrive(server: &Server, user: &str) -> Client {
    let mut client = server.connect(user, "1").await;
    let MaybeTlsStream::Plain(stream) = client.socket.get_mut() else { panic!("it is encrypted") };
    stream.set_nodelay(true).expect("an open socket");
    client
}

/// Asks for the right to nothing, and takes the time until the beat right behind it is answered.
async fn timed_behind(eve: &mut Client, ask: &ClientFrame<'_>, kind: &mut Kind, dice: &mut Dice) {
    let asked = clock();
    let wait = at_some_time(dice).await;
    eve.send(ask).await;
    settle(eve, &mut kind.frames).await;
    kind.times.push(((what(ask), wait), clock() - asked));
}

/// Eve watches each of them in turn, hears what comes while they live, and ends the watch.
async fn pry(server: &Server, mut secret: Secret, mut kinds: Vec<Kind>) {
    let mut eve = arrive(server, "eve").await;
    let mut dice = Dice(7);
    for _ in 0..rounds() {
        for at in dice.order(kinds.len()) {
            let kind = &mut kinds[at];
            secret.live(&mut dice).await;
            timed(&mut eve, &watch(kind.name), kind, &mut dice).await;
            secret.live(&mut dice).await;
            settle(&mut eve, &mut kind.frames).await;
            eve.send(&ClientFrame::Unwatch { numbers: vec![1] }).await;
            settle(&mut eve, &mut kind.frames).await;
        }
    }
    assert_alike(&kinds);
}

#[tokio::test]
async fn one_who_hid_before_ever_being_seen_is_like_one_who_never_was() {
    let server = Server::start(server()).await;
    server.presence.set_block("block", "eve", true);
    let mut secret = Secret(vec![arrive(&server, "block").await]);
    server.presence.set_mode("cloak", Mode::Invisible);
    secret.0.push(arrive(&server, "cloak").await);
    let kinds = ["never", "block", "cloak"].map(Kind::of).into();
    pry(&server, secret, kinds).await;
}

#[tokio::test]
async fn one_whom_the_application_forbids_is_like_one_who_never_was() {
    let contacts = Contacts::default();
    contacts.add("never", "eve");
    let server = Server::start(server().audience(contacts)).await;
    let secret = Secret(vec![arrive(&server, "hides").await]);
    pry(&server, secret, ["never", "hides", "other"].map(Kind::of).into()).await;
}

#[tokio::test]
async fn one_who_hides_while_looked_at_is_like_one_who_says_bye() {
    let server = Server::start(server()).await;
    let mut eve = arrive(&server, "eve").await;
    let mut kinds = ["bye", "hide"].map(Kind::of);
    let mut dice = Dice(11);
    for round in 0..rounds() {
        for at in dice.order(kinds.len()) {
            let kind = &mut kinds[at];
            // Each time somebody new, who was never looked at before.
            let user = format!("{}{round:04}", ["b", "h"][at]);
            let mut sue = arrive(&server, &user).await;
            eve.send(&watch(&user)).await;
            kind.frames.push(message(&mut eve).await);
            let going = [ClientFrame::Bye, ClientFrame::Mode(Mode::Invisible)];
            let went = clock();
            let wait = at_some_time(&mut dice).await;
            sue.send(&going[at]).await;
            let told = message(&mut eve).await;
            kind.times.push(((0, wait), clock() - went));
            kind.frames.push(without_age(&told));
            if at == 1 {
                sue.hear().await;
                Secret(vec![sue]).live(&mut dice).await;
            }
            settle(&mut eve, &mut kind.frames).await;
            eve.send(&ClientFrame::Unwatch { numbers: vec![1] }).await;
            settle(&mut eve, &mut kind.frames).await;
        }
    }
    assert_alike(&kinds);
}

/// The same frame with all ages, which are measured and differ by chance, as zero.
fn without_age(bytes: &[u8]) -> Vec<u8> {
    let mut frame = binary::decode_server(bytes).expect("a good frame").expect("a known kind");
    let ServerFrame::Events { entries, epoch } = &mut frame else { panic!("{frame:?}") };
    assert_ne!(*epoch, Epoch(0));
    for entry in entries {
        let age = entry.seen_ago.as_mut().expect("was seen");
        assert!(*age < Span::from_secs(20), "{age:?}");
        *age = Span::ZERO;
    }
    let mut plain = Vec::new();
    binary::encode_server(&frame, &mut plain);
    plain
}

#[tokio::test]
async fn a_room_with_one_who_hides_is_like_a_room_without() {
    let server = Server::start(server()).await;
    server.presence.set_block("sue", "eve", true);
    let mut bo = arrive(&server, "bo").await;
    let mut sue = arrive(&server, "sue").await;
    let mut joins = vec![(&mut bo, "room-a", 1), (&mut sue, "room-b", 2)];
    for (client, room, number) in &mut joins {
        client.send(&ClientFrame::Join { number: *number, room }).await;
        settle(client, &mut Vec::new()).await;
    }
    bo.send(&ClientFrame::Join { number: 2, room: "room-b" }).await;
    settle(&mut bo, &mut Vec::new()).await;
    let mut eve = arrive(&server, "eve").await;
    let mut kinds = ["room-a", "room-b"].map(Kind::of);
    let mut dice = Dice(13);
    for _ in 0..rounds() {
        for at in dice.order(kinds.len()) {
            let kind = &mut kinds[at];
            timed(&mut eve, &ClientFrame::Join { number: 1, room: kind.name }, kind, &mut dice)
                .await;
            // She goes and comes while eve is there, whichever room that is.
            for step in
                [ClientFrame::Leave { number: 2 }, ClientFrame::Join { number: 2, room: "room-b" }]
            {
                sue.send(&step).await;
                settle(&mut sue, &mut Vec::new()).await;
            }
            settle(&mut bo, &mut Vec::new()).await;
            settle(&mut eve, &mut kind.frames).await;
            eve.send(&ClientFrame::Leave { number: 1 }).await;
            settle(&mut eve, &mut kind.frames).await;
        }
    }
    assert_alike(&kinds);
}

/// One of her own, one who hides from everybody, one who hides from her, and one who never was.
async fn four(server: &Server) -> (Secret, Vec<Kind>) {
    server.presence.set_block("block", "eve", true);
    server.presence.set_mode("cloak", Mode::Invisible);
    let mut secret = Vec::new();
    for name in ["block", "cloak"] {
        let mut client = arrive(server, name).await;
        client.send(&ClientFrame::Join { number: 1, room: name }).await;
        settle(&mut client, &mut Vec::new()).await;
        secret.push(client);
    }
    (Secret(secret), ["never", "block", "cloak"].map(Kind::of).into())
}

#[tokio::test]
async fn the_end_of_a_watch_and_of_a_stay_tells_nothing_of_whom_it_was_about() {
    let server = Server::start(server()).await;
    let (mut secret, mut kinds) = four(&server).await;
    let mut eve = arrive(&server, "eve").await;
    let mut dice = Dice(17);
    for _ in 0..rounds() {
        for at in dice.order(kinds.len()) {
            let kind = &mut kinds[at];
            secret.live(&mut dice).await;
            let join = ClientFrame::Join { number: 2, room: kind.name };
            for ask in [&watch(kind.name), &join] {
                eve.send(ask).await;
                settle(&mut eve, &mut kind.frames).await;
            }
            timed_behind(&mut eve, &ClientFrame::Unwatch { numbers: vec![1] }, kind, &mut dice)
                .await;
            timed_behind(&mut eve, &ClientFrame::Leave { number: 2 }, kind, &mut dice).await;
        }
    }
    assert_alike(&kinds);
}

#[tokio::test]
async fn a_new_connection_is_told_of_them_alike() {
    let server = Server::start(server()).await;
    let (mut secret, mut kinds) = four(&server).await;
    let mut dice = Dice(19);
    for round in 0..rounds() {
        for at in dice.order(kinds.len()) {
            let kind = &mut kinds[at];
            let mut eve = arrive(&server, "eve").await;
            secret.live(&mut dice).await;
            // Beside a thousand others, and under the largest number, now and then.
            let many = if round % 10 == 0 { 999 } else { 0 };
            let names: Vec<_> = (0..many).map(|it| format!("x{it}")).collect();
            let others = (0..).zip(&names).map(|(number, user)| WatchItem { number, user });
            let last = WatchItem { number: u32::MAX, user: kind.name };
            let users = others.chain([last]).collect();
            timed(&mut eve, &ClientFrame::Watch { request: 7, users }, kind, &mut dice).await;
            secret.live(&mut dice).await;
            settle(&mut eve, &mut kind.frames).await;
            eve.send(&ClientFrame::Bye).await;
        }
    }
    assert_alike(&kinds);
}

/// Polls on one connection, kept open as a browser does; the body, with what names the user taken out.
struct Poller(tokio::net::TcpStream);

impl Poller {
    async fn open(server: &Server) -> Self {
        let stream = tokio::net::TcpStream::connect(server.addr).await.expect("connects");
        stream.set_nodelay(true).expect("an open socket");
        Self(stream)
    }

    async fn poll(&mut self, name: &str, kind: &mut Kind, dice: &mut Dice) {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let body = format!(r#"{{"users":["{name}"],"session":"p","rooms":["{name}"]}}"#);
        let head = format!(
            "POST /presence/poll HTTP/1.1\r\nhost: x\r\nauthorization: Bearer eve\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        let asked = clock();
        let wait = at_some_time(dice).await;
        self.0.write_all(head.as_bytes()).await.expect("sends");
        let mut answer = Vec::new();
        let mut part = [0; 4096];
        while !answer.ends_with(b"}") {
            let read = self.0.read(&mut part).await.expect("an answer");
            assert!(read > 0, "the server has closed");
            answer.extend_from_slice(&part[..read]);
        }
        kind.times.push(((0, wait), clock() - asked));
        let text = String::from_utf8(answer).expect("text");
        assert!(text.starts_with("HTTP/1.1 200"), "{text}");
        // The mark is a digest of names, too; its length is not.
        let (before, mark) = text.split_once("\"mark\":\"").expect("a mark");
        let (mark, after) = mark.split_once('"').expect("a mark");
        let dated = before.lines().filter(|it| !it.starts_with("date:"));
        let told: String = dated.chain([&*"m".repeat(mark.len()), after]).collect();
        kind.frames.push(told.replace(name, "NAME").into_bytes());
    }
}

#[tokio::test]
async fn polls_of_users_and_rooms_tell_of_them_alike() {
    let server = Server::start(server()).await;
    let (mut secret, mut kinds) = four(&server).await;
    let mut poller = Poller::open(&server).await;
    let mut dice = Dice(23);
    for _ in 0..rounds() {
        for at in dice.order(kinds.len()) {
            secret.live(&mut dice).await;
            let name = kinds[at].name;
            poller.poll(name, &mut kinds[at], &mut dice).await;
        }
    }
    assert_alike(&kinds);
}
