//! A server on a free port and clients that speak to it over real sockets.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use greendot_engine::core::{Settings, Start};
use greendot_engine::protocol::{
    Beat, ClientFrame, CloseCode, Entry, ErrorCode, Hello, Member, Mode, SUBPROTOCOL_BINARY,
    ServerFrame, Span, State, WatchItem, binary,
};
use greendot_engine::server::{Builder, DevAuth, Presence, no_delay};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::Request;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

/// Longer than anything here takes, on a machine however busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Everything as quick as the settings allow, but for how long sessions last that nobody hears: longer than a test, on a machine
/// however busy.
pub(crate) fn quick() -> Settings {
    Settings {
        beat: Span::from_millis(200),
        ttl: Span::from_secs(600),
        grace: Span::from_millis(100),
        sweep: Span::from_millis(20),
        tick: Span::from_millis(5),
        ..Settings::default()
    }
}

/// Where the end of a session is waited for that nobody hears.
pub(crate) fn short_lived() -> Settings {
    Settings { ttl: Span::from_millis(5_500), ..quick() }
}

/// Where nobody ends who lingers.
pub(crate) fn lingering() -> Settings {
    Settings { grace: Span::from_secs(300), ..quick() }
}

/// Everybody is believed, nobody was there before.
pub(crate) fn builder() -> Builder {
    Presence::builder(DevAuth).settings(quick()).start(Start::Fresh)
}

/// Serves a presence at `/presence` of an app.
pub(crate) struct Server {
    pub(crate) presence: Presence,
    pub(crate) addr: SocketAddr,
}

impl Server {
    pub(crate) async fn start(builder: Builder) -> Self {
        Self::serve(builder.build().expect("the settings work")).await
    }

    pub(crate) async fn serve(presence: Presence) -> Self {
        let app = axum::Router::new().nest("/presence", presence.router());
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let addr = listener.local_addr().expect("bound");
        spawn(async move { axum::serve(no_delay(listener), app).await.expect("serves") });
        Self { presence, addr }
    }

    pub(crate) fn request(&self, protocol: Option<&str>) -> Request<()> {
        upgrade(self.addr, protocol)
    }

    /// Opens a connection and says nothing.
    pub(crate) async fn open(&self) -> Client {
        Client::open(self.addr).await
    }

    /// Opens a connection, says hello and waits for the welcome.
    pub(crate) async fn connect(&self, user: &str, session: &str) -> Client {
        Client::connect(self.addr, user, session).await
    }
}

/// One connection, from the client's side.
pub(crate) struct Client {
    pub(crate) socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    request: u32,
}

/// What a server said, owned.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Heard {
    Welcome(Welcomed),
    BeatAnswer(u8),
    Snapshot(u32, Vec<Row>),
    Events(Vec<Row>),
    Mode(Mode),
    Error(ErrorCode, u32, String),
    Token(Span),
    /// Who is in a room, and the number of the room.
    Room(u32, Vec<String>),
    /// Who of a room came, changed or went, and the number of the room.
    RoomEvents(u32, Vec<(String, State)>),
    CloseFrame(CloseCode, Span),
    /// The close code and its reason.
    Closed(u16, String),
    /// The socket ended without a close.
    Lost,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Welcomed {
    pub(crate) session: String,
    pub(crate) beat: Span,
    pub(crate) ttl: Span,
    pub(crate) mode: Mode,
    pub(crate) ticket: String,
    pub(crate) token: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) number: u32,
    pub(crate) state: State,
    pub(crate) seen: bool,
    pub(crate) note: String,
}

impl Row {
    pub(crate) fn of(number: u32, state: State) -> Self {
        Self { number, state, seen: false, note: String::new() }
    }

    pub(crate) fn seen(self) -> Self {
        Self { seen: true, ..self }
    }
}

/// Asks for a WebSocket.
pub(crate) fn upgrade(addr: SocketAddr, protocol: Option<&str>) -> Request<()> {
    let url = format!("ws://{addr}/presence");
    let mut request = url.into_client_request().expect("a good address");
    if let Some(protocol) = protocol {
        let value = protocol.parse().expect("a good header");
        request.headers_mut().insert("sec-websocket-protocol", value);
    }
    request
}

/// The memory of a process that is in use and resident, in KB; none where the system does not tell.
pub(crate) fn resident(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|it| it.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}

/// One HTTP request, and the whole answer.
pub(crate) async fn exchange(
    addr: SocketAddr,
    method: &str,
    path: &str,
    headers: &str,
    body: &str,
) -> String {
    let mut stream = TcpStream::connect(addr).await.expect("connects");
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{headers}\
         content-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.expect("sends");
    // A server that has answered already may have closed.
    let _ = stream.write_all(body.as_bytes()).await;
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer).await;
    answer
}

impl Client {
    /// Opens a connection to the presence at an address and says nothing.
    pub(crate) async fn open(addr: SocketAddr) -> Self {
        let request = upgrade(addr, Some(SUBPROTOCOL_BINARY));
        Self::over(connect_async(request).await.expect("connects").0)
    }

    /// Opens a connection, says hello and waits for the welcome.
    pub(crate) async fn connect(addr: SocketAddr, user: &str, session: &str) -> Self {
        let mut client = Self::open(addr).await;
        client.hello(user, session).await;
        assert!(matches!(client.hear().await, Heard::Welcome(_)));
        client
    }

    pub(crate) fn over(socket: WebSocketStream<MaybeTlsStream<TcpStream>>) -> Self {
        Self { socket, request: 0 }
    }

    pub(crate) async fn send(&mut self, frame: &ClientFrame<'_>) {
        let mut bytes = Vec::new();
        binary::encode_client(frame, &mut bytes);
        self.send_bytes(bytes).await;
    }

    pub(crate) async fn send_bytes(&mut self, bytes: Vec<u8>) {
        self.send_message(Message::Binary(bytes.into())).await;
    }

    pub(crate) async fn send_message(&mut self, message: Message) {
        // A server that has closed already is no failure: the test hears it next.
        let _ = self.socket.send(message).await;
    }

    pub(crate) async fn hello(&mut self, user: &str, session: &str) {
        let hello = Hello { session, token: user, ..Hello::default() };
        self.send(&ClientFrame::Hello(hello)).await;
    }

    /// Asks to watch, the first user under number 1, and returns the request's number.
    pub(crate) async fn ask(&mut self, users: &[&str]) -> u32 {
        self.request += 1;
        let users: Vec<_> =
            (1..).zip(users).map(|(number, user)| WatchItem { number, user }).collect();
        self.send(&ClientFrame::Watch { request: self.request, users }).await;
        self.request
    }

    /// Watches, the first user under number 1, and returns the snapshot's rows.
    pub(crate) async fn watch(&mut self, users: &[&str]) -> Vec<Row> {
        let request = self.ask(users).await;
        match self.hear().await {
            Heard::Snapshot(answered, rows) if answered == request => rows,
            other => panic!("no snapshot, but {other:?}"),
        }
    }

    /// A beat, and the wait for its answer: all that was sent before has been dealt with then.
    pub(crate) async fn beat(&mut self, number: u8) {
        self.send(&ClientFrame::Beat(Beat { number, input_age_secs: None })).await;
        assert_eq!(self.hear().await, Heard::BeatAnswer(number));
    }

    /// The next that the server says. Pings are answered on the way.
    pub(crate) async fn hear(&mut self) -> Heard {
        tokio::time::timeout(PATIENCE, self.hear_forever()).await.expect("the server is silent")
    }

    async fn hear_forever(&mut self) -> Heard {
        loop {
            match self.socket.next().await {
                Some(Ok(Message::Binary(bytes))) => return owned(&bytes),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Close(Some(close)))) => {
                    return Heard::Closed(close.code.into(), close.reason.to_string());
                }
                Some(Ok(Message::Close(None)) | Err(_)) | None => return Heard::Lost,
                Some(Ok(other)) => panic!("a server never sends {other:?}"),
            }
        }
    }

    /// The next is this close.
    pub(crate) async fn hear_close(&mut self, code: CloseCode) {
        assert_eq!(self.hear().await, Heard::Closed(code.number(), code.name().into()));
    }

    /// The next is one event about one user.
    pub(crate) async fn hear_event(&mut self) -> Row {
        match self.hear().await {
            Heard::Events(mut rows) if rows.len() == 1 => rows.remove(0),
            other => panic!("not one event, but {other:?}"),
        }
    }
}

fn owned(bytes: &[u8]) -> Heard {
    let frame = binary::decode_server(bytes).expect("a good frame").expect("of a known kind");
    match frame {
        ServerFrame::Welcome(it) => Heard::Welcome(Welcomed {
            session: it.session.into(),
            beat: it.beat,
            ttl: it.ttl,
            mode: it.mode,
            ticket: it.ticket.into(),
            token: it.token,
        }),
        ServerFrame::BeatAnswer(number) => Heard::BeatAnswer(number),
        ServerFrame::Snapshot { request, entries, .. } => Heard::Snapshot(request, rows(&entries)),
        ServerFrame::Events { entries, .. } => Heard::Events(rows(&entries)),
        ServerFrame::Mode { mode, .. } => Heard::Mode(mode),
        ServerFrame::Error { code, about, text } => Heard::Error(code, about, text.into()),
        ServerFrame::Token { lasts } => Heard::Token(lasts),
        ServerFrame::Room { number, members } => {
            Heard::Room(number, members.iter().map(|it| it.user.to_owned()).collect())
        }
        ServerFrame::RoomEvents { number, members } => {
            let member = |it: &Member<'_>| (it.user.to_owned(), it.state);
            Heard::RoomEvents(number, members.iter().map(member).collect())
        }
        ServerFrame::Close { code, retry_after } => Heard::CloseFrame(code, retry_after),
        other => panic!("{other:?} is not expected here"),
    }
}

fn rows(entries: &[Entry<'_>]) -> Vec<Row> {
    entries
        .iter()
        .map(|it| Row {
            number: it.number,
            state: it.state,
            seen: it.seen_ago.is_some(),
            note: it.note.into(),
        })
        .collect()
}

/// Waits until `holds` does.
#[expect(clippy::disallowed_methods, reason = "waits for a condition that nothing announces")]
pub(crate) async fn until(holds: impl Fn() -> bool) {
    let waited = tokio::time::timeout(PATIENCE, async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    });
    waited.await.expect("it never came to be");
}

/// Waits until everybody may see that the user is gone.
#[expect(clippy::disallowed_methods, reason = "waits for a condition that nothing announces")]
pub(crate) async fn until_offline(server: &Server, user: &str) {
    let waited = tokio::time::timeout(PATIENCE, async {
        while server.presence.state(user).await.state != State::Offline {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    });
    waited.await.expect("it never went offline");
}

#[expect(clippy::disallowed_methods, reason = "a test plays several parts at once")]
pub(crate) fn spawn(task: impl Future<Output = ()> + Send + 'static) {
    tokio::spawn(task);
}
