//! People at servers that share a Redis, who show signs of life and see each other.

use std::time::Duration;

use greendot_engine::core::Settings;
use greendot_engine::protocol::{ClientFrame, ServerFrame, Span, State, binary};
use greendot_engine::server::RedisStore;
use greendot_redis_server::Redis;

use crate::common::{Client, PATIENCE, Row, Server, builder, quick, spawn};
use crate::rig::share_with;

/// Sessions last long beside what happens here; who is silent for a beat is told to the store.
pub(crate) fn settings() -> Settings {
    Settings { ttl: Span::from_millis(8_000), beat: Span::from_millis(500), ..quick() }
}

pub(crate) async fn share(store: &RedisStore) -> Server {
    share_with(store.clone(), builder().settings(settings())).await
}

/// Ana and bo, each at a server of their own; ana sees that bo is there.
pub(crate) async fn apart(redis: &Redis) -> ([Server; 2], Person, Person) {
    let store = RedisStore::new(redis.url());
    let servers = [share(&store).await, share(&store).await];
    let mut ana = Person::new(&servers[0], "ana", &["bo"]).await;
    let bo = Person::new(&servers[1], "bo", &[]).await;
    ana.until_sees(State::Online).await;
    (servers, ana, bo)
}

/// Shows signs of life for as long as it is held, and keeps what it hears.
pub(crate) struct Person {
    heard: tokio::sync::mpsc::UnboundedReceiver<Told>,
    says: tokio::sync::mpsc::UnboundedSender<ClientFrame<'static>>,
    last: Option<Row>,
    stale: bool,
    ended: Option<u16>,
}

/// What a person is told.
enum Told {
    Rows(Vec<Row>),
    Stale(bool),
    /// The connection has ended, with this code or 0.
    End(u16),
    /// Nothing that matters here.
    Else,
}

impl Person {
    pub(crate) async fn new(server: &Server, user: &str, watches: &[&str]) -> Self {
        Self::over(server.connect(user, "1").await, watches).await
    }

    pub(crate) async fn over(mut client: Client, watches: &[&str]) -> Self {
        let (hears, heard) = tokio::sync::mpsc::unbounded_channel();
        let (says, said) = tokio::sync::mpsc::unbounded_channel();
        if !watches.is_empty() {
            client.ask(watches).await;
            let answered = async {
                loop {
                    // Whether the view is stale may be told first.
                    let told = client.next().await;
                    let answers = matches!(told, Told::Rows(_) | Told::End(_));
                    hears.send(told).expect("heard below");
                    if answers {
                        return;
                    }
                }
            };
            tokio::time::timeout(PATIENCE, answered).await.expect("no snapshot");
        }
        spawn(live(client, hears, said));
        Self { heard, says, last: None, stale: false, ended: None }
    }

    /// What is shown now of the one user watched.
    pub(crate) fn sees(&mut self) -> Option<State> {
        while let Ok(told) = self.heard.try_recv() {
            match told {
                Told::Rows(rows) => self.last = rows.last().cloned().or(self.last.take()),
                Told::Stale(stale) => self.stale = stale,
                Told::End(code) => self.ended = Some(code),
                Told::Else => {}
            }
        }
        self.last.as_ref().map(|it| it.state)
    }

    pub(crate) async fn until_reads(&mut self, note: &str) {
        let read = |it: &mut Self| it.sees().is_some() && it.note() == note;
        self.until(read, &format!("{note:?}")).await;
    }

    /// Waits until the view is said to be stale, or good again.
    pub(crate) async fn until_stale(&mut self, stale: bool) {
        self.until(|it| it.is_stale() == stale, &format!("told that stale is {stale}")).await;
    }

    pub(crate) async fn until_sees(&mut self, state: State) {
        self.until(|it| it.sees() == Some(state), &format!("{state:?}")).await;
    }

    /// Waits until the connection has ended.
    pub(crate) async fn until_gone(&mut self) {
        self.until(|it| it.ended().is_some(), "gone").await;
    }

    async fn until(&mut self, mut done: impl FnMut(&mut Self) -> bool, what: &str) {
        let waited = async {
            while !done(self) {
                pause(20).await;
            }
        };
        let waited = tokio::time::timeout(PATIENCE, waited).await;
        assert!(waited.is_ok(), "not {what}, but {:?}", self.last);
    }

    fn is_stale(&mut self) -> bool {
        self.sees();
        self.stale
    }

    /// With which code the server has ended the connection, or 0; none: it stands.
    pub(crate) fn ended(&mut self) -> Option<u16> {
        self.sees();
        self.ended
    }

    pub(crate) fn note(&self) -> &str {
        self.last.as_ref().map_or("", |it| &it.note)
    }

    /// Nothing else is seen for so long, in ms.
    pub(crate) async fn sees_only(&mut self, state: State, millis: u64) {
        for _ in 0..millis / 20 {
            let seen = self.sees();
            assert_eq!(seen, Some(state));
            pause(20).await;
        }
    }

    pub(crate) fn say(&self, frame: ClientFrame<'static>) {
        self.says.send(frame).expect("it lives");
    }
}

async fn live(
    mut client: Client,
    hears: tokio::sync::mpsc::UnboundedSender<Told>,
    mut said: tokio::sync::mpsc::UnboundedReceiver<ClientFrame<'static>>,
) {
    loop {
        tokio::select! {
            heard = client.next() => {
                let ends = matches!(heard, Told::End(_));
                if hears.send(heard).is_err() || ends {
                    return;
                }
            }
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
    /// Beats, and waits for the answer, whatever else is told meanwhile.
    pub(crate) async fn beat_through(&mut self, number: u8) {
        use futures_util::StreamExt;
        use tokio_tungstenite::tungstenite::Message;
        let beat = greendot_engine::protocol::Beat { number, input_age_secs: None };
        self.send(&ClientFrame::Beat(beat)).await;
        let answered = async {
            while let Some(Ok(message)) = self.socket.next().await {
                if let Message::Binary(bytes) = message
                    && matches!(binary::decode_server(&bytes), Ok(Some(ServerFrame::BeatAnswer(it))) if it == number)
                {
                    return true;
                }
            }
            false
        };
        let answered = tokio::time::timeout(PATIENCE, answered).await;
        assert_eq!(answered, Ok(true), "beat {number} is answered");
    }

    /// What the next frame tells.
    async fn next(&mut self) -> Told {
        use futures_util::StreamExt;
        use tokio_tungstenite::tungstenite::Message;
        let bytes = match self.socket.next().await {
            Some(Ok(Message::Binary(bytes))) => bytes,
            Some(Ok(Message::Close(close))) => {
                return Told::End(close.map_or(0, |it| it.code.into()));
            }
            Some(Err(_)) | None => return Told::End(0),
            Some(Ok(_)) => return Told::Else,
        };
        match binary::decode_server(&bytes) {
            Ok(Some(
                ServerFrame::Events { entries, .. } | ServerFrame::Snapshot { entries, .. },
            )) => {
                let row = |it: &greendot_engine::protocol::Entry<'_>| Row {
                    note: it.note.into(),
                    ..Row::of(it.number, it.state)
                };
                Told::Rows(entries.iter().map(row).collect())
            }
            Ok(Some(ServerFrame::Stale(stale))) => Told::Stale(stale),
            _ => Told::Else,
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "waits for processes that announce nothing")]
pub(crate) async fn pause(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}
