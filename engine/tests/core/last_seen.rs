//! When a user was there last, as exactly as it wants that told.

use greendot_engine::core::{LastSeen, Node};
use greendot_engine::protocol::{ClientFrame, Mode, ServerFrame, Span, Time};

use crate::rig::Rig;

/// What a watcher is told now: how long ago, in seconds, and whether that is no more than a bound.
fn told(rig: &mut Rig, conn: greendot_engine::core::ConnId, request: u32) -> (Option<u64>, bool) {
    rig.watch(conn, request, &[(1, "ana")]);
    rig.ready.remove(&conn);
    let mut told = (None, false);
    rig.node.transmit(rig.now, conn, &mut |frame| {
        if let ServerFrame::Snapshot { entries, .. } = frame {
            told = entries.first().map_or((None, false), |it| {
                (it.seen_ago.map(|it| it.as_millis() / 1000), it.coarse)
            });
        }
    });
    told
}

fn asked(node: &Node, now: Time, viewer: &str) -> Option<u64> {
    node.read(now, viewer, "ana", |it| it.seen_ago(now).map(Span::as_secs))
}

#[test]
fn the_users_wish_counts_on_every_way_and_for_others_alone() {
    let mut rig = Rig::new();
    let bo = rig.connect("bo", "1");
    let ana = rig.connect("ana", "1");
    rig.until(20.0);
    rig.frame(ana, &ClientFrame::Bye);
    rig.stand_still_until(1_000.0);
    let bo = {
        rig.drop_conn(bo);
        rig.connect("bo", "1")
    };
    assert_eq!(told(&mut rig, bo, 1), (Some(980), false));
    rig.node.set_last_seen(rig.now, "ana", LastSeen::Rounded);
    assert_eq!(told(&mut rig, bo, 2), (Some(1_000), true));
    assert_eq!(asked(&rig.node, rig.now, "bo"), Some(1_000));
    rig.node.set_last_seen(rig.now, "ana", LastSeen::Words);
    assert_eq!(told(&mut rig, bo, 3), (Some(3 * 24 * 3600), true));
    rig.node.set_last_seen(rig.now, "ana", LastSeen::Never);
    assert_eq!(told(&mut rig, bo, 4), (None, false));
    assert_eq!(asked(&rig.node, rig.now, "bo"), None);
    assert_eq!(asked(&rig.node, rig.now, "ana"), Some(980));
    rig.node.set_last_seen(rig.now, "ana", LastSeen::Delayed);
    assert_eq!(told(&mut rig, bo, 5), (Some(980), false));
}

#[test]
fn a_delayed_time_is_not_told_before_its_time() {
    let mut rig = Rig::new();
    let ana = rig.connect("ana", "1");
    rig.node.set_last_seen(rig.now, "ana", LastSeen::Delayed);
    rig.until(20.0);
    rig.frame(ana, &ClientFrame::Mode(Mode::Invisible));
    assert_eq!(asked(&rig.node, rig.now, "bo"), None);
    rig.stand_still_until(919.0);
    assert_eq!(asked(&rig.node, rig.now, "bo"), None);
    rig.stand_still_until(920.0);
    assert_eq!(asked(&rig.node, rig.now, "bo"), Some(900));
}

#[test]
fn a_block_freezes_it_as_coarsely_as_the_user_wants() {
    let mut rig = Rig::new();
    let ana = rig.connect("ana", "1");
    rig.until(20.0);
    rig.node.set_last_seen(rig.now, "ana", LastSeen::Rounded);
    rig.node.set_block(rig.now, "ana", "bo", true);
    rig.until(25.0);
    rig.beat(ana);
    rig.stand_still_until(700.0);
    assert_eq!(asked(&rig.node, rig.now, "bo"), Some(700));
}
