//! Lists longer than the screen: what is shown for a moment costs next to nothing, and what stays is right.

use std::collections::{BTreeMap, VecDeque};

use greendot_client::core::{Client, Message, Output, Part};
use greendot_protocol::{Entry, Epoch, ServerFrame, State, Version};
use proptest::prelude::{Just, Strategy};
use proptest::{collection, prop_assert, prop_assert_eq, proptest};

use crate::rig::Rig;

fn frames(rig: &Rig, from: f64) -> usize {
    let about_watches =
        |it: &&Message| matches!(it, Message::Watch { .. } | Message::Unwatch { .. });
    rig.sent(from).iter().filter(about_watches).count()
}

/// A list of a thousand, of which twenty are shown, runs past with sixty frames a second.
fn scrolled(secs: f64) -> Rig {
    let mut rig = Rig::live(&[]);
    rig.run(1.0);
    let ticks = (secs * 60.0) as usize;
    let shown = |tick: usize| {
        let top = tick * 980 / ticks;
        top..top + 20
    };
    for row in shown(0) {
        rig.subscribe(1, &format!("u{row}"));
    }
    for tick in 1..=ticks {
        rig.run(1.0 + tick as f64 / 60.0);
        for row in shown(tick).filter(|it| !shown(tick - 1).contains(it)) {
            rig.subscribe(1, &format!("u{row}"));
        }
        for row in shown(tick - 1).filter(|it| !shown(tick).contains(it)) {
            let row = rig.row(&format!("u{row}"));
            rig.act(|client, now| client.unsubscribe(now, Part(1), row));
        }
    }
    rig.run(1.0 + secs + 1.0);
    rig
}

#[test]
fn a_list_that_runs_past_costs_few_frames() {
    for secs in [0.3, 1.0, 3.0] {
        let rig = scrolled(secs);
        // Ten a second to watch, two to end that, each of which takes the next to watch along; and what is left at the end.
        let most = (secs * 14.0) as usize + 3;
        let count = frames(&rig, 1.0);
        assert!(count <= most, "{count} frames in {secs} s, at most {most}");
        assert_eq!(rig.client.rows(), 20);
    }
}

#[test]
fn rows_that_only_flew_past_are_never_asked_for() {
    let rig = scrolled(0.3);
    let asked: usize = rig
        .sent(1.0)
        .iter()
        .map(|it| if let Message::Watch { users, .. } = it { users.len() } else { 0 })
        .sum();
    assert!(asked < 200, "{asked} of 1,000");
}

#[test]
fn the_first_to_be_watched_wait_for_nothing() {
    let mut rig = Rig::live(&["ana"]);
    rig.run(5.0);
    rig.subscribe(1, "bo");
    rig.run(5.0);
    assert_eq!(frames(&rig, 5.0), 1);
}

/// What the list, the network and the people in it do.
#[derive(Clone, Debug)]
enum Deed {
    /// A row is shown or hidden, for a user who may be shown in another row, too.
    Show(usize),
    Hide(usize),
    /// Somebody changes.
    Change(usize, State),
    /// The server reads the oldest frame that it has not read, or the client the oldest of its answers.
    Arrive,
    Answer,
    /// Time passes, in hundredths of a second.
    Pass(u32),
    /// The connection breaks and is back.
    Reconnect,
}

const USERS: usize = 6;

fn deeds() -> impl Strategy<Value = Deed> {
    proptest::prop_oneof![
        6 => (0..USERS).prop_map(Deed::Show),
        6 => (0..USERS).prop_map(Deed::Hide),
        4 => (0..USERS, 0..5usize).prop_map(|(user, state)| Deed::Change(user, State::ALL[state])),
        5 => Just(Deed::Arrive),
        5 => Just(Deed::Answer),
        5 => (1..70u32).prop_map(Deed::Pass),
        1 => Just(Deed::Reconnect),
    ]
}

/// A server, and the two directions of a connection to it, each in its order.
struct Server {
    truth: [(State, u32); USERS],
    /// Who stands behind each number of this connection.
    watched: BTreeMap<u32, usize>,
    unread: VecDeque<Message>,
    answers: VecDeque<ServerFrame<'static>>,
    /// How much of the rig's log was looked at.
    seen: usize,
}

impl Server {
    fn entry(&self, number: u32, user: usize) -> Entry<'static> {
        let (state, version) = self.truth[user];
        Entry { number, state, version: Version(version), ..Entry::default() }
    }

    /// What the client has sent meanwhile is on its way.
    fn collect(&mut self, rig: &Rig) {
        for (_, output) in &rig.log[self.seen..] {
            match output {
                // Whatever was on the old connection is lost.
                Output::Dial { .. } => {
                    self.watched.clear();
                    self.unread.clear();
                    self.answers.clear();
                }
                Output::Send {
                    frame: frame @ (Message::Watch { .. } | Message::Unwatch { .. }),
                    ..
                } => {
                    self.unread.push_back(frame.clone());
                }
                _ => {}
            }
        }
        self.seen = rig.log.len();
    }

    fn arrive(&mut self) {
        match self.unread.pop_front() {
            Some(Message::Watch { request, users }) => {
                let mut entries = Vec::new();
                for (number, name) in users {
                    let user = name[1..].parse().expect("u and a number");
                    self.watched.insert(number, user);
                    entries.push(self.entry(number, user));
                }
                self.answers.push_back(ServerFrame::Snapshot { epoch: Epoch(7), request, entries });
            }
            Some(Message::Unwatch { numbers }) => {
                self.watched.retain(|number, _| !numbers.contains(number));
            }
            _ => {}
        }
    }

    fn change(&mut self, user: usize, state: State) {
        if self.truth[user].0 == state {
            return;
        }
        self.truth[user] = (state, self.truth[user].1 + 1);
        let about = self.watched.iter().filter(|it| *it.1 == user);
        let entries: Vec<_> = about.map(|(number, _)| self.entry(*number, user)).collect();
        if !entries.is_empty() {
            self.answers.push_back(ServerFrame::Events { epoch: Epoch(7), entries });
        }
    }
}

fn pass(rig: &mut Rig, hundredths: u32) {
    rig.run(rig.now.as_millis() as f64 / 1000.0 + f64::from(hundredths) / 100.0);
}

proptest! {
    /// In whichever order rows come and go, frames are read and answers arrive: at quiet each row shows how its user is, and
    /// the server speaks of nobody else.
    #[test]
    fn no_order_of_watch_and_unwatch_leaves_a_row_wrong(script in collection::vec(deeds(), 1..120)) {
        let mut rig = Rig::live(&[]);
        let mut server = Server {
            truth: [(State::Online, 1); USERS],
            watched: BTreeMap::new(),
            unread: VecDeque::new(),
            answers: VecDeque::new(),
            seen: rig.log.len(),
        };
        let mut shown = [false; USERS];
        for deed in &script {
            match *deed {
                Deed::Show(user) => {
                    rig.subscribe(1, &format!("u{user}"));
                    shown[user] = true;
                }
                Deed::Hide(user) if shown[user] => {
                    let row = rig.row(&format!("u{user}"));
                    rig.act(|client, now| client.unsubscribe(now, Part(1), row));
                    shown[user] = false;
                }
                Deed::Hide(_) => {}
                Deed::Change(user, state) => server.change(user, state),
                Deed::Arrive => server.arrive(),
                Deed::Answer => {
                    if let Some(frame) = server.answers.pop_front() {
                        rig.frame(&frame);
                    }
                }
                Deed::Pass(hundredths) => pass(&mut rig, hundredths),
                Deed::Reconnect => {
                    rig.reset();
                    rig.act(Client::connect);
                }
            }
            server.collect(&rig);
        }
        // Quiet: all that was said is heard, and all that was held back is let go.
        for _ in 0..3 {
            pass(&mut rig, 60);
            server.collect(&rig);
            while !server.unread.is_empty() {
                server.arrive();
            }
            while let Some(frame) = server.answers.pop_front() {
                rig.frame(&frame);
            }
            server.collect(&rig);
        }
        for (user, &is) in shown.iter().enumerate() {
            let name = format!("u{user}");
            prop_assert_eq!(rig.client.row(&name).is_some(), is, "{}", name);
            if is {
                prop_assert_eq!(rig.shown(&name), server.truth[user], "{}", name);
                prop_assert!(!rig.client.stale());
            }
        }
        let mut spoken_of: Vec<_> = server.watched.into_values().collect();
        spoken_of.sort_unstable();
        let wanted: Vec<_> = (0..USERS).filter(|it| shown[*it]).collect();
        prop_assert_eq!(spoken_of, wanted);
    }
}
