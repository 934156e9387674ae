//! What sessions, users and watches cost in memory, counted at the allocator.

use allocation_counter::measure;
use greendot_engine::core::{ConnId, Connect, Node, SelfReport, Settings, Start};
use greendot_engine::protocol::{ClientFrame, Epoch, Time, WatchItem};

fn node() -> Node {
    Node::new(Settings::default(), Time::ZERO, Epoch(1), 0, 7, Start::Fresh).expect("they work")
}

fn connect(node: &mut Node, user: &str) -> ConnId {
    let connect = Connect {
        user,
        session: "0123456789abcdef",
        passive: false,
        report: SelfReport::default(),
        token_until: None,
        device: "",
    };
    let conn = node.handle_connect(Time::ZERO, &connect).expect("all is well");
    while node.poll_output().is_some() {}
    node.transmit(Time::ZERO, conn, &mut |_| {});
    conn
}

/// The bytes that are held for it in the end.
fn held(work: impl FnOnce() -> Node) -> (Node, usize) {
    let mut node = None;
    let counted = measure(|| node = Some(work()));
    let bytes = usize::try_from(counted.bytes_current).expect("it holds something");
    (node.expect("it was made"), bytes)
}

/// One session a user, both names of 16 bytes: state, version, mode, last seen and both names included. The rows take 108;
/// the index and the wheel the rest, according to how full they happen to be (123 in all at a million).
#[test]
fn a_session_and_its_user_take_about_130_bytes_whatever_their_number() {
    let empty = held(node).1;
    let mut sum = 0.0;
    let sizes = [30_000, 40_000, 50_000, 60_000, 70_000, 80_000, 100_000, 120_000];
    for count in sizes {
        let (_node, bytes) = held(|| {
            let mut node = node();
            for number in 0..count {
                connect(&mut node, &format!("u{number:015x}"));
            }
            node
        });
        let each = (bytes - empty) as f64 / f64::from(count);
        println!("{count} sessions: {each:.1} bytes each");
        // While the index grows there are two of it.
        assert!(each <= 140.0, "{each:.1} bytes each at {count}");
        sum += each;
    }
    let mean = sum / sizes.len() as f64;
    assert!(mean <= 130.0, "{mean:.1} bytes a session");
}

#[test]
fn a_watch_takes_200_bytes_and_a_change_allocates_nothing() {
    const WATCHERS: usize = 200;
    const WATCHED: usize = 500;
    let names: Vec<String> = (0..WATCHED).map(|it| format!("u{it:015x}")).collect();
    let watched = |watches: bool| {
        let (mut node, bytes) = held(|| {
            let mut node = node();
            for name in &names {
                connect(&mut node, name);
            }
            let users: Vec<_> =
                (1..).zip(&names).map(|(number, user)| WatchItem { number, user }).collect();
            for number in 0..WATCHERS {
                let conn = connect(&mut node, &format!("w{number:015x}"));
                if watches {
                    let users = users.clone();
                    node.handle_frame(Time::ZERO, conn, &ClientFrame::Watch { request: 1, users });
                    while node.poll_output().is_some() {}
                    node.transmit(Time::ZERO, conn, &mut |_| {});
                }
            }
            node
        });
        // Whoever has been told before is told again without room for it being made.
        let mut turn = |at: u64, mode| {
            let now = Time::from_millis(at);
            let counted = measure(|| {
                node.set_mode(now, &names[0], mode);
                node.handle_timeout(Time::from_millis(at + 20));
            });
            while node.poll_output().is_some() {}
            for conn in node.conn_ids() {
                node.transmit(Time::from_millis(at + 20), conn, &mut |_| {});
            }
            counted.count_total
        };
        turn(1_000, greendot_engine::protocol::Mode::Busy);
        (bytes, turn(2_000, greendot_engine::protocol::Mode::Dnd))
    };
    let ((without, _), (with, allocations)) = (watched(false), watched(true));
    let each = (with - without) as f64 / (WATCHERS * WATCHED) as f64;
    println!("a watch: {each:.1} bytes; a change: {allocations} allocations");
    assert!(each <= 200.0, "{each:.1} bytes a watch");
    assert!(allocations <= 8, "{allocations} allocations for a change to {WATCHERS} watchers");
}
