//! The SDK's own core over a real socket, and the network between: a line that can be cut.

use std::future::pending;
use std::io;
use std::net::Ipv4Addr;
use std::pin::Pin;
use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use greendot_client::core::{Client, Config, Dial, LinkState, Message as Said, Output, Part};
use greendot_protocol::{
    CloseCode, Mode, SUBPROTOCOL_BINARY, ServerFrame, Span, State, Time, binary,
};
use tokio::time::{sleep_until, timeout};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{self, Message};

use crate::dial::{Socket, dial_from};

/// One client of the SDK, with its sockets.
pub(super) struct Line {
    client: Client,
    origin: Instant,
    ports: Vec<u16>,
    /// The address of loopback that it dials from.
    address: Ipv4Addr,
    user: String,
    opening: Option<Opening>,
    open: Option<Open>,
    /// No frame gets through, either way, and no end of a connection.
    cut: bool,
    /// Connections given up while the line was cut: the server hears of it, and of what was said on them, afterwards.
    given_up: Vec<Open>,
    /// The connection that is gone and not yet missed.
    lost: Option<Dial>,
    notes: Vec<Note>,
    dialled: Instant,
    beat: Option<(u8, Instant)>,
    /// Whether the node says that it does not reach what it shares with others.
    node_is_alone: bool,
}

/// A connection that is to come about.
struct Opening {
    dial: Dial,
    node: u32,
    /// None while the line is cut.
    socket: Option<Pin<Box<dyn Future<Output = io::Result<Socket>> + Send>>>,
}

struct Open {
    dial: Dial,
    socket: Socket,
    /// What was said while the line was cut.
    unsent: Vec<Message>,
}

/// Something happened that the client is to handle.
pub(super) enum Event {
    Timer,
    Opened(Dial, io::Result<Box<Socket>>),
    Heard(Dial, Option<Result<Message, tungstenite::Error>>),
}

/// What came of it, for whoever looks on.
#[derive(Debug)]
pub(super) enum Note {
    /// A server is dialled at this port.
    Dialled(u16),
    /// The server has taken the hello that went out at this moment; the dial had begun so long before the welcome.
    Welcomed { hello: Instant, took: Duration },
    /// A beat that went out at this moment was answered.
    Beaten(Instant),
    /// This many of those watched is shown otherwise.
    Changed(usize),
    /// All watched users are shown.
    Live,
    /// The connection is lost, with this code or 0; the next dial comes by itself.
    Lost(u16),
    /// The client was told not to come back.
    Stopped(u16),
    /// The client's own close: the server sees its connection end.
    Closed,
    /// Something the client said was refused.
    Refused(String),
}

impl Line {
    /// A client of this user that watches those, in this order.
    pub(super) fn new(
        user: &str,
        watched: &[String],
        ports: &[u16],
        address: Ipv4Addr,
        seed: u64,
    ) -> Self {
        let origin = Instant::now();
        // Nobody touches these devices, and none is to turn idle for it.
        let idle_after = Some(Span::ZERO);
        let config = Config { session: "load", nodes: ports.len() as u32, idle_after, seed };
        let mut client = Client::new(Time::ZERO, &config);
        for (place, name) in watched.iter().enumerate() {
            let row = client.subscribe(Time::ZERO, Part(0), name);
            assert_eq!(row.0 as usize, place, "rows are given in order");
        }
        Self {
            client,
            origin,
            ports: ports.to_vec(),
            address,
            user: user.to_owned(),
            opening: None,
            open: None,
            cut: false,
            given_up: Vec::new(),
            lost: None,
            notes: Vec::new(),
            dialled: origin,
            beat: None,
            node_is_alone: false,
        }
    }

    fn now(&self) -> Time {
        Time::from_millis(self.origin.elapsed().as_millis() as u64)
    }

    /// What has come about since this was asked last.
    pub(super) fn notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }

    /// How the user stands who is watched in this place.
    pub(super) fn sees(&self, place: usize) -> State {
        self.client.state(greendot_client::core::Row(place as u32))
    }

    pub(super) fn is_stale(&self) -> bool {
        self.client.stale()
    }

    /// Whether the node knows alone what it hears: it does not reach the store.
    pub(super) fn node_is_alone(&self) -> bool {
        self.node_is_alone
    }

    /// The user's own mode, as it is told.
    pub(super) fn mode(&self) -> Option<Mode> {
        self.client.mode()
    }

    pub(super) fn link(&self) -> LinkState {
        self.client.link()
    }

    /// Feeds the client, and does what it wants done.
    pub(super) async fn tell(&mut self, input: impl FnOnce(&mut Client, Time)) {
        let now = self.now();
        input(&mut self.client, now);
        while let Some(output) = self.client.poll_output() {
            self.obey(output).await;
        }
    }

    /// Waits for what comes next. May be called off at any time.
    pub(super) async fn wait(&mut self) -> Event {
        let due = match self.client.deadline() {
            Some((at, _)) => sleep_until((self.origin + millis(at)).into()),
            None => sleep_until((Instant::now() + Duration::from_secs(3_600)).into()),
        };
        let cut = self.cut;
        let opened = async {
            match &mut self.opening {
                Some(Opening { dial, socket: Some(socket), .. }) if !cut => {
                    (*dial, socket.as_mut().await)
                }
                _ => pending().await,
            }
        };
        let heard = async {
            match &mut self.open {
                Some(open) if !cut => (open.dial, open.socket.next().await),
                _ => pending().await,
            }
        };
        tokio::select! {
            () = due => Event::Timer,
            (dial, socket) = opened => Event::Opened(dial, socket.map(Box::new)),
            (dial, message) = heard => Event::Heard(dial, message),
        }
    }

    pub(super) async fn handle(&mut self, event: Event) {
        match event {
            Event::Timer => self.tell(Client::handle_timeout).await,
            Event::Opened(dial, Ok(socket)) => {
                self.opening = None;
                self.open = Some(Open { dial, socket: *socket, unsent: Vec::new() });
                self.tell(|it, now| it.handle_opened(now, dial)).await;
            }
            Event::Opened(dial, Err(_)) => {
                self.opening = None;
                self.tell(|it, now| it.handle_closed(now, dial, LOST)).await;
            }
            Event::Heard(dial, Some(Ok(Message::Binary(bytes)))) => self.hear(dial, &bytes).await,
            Event::Heard(dial, Some(Ok(Message::Close(close)))) => {
                self.open = None;
                let code = close.map_or(NO_CODE, |it| it.code.into());
                self.tell(|it, now| it.handle_closed(now, dial, code)).await;
            }
            Event::Heard(_, Some(Ok(_))) => {}
            Event::Heard(dial, Some(Err(_)) | None) => {
                self.open = None;
                self.tell(|it, now| it.handle_closed(now, dial, LOST)).await;
            }
        }
    }

    async fn hear(&mut self, dial: Dial, bytes: &[u8]) {
        match binary::decode_server(bytes) {
            Ok(Some(frame)) => {
                match &frame {
                    ServerFrame::Welcome(welcome) => {
                        self.node_is_alone = welcome.stale;
                        let took = self.dialled.elapsed();
                        self.notes.push(Note::Welcomed { hello: self.dialled, took });
                    }
                    ServerFrame::Stale(stale) => self.node_is_alone = *stale,
                    ServerFrame::BeatAnswer(number) => {
                        if let Some((_, at)) = self.beat.take_if(|it| it.0 == *number) {
                            self.notes.push(Note::Beaten(at));
                        }
                    }
                    _ => {}
                }
                self.tell(|it, now| it.handle_frame(now, dial, &frame)).await;
            }
            Ok(None) => {}
            Err(error) => {
                self.notes.push(Note::Refused(format!("no frame: {error}")));
                self.tell(|it, now| it.handle_unreadable(now, dial)).await;
            }
        }
    }

    async fn obey(&mut self, output: Output) {
        match output {
            Output::NeedToken { dial } => {
                let (now, token) = (self.now(), self.user.clone());
                self.client.handle_token(now, dial, &token);
            }
            Output::Dial { dial, node } => {
                self.dialled = Instant::now();
                self.opening = Some(Opening { dial, node, socket: None });
                self.open_if_may();
            }
            Output::Send { dial, frame } => self.send(dial, &frame).await,
            Output::CloseSocket { dial, code } => self.close(dial, code).await,
            Output::Changed { row, .. } => self.notes.push(Note::Changed(row.0 as usize)),
            Output::Link { state: LinkState::Live, .. } => self.notes.push(Note::Live),
            Output::Link { state: LinkState::Waiting, why, .. } => {
                self.notes.push(Note::Lost(why));
            }
            Output::Link { state: LinkState::Stopped, why, .. } => {
                self.notes.push(Note::Stopped(why));
            }
            Output::Error { code, text, .. } => {
                self.notes.push(Note::Refused(format!("{code:?}: {text}")));
            }
            _ => {}
        }
    }

    fn open_if_may(&mut self) {
        if let Some(opening) = self.opening.as_mut().filter(|it| !self.cut && it.socket.is_none()) {
            let port = self.ports[opening.node as usize % self.ports.len()];
            let address = self.address;
            self.notes.push(Note::Dialled(port));
            opening.socket = Some(Box::pin(async move {
                dial_from(address, port, "presence", Some(SUBPROTOCOL_BINARY)).await
            }));
        }
    }

    async fn send(&mut self, dial: Dial, frame: &Said) {
        let Some(open) = self.open.as_mut().filter(|it| it.dial == dial) else { return };
        let mut bytes = Vec::new();
        binary::encode_client(&frame.as_frame(), &mut bytes);
        if let Said::Beat(beat) = frame {
            self.beat = Some((beat.number, Instant::now()));
        }
        let message = Message::binary(bytes);
        if self.cut {
            open.unsent.push(message);
        } else {
            // That the connection is broken is read from it.
            _ = open.socket.send(message).await;
        }
    }

    async fn close(&mut self, dial: Dial, code: u16) {
        self.opening.take_if(|it| it.dial == dial);
        let Some(open) = self.open.take_if(|it| it.dial == dial) else { return };
        if self.cut {
            self.given_up.push(open);
        } else {
            self.notes.push(Note::Closed);
            tokio::spawn(farewell(open, code));
        }
    }

    /// From now on nothing gets through, and the server is not told.
    pub(super) fn cut(&mut self) {
        self.cut = true;
    }

    /// The connection ends without a farewell, which the server sees at once.
    pub(super) fn drop_connection(&mut self) {
        self.lost = self.open.take().map(|it| it.dial);
    }

    /// The machine notices that its connection is gone.
    pub(super) async fn miss_connection(&mut self) {
        if let Some(dial) = self.lost.take() {
            self.tell(|it, now| it.handle_closed(now, dial, LOST)).await;
        }
    }

    /// What was under way gets through now, late.
    pub(super) async fn mend(&mut self) {
        self.cut = false;
        for open in std::mem::take(&mut self.given_up) {
            self.notes.push(Note::Closed);
            tokio::spawn(farewell(open, ABANDONED));
        }
        if let Some(open) = &mut self.open {
            for message in std::mem::take(&mut open.unsent) {
                _ = open.socket.send(message).await;
            }
        }
        self.open_if_may();
    }

    /// What was sent is not waited for any more.
    pub(super) fn forget_beat(&mut self) {
        self.beat = None;
    }
}

/// Says what was not said yet, and closes as a browser does: until the server has closed, too.
async fn farewell(mut open: Open, code: u16) {
    let closing = async {
        for message in open.unsent {
            open.socket.send(message).await?;
        }
        let frame = CloseFrame { code: code.into(), reason: "".into() };
        open.socket.close(Some(frame)).await?;
        while let Some(Ok(_)) = open.socket.next().await {}
        Ok::<_, tungstenite::Error>(())
    };
    // A server that does not answer is left all the same.
    _ = timeout(Duration::from_secs(5), closing).await;
}

fn millis(at: Time) -> Duration {
    Duration::from_millis(at.as_millis())
}

/// A connection that ended without a close, or did not come about.
const LOST: u16 = 1006;
/// A close without a code.
const NO_CODE: u16 = 1005;
/// What a client says to a connection that it gives up.
const ABANDONED: u16 = CloseCode::Abandoned.number();
