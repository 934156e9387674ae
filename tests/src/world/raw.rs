//! Scripted raw connections: they do what the script says, and beat.

use std::collections::BTreeMap;

use greendot_protocol::binary::{decode_server, encode_client};
use greendot_protocol::{Beat, ClientFrame, Hello, ServerFrame, State};

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
    /// The rooms it has joined; their numbers are their places, from 1.
    rooms: Vec<String>,
    /// What it was told of them.
    rosters: BTreeMap<String, Roster>,
}

/// What a connection was told of a room.
#[derive(Clone, Debug, Default)]
pub struct Roster {
    /// Who is there, as shown; of a large room the sample.
    pub members: BTreeMap<String, State>,
    /// How many, if that was told.
    pub count: Option<u64>,
    /// When frames about it came, in ms.
    pub frames: Vec<u64>,
}

impl Raw {
    fn reads(&mut self, now: u64, bytes: &[u8]) {
        let Ok(Some(frame)) = decode_server(bytes) else { return };
        let (number, count, whole, members) = match frame {
            ServerFrame::Room { number, members } => (number, None, true, members),
            ServerFrame::RoomEvents { number, members } => (number, None, false, members),
            ServerFrame::Crowd { number, count, sample } => {
                (number, Some(u64::from(count)), true, sample)
            }
            _ => return,
        };
        let Some(room) = self.rooms.get((number as usize).wrapping_sub(1)) else { return };
        let roster = self.rosters.entry(room.clone()).or_default();
        roster.frames.push(now);
        if whole {
            roster.members.clear();
            roster.count = count;
        }
        for it in members {
            if it.state == State::Offline {
                roster.members.remove(it.user);
            } else {
                roster.members.insert(it.user.to_owned(), it.state);
            }
        }
    }

    /// When the connection's end arrived, with the code.
    pub fn closed(&self) -> Option<(u64, u16)> {
        self.closed
    }

    /// What it was told of a room.
    pub fn roster(&self, room: &str) -> Option<&Roster> {
        self.rosters.get(room)
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
                rooms: Vec::new(),
                rosters: BTreeMap::new(),
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

    pub(super) fn raw_goes(&mut self, name: &str, room: &str, join: bool) {
        let Some(raw) = self.raws.get_mut(name).filter(|it| !it.vanished) else { return };
        let place = raw.rooms.iter().position(|it| it == room).unwrap_or_else(|| {
            raw.rooms.push(room.to_owned());
            raw.rooms.len() - 1
        });
        if !join {
            raw.rosters.remove(room);
        }
        let (conn, number) = (raw.conn, place as u32 + 1);
        let frame =
            if join { ClientFrame::Join { number, room } } else { ClientFrame::Leave { number } };
        self.raw_says(conn, &frame);
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
            Down::Frame(bytes) => {
                raw.welcomed = true;
                raw.reads(now, bytes);
            }
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
