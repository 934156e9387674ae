//! Rule 8 against an oracle that keeps every word of a connection and reads them all again each time: whatever comes in
//! whichever order, the view shows what was written last.

use std::collections::VecDeque;

use greendot_client::core::{Client, LinkState, Output, Part, Row};
use greendot_protocol::{Entry, Epoch, ServerFrame, State, Version};
use proptest::prelude::{Just, Strategy};
use proptest::{collection, option, prop_assert_eq, proptest};

use crate::rig::Rig;

const NAMES: [&str; 3] = ["ana", "bo", "cy"];

/// What comes next.
#[derive(Clone, Debug)]
enum Deed {
    /// A snapshot: the answer to the oldest open request, or to none. It lists those with a version.
    Snapshot {
        epoch: u32,
        listed: [Option<u32>; 3],
    },
    /// An event; about whom nobody watches any more, too.
    Event {
        epoch: u32,
        user: usize,
        version: u32,
    },
    Watch(usize),
    Unwatch(usize),
    Reconnect,
}

fn deeds() -> impl Strategy<Value = Deed> {
    let version = || option::weighted(0.8, 1..9u32);
    proptest::prop_oneof![
        5 => (1..4u32, [version(), version(), version()])
            .prop_map(|(epoch, listed)| Deed::Snapshot { epoch, listed }),
        12 => (1..5u32, 0..3usize, 1..12u32)
            .prop_map(|(epoch, user, version)| Deed::Event { epoch, user, version }),
        2 => (0..3usize).prop_map(Deed::Watch),
        2 => (0..3usize).prop_map(Deed::Unwatch),
        1 => Just(Deed::Reconnect),
    ]
}

/// The state that a version names: one and the same, however often it is told.
fn face(epoch: u32, user: usize, version: u32) -> State {
    State::ALL[(epoch * 7 + user as u32 * 3 + version * 11) as usize % 5]
}

/// One word about a user.
#[derive(Clone, Copy)]
enum Word {
    Event(u32),
    Listed(u32),
    /// Not listed by a snapshot that speaks of the user.
    Absent,
}

/// A user who is watched.
#[derive(Clone)]
struct Watched {
    row: Row,
    /// The request that asked for the user on this connection.
    request: u32,
    /// What was shown before this connection said anything that counts.
    before: (State, u32),
    /// All that was said on this connection of epochs that were not left, in its order.
    words: Vec<(u32, Word)>,
}

impl Watched {
    fn has_been_spoken_of(&self, epoch: Option<u32>) -> bool {
        self.words
            .iter()
            .any(|it| epoch.is_none_or(|epoch| it.0 == epoch) && !matches!(it.1, Word::Event(_)))
    }

    /// What the epoch's words make of the user; none if no snapshot of it has spoken yet.
    fn written_last(&self, epoch: u32, user: usize) -> Option<(State, u32)> {
        let of_epoch: Vec<Word> =
            self.words.iter().filter(|it| it.0 == epoch).map(|it| it.1).collect();
        let first = of_epoch.iter().position(|it| !matches!(it, Word::Event(_)))?;
        // Those that came early are weighed against the snapshot as if they had come behind it.
        let behind = |at: &usize| *at != first;
        let order = std::iter::once(first).chain((0..of_epoch.len()).filter(behind));
        let mut last = (State::Unknown, 0);
        for word in order.map(|at| of_epoch[at]) {
            match word {
                Word::Absent => last.0 = State::Offline,
                Word::Event(version) | Word::Listed(version) => {
                    if version > last.1 {
                        last = (face(epoch, user, version), version);
                    }
                }
            }
        }
        Some(last)
    }
}

/// What the client must have made of it all.
#[derive(Default)]
struct Oracle {
    users: [Option<Watched>; 3],
    /// The number that last stood for each user.
    numbers: [u32; 3],
    current: Option<u32>,
    left: Vec<u32>,
    /// Requests without an answer, and the number of the last.
    open: VecDeque<u32>,
    requests: u32,
}

impl Oracle {
    fn shown(&self) -> [Option<(State, u32)>; 3] {
        std::array::from_fn(|user| {
            let watched = self.users[user].as_ref()?;
            // An epoch that did not speak of the user leaves what one before it said.
            let epochs = self.current.iter().chain(self.left.iter().rev());
            Some(
                epochs
                    .filter_map(|epoch| watched.written_last(*epoch, user))
                    .next()
                    .unwrap_or(watched.before),
            )
        })
    }

    fn asks(&mut self) -> u32 {
        self.requests += 1;
        self.open.push_back(self.requests);
        self.requests
    }

    fn snapshot(&mut self, epoch: u32, listed: &[Option<u32>; 3]) {
        let request = self.open.pop_front().unwrap_or(0);
        if self.left.contains(&epoch) {
            return;
        }
        if self.current != Some(epoch) {
            self.left.extend(self.current.replace(epoch));
        }
        for (watched, listed) in self.users.iter_mut().zip(listed) {
            let Some(watched) = watched else { continue };
            match listed {
                Some(version) => watched.words.push((epoch, Word::Listed(*version))),
                None if watched.request == request
                    || (request == 0 && watched.has_been_spoken_of(None)) =>
                {
                    watched.words.push((epoch, Word::Absent));
                }
                None => {}
            }
        }
    }

    fn event(&mut self, epoch: u32, user: usize, version: u32) {
        if let Some(watched) = self.users[user].as_mut().filter(|_| !self.left.contains(&epoch)) {
            watched.words.push((epoch, Word::Event(version)));
        }
    }

    fn watch(&mut self, user: usize, row: Row) {
        assert!(self.users.iter().flatten().all(|it| it.row != row), "one row for each");
        let request = self.asks();
        self.numbers[user] = row.0 + 1;
        let before = (State::Unknown, 0);
        self.users[user] = Some(Watched { row, request, before, words: Vec::new() });
    }

    fn reconnect(&mut self) {
        let shown = self.shown();
        self.current = None;
        self.left.clear();
        self.open.clear();
        self.requests = 0;
        let anyone = self.users.iter().any(Option::is_some);
        let request = if anyone { self.asks() } else { 0 };
        for (watched, shown) in self.users.iter_mut().zip(shown) {
            let (Some(watched), Some(shown)) = (watched, shown) else { continue };
            watched.request = request;
            watched.before = shown;
            watched.words.clear();
        }
    }
}

fn say(rig: &mut Rig, oracle: &mut Oracle, deed: &Deed) {
    match *deed {
        Deed::Snapshot { epoch, listed } => {
            let list: Vec<_> = (0..3)
                .filter(|user| oracle.users[*user].is_some())
                .filter_map(|user| listed[user].map(|it| (user, it)))
                .map(|(user, version)| (NAMES[user], face(epoch, user, version), version))
                .collect();
            rig.snapshot(epoch, &list);
            oracle.snapshot(epoch, &listed);
        }
        Deed::Event { epoch, user, version } => {
            let number = oracle.numbers[user];
            let another = |it: &Watched| it.row.0 + 1 == number;
            let reused = oracle.users[user].is_none() && oracle.users.iter().flatten().any(another);
            if reused {
                return;
            }
            let entry = Entry {
                number,
                state: face(epoch, user, version),
                version: Version(version),
                ..Entry::default()
            };
            rig.frame(&ServerFrame::Events { epoch: Epoch(epoch), entries: vec![entry] });
            oracle.event(epoch, user, version);
        }
        Deed::Watch(user) if oracle.users[user].is_none() => {
            let row = rig.subscribe(1, NAMES[user]);
            // It may be gathered with others for a tenth of a second.
            pass(rig, 0.1);
            oracle.watch(user, row);
        }
        Deed::Unwatch(user) => {
            let Some(watched) = oracle.users[user].take() else { return };
            rig.act(|client, now| client.unsubscribe(now, Part(1), watched.row));
            // It is held back for half a second.
            pass(rig, 0.6);
        }
        Deed::Watch(_) => {}
        Deed::Reconnect => {
            rig.reset();
            rig.act(Client::connect);
            oracle.reconnect();
        }
    }
}

fn pass(rig: &mut Rig, secs: f64) {
    rig.run(rig.now.as_millis() as f64 / 1000.0 + secs);
}

proptest! {
    #[test]
    fn the_view_is_what_was_written_last_whatever_comes_in_whichever_order(
        script in collection::vec(deeds(), 1..45),
    ) {
        let (mut rig, mut oracle) = (Rig::new(), Oracle::default());
        rig.act(Client::connect);
        for user in 0..2 {
            say(&mut rig, &mut oracle, &Deed::Watch(user));
        }
        for deed in &script {
            let before = oracle.shown();
            rig.log.clear();
            say(&mut rig, &mut oracle, deed);
            prop_assert_eq!(rig.client.link() == LinkState::Waiting, false);
            let after = oracle.shown();
            let view = NAMES.map(|name| rig.client.row(name).map(|_| rig.shown(name)));
            prop_assert_eq!(view, after, "after {:?}", deed);
            // The app is called back exactly for those whose state is another.
            let differs = |user: &usize| matches!(
                (before[*user], after[*user]), (Some(one), Some(other)) if one.0 != other.0
            );
            let mut expected: Vec<Row> =
                (0..3).filter(differs).map(|it| rig.row(NAMES[it])).collect();
            let mut told = rig.outputs(0.0, |it| match it {
                Output::Changed { row, .. } => Some(*row),
                _ => None,
            });
            told.sort();
            expected.sort();
            prop_assert_eq!(told, expected, "after {:?}", deed);
        }
    }
}
