//! Scripted raw connections: they do what the script says, and beat.

use std::collections::{BTreeMap, BTreeSet};

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
    /// Its session: user/session.
    session: String,
    /// The rooms it has named; their numbers are their places, from 1.
    rooms: Vec<Room>,
    /// What its frames were answered with, if that is looked at: (when, the frame's kind or the
    /// error).
    answers: Option<Vec<(u64, &'static str)>>,
    /// What it was told of them.
    rosters: BTreeMap<String, Roster>,
}

/// A room under a number of a connection's own.
#[derive(Debug)]
struct Room {
    name: String,
    /// Whether it has joined it, and not left since.
    joined: bool,
}

/// Where a session of scripted connections is.
#[derive(Debug, Default)]
pub(super) struct Seats {
    /// Its latest connection.
    conn: String,
    /// The rooms that it has joined, by whichever of its connections, and not left.
    rooms: BTreeSet<String>,
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
        if let Some(answers) = &mut self.answers {
            let what = match &frame {
                ServerFrame::Error { code, .. } => code.name(),
                frame => frame.kind().name(),
            };
            answers.push((now, what));
        }
        let (number, count, whole, members) = match frame {
            ServerFrame::Room { number, members } => (number, None, true, members),
            ServerFrame::RoomEvents { number, members } => (number, None, false, members),
            ServerFrame::Crowd { number, count, sample } => {
                (number, Some(u64::from(count)), true, sample)
            }
            _ => return,
        };
        let room = self.rooms.get((number as usize).wrapping_sub(1));
        // What comes of a room that was left since was under way.
        let Some(room) = room.filter(|it| it.joined) else { return };
        let roster = self.rosters.entry(room.name.clone()).or_default();
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

    /// What its frames were answered with, by when.
    pub fn answers(&self) -> &[(u64, &'static str)] {
        self.answers.as_deref().unwrap_or_default()
    }

    /// Whether a welcome ever came.
    pub fn welcomed(&self) -> bool {
        self.welcomed
    }
}

/// What a scripted connection opens with.
pub(super) struct RawHello<'a> {
    pub(super) token: &'a str,
    pub(super) user: &'a str,
    pub(super) session: &'a str,
    pub(super) passive: bool,
    /// What the hello says the person is; none: it does not say.
    pub(super) idle: Option<bool>,
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
        let session = format!("{}/{}", hello.user, hello.session);
        let lives =
            self.sessions(hello.user, None).iter().any(|it| *it.view.session == *hello.session);
        let seats = self.seats.entry(session.clone()).or_default();
        name.clone_into(&mut seats.conn);
        if !lives {
            // A session that has ended is in no room any more.
            seats.rooms.clear();
        }
        let answers = self.wanted.answers.contains(name).then(Vec::new);
        self.raws.insert(
            name.to_owned(),
            Raw {
                conn,
                vanished: false,
                leaving: false,
                muted_until: 0,
                closed: None,
                welcomed: false,
                session,
                rooms: Vec::new(),
                answers,
                rosters: BTreeMap::new(),
            },
        );
        self.raw_says(
            conn,
            &ClientFrame::Hello(Hello {
                session: hello.session,
                token: hello.token,
                passive: hello.passive,
                idle: hello.idle,
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

    /// The scripted connection of that name, or the latest one of that session.
    pub(super) fn raw_name<'b>(&'b self, who: &'b str) -> Option<&'b str> {
        if self.raws.contains_key(who) {
            return Some(who);
        }
        self.seats.get(who).map(|it| &*it.conn)
    }

    /// A scripted connection goes into a room, or leaves it. A number stands for a room on one
    /// connection only: to leave what its session joined on an earlier one, a client joins it anew.
    pub(super) fn raw_goes(&mut self, name: &str, room: &str, join: bool) {
        let Some(raw) = self.raws.get_mut(name).filter(|it| !it.vanished) else { return };
        let conn = raw.conn;
        if !self.conns[conn].client_open {
            return;
        }
        let place = raw.rooms.iter().position(|it| it.name == room).unwrap_or_else(|| {
            raw.rooms.push(Room { name: room.to_owned(), joined: false });
            raw.rooms.len() - 1
        });
        let number = place as u32 + 1;
        let here = std::mem::replace(&mut raw.rooms[place].joined, join);
        if !join {
            raw.rosters.remove(room);
        }
        let seats = self.seats.entry(raw.session.clone()).or_default();
        let held =
            if join { !seats.rooms.insert(room.to_owned()) } else { seats.rooms.remove(room) };
        if join || (held && !here) {
            self.raw_says(conn, &ClientFrame::Join { number, room });
        }
        if !join {
            self.raw_says(conn, &ClientFrame::Leave { number });
        }
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
