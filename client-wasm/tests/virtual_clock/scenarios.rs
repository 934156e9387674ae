//! The scenarios of kind `sdk`, replayed by hand.

use greendot_client::core::Client;
use greendot_protocol::Span;
use greendot_protocol::State::{Away, Offline, Online, Unknown};

use crate::rig::Rig;

/// A client that watches these users, welcomed at 0.
fn watching(users: &[&str], ttl: Option<(u64, u64)>) -> Rig {
    let mut rig = Rig::new();
    if let Some((beat, ttl)) = ttl {
        rig.welcome.beat = Span::from_secs(beat);
        rig.welcome.ttl = Span::from_secs(ttl);
    }
    for user in users {
        rig.subscribe(1, user);
    }
    rig.act(Client::connect);
    rig
}

/// The connection is lost, and no new one opens until [`back`].
fn lose(rig: &mut Rig) {
    rig.serve = false;
    rig.reset();
}

fn back(rig: &mut Rig) {
    rig.serve = true;
    rig.act(Client::disconnect);
    rig.act(Client::connect);
}

#[test]
fn a_change_overtakes_the_snapshot() {
    let mut rig = watching(&["ana", "bo"], None);
    rig.run(1.0);
    rig.event(7, "ana", Offline, 6);
    rig.run(2.0);
    rig.snapshot(7, &[("ana", Online, 5), ("bo", Online, 2)]);
    rig.run(2.5);
    assert_eq!((rig.shown("ana"), rig.shown("bo")), ((Offline, 6), (Online, 2)));
    rig.run(3.0);
    rig.event(7, "bo", Away, 3);
    assert_eq!((rig.shown("ana"), rig.shown("bo")), ((Offline, 6), (Away, 3)));
    assert_eq!(rig.changes(1, 2.5), 1);
    rig.run(5.0);
    lose(&mut rig);
    rig.run(6.0);
    back(&mut rig);
    rig.run(7.0);
    rig.event(7, "ana", Online, 8);
    rig.run(8.0);
    rig.snapshot(7, &[("ana", Away, 7), ("bo", Away, 3)]);
    rig.run(9.0);
    assert_eq!((rig.shown("ana"), rig.shown("bo")), ((Online, 8), (Away, 3)));
    assert_eq!(rig.changes(1, 4.9), 1);
}

#[test]
fn a_short_and_a_long_gap_show_only_what_changed() {
    let mut rig = watching(&["ana", "bo", "cy"], Some((1000, 3000)));
    rig.run(1.0);
    rig.snapshot(7, &[("ana", Online, 5), ("bo", Away, 3), ("cy", Online, 9)]);
    rig.run(10.0);
    assert!(!rig.client.stale());
    lose(&mut rig);
    rig.run(11.0);
    assert!(rig.client.stale());
    assert_eq!(rig.shown("bo"), (Away, 3));
    rig.run(12.0);
    back(&mut rig);
    rig.snapshot(7, &[("ana", Online, 5), ("bo", Away, 3), ("cy", Offline, 10)]);
    assert_eq!(rig.changes(1, 9.5), 1);
    assert!(!rig.client.stale());
    rig.run(70.0);
    lose(&mut rig);
    rig.run(669.0);
    assert!(rig.client.stale());
    assert_eq!(rig.shown("cy"), (Offline, 10));
    rig.run(670.0);
    back(&mut rig);
    rig.snapshot(7, &[("ana", Online, 5), ("cy", Online, 12)]);
    assert_eq!(rig.shown("bo").0, Offline);
    assert_eq!((rig.shown("ana"), rig.shown("cy")), ((Online, 5), (Online, 12)));
    assert_eq!(rig.changes(1, 9.5), 3);
}

#[test]
fn a_gap_longer_than_ttl_and_grace_shows_unknown_and_never_offline() {
    let mut rig = watching(&["ana", "bo", "cy"], None);
    rig.run(1.0);
    rig.snapshot(7, &[("ana", Online, 5), ("bo", Away, 3), ("cy", Offline, 10)]);
    rig.run(5.0);
    lose(&mut rig);
    rig.run(39.9);
    assert_eq!((rig.shown("ana").0, rig.shown("cy").0), (Online, Offline));
    rig.run(40.0);
    for user in ["ana", "bo", "cy"] {
        assert_eq!(rig.shown(user).0, Unknown);
    }
    rig.run(605.0);
    assert!(rig.client.stale());
    back(&mut rig);
    rig.snapshot(7, &[("ana", Online, 5), ("cy", Online, 12)]);
    assert!(!rig.client.stale());
    assert_eq!((rig.shown("ana"), rig.shown("cy")), ((Online, 5), (Online, 12)));
    assert_eq!(rig.shown("bo").0, Offline);
}

#[test]
fn versions_that_start_again_are_taken_on_a_new_connection() {
    let mut rig = watching(&["ana"], Some((1000, 3000)));
    rig.run(1.0);
    rig.snapshot(1, &[("ana", Online, 57)]);
    rig.run(5.0);
    lose(&mut rig);
    rig.run(7.0);
    back(&mut rig);
    rig.snapshot(2, &[("ana", Online, 1)]);
    assert_eq!(rig.shown("ana"), (Online, 1));
    assert_eq!(rig.changes(1, 4.0), 0);
    rig.run(20.0);
    rig.event(2, "ana", Away, 2);
    assert_eq!(rig.shown("ana"), (Away, 2));
    assert_eq!(rig.changes(1, 4.0), 1);
}
