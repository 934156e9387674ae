//! Many at once on several threads: in the end every view is true.

use std::collections::BTreeMap;

use greendot_engine::protocol::{Beat, ClientFrame, Mode, State};

use crate::common::{Client, Heard, Server, builder, spawn};

const USERS: u32 = 24;
const STEPS: u32 = 40;

fn name(user: u32) -> String {
    format!("user-{user}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn after_any_coming_and_going_every_view_is_true() {
    let server = Server::start(builder()).await;
    let names: Vec<String> = (0..USERS).map(name).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut watchers = Vec::new();
    for watcher in ["w1", "w2", "w3"] {
        let mut client = server.connect(watcher, "1").await;
        let mut view = View(vec![State::Offline; names.len()]);
        view.apply(client.watch(&names).await);
        watchers.push((client, view));
    }
    let (done, mut all_done) = tokio::sync::mpsc::channel::<(u32, Option<Client>)>(1);
    for user in 0..USERS {
        let (presence, addr, done) = (server.presence.clone(), server.addr, done.clone());
        spawn(async move {
            let server = Server { presence, addr };
            let last = live(&server, user).await;
            done.send((user, last)).await.expect("somebody waits");
        });
    }
    drop(done);
    // Those who are there at the end stay there.
    let mut there = BTreeMap::new();
    while let Some((user, client)) = all_done.recv().await {
        there.insert(user, client);
    }
    // Who left without a word lingers a little.
    for (user, client) in &there {
        if client.is_none() {
            crate::common::until(|| server.presence.sessions_here(&name(*user)).is_empty()).await;
        }
    }
    let mut truth = Vec::new();
    for name in &names {
        truth.push(server.presence.state(name).await.state);
    }
    for (client, view) in &mut watchers {
        // What comes before the answer was sent before it; what has been marked by now waits for
        // a tick at most.
        for number in 0..=255 {
            view.catch_up(client, number).await;
            if view.0 == truth {
                break;
            }
        }
        assert_eq!(view.0, truth);
        view.catch_up(client, 0).await;
        assert_eq!(view.0, truth);
    }
}

struct View(Vec<State>);

impl View {
    /// Applies what was sent up to now.
    async fn catch_up(&mut self, client: &mut Client, number: u8) {
        let beat = Beat { number, input_age_secs: None };
        client.send(&ClientFrame::Beat(beat)).await;
        loop {
            match client.hear().await {
                Heard::Events(rows) => self.apply(rows),
                heard => return assert_eq!(heard, Heard::BeatAnswer(number)),
            }
        }
    }

    fn apply(&mut self, rows: Vec<crate::common::Row>) {
        for row in rows {
            self.0[row.number as usize - 1] = row.state;
        }
    }
}

/// Comes, goes and changes as its number says; returns the connection it ends with.
async fn live(server: &Server, user: u32) -> Option<Client> {
    let mut dice = user + 1;
    let mut client = None;
    for _ in 0..STEPS {
        // A small generator; which one does not matter.
        dice = dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let Some(mut here) = client.take() else {
            client = Some(server.connect(&name(user), "1").await);
            continue;
        };
        client = match (dice >> 16) % 8 {
            0 => {
                here.send(&ClientFrame::Bye).await;
                None
            }
            // Without a word.
            1 => None,
            // Over its own head.
            2 => Some(server.connect(&name(user), "1").await),
            3 => say(here, ClientFrame::Idle).await,
            4 => say(here, ClientFrame::Active).await,
            5 => say(here, ClientFrame::Mode(Mode::Invisible)).await,
            6 => say(here, ClientFrame::Mode(Mode::Busy)).await,
            _ => say(here, ClientFrame::Mode(Mode::Auto)).await,
        };
    }
    if let Some(here) = &mut client {
        here.send(&ClientFrame::Beat(Default::default())).await;
        while here.hear().await != Heard::BeatAnswer(0) {}
    }
    client
}

async fn say(mut client: Client, frame: ClientFrame<'_>) -> Option<Client> {
    client.send(&frame).await;
    Some(client)
}
