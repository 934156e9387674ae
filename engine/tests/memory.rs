//! What waits for those who read nothing does not grow with how long they read nothing (rule 14): an hour of virtual time, and
//! what is allocated at each tenth of it.

use std::alloc::System;
use std::collections::BTreeMap;

use cap::Cap;
use greendot_engine::core::{
    AudienceRule, ConnId, Connect, Fineness, Node, Output, SelfReport, Settings, Start,
};
use greendot_engine::protocol::{
    Beat, ClientFrame, Epoch, Mode, ServerFrame, Span, Time, WatchItem,
};

#[global_allocator]
static ALLOCATED: Cap<System> = Cap::new(System, usize::MAX);

const STARS: u32 = 8;
const SLOW: u32 = 40;
const QUICK: u32 = 8;

struct World {
    node: Node,
    now: Time,
    /// Whether a connection reads.
    reads: BTreeMap<ConnId, bool>,
    /// Frames that were read, and the longest that one waited after a tick.
    read: usize,
}

impl World {
    fn new() -> Self {
        let settings = Settings {
            // What the application said may be kept for as long: here that is soon as much as there may be.
            audience: Some(AudienceRule { kept: 100, ..AudienceRule::default() }),
            asks_rooms: true,
            crowd_limit: 30,
            room_limit: 20,
            ..Settings::default()
        };
        let node =
            Node::new(settings, Time::ZERO, Epoch(1), 0, 1, Start::Fresh).expect("they work");
        Self { node, now: Time::ZERO, reads: BTreeMap::new(), read: 0 }
    }

    fn connect(&mut self, user: &str, reads: bool) -> ConnId {
        let connect = Connect {
            user,
            session: "1",
            passive: false,
            report: SelfReport::default(),
            token_until: None,
            device: "",
        };
        let conn = self.node.handle_connect(self.now, &connect).expect("may connect");
        self.reads.insert(conn, reads);
        self.drain();
        conn
    }

    fn say(&mut self, conn: ConnId, frame: &ClientFrame<'_>) {
        self.node.handle_frame(self.now, conn, frame);
        self.drain();
    }

    /// Does what the node asks. Who reads is told at once, whoever else does not.
    fn drain(&mut self) {
        while let Some(output) = self.node.poll_output() {
            match output {
                Output::Ready(conn) if self.reads.get(&conn) == Some(&true) => {
                    let read = &mut self.read;
                    self.node.transmit(self.now, conn, &mut |frame| {
                        *read += usize::from(!matches!(frame, ServerFrame::BeatAnswer(_)));
                    });
                }
                Output::Audience { number, pairs } => {
                    let answers = vec![Some(Fineness::Live); pairs.len()];
                    self.node.handle_audience(self.now, number, &answers);
                }
                Output::MayJoin { ask, .. } => {
                    self.node.handle_may_join(self.now, ask, Some(true));
                }
                Output::ReadFirst(conn) => self.node.handle_read(self.now, conn),
                Output::Ping(conn) => self.node.handle_pong(self.now, conn),
                _ => {}
            }
        }
    }

    fn until(&mut self, millis: u64) {
        let end = Time::from_millis(millis);
        while self.node.deadline() <= end {
            self.now = self.now.max(self.node.deadline());
            self.node.handle_timeout(self.now);
            self.drain();
        }
        self.now = end;
    }
}

#[test]
fn an_hour_of_readers_who_read_nothing_takes_no_more_than_its_first_minutes() {
    let mut world = World::new();
    let stars: Vec<_> = (0..STARS).map(|it| world.connect(&format!("star{it}"), true)).collect();
    let names: Vec<_> = (0..STARS).map(|it| format!("star{it}")).collect();
    let mut watchers = Vec::new();
    for watcher in 0..SLOW + QUICK {
        let conn = world.connect(&format!("w{watcher}"), watcher >= SLOW);
        // Some users are watched by a crowd, others by few.
        let items = (0u32..).zip(&names).filter(|(it, _)| *it < 4 || watcher % 4 == 0);
        let users = items.map(|(number, user)| WatchItem { number, user }).collect();
        world.say(conn, &ClientFrame::Watch { request: 1, users });
        world.say(conn, &ClientFrame::Join { number: 1, room: "page" });
        watchers.push(conn);
    }
    let mut allocated = Vec::new();
    for second in 1..=3_600u64 {
        world.until(second * 1_000);
        let star = second as usize % stars.len();
        let mode = [Mode::Busy, Mode::Auto, Mode::Dnd][second as usize / stars.len() % 3];
        world.say(stars[star], &ClientFrame::Mode(mode));
        world.say(stars[star], &ClientFrame::Note(["", "out", "in a talk"][second as usize % 3]));
        // They come and go in rooms, those who read nothing too.
        let comes = second % 14 < 7;
        let conn = watchers[second as usize % watchers.len()];
        world.say(
            conn,
            &if comes {
                ClientFrame::Join { number: 2, room: "hall" }
            } else {
                ClientFrame::Leave { number: 2 }
            },
        );
        if second % 12 == 0 {
            for &conn in stars.iter().chain(&watchers) {
                let beat = Beat { number: second as u8, input_age_secs: None };
                world.say(conn, &ClientFrame::Beat(beat));
            }
        }
        if second % 50 == 0 {
            world.node.audience_changed(world.now, Some("star1"), None);
            world.drain();
        }
        if second % 360 == 0 {
            allocated.push(ALLOCATED.allocated());
        }
    }
    assert_eq!(world.node.counts().conns as u32, STARS + SLOW + QUICK, "all are still there");
    // Whoever reads has been told all the while.
    assert!(world.read > 3_600, "{} frames were read", world.read);
    let (first, rest) = (allocated[0], &allocated[1..]);
    println!("allocated at each tenth of the hour: {allocated:?}; {} frames read", world.read);
    // What changes with what is held at the moment: a room more or less, a table that has grown once.
    let most = first + first / 20;
    assert!(rest.iter().all(|it| *it <= most), "{allocated:?}");
    let waits = watchers.iter().map(|it| world.node.waiting(*it)).max();
    assert!(waits <= Some(2 * STARS as usize + 120), "{waits:?} entries wait for one");
    assert_eq!(Span::from_millis(world.now.as_millis()), Span::from_secs(3_600));
}
