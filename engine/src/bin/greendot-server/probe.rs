//! `--probe`: how long a true disconnect takes to show, measured by clients of the server's own that cut their line.
//!
//! Each of them is a user of its own, under a name that nobody can guess, with two sessions over real sockets: one that is
//! there, and a passive one that watches. The first one cuts its line, closed or without a word, as when a network is gone.
//! What passes until the other one is told `offline` is what people's friends would see.

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderMap;
use futures_util::{SinkExt, StreamExt};
use greendot_engine::protocol::{
    Beat, ClientFrame, Hello, SUBPROTOCOL_BINARY, ServerFrame, State, WatchItem, binary,
};
use greendot_engine::server::{AuthError, Authenticate, Identity, PROBE_SECONDS, Token};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{WebSocketStream, client_async};
use tracing::debug;

/// The secret that lets this server's own clients in, whoever signs the tokens of others.
#[derive(Clone, Debug)]
pub(crate) struct Pass(Arc<str>);

/// Lets the server's own clients in by their pass, and asks `who` about everybody else.
pub(crate) struct Believes<A> {
    pub(crate) pass: Option<Pass>,
    pub(crate) who: A,
}

impl Pass {
    /// Draws one.
    pub(crate) fn draw() -> Result<Self, Box<dyn Error>> {
        Ok(Self(random()?.into()))
    }

    /// Whom a token names if it begins with the pass.
    fn user(&self, token: &Token) -> Option<Identity> {
        // The name is a random one itself, and of no use to anybody but this server.
        let name = token.as_str().strip_prefix(&*self.0)?.strip_prefix('/')?;
        Some(Identity::new(format!("greendot-probe-{name}")))
    }
}

impl<A: Authenticate> Authenticate for Believes<A> {
    async fn authenticate(&self, token: Token) -> Result<Identity, AuthError> {
        match self.pass.as_ref().and_then(|it| it.user(&token)) {
            Some(own) => Ok(own),
            None => self.who.authenticate(token).await,
        }
    }

    fn wants_headers(&self) -> bool {
        self.who.wants_headers()
    }

    async fn authenticate_with(
        &self,
        token: Token,
        headers: Arc<HeaderMap>,
    ) -> Result<Identity, AuthError> {
        match self.pass.as_ref().and_then(|it| it.user(&token)) {
            Some(own) => Ok(own),
            None => self.who.authenticate_with(token, headers).await,
        }
    }
}

/// How a line is cut.
#[derive(Clone, Copy, Debug)]
enum Cut {
    /// The connection ends, as when a browser is killed.
    Closed,
    /// Nothing more comes, as when a network is gone.
    Silent,
}

impl Cut {
    fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Silent => "silent",
        }
    }
}

/// What is to be probed, and how often.
#[derive(Clone, Debug)]
pub(crate) struct Probe {
    /// Where the server listens.
    pub(crate) address: SocketAddr,
    pub(crate) pass: Pass,
    /// How long it rests after each probe.
    pub(crate) every: Duration,
    /// What is late after that: a session's life and grace, and some.
    pub(crate) patience: Duration,
}

impl Probe {
    /// Probes until the process ends, each way of cutting for itself.
    #[expect(clippy::disallowed_methods, reason = "the driver is where tasks are started")]
    pub(crate) fn start(self) {
        metrics::describe_histogram!(
            PROBE_SECONDS,
            metrics::Unit::Seconds,
            "From a synthetic client's cut line to the moment its watcher is told offline"
        );
        metrics::describe_counter!(FAILED, "Such probes that came to no end in time");
        for cut in [Cut::Closed, Cut::Silent] {
            metrics::counter!(FAILED, "line" => cut.name()).absolute(0);
            tokio::spawn(self.clone().run(cut));
        }
    }

    #[expect(clippy::disallowed_methods, reason = "the driver is where waiting is done")]
    async fn run(self, cut: Cut) {
        loop {
            match timeout(self.patience, self.probe(cut)).await {
                Ok(Ok(took)) => {
                    metrics::histogram!(PROBE_SECONDS, "line" => cut.name())
                        .record(took.as_secs_f64());
                }
                failed => {
                    debug!(?cut, ?failed, "a probe failed");
                    metrics::counter!(FAILED, "line" => cut.name()).increment(1);
                }
            }
            tokio::time::sleep(self.every).await;
        }
    }

    /// One disconnect.
    async fn probe(&self, cut: Cut) -> Result<Duration, Box<dyn Error + Send + Sync>> {
        let name = random()?;
        let mut watcher = Client::open(self, &name, "watcher", true).await?;
        let line = Client::open(self, &name, "line", false).await?;
        let user = format!("greendot-probe-{name}");
        let users = vec![WatchItem { number: 1, user: &user }];
        watcher.say(&ClientFrame::Watch { request: 1, users }).await?;
        while watcher.state().await? != Some(State::Online) {}
        // A silent line stays open, and says nothing until the other end has given it up.
        let _silent = match cut {
            Cut::Closed => {
                drop(line);
                None
            }
            Cut::Silent => Some(line),
        };
        let began = now();
        while watcher.state().await? != Some(State::Offline) {}
        let took = began.elapsed();
        _ = watcher.say(&ClientFrame::Bye).await;
        Ok(took)
    }
}

/// What nobody can guess: 128 random bits, in hexadecimal.
#[expect(clippy::disallowed_methods, reason = "the driver is where randomness comes from")]
fn random() -> Result<String, String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| format!("no randomness: {error}"))?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}

#[expect(clippy::disallowed_methods, reason = "a probe measures time")]
fn now() -> Instant {
    Instant::now()
}

const FAILED: &str = "greendot_probe_failures_total";

/// One connection to this server.
struct Client(WebSocketStream<TcpStream>);

impl Client {
    async fn open(
        probe: &Probe,
        name: &str,
        session: &str,
        passive: bool,
    ) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let address = reachable(probe.address);
        let mut request = format!("ws://{address}/presence").into_client_request()?;
        let headers = request.headers_mut();
        headers.insert("sec-websocket-protocol", SUBPROTOCOL_BINARY.parse()?);
        let stream = TcpStream::connect(address).await?;
        let mut client = Self(client_async(request, stream).await?.0);
        let token = format!("{}/{name}", probe.pass.0);
        let hello = Hello { session, token: &token, passive, ..Hello::default() };
        client.say(&ClientFrame::Hello(hello)).await?;
        Ok(client)
    }

    async fn say(&mut self, frame: &ClientFrame<'_>) -> Result<(), Box<dyn Error + Send + Sync>> {
        let mut bytes = Vec::new();
        binary::encode_client(frame, &mut bytes);
        Ok(self.0.send(Message::binary(bytes)).await?)
    }

    /// What the server says next of the user that is watched, if it is about that. Its pings are answered on the way.
    async fn state(&mut self) -> Result<Option<State>, Box<dyn Error + Send + Sync>> {
        let message = self.0.next().await.ok_or("the server closed")??;
        if let Message::Ping(_) = message {
            // The pong goes out with whatever is said next.
            self.say(&ClientFrame::Beat(Beat::default())).await?;
        }
        let Message::Binary(bytes) = message else { return Ok(None) };
        Ok(match binary::decode_server(&bytes)? {
            Some(ServerFrame::Snapshot { entries, .. } | ServerFrame::Events { entries, .. }) => {
                entries.first().map(|it| it.state)
            }
            _ => None,
        })
    }
}

/// Where a server that listens everywhere is reached from its own machine.
fn reachable(at: SocketAddr) -> SocketAddr {
    let ip = match at.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, at.port())
}
