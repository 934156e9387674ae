//! Scripted raw connections: they do what the script says, and beat.

use greendot_protocol::binary::encode_client;
use greendot_protocol::{Beat, ClientFrame, Hello};

use super::conn::{Down, Up};
use super::{ARRIVAL, Owner, Task, World};

/// A scripted connection.
#[derive(Debug)]
pub struct Raw {
    pub(super) conn: usize,
    /// The client is gone; the engine sees nothing.
    pub(super) vanished: bool,
    /// The page goes away: nothing more is said.
    pub(super) leaving: bool,
    /// Its beats are lost until then.
    pub(super) muted_until: u64,
    /// When the connection's end arrived, with the code.
    pub(super) closed: Option<(u64, u16)>,
    /// Whether a welcome ever came.
    pub(super) welcomed: bool,
}

impl Raw {
    /// When the connection's end arrived, with the code.
    pub fn closed(&self) -> Option<(u64, u16)> {
        self.closed
    }

    /// Whether a welcome ever came.
    pub fn welcomed(&self) -> bool {
        self.welcomed
    }
}

/// What a scripted connection opens with.
pub(super) struct RawHello<'a> {
    pub(super) token: &'a str,
    pub(super) session: &'a str,
    pub(super) passive: bool,
    pub(super) idle: bool,
}

impl World<'_> {
    pub(super) fn raw_connect(
        &mut self,
        name: &str,
        node: usize,
        hello: &RawHello<'_>,
        beats: bool,
    ) {
        let conn = self.dial(node, Owner::Raw(name.to_owned()));
        self.raws.insert(
            name.to_owned(),
            Raw {
                conn,
                vanished: false,
                leaving: false,
                muted_until: 0,
                closed: None,
                welcomed: false,
            },
        );
        self.raw_says(
            conn,
            &ClientFrame::Hello(Hello {
                session: hello.session,
                token: hello.token,
                passive: hello.passive,
                idle: hello.idle.then_some(true),
                ..Hello::default()
            }),
        );
        if beats {
            let at = self.now + self.beat();
            self.at(at, ARRIVAL, Task::RawBeat(name.to_owned(), conn));
        }
    }

    pub(super) fn beat(&self) -> u64 {
        self.scenario.settings.engine.beat.as_millis()
    }

    pub(super) fn raw_beat(&mut self, name: &str, conn: usize) {
        let Some(raw) = self.raws.get(name).filter(|it| it.conn == conn) else { return };
        if raw.vanished || raw.leaving || raw.closed.is_some() {
            return;
        }
        if raw.muted_until <= self.now {
            self.raw_says(conn, &ClientFrame::Beat(Beat::default()));
        }
        let at = self.now + self.beat();
        self.at(at, ARRIVAL, Task::RawBeat(name.to_owned(), conn));
    }

    pub(super) fn raw_says(&mut self, conn: usize, frame: &ClientFrame<'_>) {
        let mut bytes = Vec::new();
        encode_client(frame, &mut bytes);
        self.send_up(conn, Up::Frame(bytes));
    }

    pub(super) fn raw_takes(&mut self, name: &str, conn: usize, down: &Down) {
        let now = self.now;
        let Some(raw) = self.raws.get_mut(name).filter(|it| it.conn == conn) else { return };
        match down {
            Down::Frame(_) => raw.welcomed = true,
            Down::Failed => raw.closed = Some((now, super::conn::LOST)),
            Down::Closed(code) => {
                raw.closed = Some((now, *code));
                if !raw.vanished {
                    self.close_client_end(conn);
                }
            }
            // Its client answers no ping: a script says what is heard of it.
            Down::Opened | Down::Ping => {}
        }
    }
}
