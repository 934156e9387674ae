//! The view: what is taken, what is thrown away, and what the app is told.

use greendot_client::core::{Client, LinkState, Output, Row};
use greendot_protocol::State::{Away, Busy, Dnd, Offline, Online, Unknown};
use greendot_protocol::{Entry, Epoch, ServerFrame, Span, State, Version};
use proptest::prelude::{Just, Strategy, any};
use proptest::{collection, prop_assert_eq, proptest};

use crate::rig::Rig;

#[test]
fn rows_start_as_unknown() {
    let mut rig = Rig::new();
    rig.subscribe(1, "ana");
    assert_eq!(rig.shown("ana"), (Unknown, 0));
    assert_eq!(rig.changes(1, 0.0), 0);
}

#[test]
fn inside_an_epoch_only_a_higher_version_is_taken() {
    let mut rig = Rig::live(&["ana"]);
    rig.event(7, "ana", Away, 3);
    rig.event(7, "ana", Busy, 2);
    rig.event(7, "ana", Busy, 3);
    assert_eq!(rig.shown("ana"), (Away, 3));
    rig.snapshot(7, &[("ana", Online, 2)]);
    assert_eq!(rig.shown("ana"), (Away, 3));
}

#[test]
fn a_new_epoch_is_entered_only_by_a_snapshot() {
    let mut rig = Rig::live(&["ana"]);
    rig.event(8, "ana", Away, 9);
    assert_eq!(rig.shown("ana"), (Online, 1));
    rig.snapshot(8, &[("ana", Busy, 2)]);
    assert_eq!(rig.shown("ana"), (Away, 9), "the event was kept for it");
}

#[test]
fn what_comes_late_of_an_epoch_once_left_is_thrown_away() {
    let mut rig = Rig::live(&["ana"]);
    rig.snapshot(8, &[("ana", Busy, 1)]);
    rig.event(7, "ana", Away, 50);
    rig.snapshot(7, &[("ana", Away, 51)]);
    assert_eq!(rig.shown("ana"), (Busy, 1));
    rig.event(8, "ana", Online, 2);
    assert_eq!(rig.shown("ana"), (Online, 2));
}

#[test]
fn a_new_connection_may_enter_an_epoch_that_an_old_one_left() {
    let mut rig = Rig::live(&["ana"]);
    rig.snapshot(8, &[("ana", Busy, 1)]);
    rig.reset();
    rig.act(Client::connect);
    rig.snapshot(7, &[("ana", Away, 5)]);
    assert_eq!(rig.shown("ana"), (Away, 5));
}

#[test]
fn of_the_events_before_a_snapshot_the_newest_is_kept() {
    let mut rig = Rig::new();
    rig.subscribe(1, "ana");
    rig.act(Client::connect);
    rig.event(7, "ana", Away, 6);
    rig.event(7, "ana", Busy, 8);
    rig.event(7, "ana", Online, 7);
    assert_eq!(rig.shown("ana"), (Unknown, 0), "an event alone shows nothing");
    rig.snapshot(7, &[("ana", Offline, 5)]);
    assert_eq!(rig.shown("ana"), (Busy, 8));
    assert_eq!(rig.changes(1, 0.0), 1);
}

#[test]
fn a_user_missing_from_the_answer_is_offline_and_was_never_seen() {
    let mut rig = Rig::new();
    rig.subscribe(1, "ana");
    rig.subscribe(1, "bo");
    rig.act(Client::connect);
    rig.event(7, "bo", Online, 1);
    rig.snapshot(7, &[]);
    assert_eq!(rig.shown("ana"), (Offline, 0));
    assert_eq!(rig.client.view(rig.now, rig.row("ana")).and_then(|it| it.seen_ago), None);
    assert_eq!(rig.shown("bo"), (Online, 1), "an event that came before is newer");
}

#[test]
fn an_answer_speaks_of_no_other_watch() {
    let mut rig = Rig::live(&["ana"]);
    rig.subscribe(1, "bo");
    rig.snapshot(7, &[]);
    assert_eq!((rig.shown("ana").0, rig.shown("bo").0), (Online, Offline));
}

#[test]
fn a_snapshot_about_everyone_knows_nothing_of_watches_still_under_way() {
    let mut rig = Rig::live(&["ana", "bo"]);
    rig.subscribe(1, "cy");
    rig.act(Client::handle_timeout);
    let ana = Entry { number: 1, state: Away, version: Version(1), ..Entry::default() };
    rig.frame(&ServerFrame::Snapshot { epoch: Epoch(8), request: 0, entries: vec![ana] });
    assert_eq!(rig.shown("ana"), (Away, 1));
    assert_eq!(rig.shown("bo"), (Offline, 0));
    assert_eq!(rig.shown("cy"), (Unknown, 0), "its own answer is still to come");
    rig.snapshot(8, &[("cy", Busy, 4)]);
    assert_eq!(rig.shown("cy"), (Busy, 4));
}

#[test]
fn numbers_that_stand_for_nobody_are_passed_over() {
    let mut rig = Rig::live(&["ana"]);
    let entries: Vec<_> = [0, 2, 77, u32::MAX]
        .map(|number| Entry { number, state: Away, version: Version(9), ..Entry::default() })
        .into();
    rig.frame(&ServerFrame::Events { epoch: Epoch(7), entries: entries.clone() });
    rig.frame(&ServerFrame::Snapshot { epoch: Epoch(7), request: 99, entries });
    assert_eq!(rig.shown("ana"), (Online, 1));
}

#[test]
fn a_note_that_changes_is_a_change_and_the_same_note_is_none() {
    let mut rig = Rig::live(&["ana"]);
    rig.run(1.0);
    for (version, note) in [(2, "lunch"), (3, "lunch"), (4, "")] {
        let entry = Entry {
            number: 1,
            state: Online,
            version: Version(version),
            note,
            seen_ago: None,
            coarse: false,
        };
        rig.frame(&ServerFrame::Events { epoch: Epoch(7), entries: vec![entry] });
    }
    assert_eq!(rig.changes(1, 1.0), 2);
}

#[test]
fn last_seen_is_told_as_an_age_and_grows_on_the_own_steady_clock() {
    let mut rig = Rig::live(&["ana"]);
    for (version, coarse) in [(2, false), (3, true)] {
        let entry = Entry {
            number: 1,
            state: Offline,
            version: Version(version),
            seen_ago: Some(Span::from_secs(7_200)),
            coarse,
            note: "",
        };
        rig.run(50.0 * f64::from(version));
        rig.frame(&ServerFrame::Events { epoch: Epoch(7), entries: vec![entry] });
        rig.run(50.0 * f64::from(version) + 40.0);
        let view = rig.client.view(rig.now, Row(0)).expect("watched");
        assert_eq!((view.seen_ago, view.coarse), (Some(Span::from_secs(7_240)), coarse));
    }
}

#[test]
fn an_age_without_end_is_no_trouble() {
    let mut rig = Rig::live(&["ana"]);
    let seen_ago = Some(Span::from_millis(u64::MAX));
    let entry = Entry {
        number: 1,
        state: Offline,
        version: Version(u32::MAX),
        seen_ago,
        coarse: false,
        note: "",
    };
    rig.frame(&ServerFrame::Events { epoch: Epoch(7), entries: vec![entry] });
    rig.run(90.0);
    assert_eq!(rig.client.view(rig.now, Row(0)).and_then(|it| it.seen_ago), seen_ago);
}

#[test]
fn a_node_that_says_stale_marks_the_view_and_forgets_nothing() {
    let mut rig = Rig::live(&["ana"]);
    rig.run(20.0);
    rig.frame(&ServerFrame::Stale(true));
    rig.run(500.0);
    assert!(rig.client.stale());
    assert_eq!(rig.shown("ana"), (Online, 1));
    rig.frame(&ServerFrame::Stale(false));
    assert_eq!(rig.stales(1.0), [true, false]);
}

#[test]
fn a_node_that_is_stale_from_the_start_is_never_shown_as_sure() {
    let mut rig = Rig::new();
    rig.welcome.stale = true;
    rig.act(Client::connect);
    assert_eq!(rig.stales(0.0), [false; 0]);
    assert!(rig.client.stale());
}

#[test]
fn forgetting_tells_each_part_once_and_only_of_those_who_were_known() {
    let mut rig = Rig::live(&["ana"]);
    rig.subscribe(2, "ana");
    rig.run(10.0);
    rig.serve = false;
    rig.reset();
    rig.subscribe(1, "bo");
    rig.run(500.0);
    assert_eq!((rig.changes(1, 10.0), rig.changes(2, 10.0)), (1, 1));
    assert_eq!(rig.shown("ana").0, Unknown);
}

/// A link that waits for the rest of what it asked for is not cut off from those of whom it has been told.
#[test]
fn only_what_was_told_before_the_link_was_lost_is_forgotten() {
    let mut rig = Rig::live(&["bo"]);
    let room = rig.act(|client, now| client.join(now, "r"));
    rig.serve = false;
    rig.reset();
    rig.run(30.0);
    rig.serve = true;
    rig.act(Client::connect);
    rig.subscribe(1, "ana");
    rig.act(Client::handle_timeout);
    let number = rig.row("ana").0 + 1;
    let online = Entry { number, state: Online, version: Version(1), ..Entry::default() };
    let entries = vec![online];
    rig.frame(&ServerFrame::Snapshot { epoch: Epoch(7), request: 2, entries });
    rig.frame(&ServerFrame::Room { number: 1, members: Vec::new() });
    rig.run(40.0);
    assert_eq!(rig.client.link(), LinkState::Connecting);
    assert_eq!((rig.shown("ana").0, rig.shown("bo").0), (Online, Unknown));
    assert!(rig.client.room(room).is_some_and(|it| it.known));
    rig.snapshot(7, &[("bo", Away, 2)]);
    assert_eq!(rig.client.link(), LinkState::Live);
    assert_eq!((rig.shown("ana").0, rig.shown("bo").0), (Online, Away));
    rig.serve = false;
    rig.reset();
    rig.run(500.0);
    assert_eq!((rig.shown("ana").0, rig.shown("bo").0), (Unknown, Unknown));
    assert!(rig.client.room(room).is_some_and(|it| !it.known));
}

#[test]
fn epochs_without_end_do_not_fill_the_memory() {
    let mut rig = Rig::live(&["ana"]);
    for epoch in 100..10_100 {
        rig.snapshot(epoch, &[("ana", Online, 1)]);
    }
    for epoch in 20_000..30_000 {
        rig.event(epoch, "ana", Online, 1);
    }
    assert!(format!("{:?}", rig.client).len() < 10_000);
}

#[test]
fn the_newest_event_of_each_epoch_waits_for_its_own_snapshot() {
    let mut rig = Rig::live(&["ana"]);
    rig.event(9, "ana", Dnd, 5);
    rig.event(8, "ana", Busy, 6);
    rig.event(9, "ana", Away, 4);
    rig.snapshot(8, &[("ana", Online, 1)]);
    assert_eq!(rig.shown("ana"), (Busy, 6));
    rig.snapshot(9, &[("ana", Online, 4)]);
    assert_eq!(rig.shown("ana"), (Dnd, 5));
}

/// What happens to one of two users at the server, and how late the client hears of it.
#[derive(Clone, Debug)]
enum Deed {
    /// A change, heard so many deeds later; 0: at once.
    Change { user: usize, state: State, late: usize },
    /// The store is lost, versions start again, everyone is told anew; or (`early`) behind events
    /// that were made after it.
    NewEpoch { early: Option<(usize, State)> },
    /// The connection breaks and is back.
    Reconnect,
}

fn states() -> impl Strategy<Value = State> {
    proptest::sample::select(&State::ALL[..5])
}

fn deeds() -> impl Strategy<Value = Deed> {
    proptest::prop_oneof![
        12 => (0..2usize, states(), 0..6usize)
            .prop_map(|(user, state, late)| Deed::Change { user, state, late }),
        2 => proptest::option::of((0..2usize, states()))
            .prop_map(|early| Deed::NewEpoch { early }),
        1 => Just(Deed::Reconnect),
    ]
}

const NAMES: [&str; 2] = ["ana", "bo"];

proptest! {
    /// The oracle is the server itself: once all is heard, the view is what was written last, in
    /// whichever order it came; and the app was called exactly when what it saw changed.
    #[test]
    fn at_quiet_the_view_is_what_was_written_last(script in collection::vec(deeds(), 1..60)) {
        let mut rig = Rig::new();
        for user in NAMES {
            rig.subscribe(1, user);
        }
        rig.act(Client::connect);
        let mut epoch = 1;
        let mut truth = [(Online, 1), (Online, 1)];
        let all = |truth: &[(State, u32); 2]| {
            [(NAMES[0], truth[0].0, truth[0].1), (NAMES[1], truth[1].0, truth[1].1)]
        };
        rig.snapshot(epoch, &all(&truth));
        let mut late: Vec<(usize, u32, usize, State, u32)> = Vec::new();
        for (at, deed) in script.iter().enumerate() {
            match *deed {
                Deed::Change { user, state, late: by } => {
                    truth[user] = (state, truth[user].1 + 1);
                    late.push((at + by, epoch, user, state, truth[user].1));
                }
                Deed::NewEpoch { early } => {
                    epoch += 1;
                    truth = truth.map(|(state, _)| (state, 1));
                    let snapshot = all(&truth);
                    if let Some((user, state)) = early {
                        truth[user] = (state, 2);
                        rig.event(epoch, NAMES[user], state, 2);
                    }
                    rig.snapshot(epoch, &snapshot);
                }
                Deed::Reconnect => {
                    // What was on its way is lost with the connection.
                    late.clear();
                    rig.reset();
                    rig.act(Client::connect);
                    rig.snapshot(epoch, &all(&truth));
                }
            }
            for (_, epoch, user, state, version) in late.extract_if(.., |it| it.0 <= at) {
                rig.event(epoch, NAMES[user], state, version);
            }
        }
        for (_, epoch, user, state, version) in late {
            rig.event(epoch, NAMES[user], state, version);
        }
        prop_assert_eq!(NAMES.map(|user| rig.shown(user)), truth);
    }

    #[test]
    fn each_callback_is_a_change_and_each_change_a_callback(
        script in collection::vec((0..2usize, states(), any::<u8>(), any::<bool>()), 1..80),
    ) {
        let mut rig = Rig::live(&NAMES);
        let mut seen = NAMES.map(|user| rig.shown(user).0);
        rig.log.clear();
        for (user, state, version, snapshot) in script {
            if snapshot {
                rig.snapshot(7, &[(NAMES[user], state, version.into())]);
            } else {
                rig.event(7, NAMES[user], state, version.into());
            }
            let now = NAMES.map(|user| rig.shown(user).0);
            let expected: Vec<Row> =
                (0..2).filter(|&it| now[it] != seen[it]).map(|it| rig.row(NAMES[it])).collect();
            let mut told = rig.outputs(0.0, |it| match it {
                Output::Changed { row, .. } => Some(*row),
                _ => None,
            });
            told.sort();
            prop_assert_eq!(told, expected);
            rig.log.clear();
            seen = now;
        }
    }
}
