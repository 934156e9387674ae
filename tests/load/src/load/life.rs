//! One client's life.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use greendot_protocol::{
    Beat, ClientFrame, Hello, Mode, ModeChoice, SUBPROTOCOL_BINARY, ServerFrame, WatchItem, binary,
};
use tokio::sync::Semaphore;
use tokio::time::sleep;
use tokio_tungstenite::tungstenite::Message;

use super::Plan;
use super::truth::Truth;
use crate::dial::{Socket, dial};
use crate::random::Random;

/// How long a slow reader reads nothing.
const STALL: Duration = Duration::from_secs(20);

/// What a client goes through.
struct Life {
    plan: Plan,
    number: usize,
    truth: Arc<Truth>,
    watched: Vec<usize>,
    random: Random,
}

/// How a connection ended.
enum Left {
    /// It will be back within grace: nobody is to notice.
    ForAMoment,
    /// It has said goodbye.
    Gone,
    /// Its line is cut: it is away for longer than grace, without a word.
    Cut,
}

/// Connects when it is its turn, and lives until it is aborted.
pub(super) async fn live(plan: Plan, number: usize, truth: Arc<Truth>, dials: Arc<Semaphore>) {
    let mut random = Random::new((plan.worker as u64 + 1) << 32 | (number as u64 + 1) << 1);
    let watched = (0..plan.watches).map(|_| random.below(plan.clients as u64) as usize);
    let mut watched: Vec<usize> = watched.filter(|&it| it != number).collect();
    watched.sort_unstable();
    watched.dedup();
    if let Ok(turn) = dials.acquire().await {
        turn.forget();
    }
    let mut life = Life { plan, number, truth, watched, random };
    let mut first = true;
    loop {
        let connection = life.connection(&mut first).await;
        life.truth.blind(number);
        match connection {
            Ok(Left::ForAMoment) => sleep(Duration::from_millis(life.random.below(2_000))).await,
            Ok(Left::Cut) => {
                sleep(Duration::from_millis(15_000 + life.random.below(10_000))).await;
                if life.truth.has_ended() {
                    return;
                }
            }
            Ok(Left::Gone) => {
                sleep(Duration::from_millis(2_000 + life.random.below(10_000))).await;
                if life.truth.has_ended() {
                    // It stays away: that is the truth now.
                    return;
                }
            }
            Err(error) => {
                life.truth.broke(number, &error.to_string());
                sleep(Duration::from_secs(1)).await;
            }
        }
    }
}

impl Life {
    async fn connection(&mut self, first: &mut bool) -> io::Result<Left> {
        let begun = Instant::now();
        let mut socket = self.dial().await?;
        loop {
            let message = next(&mut socket).await?;
            if let Ok(Some(ServerFrame::Welcome(_))) = binary::decode_server(&message) {
                break;
            }
        }
        self.truth.connected(begun.elapsed());
        self.truth.does(self.number, None, true);
        let names: Vec<String> = self.watched.iter().map(|&it| self.truth.name(it)).collect();
        let users = self.watched.iter().zip(&names);
        let users =
            users.map(|(&it, user)| WatchItem { number: it as u32, user }).collect::<Vec<_>>();
        say(&mut socket, &ClientFrame::Watch { request: 1, users }).await?;
        if std::mem::take(first) {
            self.truth.arrive();
        }
        self.stay(&mut socket).await
    }

    async fn dial(&self) -> io::Result<Socket> {
        let mut socket = dial(self.plan.port, "presence", Some(SUBPROTOCOL_BINARY)).await?;
        let name = self.truth.name(self.number);
        let mode = ModeChoice { mode: self.truth.mode(self.number), ..ModeChoice::default() };
        let hello = Hello { session: "load", token: &name, mode: Some(mode), ..Hello::default() };
        say(&mut socket, &ClientFrame::Hello(hello)).await?;
        Ok(socket)
    }

    /// Beats, hears and acts until it leaves.
    async fn stay(&mut self, socket: &mut Socket) -> io::Result<Left> {
        let beat = Duration::from_millis(12_000 + self.random.below(3_000));
        let mut beat_at = Instant::now() + Duration::from_millis(self.random.below(15_000));
        let mut act_at = self.next_action();
        let mut number = 0u8;
        let mut sent = None;
        let mut reads_from = Instant::now();
        loop {
            let now = Instant::now();
            if now >= beat_at {
                number = number.wrapping_add(1);
                sent = Some((number, now));
                say(socket, &ClientFrame::Beat(Beat { number, input_age_secs: Some(1) })).await?;
                beat_at = now + beat;
                if self.is_slow() && self.truth.is_lively() {
                    reads_from = now + STALL;
                    sent = None;
                }
            }
            if now >= act_at {
                act_at = self.next_action();
                if self.truth.is_lively()
                    && let Some(left) = self.act(socket).await?
                {
                    return Ok(left);
                }
            }
            let wake = beat_at.min(act_at).saturating_duration_since(now);
            if now < reads_from {
                sleep(wake.min(reads_from - now)).await;
                continue;
            }
            tokio::select! {
                message = next(socket) => self.hear(&message?, &mut sent),
                () = sleep(wake) => {}
            }
        }
    }

    /// Does something; says how it leaves if it does.
    async fn act(&mut self, socket: &mut Socket) -> io::Result<Option<Left>> {
        match self.random.below(10) {
            0..6 => {
                const MODES: [Mode; 5] =
                    [Mode::Auto, Mode::Away, Mode::Busy, Mode::Dnd, Mode::Invisible];
                let mode = MODES[(self.random.below(5)) as usize];
                self.truth.acted(0);
                self.truth.does(self.number, Some(mode), true);
                say(socket, &ClientFrame::Mode(mode)).await?;
                Ok(None)
            }
            6..8 => {
                self.truth.acted(1);
                Ok(Some(Left::ForAMoment))
            }
            8 => {
                self.truth.acted(3);
                self.truth.is_cut(self.number);
                Ok(Some(Left::Cut))
            }
            _ => {
                self.truth.acted(2);
                self.truth.does(self.number, None, false);
                say(socket, &ClientFrame::Bye).await?;
                // Until the server closes: it has been heard then.
                while next(socket).await.is_ok() {}
                Ok(Some(Left::Gone))
            }
        }
    }

    fn hear(&self, message: &[u8], sent: &mut Option<(u8, Instant)>) {
        match binary::decode_server(message) {
            Ok(Some(ServerFrame::Snapshot { entries, .. })) => {
                let listed: Vec<_> =
                    entries.iter().map(|it| (it.number as usize, it.state)).collect();
                self.truth.shown(self.number, &self.watched, &listed);
            }
            Ok(Some(ServerFrame::Events { entries, .. })) => {
                for entry in entries {
                    let user = entry.number as usize;
                    self.truth.hears(self.number, user, entry.state, !self.is_slow());
                }
            }
            Ok(Some(ServerFrame::BeatAnswer(number))) => {
                if let Some((_, at)) = sent.take_if(|it| it.0 == number && !self.is_slow()) {
                    self.truth.beaten(at.elapsed());
                }
            }
            _ => {}
        }
    }

    /// Whether it reads nothing for long stretches.
    fn is_slow(&self) -> bool {
        self.plan.slow_one_in > 0 && self.number.is_multiple_of(self.plan.slow_one_in)
    }

    fn next_action(&mut self) -> Instant {
        let mean = self.plan.action_every.as_millis().max(1) as u64;
        Instant::now() + Duration::from_millis(self.random.below(2 * mean))
    }
}

async fn say(socket: &mut Socket, frame: &ClientFrame<'_>) -> io::Result<()> {
    let mut bytes = Vec::new();
    binary::encode_client(frame, &mut bytes);
    socket.send(Message::binary(bytes)).await.map_err(io::Error::other)
}

/// The next binary message.
async fn next(socket: &mut Socket) -> io::Result<tokio_tungstenite::tungstenite::Bytes> {
    loop {
        match socket.next().await {
            Some(Ok(Message::Binary(bytes))) => return Ok(bytes),
            Some(Ok(Message::Close(close))) => {
                let why = close.map_or(String::new(), |it| format!("{} {}", it.code, it.reason));
                return Err(io::Error::other(format!("closed: {why}")));
            }
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(io::Error::other(error)),
            None => return Err(io::Error::other("closed")),
        }
    }
}
